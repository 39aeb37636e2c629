"""The phone's page in a real browser: live sessions and presence."""

import unittest

from phone_page import PhonePageTest


class Sessions(PhonePageTest):
    def test_leaves_and_returns(self):
        self.register()
        sign_in = self.approved()
        self.browser.tap(".leave")
        self.assertEqual(sign_in.becomes("walkaway"), "walkaway")
        self.browser.sees(".presence", "You are away")
        self.browser.tap(".return")
        self.assertEqual(sign_in.becomes("active"), "active")
        self.browser.sees(".presence", "You are here")

    def test_logs_one_session_out_and_no_other(self):
        self.register()
        first, second = self.approved(host="one"), self.approved(host="two")
        self.sessions_shown(2)
        self.browser.tap(".log-out[aria-label='Log out sudo on one']")
        self.assertEqual(first.becomes("closed"), "closed")
        self.sessions_shown(1)
        self.assertEqual(second.status(), "active")

    def test_shows_the_end_of_a_session_that_its_computer_ended(self):
        self.register()
        sign_in = self.approved()
        self.sessions_shown(1)
        sign_in.log_out()
        self.sessions_shown(0)
        self.browser.sees(".no-sessions", "None.")


if __name__ == "__main__":
    unittest.main()
