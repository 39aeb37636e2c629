"""Real sudo-rs and doas on Debian 13."""

import unittest

from host_case import HostCase
from Support.Hosts import testhost
from Support.Hosts.testhost import PUSH_LINE, password_of
from Support.Service.never import assert_refused


class SudoLike(HostCase):
    release = "13-desktop"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.run("usermod", "--append", "--groups", "sudo", "alice")
        cls.host.path("/etc/doas.conf").write_text("permit alice\n")
        cls.host.path("/etc/doas.conf").chmod(0o400)

    def terminal(self, words):
        return self.host.terminal(words, user="alice")


class SudoRS(SudoLike):
    def test_an_approval_runs_the_command(self):
        with self.phone("approve"):
            child = self.terminal("sudo-rs id -un")
            self.assertEqual(child.finish(), 0, child.screen)
        self.assertIn(PUSH_LINE, child.screen)
        self.assertRegex(child.screen, r"(?m)^root\r?$")

    def test_a_denial_is_a_refusal(self):
        with self.phone("deny") as phone:
            child = self.terminal("sudo-rs id -un")
            assert_refused(child.finish(), child.screen)
            self.assertEqual(len(phone.requests()), 1)

    def test_at_each_prompt_of_a_shell_no_phone_rings(self):
        with self.phone("approve") as phone:
            for words in ("-n true", "--non-interactive true", "-nv"):
                child = self.terminal(f"sudo-rs {words}")
                assert_refused(child.finish(), words)
            self.assertEqual(phone.requests(), [])
        self.assertEqual(self.requests_at_the_service(), 0)


class Doas(SudoLike):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(cls.host.changed(testhost.CONFIGURATION, lambda text: text))
        cls.host.run("iampassctl", "enable", "--services", "sudo,doas")

    def test_it_can_be_switched_on_and_nothing_is_wrong_with_it(self):
        said = self.host.run("iampassctl", "check", check=False)
        self.assertNotRegex(said, r"problem.*doas")

    def test_an_approval_runs_the_command_and_nothing_stays_open(self):
        with self.phone("approve"):
            child = self.terminal("doas id -un")
            self.assertEqual(child.finish(), 0, child.screen)
        self.assertIn(PUSH_LINE, child.screen)
        self.assertRegex(child.screen, r"(?m)^root\r?$")
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())

    def test_a_denial_is_a_refusal(self):
        with self.phone("deny"):
            child = self.terminal("doas id -un")
            assert_refused(child.finish(), child.screen)

    def test_the_password_is_taken_after_nobody_answered(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore"):
            child = self.terminal("doas id -un")
            child.expect("assword: ", timeout=60)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0, child.screen)

    def test_it_asks_nothing_if_it_was_told_so(self):
        with self.phone("approve") as phone:
            assert_refused(self.terminal("doas -n id").finish())
            self.assertEqual(phone.requests(), [])


if __name__ == "__main__":
    unittest.main()
