"""The phone's page in a real browser: match codes, and the phone's screen lock."""

import unittest

from phone_page_case import PhonePageCase


class MatchCodes(PhonePageCase):
    def test_approves_with_the_digits_that_the_computer_shows(self):
        self.register()
        sign_in = self.world.sign_in(self.user)
        self.assertRegex(sign_in.code, "^[0-9]{2}$")
        self.card("Type the two digits")
        self.browser.tap(".request .approve")
        # Without digits nothing is sent.
        self.browser.sees(".request .failure", "Type the two digits first")
        self.assertIn(sign_in.status(), ("pending", "identifying"))
        self.browser.type(".request .code input", sign_in.code)
        self.browser.tap(".request .approve")
        self.assertEqual(sign_in.becomes("active"), "active")

    def test_is_denied_by_one_wrong_entry(self):
        self.register()
        sign_in = self.world.sign_in(self.user)
        self.browser.type(".request .code input", f"{(int(sign_in.code) + 1) % 100:02}")
        self.browser.tap(".request .approve")
        # It neither looks nor sounds like a success.
        failed = self.browser.sees("#failed.problem", "The digits were wrong")
        self.assertEqual(failed.get_attribute("role"), "alert")
        self.browser.misses("#said")
        self.assertEqual(sign_in.becomes("cancelled", "failed"), "cancelled")
        self.browser.misses(".request")


class ScreenLock(PhonePageCase):
    def ask(self):
        self.register()
        sign_in = self.world.sign_in(self.user, methods="device")
        self.card("unlock this phone")
        self.type_code(sign_in)
        return sign_in

    def test_approves_by_unlocking_the_phone(self):
        sign_in = self.ask()
        self.browser.tap(".request .approve")
        self.assertEqual(sign_in.becomes("active"), "active")

    def test_approves_nothing_while_the_phone_stays_locked(self):
        sign_in = self.ask()
        self.browser.unlocks(False)
        self.browser.tap(".request .approve")
        self.browser.sees(".request .failure", "not unlocked")
        self.assertIn(sign_in.status(), ("pending", "identifying"))
        self.browser.tap(".request .unable")
        self.assertEqual(sign_in.becomes("failed", "cancelled"), "failed")

    def test_denies_without_unlocking(self):
        sign_in = self.ask()
        self.browser.unlocks(False)
        self.browser.tap(".request .deny")
        self.assertEqual(sign_in.becomes("cancelled", "failed"), "cancelled")

    def test_a_phone_that_lacks_the_screen_lock_is_told_and_adds_it(self):
        self.browser.unlocks(False)
        self.browser.open(self.world.link(self.user))
        self.browser.tap("#register")
        self.browser.sees("#said", "Its screen lock was not added.")
        self.browser.misses(".account .training:not([hidden])")
        self.assertIsNone(self.world.sign_in(self.user, methods="device").start.get("status_url"))
        self.browser.sees(".account .training", "A computer asked for the phone’s screen lock")
        self.browser.unlocks(True)
        self.browser.tap(".account summary")
        self.browser.tap(".add-lock")
        self.browser.sees("#said", "The screen lock was added.")
        self.browser.misses(".account .training:not([hidden])")

    def test_registers_without_it_and_adds_it_later(self):
        self.browser.unlocks(False)
        self.browser.open(self.world.link(self.user))
        self.browser.tap("#register")
        self.browser.sees("#said", "Its screen lock was not added.")
        self.assertIsNone(self.world.sign_in(self.user, methods="device").start.get("status_url"))
        self.browser.unlocks(True)
        self.browser.tap(".account summary")
        self.browser.tap(".add-lock")
        self.browser.sees("#said", "The screen lock was added.")
        sign_in = self.world.sign_in(self.user, methods="device")
        self.card("unlock this phone")
        self.type_code(sign_in)
        self.browser.tap(".request .approve")
        self.assertEqual(sign_in.becomes("active"), "active")


class NoScreenLock(PhonePageCase):
    screen_lock = False

    def test_approves_by_tap_and_says_that_it_has_no_screen_lock(self):
        self.browser.open(self.world.link(self.user))
        self.browser.sees("#registration-lock", "does not offer a screen lock")
        self.browser.tap("#register")
        self.browser.sees("#said", "phone now.")
        self.assertEqual(self.approve(self.world.sign_in(self.user)), "active")
        self.assertIsNone(self.world.sign_in(self.user, methods="device").start.get("status_url"))


if __name__ == "__main__":
    unittest.main()
