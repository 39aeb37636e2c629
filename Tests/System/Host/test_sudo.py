"""Real sudo at a terminal."""

import re
import time
import unittest

import pexpect

from host_case import HostCase, expired
from Support.Hosts.testhost import PUSH_LINE, PUSH_LINE_WITH_CODE, password_of
from Support.Service.never import assert_refused

EXPIRED = "IAMPASS: your password has expired; if you are asked for it now, type the old one, then a new one"
PASSWORD = r"\[sudo\] password for alice: |Password: "


class Approved(HostCase):
    def test_an_approval_runs_the_command_and_asks_for_no_password(self):
        with self.phone("approve"):
            child = self.sudo()
            self.assertEqual(child.finish(), 0)
        self.assertIn(PUSH_LINE, child.screen)
        self.assertIn("root", child.screen)
        self.assertNotRegex(child.screen, PASSWORD)

    def test_an_approval_opens_a_root_shell_with_sudo_i(self):
        with self.phone("approve"):
            child = self.sudo("-i id -un")
            self.assertEqual(child.finish(), 0)
        self.assertIn("root", child.screen)

    def test_one_approval_is_one_request(self):
        with self.phone("approve") as phone:
            self.sudo().finish()
            self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assertEqual(self.requests_at_the_service(), 1)

    def test_the_phone_is_told_host_service_and_user(self):
        with self.phone("approve") as phone:
            self.sudo().finish()
        for word in ("workstation", "sudo", "alice"):
            self.assertIn(word, phone.printed)

    def test_the_command_gets_no_session_variable(self):
        with self.phone("approve"):
            child = self.sudo("env")
            child.finish()
        self.assertIn("SUDO_COMMAND", child.screen)
        self.assertNotIn("IAMPASS", child.screen.replace(PUSH_LINE, ""))

    def test_the_session_ends_with_sudo(self):
        with self.phone("approve"):
            self.sudo().finish()
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())


class Expired(HostCase):
    def test_the_user_reads_why_the_old_password_is_asked_for(self):
        with self.host.changed("/etc/shadow", expired), self.phone("approve"):
            child = self.sudo()
            child.expect_exact(EXPIRED)
            child.expect("Current password: ")
            child.sendline("not-" + password_of("alice"))
            assert_refused(child.finish())

    def test_an_account_line_may_leave_it_alone(self):
        without = re.compile(r"(?m)^(account\s.*pam_unix\.so.*)$")
        with (
            self.host.changed("/etc/shadow", expired),
            self.host.changed("/etc/pam.d/common-account", lambda text: without.sub(r"\1 no_pass_expiry", text)),
            self.phone("approve"),
        ):
            self.assertEqual(self.sudo().finish(), 0)


class Denied(HostCase):
    def test_a_denial_is_one_request_and_no_password_prompt(self):
        with self.phone("deny") as phone:
            child = self.sudo()
            assert_refused(child.finish())
            # Time for a second request to arrive, were one sent.
            time.sleep(1)
            self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assertIn("denied on your phone", child.screen)
        self.assertNotRegex(child.screen, PASSWORD)
        self.assertEqual(self.requests_at_the_service(), 1)

    def test_a_denial_is_said_once(self):
        with self.phone("deny"):
            child = self.sudo()
            child.finish()
        self.assertEqual(child.screen.count("denied on your phone"), 1, child.screen)


