"""Two phones of one user, each a page in a browser of its own."""

import os
import unittest

from browser import start_browser
from browser_world import PROGRAMS, run
from phone_page_case import PhonePageCase


class TwoPhones(PhonePageCase):
    screen_lock = False

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = start_browser(cls.world.authority.file, screen_lock=False)
        cls.addClassCleanup(cls.other.close)
        run(os.path.join(PROGRAMS, "iampass-server"), "application", "set", "office", "--phones", "2",
            "--data", cls.world.path("data"))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.other.forget, self.world)
        self.register_as(self.browser, "Pixel")
        self.register_as(self.other, "Work phone")

    def register_as(self, browser, name):
        browser.open(self.world.link(self.user))
        browser.sees("#registration-name-field")
        browser.script("document.getElementById('registration-name').value = ''")
        browser.type("#registration-name", name)
        browser.tap("#register")
        browser.sees("#said", f"This is {self.user}’s phone now.")
        browser.sees("#connection", "Connected")

    def test_the_first_answer_counts_and_the_other_page_says_whose_it_was(self):
        # The first page was told at once that there is another phone.
        self.browser.sees("#problem", "Another phone was registered")
        sign_in = self.world.sign_in(self.user)
        for browser in (self.browser, self.other):
            browser.sees(".request", "sudo on desk")
        self.other.type(".request .code input", sign_in.code)
        self.other.tap(".request .approve")
        self.assertEqual(sign_in.becomes("active"), "active")
        self.browser.misses(".request")
        self.browser.sees("#said", "sudo on desk: approved on Work phone.")
        self.browser.sees(".sessions li", "approved on Work phone")
        self.browser.tap(".account summary")
        self.browser.sees(".account .phones", "You have another phone: Work phone")
        self.assertNotIn("approved on", self.other.says(".sessions li"))

    def test_a_denial_takes_the_request_from_both(self):
        sign_in = self.world.sign_in(self.user)
        self.other.sees(".request")
        self.browser.tap(".request .deny")
        self.assertEqual(sign_in.becomes("cancelled", "failed"), "cancelled")
        self.other.misses(".request")
        self.other.sees("#said", "sudo on desk: denied on Pixel.")


if __name__ == "__main__":
    unittest.main()
