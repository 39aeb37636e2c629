"""A screen lock whose passkeys are synced to other devices, where the administrator accepts them and where not."""

import os
import unittest

from browser_world import PROGRAMS, run
from phone_page_case import PhonePageCase


class SyncedPasskeys(PhonePageCase):
    """By Chromium: Firefox's virtual authenticators make no such passkeys."""

    def setUp(self):
        super().setUp()
        self.browser.replace_screen_lock(is_synced=True)
        self.addCleanup(self.browser.replace_screen_lock, is_synced=False)

    def set_to(self, choice):
        run(os.path.join(PROGRAMS, "iampass-server"), "application", "set", "office", "--synced-passkeys", choice,
            "--data", self.world.path("data"))  # fmt: skip

    def test_one_is_not_added_where_they_are_refused_and_the_phone_is_registered(self):
        self.set_to("refused")
        self.browser.open(self.world.link(self.user))
        self.browser.tap("#register")
        self.browser.sees("#said", "Its screen lock was not added: your administrator does not accept passkeys")
        self.connected()
        self.assertIsNone(self.world.sign_in(self.user, methods="device").start.get("status_url"))
        self.browser.tap(".account summary")
        self.browser.tap(".add-lock")
        self.browser.sees(".account .problem", "a passkey that is synced to other devices")
        self.assertEqual(self.approve(self.world.sign_in(self.user)), "active")

    def test_one_that_is_there_approves_nothing_once_they_are_refused(self):
        self.set_to("accepted")
        self.register()
        self.set_to("refused")
        sign_in = self.world.sign_in(self.user, methods="device")
        self.card("unlock this phone")
        self.type_code(sign_in)
        self.browser.tap(".request .approve")
        self.browser.sees(".request .failure", "a passkey that is synced to other devices")
        self.assertIn(sign_in.status(), ("pending", "identifying"))
        self.set_to("accepted")
        self.browser.tap(".request .approve")
        self.assertEqual(sign_in.becomes("active"), "active")


if __name__ == "__main__":
    unittest.main()
