"""GNOME's keyring after a sign-in by phone, with `keyring = sealed`: pamtester stands for the display manager."""

import unittest

from desktop_case import DesktopCase
from keyring_case import SETTING, KeyringCase
from Support.Hosts import testhost
from Support.Hosts.testhost import GREETER_PROMPT, password_of

FORGOT = "keyring: forgot the sealed password of alice\n"
STACK = """@include common-auth
auth optional pam_gnome_keyring.so
@include common-account
@include common-session
session optional pam_gnome_keyring.so auto_start
"""


class Keyring(KeyringCase, DesktopCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Her service manager and its bus.
        cls.desktop()
        cls.host.path("/etc/pam.d/lightdm").write_text(STACK)
        # With the module's session line, which enable's profile has put into common-session.
        cls.enterClassContext(cls.host.changed(
            testhost.CONFIGURATION, lambda text: text + SETTING))
        said = cls.host.run("iampassctl", "enable", "--desktop")
        assert "keyring: passwords are sealed by a key on this disk" in said, said

    def sign_in(self, answer):
        """As a greeter does; the keyring starts with the session."""
        self.host.run("pkill", "-KILL", "-x", "gnome-keyring-d", check=False)
        child = self.host.terminal("pamtester lightdm alice authenticate open_session")
        child.expect_exact(GREETER_PROMPT)
        child.sendline(answer)
        child.expect("successfully authenticated", timeout=60)
        child.expect("successfully opened a session", timeout=60)
        child.finish()

    def test_the_keyring_opens_after_an_approval(self):
        self.sign_in(password_of("alice"))
        self.assert_sealed()
        self.assertFalse(self.is_locked())
        with self.phone("approve"):
            self.sign_in("")
        self.assertFalse(self.is_locked())

    def test_without_a_sealed_password_it_stays_locked(self):
        self.sign_in(password_of("alice"))
        self.assert_sealed()
        self.host.run("iampassctl", "keyring", "forget", "alice")
        with self.phone("approve"):
            self.sign_in("")
        self.assertTrue(self.is_locked())

    def test_a_changed_password_is_noticed(self):
        self.sign_in(password_of("alice"))
        self.assert_sealed()
        shadow = self.host.path("/etc/shadow")
        before = shadow.read_text()
        self.addCleanup(shadow.write_text, before)
        shadow.write_text(before.replace("alice:", "alice:*", 1))
        with self.phone("approve"):
            self.sign_in("")
        self.assertEqual(self.kept(), [])
        self.assertTrue(self.is_locked())

    def test_disable_forgets(self):
        self.sign_in(password_of("alice"))
        self.assert_sealed()
        self.addCleanup(self.host.run, "iampassctl", "enable", "--desktop")
        self.assertIn(FORGOT, self.host.run("iampassctl", "disable"))
        self.assertEqual(self.kept(), [])

    def test_the_setting_off_and_enable_forget(self):
        self.sign_in(password_of("alice"))
        self.assert_sealed()
        self.addCleanup(self.host.run, "iampassctl", "enable", "--desktop")
        with self.host.changed(testhost.CONFIGURATION, lambda text: text.replace(SETTING, "keyring = off\n")):
            said = self.host.run("iampassctl", "check", check=False)
            self.assertIn("login passwords are still sealed here: alice", said)
            self.assertIn(FORGOT, self.host.run("iampassctl", "enable", "--desktop"))
        self.assertEqual(self.kept(), [])

    def test_check_knows_the_line(self):
        said = self.host.run("iampassctl", "check", check=False)
        self.assertNotIn("asks the phone 2 times", said)
        self.assertNotIn("keyring", said)


if __name__ == "__main__":
    unittest.main()
