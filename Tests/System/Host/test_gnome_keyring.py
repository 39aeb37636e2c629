"""GNOME's keyring after a sign-in by phone, with `keyring = sealed`: pamtester stands for the display manager."""

import unittest

from desktop_case import RUNTIME, DesktopTestCase
from support import password_of, testhost

STACK = """@include common-auth
auth optional pam_gnome_keyring.so
@include common-account
@include common-session
session optional pam_gnome_keyring.so auto_start
"""
LOCKED = (
    "gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
    "/org/freedesktop/secrets/collection/login", "--method", "org.freedesktop.DBus.Properties.Get",
    "org.freedesktop.Secret.Collection", "Locked")


class Keyring(DesktopTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Her service manager and its bus.
        cls.desktop()
        cls.host.path("/etc/pam.d/lightdm").write_text(STACK)
        # With the module's session line, which enable's profile has put into common-session.
        cls.enterClassContext(cls.host.changed(
            testhost.CONFIGURATION, lambda text: text + "keyring = sealed\n"))
        said = cls.host.run("iampassctl", "enable", "--desktop")
        assert "keyring: passwords are sealed by a key on this disk" in said, said

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", "gnome-keyring-d", check=False)
        self.host.run("iampassctl", "keyring", "forget", "alice")
        self.assertEqual(self.kept(), [])

    def sign_in(self, answer):
        """As a greeter does; the keyring starts with the session."""
        self.host.run("pkill", "-KILL", "-x", "gnome-keyring-d", check=False)
        child = self.host.terminal("pamtester lightdm alice authenticate open_session")
        child.expect("on your phone: ")
        child.sendline(answer)
        child.expect("successfully authenticated", timeout=60)
        child.expect("successfully opened a session", timeout=60)
        child.finish()

    def is_locked(self):
        said = self.host.run(*LOCKED, user="alice", environment={
            "XDG_RUNTIME_DIR": RUNTIME, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={RUNTIME}/bus"}, timeout=60)
        self.assertIn(said.strip(), ("(<true>,)", "(<false>,)"))
        return "true" in said

    def kept(self):
        return self.host.run("sh", "-c", "ls /var/lib/iampass/keyring 2>/dev/null", check=False).split()

    def test_the_keyring_opens_after_an_approval(self):
        self.sign_in(password_of("alice"))
        self.assert_eventually("it is not sealed", lambda: self.kept() == ["1000.host"])
        self.assertFalse(self.is_locked())
        with self.phone("approve"):
            self.sign_in("")
        self.assertFalse(self.is_locked())

    def test_without_a_sealed_password_it_stays_locked(self):
        self.sign_in(password_of("alice"))
        self.assert_eventually("it is not sealed", lambda: self.kept() == ["1000.host"])
        self.host.run("iampassctl", "keyring", "forget", "alice")
        with self.phone("approve"):
            self.sign_in("")
        self.assertTrue(self.is_locked())

    def test_a_changed_password_is_noticed(self):
        self.sign_in(password_of("alice"))
        self.assert_eventually("it is not sealed", lambda: self.kept() == ["1000.host"])
        shadow = self.host.path("/etc/shadow")
        before = shadow.read_text()
        self.addCleanup(shadow.write_text, before)
        shadow.write_text(before.replace("alice:", "alice:*", 1))
        with self.phone("approve"):
            self.sign_in("")
        self.assertEqual(self.kept(), [])
        self.assertTrue(self.is_locked())

    def test_check_knows_the_line(self):
        said = self.host.run("iampassctl", "check", check=False)
        self.assertNotIn("asks the phone 2 times", said)
        self.assertNotIn("keyring", said)


if __name__ == "__main__":
    unittest.main()
