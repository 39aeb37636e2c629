"""Stacks of an administrator's own, with real sudo and sshd: what a caller can bring about must not skip the phone, `enable`
refuses a stack in which it does, and after `enable --force` comes what was said."""

import re
import unittest

import pexpect
from second_factor_case import INCLUDE, SecondFactorCase
from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, PUSH_LINE, password_of
from Support.Service.never import MustNeverHappen, assert_refused

PASSWORD_FIRST = "auth requisite pam_unix.so"
#: It looks like "let the password do if the service is down".
WEAK = "auth [success=ok authinfo_unavail=ignore default=die] pam_iampass.so"
#: What the manual has in its place.
STRONG = "auth required pam_iampass.so fail=open"
#: sysexits(3): `enable` wrote nothing.
CONFIG = 78
#: max_requests, as it is without a line.
GREATEST = 5
OPENED = "a-shell-is-open"


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


class Numbers(Stacks):
    """Members of a group skip a number of lines, which `enable` makes one more. Real sshd."""

    def setUp(self):
        super().setUp()
        self.switch_off()
        self.host.run("groupadd", "nophone")
        self.addCleanup(self.host.run, "groupdel", "nophone")
        self.host.run("usermod", "--append", "--groups", "nophone", "bob")

    def skipping(self, count):
        """A line in front of what sshd includes."""
        line = f"auth [success={count} default=ignore] pam_succeed_if.so quiet user ingroup nophone"
        return self.stack("sshd", line, INCLUDE)

    def named(self, count):
        text = self.host.path("/etc/pam.d/sshd").read_text().splitlines()
        number = 1 + next(index for index, line in enumerate(text) if "nophone" in line)
        return rf"sshd: success={count} at /etc/pam\.d/sshd:{number} "

    def force(self, count, end):
        """`enable` refuses with file and line, and says what `--force` leads to; `check` says it afterwards."""
        named = self.named(count)
        code, output = self.ctl("enable")
        self.assertEqual((code, self.is_on()), (CONFIG, False), output)
        self.assertRegex(output, rf"{named}leads to .*, and will lead to .*{end}")
        code, output = self.ctl("enable", "--force")
        self.assertEqual((code, self.is_on()), (0, True), output)
        self.assertRegex(output, rf"(?m)^warning: {named}leads to .*, and will lead to .*{end}")
        code, output = self.ctl("check")
        self.assertEqual(code, 2, output)
        self.assertRegex(output, rf"problem +{named}leads past pam_iampass\.so to .*{end}")

    def sign_in(self, user, password=None):
        """Whether a shell opens for somebody with this password, who is asked once."""
        child = self.ssh(user, options="-o NumberOfPasswordPrompts=1", command=f"echo {OPENED}")
        if child.expect(["assword: ", OPENED, pexpect.EOF]) == 0:
            child.sendline(password or "wrong")
        return child.finish() == 0

    def assert_alice_is_asked(self):
        with self.phone("approve") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0, child.screen)
            self.assertEqual(len(phone.requests()), 1)

    def test_a_number_that_comes_to_lead_to_the_refusal(self):
        with self.skipping(2):
            self.force(2, "whoever it applies to is refused, with the right password too")
            self.assertFalse(self.sign_in("bob", password_of("bob")))
            self.assert_alice_is_asked()

    def test_a_number_that_comes_to_lead_past_the_refusal(self):
        with self.skipping(3):
            self.force(3, "whoever it applies to gets in, with a wrong password too")
            self.assertTrue(self.sign_in("bob", "wrong"))
            self.assert_alice_is_asked()

    def test_the_number_of_the_hint_skips_the_phone_alone(self):
        self.assertEqual(self.ctl("enable")[0], 0)
        with self.skipping(1):
            self.assertNotRegex(self.ctl("check")[1], "sshd: success=1")
            child = self.ssh("bob", command=f"echo {OPENED}")
            child.expect("assword: ")
            self.assertNotIn(CHOOSE_PROMPT.partition("\r")[0], child.screen)
            child.sendline(password_of("bob"))
            self.assertEqual(child.finish(), 0)
            if self.sign_in("bob", "wrong"):
                raise MustNeverHappen("a wrong password opened a shell")
            self.assert_alice_is_asked()


class Rewritten(Stacks):
    """A package or configuration management writes a PAM file again, without our line."""

    def test_root_is_told_that_a_file_has_lost_its_line(self):
        self.assertEqual(self.ctl("enable", "--force")[0], 0)
        said = f"{testhost.COMMON_AUTH} has lost its line of pam_iampass.so"
        with self.host.changed(testhost.COMMON_AUTH, lambda text: re.sub(r"(?m)^.*pam_iampass.*\n", "", text)):
            self.host.run("systemctl", "reload", "iampass-helper")
            self.assert_eventually("the helper's line", lambda: said in self.host.run("journalctl", "-u", "iampass-helper"))
            for word in ("status", "check"):
                self.assertIn(said, self.ctl(word)[1])
        self.assertNotIn(said, self.ctl("status")[1])


if __name__ == "__main__":
    unittest.main()
