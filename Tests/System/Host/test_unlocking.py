"""`unlock` with a real screen locker of Debian 13, started in the session whose screen it locks."""

import unittest

from desktop_case import PROMPT, DesktopCase
from Support.Hosts import testhost
from Support.Hosts.testhost import password_of


class Unlock(DesktopCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.terminal = cls.desktop()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", "swaylock", check=False)

    def unlock(self, policy):
        """No locker stands in `services`."""
        def change(text):
            lines = [line for line in text.splitlines() if not line.startswith(("services", "unlock"))]
            return "\n".join([*lines, "services = sudo login sshd", f"unlock = {policy}", ""])
        self.enterContext(self.host.changed(testhost.CONFIGURATION, change))
        self.host.run("systemctl", "start", "iampass-broker.socket")

    def lock_in_the_session(self):
        self.terminal.sendline("WAYLAND_DISPLAY=wayland-1 swaylock -f -c 000000; echo locked-$((1 + 1))")
        self.terminal.expect("locked-2")
        self.terminal.expect(PROMPT)
        self.assertTrue(self.is_locked())

    def lock_from_elsewhere(self):
        """By a program of the same user outside of the session."""
        self.alice("sh", "-c", "exec >/dev/null 2>&1; swaylock -f -c 000000")
        self.assertTrue(self.is_locked())

    def is_locked(self):
        return bool(self.host.run("pgrep", "-x", "swaylock", check=False).strip())

    def type(self, text):
        self.alice("wtype", "-s", "200", *([text] if text else []), "-s", "100", "-k", "Return")

    def unlock_by_password(self):
        self.again_until(
            lambda: not self.is_locked(), lambda: self.type(password_of("alice")), "the password unlocks nothing")

    def test_an_approval_opens_the_screen_of_a_locker_that_nobody_listed(self):
        self.unlock("approved")
        self.lock_in_the_session()
        with self.phone("approve") as phone:
            self.enter_for_the_phone("swaylock", lambda: self.type(""))
            self.assert_eventually("it stays locked", lambda: not self.is_locked())
            self.assertEqual(len(phone.requests()), 1)

    def test_a_locker_outside_of_the_session_takes_the_password_alone(self):
        self.unlock("approved")
        self.lock_from_elsewhere()
        with self.phone("approve") as phone:
            self.type("")
            self.unlock_by_password()
            self.assertEqual(len(phone.requests()), 0)

    def test_without_a_walkaway_the_screen_takes_the_password_alone(self):
        self.unlock("walkaway")
        self.lock_in_the_session()
        with self.phone("approve") as phone:
            self.unlock_by_password()
            self.assertEqual(len(phone.requests()), 0)


if __name__ == "__main__":
    unittest.main()
