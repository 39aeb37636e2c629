"""Real sshd with keyboard-interactive."""

import re
import time
import unittest

import pexpect

from support import CHOOSE_PROMPT, CODE_PROMPT, HostTestCase, password_of


class Approved(HostTestCase):
    def test_enter_and_an_approval_open_a_shell_without_a_password(self):
        with self.phone("approve"):
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0)
        self.assertRegex(child.screen, r"(?m)^alice$")

    def test_push_mode_asks_nothing_first(self):
        with self.host.module_arguments("prompt=push"), self.phone("approve"):
            child = self.ssh()
            self.pass_code_prompt(child)
            self.assertEqual(child.finish(), 0)
        self.assertNotIn("Password", child.screen)
        self.assertRegex(child.screen, r"(?m)^alice$")

    def test_the_password_typed_at_the_choice_signs_in_and_rings_no_phone(self):
        with self.phone("approve") as phone:
            child = self.ssh()
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
            self.assertEqual(phone.requests(), [])

    def test_the_shell_gets_no_session_variable(self):
        with self.phone("approve"):
            child = self.ssh(command="env")
            self.press_enter_for_the_phone(child)
            child.finish()
        self.assertIn("SSH_CONNECTION", child.screen)
        self.assertNotIn("IAMPASS_SESSION", child.screen)

    def test_the_shell_has_a_logind_session(self):
        with self.phone("approve"):
            child = self.ssh(command="env")
            self.press_enter_for_the_phone(child)
            child.finish()
        self.assertIn("XDG_SESSION_ID", child.screen)

    def test_the_session_lives_until_the_shell_exits(self):
        with self.phone("approve"):
            child = self.ssh(options="-tt", command="'echo in-here; read -r line'")
            self.press_enter_for_the_phone(child)
            child.expect_exact("in-here")
            self.assertEqual(len(self.live_sessions()), 1)
            child.sendline("")
            child.finish()
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())


class MatchCode(HostTestCase):
    def test_the_code_stands_in_the_prompt_and_typing_it_on_the_phone_opens_a_shell(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            child = self.ssh()
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
            child.expect(CODE_PROMPT)
            phone.type(child.match[1])
            self.assert_eventually("the phone has not answered", lambda: "approved" in phone.printed)
            child.sendline("")
            self.assertEqual(child.finish(), 0, phone.printed)
        self.assertRegex(child.screen, r"(?m)^alice$")

    def test_enter_before_the_phone_has_answered_waits_for_it(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            child = self.ssh()
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
            child.expect(CODE_PROMPT)
            code = child.match[1]
            child.sendline("")
            phone.wait_for_requests(1)
            phone.type(code)
            self.assertEqual(child.finish(), 0, phone.printed)


class Refused(HostTestCase):
    def test_a_denial_opens_nothing_and_is_one_request(self):
        with self.phone("deny") as phone:
            child = self.ssh(options="-o NumberOfPasswordPrompts=3")
            self.press_enter_for_the_phone(child)
            while child.expect([CHOOSE_PROMPT, "assword: ", pexpect.EOF], timeout=20) != 2:
                child.sendline("")
            child.close()
            self.assertNotEqual(child.exitstatus, 0)
            self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assertEqual(self.requests_at_the_service(), 1)

    def test_batch_mode_fails_at_once_and_rings_no_phone(self):
        with self.phone("approve") as phone:
            began = time.monotonic()
            child = self.ssh(options="-o BatchMode=yes")
            self.assertNotEqual(child.finish(), 0)
            # Waiting for a phone would take 30 s.
            self.assertLess(time.monotonic() - began, 15)
            self.assertEqual(phone.requests(), [])

    def test_no_answer_falls_to_the_password(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore"):
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            child.expect("assword: ", timeout=60)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)


class Names(HostTestCase):
    def first_prompt(self, name):
        child = self.ssh(name)
        child.expect(r"\S[^\n]*: ")
        prompt = child.after
        # ssh that only loses its terminal still sends an empty answer, which would ring.
        self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh")
        child.close(force=True)
        return re.sub(r"\(\S+@localhost\) ", "", prompt)

    def test_every_name_gets_the_same_prompt(self):
        prompts = {name: self.first_prompt(name) for name in ("alice", "bob", "nobody-of-this-name")}
        self.assertEqual(set(prompts.values()), {CHOOSE_PROMPT}, prompts)

    def test_a_user_without_a_token_signs_in_with_the_password(self):
        child = self.ssh("bob")
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline(password_of("bob"))
        self.assertEqual(child.finish(), 0)
        self.assertRegex(child.screen, r"(?m)^bob$")

    def test_enter_for_a_user_without_a_token_rings_no_phone(self):
        with self.phone("approve") as phone:
            child = self.ssh("bob", options="-o NumberOfPasswordPrompts=1")
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
            while child.expect(["assword: ", pexpect.EOF]) == 0:
                child.sendline("wrong")
            self.assertEqual(phone.requests(), [])


class Gone(HostTestCase):
    def test_a_client_that_vanishes_leaves_no_worker(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore") as phone:
            child = self.ssh(options="-o ControlPath=none")
            self.press_enter_for_the_phone(child)
            phone.wait_for_requests(1)
            self.assertTrue(self.host.workers(), "no worker runs during the wait")
            self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh")
            child.close(force=True)
            self.assert_eventually("a worker outlived the wait", lambda: not self.host.workers())

    def test_sshd_killed_during_the_wait_leaves_no_worker(self):
        with self.phone("ignore") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            phone.wait_for_requests(1)
            self.assertTrue(self.host.workers(), "no worker runs during the wait")
            self.host.run("pkill", "-KILL", "-f", r"^sshd: alice \[")
            self.assert_eventually("the worker outlived sshd", lambda: not self.host.workers())
            child.close(force=True)


if __name__ == "__main__":
    unittest.main()
