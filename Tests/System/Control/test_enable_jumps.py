"""`iampassctl enable` where numbers of an administrator's own lines count what pam-auth-update writes."""

import unittest

from control import CONFIG
from enable_case import Enabled, open_world
from Support.Service.world import read

EXEMPT = "auth [{}] pam_succeed_if.so user ingroup nophone\n@include common-auth\n"


def setUpModule():
    global world
    world = open_world()


class Jumps(Enabled):
    def sudo(self, control):
        self.write_pam("sudo", EXEMPT.format(control))

    def assert_refused(self, control, said):
        self.sudo(control)
        before = self.common(), world.snapshot()
        answer = self.ctl("enable")
        self.assertEqual((answer.code, (self.common(), world.snapshot())), (CONFIG, before), answer.text)
        self.assertRegex(answer.out, said)

    def test_a_group_that_would_be_locked_out_or_let_in_is_refused_with_file_and_line(self):
        lines = [line if line.startswith("auth") else "" for line in self.common().splitlines()]
        deny, permit = (1 + next(index for index, line in enumerate(lines) if name in line)
                        for name in ("pam_deny.so", "pam_permit.so"))  # fmt: skip
        place = "/etc/pam.d/common-auth"
        self.assert_refused(
            "success=2 default=ignore",
            rf"sudo: success=2 at /etc/pam.d/sudo:1 leads to pam_permit.so \({place}:{permit}\), and will lead to "
            rf"pam_deny.so \({place}:{deny}\): whoever it applies to is refused, with the right password too")
        self.assert_refused(
            "success=ignore default=3",
            rf"sudo: default=3 at /etc/pam.d/sudo:1 leads to .*, and will lead to pam_permit.so \({place}:{permit}\): "
            "whoever it applies to gets in, with a wrong password too")

    def test_force_says_what_it_will_do_and_check_says_it_afterwards(self):
        self.sudo("success=2 default=ignore")
        answer = self.ctl("enable", "--force")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertRegex(answer.err, r"(?m)^warning: sudo: success=2 at /etc/pam.d/sudo:1 leads to pam_permit.so .* is refused")
        self.assertIn("pam_iampass.so", self.common())
        said = r"problem +sudo: success=2 at /etc/pam.d/sudo:1 leads past pam_iampass.so to pam_deny.so .* is refused"
        self.assertRegex(self.ctl("check").out, said)
        self.assertRegex(self.ctl("check").out, "hint: count again: .*, and 1 skips no more than it")
        # What the hint says; and what is on moves nothing.
        self.sudo("success=1 default=ignore")
        self.assertNotIn("leads past", self.ctl("check").out)
        self.assertEqual(self.ctl("enable").code, 0)

    def test_a_session_that_nobody_would_watch_is_refused_forced_and_told(self):
        world.configure(services="login")
        kept = {kind: read(f"{self.root}/etc/pam.d/common-{kind}") for kind in ("account", "password")}
        lines = sum(line.startswith("session") for line in read(self.root + "/etc/pam.d/common-session").splitlines())
        self.write_pam(
            "login", f"@include common-auth\nsession [success={lines + 1} default=ignore] pam_succeed_if.so user ingroup nophone\n"
            "@include common-session\nsession optional pam_mail.so\nsession optional pam_motd.so\n")
        before = self.common()
        answer = self.ctl("enable")
        self.assertEqual((answer.code, self.common()), (CONFIG, before), answer.text)
        said = (rf"login: success={lines + 1} at /etc/pam.d/login:2 leads to pam_motd.so \(/etc/pam.d/login:5\), and will "
                r"lead to pam_mail.so \(/etc/pam.d/login:4\): nobody watches the session of whoever it applies to")  # fmt: skip
        self.assertRegex(answer.out, said)
        answer = self.ctl("enable", "--force")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertRegex(answer.err, "(?m)^warning: " + said)
        self.assertRegex(
            self.ctl("check").out, rf"problem +login: success={lines + 1} at /etc/pam.d/login:2 leads past pam_iampass.so to "
            r"pam_mail.so \(/etc/pam.d/login:4\): nobody watches")
        # Nothing is written into the other stacks, so that no number of theirs moves.
        self.assertEqual(kept, {kind: read(f"{self.root}/etc/pam.d/common-{kind}") for kind in kept})

    def test_a_number_that_counts_none_of_these_lines_is_well(self):
        self.sudo("success=1 default=ignore] pam_echo.so\nauth [default=ignore")
        answer = self.ctl("enable")
        self.assertEqual((answer.code, answer.err), (0, ""), answer.text)
        self.assertRegex(self.common(), r"(?m)^auth.*pam_iampass")


class Rewritten(Enabled):
    """Configuration management puts its own common-auth in the place of the one that `enable` has changed."""

    LOST = "/etc/pam.d/common-auth has lost its line of pam_iampass.so; the phone is not asked any more: sudo"

    def setUp(self):
        super().setUp()
        self.write_pam("sudo", "@include common-auth\n")
        self.plain = self.common()
        answer = self.ctl("enable")
        self.assertEqual((answer.code, answer.err), (0, ""), answer.text)
        self.assertNotIn(self.LOST, self.ctl("status").out)

    def write_over(self):
        self.assertNotEqual(self.common(), self.plain)
        self.write_pam("common-auth", self.plain)

    def test_status_and_check_name_the_file_until_enable_has_run(self):
        self.write_over()
        status = self.ctl("status")
        self.assertEqual(status.code, 1, status.text)
        hint = r"\n +hint: iampassctl enable, or iampassctl disable if this is meant; see iampass-helper\(8\)\n"
        self.assertRegex(status.out, rf"problem +{self.LOST}{hint}")
        check = self.ctl("check")
        self.assertEqual(check.code, 2, check.text)
        self.assertRegex(check.out, rf"problem +{self.LOST}{hint}")
        answer = self.ctl("enable")
        self.assertEqual((answer.code, answer.err), (0, ""), answer.text)
        for words in ("status", "check"):
            self.assertNotIn(self.LOST, self.ctl(words).out)

    def test_what_disable_has_taken_away_is_not_missed(self):
        answer = self.ctl("disable")
        self.assertEqual((answer.code, self.common()), (0, self.plain), answer.text)
        for words in ("status", "check"):
            self.assertNotIn("has lost its line", self.ctl(words).out)


if __name__ == "__main__":
    unittest.main()
