"""FAULT H26: a password that has expired. The phone approves, and the account lines ask for the password all the same."""

import time
import unittest

from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.world import ENROLLED, MAXTRIES, SUCCESS

NOTICE = "IAMPASS: your password has expired; if you are asked for it now, type the old one, then a new one"
NEW_AUTHTOK_REQD, ACCT_EXPIRED = 12, 13
TODAY = int(time.time()) // 86_400


def setUpModule():
    global world
    SignInCase.world = world = world_with_a_phone()


class Expired(SignInCase):
    def sign_in(self, fields, answer="approve", options=""):
        """The code of the account lines, and what was shown. `fields`: of shadow(5), behind the password's."""
        world.pam("sudo", "prompt=push timeout=20s", f"auth required MODULE\naccount required pam_unix.so {options}\n")
        world.write("shadow", f"root:*:19000:0:99999:7:::\n{ENROLLED}:*:{fields}\n" if fields else "root:*:19000:0:99999:7:::\n")
        self.phone(answer)
        return world.play(calls=["authenticate", "acct_mgmt"], files={"/etc/shadow": world.path("shadow")})

    def test_the_user_reads_why_before_the_system_asks(self):
        for fields in ("0:0:99999:7:::", f"{TODAY - 10}:0:5:7:::"):
            with self.subTest(fields=fields):
                result = self.sign_in(fields)
                self.assertEqual(result["codes"], [SUCCESS, NEW_AUTHTOK_REQD])
                [place] = [place for place, text in enumerate(result["texts"]) if text == NOTICE]
                # What pam_unix says of it, if it says something.
                self.assertFalse([text for text in result["texts"][:place] if "required to change" in text])

    def test_nothing_is_said_of_a_password_that_serves(self):
        for fields, code in ((f"{TODAY}:0:99999:7:::", SUCCESS), (f"{TODAY}:0:99999:7::{TODAY - 1}:", ACCT_EXPIRED)):
            with self.subTest(fields=fields):
                result = self.sign_in(fields)
                self.assertEqual(result["codes"], [SUCCESS, code])
                self.assertNotIn(NOTICE, result["texts"])

    def test_nothing_is_said_of_a_user_without_an_entry(self):
        """Such as a directory's."""
        result = self.sign_in("")
        self.assertEqual(result["codes"][0], SUCCESS)
        self.assertNotIn(NOTICE, result["texts"])

    def test_without_an_approval_nobody_learns_of_it(self):
        result = self.sign_in("0:0:99999:7:::", answer="deny")
        self.assertEqual(result["codes"][0], MAXTRIES)
        self.assertNotIn(NOTICE, result["texts"])

    def test_an_account_line_may_ignore_an_expired_password(self):
        result = self.sign_in("0:0:99999:7:::", options="no_pass_expiry")
        self.assertEqual(result["codes"], [SUCCESS, SUCCESS])


if __name__ == "__main__":
    unittest.main()
