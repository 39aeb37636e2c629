"""GDM 48 of Debian 13, on a seat of this computer."""

import unittest

import gdm_tests
from gdm_case import PASSWORD_PROMPT, GDMCase
from keyring_case import SETTING, KeyringCase
from Support.Hosts import testhost


class OnDebian13(GDMCase):
    release = "13-gdm"


class Greeter(gdm_tests.Greeter, OnDebian13):
    pass


class Lock(gdm_tests.Lock, OnDebian13):
    pass


class Commands(gdm_tests.Commands, OnDebian13):
    pass


class Unlock(OnDebian13):
    """`unlock`, with GDM not in `services`. It needs a session at a seat."""

    def test_the_phone_is_asked_for_a_locked_screen_alone(self):
        self.enterContext(self.host.changed(
            testhost.CONFIGURATION, lambda text: text.replace("@desktop", "") + "unlock = approved\n"))
        self.take_the_password(self.greeter, prompt=PASSWORD_PROMPT)
        self.start(self.greeter, "alice")
        lock = self.lock_screen()
        with self.phone("approve") as phone:
            self.approve(lock)
            self.assertEqual(len(phone.requests()), 1)
        self.assert_eventually("the request is open", lambda: not self.live_sessions())
        self.assertEqual(self.records(), [])


class Keyring(KeyringCase, OnDebian13):
    """`keyring = sealed`, with the line for GNOME's keyring in GDM's own PAM file."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.enterClassContext(cls.host.changed(testhost.CONFIGURATION, lambda text: text + SETTING))
        cls.host.run("iampassctl", "enable", "--desktop")

    def sign_out(self):
        """GDM brings a greeter back on its first screen alone: this asks for one."""
        self.host.run("loginctl", "terminate-user", "alice")
        self.assert_eventually("a record is left", lambda: not self.records())
        self.greeter = self.second_greeter()

    def test_the_keyring_opens_after_an_approval_while_the_password_is_kept(self):
        self.take_the_password(self.greeter)
        self.start(self.greeter, "alice")
        self.assert_sealed()
        # A keyring that has just been made is not on the bus before the next sign-in.
        self.sign_out()
        self.sign_in()
        self.assertFalse(self.is_locked())
        self.sign_out()
        self.host.run("iampassctl", "keyring", "forget", "alice")
        self.sign_in()
        self.assertTrue(self.is_locked())


if __name__ == "__main__":
    unittest.main()
