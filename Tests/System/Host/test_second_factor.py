"""Stacks of an administrator's own, with real sudo: what a caller can bring about must not skip the phone, `enable`
refuses a stack in which it does."""

import re
import unittest

import pexpect
from never import MustNeverHappen, assert_refused
from second_factor_case import SecondFactorCase
from support import PUSH_LINE, password_of, testhost

PASSWORD_FIRST = "auth requisite pam_unix.so"
#: It looks like "let the password do if the service is down".
WEAK = "auth [success=ok authinfo_unavail=ignore default=die] pam_iampass.so"
#: What the manual has in its place.
STRONG = "auth required pam_iampass.so fail=open"
#: sysexits(3): `enable` wrote nothing.
CONFIG = 78
#: max_requests, as it is without a line.
GREATEST = 5


class Stacks(SecondFactorCase):
    def ctl(self, *words):
        """Exit code and output of iampassctl without a terminal."""
        text = self.host.run("sh", "-c", 'iampassctl "$@"; echo "exit $?"', "sh", *words)
        output, _, code = text.rpartition("exit ")
        return int(code), output

    def switch_off(self):
        """However a test ends, the next one finds the phone asked. Changed files are put back before."""
        self.assertEqual(self.ctl("disable")[0], 0)
        self.addCleanup(self.host.run, "iampassctl", "enable", "--force")

    def is_on(self):
        return "pam_iampass" in self.host.path(testhost.COMMON_AUTH).read_text()


class Bringable(Stacks):
    """Whoever has alice's password, and not her phone, at sudo."""

    def attempt(self, command="id -un"):
        child = self.sudo(command)
        self.type_password(child)
        return child

    def break_off(self):
        """As many requests as count, each ended by Ctrl-C while it rings."""
        with self.phone("ignore") as phone:
            for number in range(1, GREATEST + 1):
                child = self.attempt()
                child.expect_exact(PUSH_LINE)
                phone.wait_for_requests(number)
                child.sendintr()
                assert_refused(child.finish(), child.screen)
            self.assertEqual(len(phone.requests()), GREATEST)

    def opens(self, command="id -un"):
        """Whether the password alone gives root. sudo asks for it up to three times."""
        with self.phone("ignore") as phone:
            child = self.attempt(command)
            while (seen := child.expect(["(?m)^root\r?$", "assword[^\n]*: ", pexpect.EOF])) == 1:
                child.sendline(password_of("alice"))
            child.finish()
            self.assertEqual(phone.requests(), [])
        return seen == 0

    def long_command(self):
        return "sh -c 'id -un #" + "x" * 1_200 + "'"

    def refusing_long_commands(self):
        return self.host.changed(
            testhost.CONFIGURATION, lambda text: text + "send_command = yes\nlong_command = refuse\n")

    def test_a_stack_that_ignores_unanswered_requests_is_a_problem_and_is_not_switched_on(self):
        self.switch_off()
        with self.stack("sudo", PASSWORD_FIRST, WEAK):
            said = r"sudo: a row of unanswered requests skips the phone, which is the second factor"
            code, output = self.ctl("enable")
            self.assertEqual((code, self.is_on()), (CONFIG, False), output)
            self.assertRegex(output, said)
            code, output = self.ctl("check")
            self.assertEqual(code, 2, output)
            self.assertRegex(output, "problem +" + said)
            self.assertIn("only fail=open there tells an outage apart", output)

    def test_what_check_says_of_that_stack_is_so(self):
        """So that the other tests' attack is one."""
        with self.stack("sudo", PASSWORD_FIRST, WEAK):
            self.break_off()
            self.assertTrue(self.opens())
            self.host.forget_attempts()
            with self.refusing_long_commands():
                self.assertTrue(self.opens(self.long_command()))

    def test_requests_that_are_broken_off_do_not_skip_the_phone(self):
        with self.stack("sudo", PASSWORD_FIRST, STRONG):
            self.break_off()
            if self.opens():
                raise MustNeverHappen("the password alone gave root")
        self.assertIn("refused user=alice service=sudo rhost=- reason=too many requests", self.journal())

    def test_a_long_command_does_not_skip_the_phone(self):
        with self.stack("sudo", PASSWORD_FIRST, STRONG), self.refusing_long_commands():
            if self.opens(self.long_command()):
                raise MustNeverHappen("the password alone gave root")
        self.assertRegex(self.journal(), "refused user=alice service=sudo rhost=- reason=.*command")

    def test_the_manuals_stack_is_well_and_an_outage_leaves_the_password(self):
        with self.stack("sudo", PASSWORD_FIRST, STRONG):
            self.assertNotRegex(self.ctl("check")[1], "problem +sudo:")
            with self.phone("approve"):
                self.assertEqual(self.attempt().finish(), 0)
            with self.host.service_down():
                self.assertTrue(self.opens())


if __name__ == "__main__":
    unittest.main()
