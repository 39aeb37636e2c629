"""KDE Plasma 6 without a monitor: the locker that KWin starts on Wayland, and ksmserver on X, and a phone that leaves."""

import time
import unittest

import test_lockers
from helper_case import HelperCase
from plasma_case import SAID, WORDS, KDECase, Plasma
from Support.Hosts import testhost


class Lockers(test_lockers.Lockers):
    """kscreenlocker_greet, started as in a user's session. It logs what PAM says to it."""

    name = "kde"
    process = "kscreenlocker_greet"[:15]
    after_silence = "same"

    @classmethod
    def desktop(cls):
        """Gone with the class: other lockers have desktops of their own."""
        # The terminal ends with whoever holds it.
        cls.terminal = cls.signed_in_by_password()
        cls.addClassCleanup(cls.wait_until, "alice is gone", lambda: "alice" not in cls.host.run("loginctl"))
        cls.addClassCleanup(cls.host.run, "loginctl", "terminate-user", "alice")

    def setUp(self):
        super().setUp()
        # Before it is killed: another one would come, and the screen would stay locked.
        self.addCleanup(self.assert_unlocked)
        self.addCleanup(self.host.run, "loginctl", "unlock-session", self.session())

    def lock(self):
        def asked_and_locked():
            # A desktop that has just begun may not listen yet.
            self.host.run("loginctl", "lock-session", self.session())
            time.sleep(0.5)
            return self.is_locked()

        self.before_the_lock()
        self.assert_eventually("it is not locked", asked_and_locked)

    def test_without_a_broker_the_password_unlocks(self):
        with self.broker_down():
            # It may have begun to ask before.
            self.host.run("loginctl", "unlock-session", self.session())
            self.assert_unlocked()
            self.lock()
            self.unlock_by_password("same")


class KWin(Lockers, Plasma):
    pass


class KSMServer(Lockers, KDECase):
    """What locks in Plasma on X, there without KWin."""

    kind = "x11"
    begins = f"DISPLAY=:7 XDG_CURRENT_DESKTOP=KDE {WORDS} ksmserver >{SAID}"
    program = "ksmserver"
    screen = {"DISPLAY": ":7"}

    def press(self, *keys):
        for key in keys:
            named = {"Return": "Return", "Shift": "Shift_L"}.get(key)
            self.alice("xdotool", *(["key", named] if named else ["type", "--delay", "20", key]))


class Walkaway(HelperCase, Plasma):
    def sign_in(self):
        with self.host.changed("/etc/pam.d/common-session", self.with_kind):
            terminal = self.login_shell()
        self.begin(terminal)
        return terminal

    def unlock_by_phone(self):
        """With kde not in `services`."""
        def change(text):
            lines = [line for line in text.splitlines() if not line.startswith("services")]
            return "\n".join([*lines, "services = sudo login sshd", "unlock = walkaway", ""])
        return self.host.changed(testhost.CONFIGURATION, change)

    def test_leaving_locks_the_screen_and_only_an_approval_at_it_unlocks(self):
        with self.unlock_by_phone(), self.configured("on_walkaway = lock"):
            self.host.run("systemctl", "start", "iampass-broker.socket")
            self.sign_in()
            self.before_the_lock()
            self.leave()
            self.assert_eventually("it is not locked", self.is_locked)
            self.assert_eventually("nobody says so", lambda: ", by logind's hint" in self.journal())
            self.come_back()
            self.assert_eventually("the helper sees it back", lambda: self.watched_count() == 1)
            self.assertTrue(self.is_locked())
            with self.phone("approve") as phone:
                self.enter_for_the_phone("kde", lambda: self.type(""))
                self.assert_eventually("it stays locked", lambda: not self.is_locked())
                self.assertEqual(len(phone.requests()), 1)

    def test_leaving_ends_all_of_the_desktop(self):
        terminal = self.sign_in()
        self.leave()
        self.assert_over(terminal)
        self.assert_eventually("the desktop is left", lambda: not self.host.run("pgrep", "-u", "alice", check=False))
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