class MatchCode(HostCase):
    def test_the_line_shows_the_code_at_once_and_typing_it_on_the_phone_runs_the_command(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            child = self.sudo()
            # Before anything was approved.
            child.expect(PUSH_LINE_WITH_CODE)
            phone.type(child.match[1])
            self.assertEqual(child.finish(), 0, phone.printed)
        self.assertRegex(child.screen, r"(?m)^root$")
        self.assertNotRegex(child.screen, PASSWORD)

    def test_a_wrong_code_is_a_denial(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            child = self.sudo()
            child.expect(PUSH_LINE_WITH_CODE)
            phone.type("00" if child.match[1] != "00" else "01")
            assert_refused(child.finish())
        self.assertIn("wrong digits were typed on your phone; try again", child.screen)
        self.assertEqual(self.requests_at_the_service(), 1)


class NotAnswered(HostCase):
    def test_no_answer_falls_to_the_password(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore"):
            began = time.monotonic()
            child = self.sudo()
            child.expect("not answered")
            took = time.monotonic() - began
            # It stops 0.1 s before its time at most; 30 s are usual.
            self.assertGreater(took, 4.5)
            self.assertLess(took, 25)
            child.expect(PASSWORD)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)

    def test_a_mistyped_password_asks_for_the_password_alone(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore") as phone:
            child = self.sudo()
            child.expect("not answered")
            child.expect(PASSWORD)
            child.sendline("wrong")
            child.expect(PASSWORD)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
            self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assertEqual(child.screen.count(PUSH_LINE), 1)
        self.assertEqual(self.requests_at_the_service(), 1)


class Interrupted(HostCase):
    def interrupt(self, phone):
        child = self.sudo()
        child.expect_exact(PUSH_LINE)
        phone.wait_for_requests(1)
        began = time.monotonic()
        child.sendintr()
        child.expect(pexpect.EOF)
        return child, time.monotonic() - began

    def test_control_c_ends_the_wait_at_once(self):
        with self.phone("ignore") as phone:
            child, took = self.interrupt(phone)
        # 30 s without.
        self.assertLess(took, 25)
        self.assertNotRegex(child.screen, PASSWORD)

    def test_control_c_cancels_the_one_request(self):
        with self.phone("ignore") as phone:
            self.interrupt(phone)
            self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assert_eventually("the request is still open", lambda: not self.live_sessions())
        self.assertEqual(self.requests_at_the_service(), 1)

    def test_a_closed_terminal_cancels_the_one_request(self):
        with self.phone("ignore") as phone:
            child = self.sudo()
            phone.wait_for_requests(1)
            child.close()
            self.assert_eventually("the request is still open", lambda: not self.live_sessions())
            self.assert_eventually("sudo is left", lambda: not self.host.run("pgrep", "-x", "sudo", check=False))
        self.assertEqual(self.requests_at_the_service(), 1)


class IgnoredInterrupt(HostCase):
    """An ancestor has left SIGINT ignored."""

    def test_control_c_ends_the_wait_at_once(self):
        with self.phone("ignore") as phone:
            child = self.host.terminal("sh -c 'trap \"\" INT; sudo id -un; echo ended with $?'", user="alice")
            child.expect_exact(PUSH_LINE)
            phone.wait_for_requests(1)
            began = time.monotonic()
            child.sendintr()
            child.expect(r"ended with [1-9]")
            # 30 s without.
            self.assertLess(time.monotonic() - began, 25)
        self.assertNotRegex(child.screen, PASSWORD)
        self.assert_eventually("the request is still open", lambda: not self.live_sessions())
        self.assertEqual(self.requests_at_the_service(), 1)


class TwoAtOnce(HostCase):
    WAITING = "Your phone has another request of yours; this one waits until that has ended"

    def test_the_second_waits_for_the_end_of_the_first(self):
        with self.phone("ask") as phone:
            first = self.sudo("echo the-first")
            first.expect_exact(PUSH_LINE)
            phone.wait_for("approve? [y/n] ")
            second = self.sudo("echo the-second")
            second.expect_exact(self.WAITING)
            phone.type("y")
            self.assertEqual(first.finish(), 0)
            second.expect_exact(PUSH_LINE)
            self.assertEqual(len(phone.wait_for_requests(2)), 2)
            phone.type("y")
            self.assertEqual(second.finish(), 0, second.screen)
        self.assertIn("the-second", second.screen)
        self.assertNotRegex(second.screen, PASSWORD)
        self.assertNotIn("REQUEST_PENDING", second.screen)


class OtherWays(HostCase):
    def test_a_user_without_a_token_gets_the_password_prompt_alone(self):
        child = self.sudo(user="bob")
        child.expect(r"password for bob: |Password: ")
        child.sendline(password_of("bob"))
        self.assertEqual(child.finish(), 0)
        self.assertNotIn("phone", child.screen)

    def test_sudo_that_a_program_answers_shows_the_programs_prompt_and_rings_no_phone(self):
        """As Ansible's become calls it at a terminal."""
        with self.phone("approve") as phone:
            child = self.sudo("-S -p become-key: id -un")
            child.expect_exact("become-key:")
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
            self.assertEqual(phone.requests(), [])
        self.assertIn("root", child.screen)

    def test_sudo_n_fails_at_once_and_rings_no_phone(self):
        with self.phone("approve") as phone:
            began = time.monotonic()
            child = self.sudo("-n id -un")
            assert_refused(child.finish())
            # Waiting for a phone would take 30 s.
            self.assertLess(time.monotonic() - began, 25)
            self.assertEqual(phone.requests(), [])
        self.assertEqual(self.requests_at_the_service(), 0)


if __name__ == "__main__":
    unittest.main()
