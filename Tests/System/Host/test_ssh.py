"""Real sshd with keyboard-interactive."""

import re
import time
import unittest

from host_case import HostCase
from Support.Hosts.testhost import CHOOSE_PROMPT, SSH_OPENED, password_of
from Support.Service.never import assert_refused


class Approved(HostCase):
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
        self.assertEqual(len(re.findall(SSH_OPENED, self.journal())), 2)

    def test_the_session_lives_until_the_shell_exits(self):
        with self.phone("approve"):
            child = self.ssh(options="-tt", command="'echo in-here; read -r line'")
            self.press_enter_for_the_phone(child)
            child.expect_exact("in-here")
            self.assertEqual(len(self.live_sessions()), 1)
            child.sendline("")
            child.finish()
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())


class Copying(HostCase):
    """By a user without a key."""

    FILE = "/home/alice/copied"
    BY_SCP = f"/etc/hostname alice@localhost:{FILE}"
    BY_SFTP = f"alice@localhost:/etc/hostname {FILE}"

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "rm", "-f", self.FILE)

    def test_an_approval_copies_a_file(self):
        with self.phone("approve"):
            child = self.host.terminal(f"scp {self.BY_SCP}", user="visitor")
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0)
        self.assertTrue(self.host.path(self.FILE).exists())

    def test_in_batch_mode_it_fails_at_once_and_rings_no_phone(self):
        # With this setting a phone rings as soon as anyone asks for keyboard-interactive.
        with self.host.module_arguments("prompt=push"), self.phone("approve") as phone:
            for command in (f"scp -o BatchMode=yes {self.BY_SCP}", f"sftp -o BatchMode=yes {self.BY_SFTP}"):
                with self.subTest(command=command):
                    began = time.monotonic()
                    child = self.host.terminal(command, user="visitor")
                    assert_refused(child.finish())
                    # Waiting for a phone would take 30 s.
                    self.assertLess(time.monotonic() - began, 25)
                    self.assertIn("Permission denied", child.screen)
            self.assertEqual(phone.requests(), [])
        self.assertEqual(self.requests_at_the_service(), 0)
        self.assertFalse(self.host.path(self.FILE).exists())


if __name__ == "__main__":
    unittest.main()
