"""The phone's page on a phone whose clock differs from the service's by an hour."""

import contextlib
import re
import unittest

from browser_world import LONGEST_ANSWER_TIME
from phone_page_case import PhonePageCase

HOUR = 3_600_000
WRONG_CLOCK = "const right = Date.now.bind(Date); Date.now = () => right() + {milliseconds};"


class Clock(PhonePageCase):
    @contextlib.contextmanager
    def clock_off_by(self, milliseconds):
        """Pages that are loaded from now on have this clock."""
        source = WRONG_CLOCK.format(milliseconds=milliseconds)
        added = self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=source)
        try:
            yield
        finally:
            self.browser.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=added["identifier"])

    def test_shows_the_time_that_is_really_left_and_approves(self):
        for name, difference in (("slow", -HOUR), ("fast", HOUR)):
            with self.subTest(name), self.clock_off_by(difference):
                self.register(name)
                ahead = self.browser.script("return Date.now() - performance.timeOrigin - performance.now()")
                self.assertAlmostEqual(ahead, difference, delta=HOUR / 10)
                sign_in = self.world.sign_in(name)
                left = int(re.search(r"(\d+) s left", self.browser.says(".request", "sudo on desk", "s left"))[1])
                self.assertTrue(0 < left <= LONGEST_ANSWER_TIME, left)
                self.assertEqual(self.approve(sign_in), "active")
            self.browser.forget(self.world)


if __name__ == "__main__":
    unittest.main()
