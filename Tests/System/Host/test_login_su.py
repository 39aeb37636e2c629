"""Real login on a terminal, and real su."""

import unittest

from host_case import HostCase
from Support.Hosts.testhost import CHOOSE_PROMPT, password_of

SHELL_PROMPT = r"alice@workstation[^\n]*\$ "


class Login(HostCase):
    def sign_in(self):
        child = self.host.login_terminal()
        child.expect("login: ")
        child.sendline("alice")
        self.press_enter_for_the_phone(child)
        child.expect(SHELL_PROMPT)
        return child

    def test_an_approval_signs_in_on_a_terminal(self):
        with self.phone("approve"):
            child = self.sign_in()
            child.sendline("id -un; exit")
            child.expect(r"\nalice")
            child.finish()

    def test_the_session_lives_until_the_shell_exits(self):
        with self.phone("approve"):
            child = self.sign_in()
            self.assertEqual(len(self.live_sessions()), 1)
            child.sendline("exit")
            child.finish()
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())

    def test_the_shell_gets_no_session_variable(self):
        with self.phone("approve"):
            child = self.sign_in()
            child.sendline("env; exit")
            child.finish()
        self.assertIn("XDG_SESSION_ID", child.screen)
        self.assertNotIn("IAMPASS_SESSION", child.screen)

    def test_the_next_name_at_the_same_login_gets_the_password_prompt(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore"):
            child = self.host.login_terminal()
            child.expect("login: ")
            child.sendline("alice")
            self.press_enter_for_the_phone(child)
            child.expect("assword: ", timeout=60)
            child.sendline("wrong")
            child.expect("login: ")
            child.sendline("bob")
            child.expect("assword: ")
            child.sendline(password_of("bob"))
            child.expect(r"bob@workstation[^\n]*\$ ")
            child.sendline("exit")
            child.finish()


class Su(HostCase):
    def test_enter_and_an_approval_switch_the_user(self):
        with self.phone("approve"):
            child = self.host.terminal("su alice -c 'id -un'", user="visitor")
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0)
        self.assertRegex(child.screen, r"(?m)^alice$")

    def test_another_user_rings_no_phone_without_enter(self):
        with self.phone("approve") as phone:
            child = self.host.terminal("su alice -c 'id -un'", user="visitor")
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
            self.assertEqual(phone.requests(), [])


if __name__ == "__main__":
    unittest.main()
