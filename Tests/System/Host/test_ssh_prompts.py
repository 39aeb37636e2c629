"""Real sshd: what its prompts ask of whom, and what happens without an approval."""

import re
import time
import unittest

import pexpect

from host_case import HostCase
from Support.Hosts.testhost import CHOOSE_PROMPT, CODE_PROMPT, password_of
from Support.Service.never import assert_refused

#: As scripts sign in that know ssh's own prompts alone: what is typed at another one is typed into the password.
PXSSH = """
import sys
from pexpect import pxssh
shell = pxssh.pxssh(options={"StrictHostKeyChecking": "no"}, timeout=60)
shell.login("localhost", sys.argv[1], sys.argv[2], login_timeout=60)
shell.sendline("id -un")
shell.prompt()
print("ran as", shell.before.decode().split()[-1])
shell.logout()
"""


class MatchCode(HostCase):
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


class Refused(HostCase):
    def test_a_denial_opens_nothing_and_is_one_request(self):
        with self.phone("deny") as phone:
            child = self.ssh(options="-o NumberOfPasswordPrompts=3")
            self.press_enter_for_the_phone(child)
            while child.expect(["assword: ", pexpect.EOF]) == 0:
                child.sendline("")
            child.close()
            assert_refused(child.exitstatus)
            self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assertEqual(self.requests_at_the_service(), 1)

    def test_batch_mode_fails_at_once_and_rings_no_phone(self):
        with self.phone("approve") as phone:
            began = time.monotonic()
            child = self.ssh(options="-o BatchMode=yes")
            assert_refused(child.finish())
            # Waiting for a phone would take 30 s.
            self.assertLess(time.monotonic() - began, 25)
            self.assertEqual(phone.requests(), [])

    def test_without_a_terminal_it_rings_no_phone_and_ends(self):
        """ssh gives empty answers if it has nobody to ask, as under git."""
        with self.phone("approve") as phone:
            words = "ssh -T -o NumberOfPasswordPrompts=2 alice@localhost id -un".split()
            began = time.monotonic()
            shown = self.host.run("setsid", *words, user="visitor", check=False)
            self.assertIn("Permission denied", shown)
            # Waiting for a phone would take 30 s.
            self.assertLess(time.monotonic() - began, 25)
            self.assertEqual(phone.requests(), [])
        self.assertEqual(self.requests_at_the_service(), 0)
        self.assertIn("answered before anybody could read", self.journal())

    def test_no_answer_falls_to_the_password(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore"):
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            child.expect("assword: ", timeout=60)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)


class Names(HostCase):
    def first_prompt(self, name):
        child = self.ssh(name)
        child.expect(r"\S[^:]*: ")
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


class Scripts(HostCase):
    def test_pxssh_signs_in_by_password_and_rings_no_phone(self):
        for name in ("alice", "bob"):
            with self.subTest(name):
                said = self.host.run("python3", "-c", PXSSH, name, password_of(name), user="visitor")
                self.assertIn(f"ran as {name}", said)
        self.assertEqual(self.requests_at_the_service(), 0)


if __name__ == "__main__":
    unittest.main()
