"""Real screen lockers of Debian 13, run by their user on screens without a monitor, and typed at by virtual keyboards."""

import time
import unittest

from desktop_case import REPEAT, DesktopTestCase
from support import password_of


class Lockers:
    """What holds for each locker. A class that has this is of one locker."""

    #: The command that returns once the screen is locked.
    command = ""
    #: The name of its process, and its PAM service.
    name = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.desktop()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", self.name, check=False)
        self.lock()

    def lock(self):
        # What runs on behind the command must not keep our pipe.
        self.alice("sh", "-c", f"exec >/dev/null 2>&1; {self.command}")
        self.assertTrue(self.is_locked())

    def is_locked(self):
        return bool(self.host.run("pgrep", "-x", self.name, check=False).strip())

    def assert_unlocked(self, patience=30):
        self.assert_eventually("the screen stays locked", lambda: not self.is_locked(), patience)

    def press_enter(self):
        self.type("")

    def unlock_by_password(self):
        """Types it until it is taken: a locker takes nothing while it waits for an earlier answer."""
        deadline = time.monotonic() + 60
        while self.is_locked():
            self.assertLess(time.monotonic(), deadline, f"the password unlocks nothing: {self.journal()[-4_000:]}")
            self.type(password_of("alice"))
            end = time.monotonic() + REPEAT
            while self.is_locked() and time.monotonic() < end:
                time.sleep(0.05)

    def test_an_approval_unlocks(self):
        with self.phone("approve") as phone:
            self.press_enter()
            self.assert_unlocked()
            self.assertEqual(len(phone.requests()), 1)
        self.assertEqual(len(self.broker_lines(f"approved user=alice service={self.name} ")), 1)
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())
        self.assertEqual(self.host.run("ls", "/run/iampass/sessions"), "")

    def test_after_a_denial_the_password_unlocks(self):
        with self.phone("deny") as phone:
            self.press_enter()
            self.assert_eventually("it is not denied", lambda: self.broker_lines("reason=denied on the phone"))
            self.assertTrue(self.is_locked())
            self.unlock_by_password()
            self.assertEqual(len(phone.requests()), 1)

    def test_after_nobody_answered_the_password_unlocks(self):
        with self.short_time():
            self.press_enter()
            self.assert_eventually("somebody answered", lambda: self.broker_lines("reason=not answered"))
            self.assertTrue(self.is_locked())
            self.unlock_by_password()

    def test_while_the_service_is_down_the_password_unlocks(self):
        with self.host.service_down():
            self.press_enter()
            self.assert_eventually("it was reached", lambda: self.broker_lines("reason=unavailable"))
            self.assertTrue(self.is_locked())
            self.unlock_by_password()

    def test_without_a_broker_the_password_unlocks(self):
        with self.broker_down():
            self.unlock_by_password()

    def test_after_the_broker_was_killed_the_password_or_the_phone_unlocks(self):
        with self.phone("ask") as phone:
            self.press_enter()
            phone.wait_for_requests(1)
            self.kill_broker()
        self.assert_eventually("the broker is there", lambda: self.host.run(
            "systemctl", "is-active", "iampass-broker.service", check=False).strip() != "active")
        self.assertTrue(self.is_locked())
        self.unlock_by_password()
        # The request of the killed broker is open, and holds back others.
        with self.phone("deny"):
            self.assert_eventually("it stays open", lambda: "request ended" in self.journal())
        self.lock()
        with self.phone("approve"):
            self.press_enter()
            self.assert_unlocked()


class Wayland:
    def type(self, text):
        self.alice("wtype", "-s", "200", *([text] if text else []), "-s", "100", "-k", "Return")


class X11:
    screen = {"DISPLAY": ":7"}

    def type(self, text):
        if text:
            self.alice("xdotool", "type", "--delay", "20", text)
        self.alice("xdotool", "key", "Return")


class Swaylock(Wayland, Lockers, DesktopTestCase):
    name = "swaylock"
    command = "swaylock -f -c 000000"


class I3lock(X11, Lockers, DesktopTestCase):
    name = "i3lock"
    command = "i3lock"


class LockedHint(DesktopTestCase):
    """What logind is told, which `on_walkaway = lock` goes by."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.terminal = cls.desktop()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", "swaylock", check=False)
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", "swayidle", check=False)
        lines = self.host.run("loginctl", "list-sessions", "--no-legend").splitlines()
        self.session = next(words[0] for words in map(str.split, lines) if words[2] == "alice" and words[5] == "user")

    def hint(self):
        return self.host.run("loginctl", "show-session", self.session, "--property=LockedHint", "--value").strip()

    def lock_by(self, command):
        """As logind asks, through swayidle in the session."""
        self.terminal.sendline(
            f"WAYLAND_DISPLAY=wayland-1 swayidle -w lock '{command}' >/dev/null 2>&1 & sleep 1; echo ready-$((1 + 1))")
        self.terminal.expect("ready-2")
        self.host.run("loginctl", "lock-session", self.session)
        self.assert_eventually(
            "it is not locked", lambda: self.host.run("pgrep", "-x", "swaylock", check=False).strip())

    def test_swaylock_does_not_tell_logind_and_check_says_so(self):
        self.lock_by("swaylock -f -c 000000")
        self.assertEqual(self.hint(), "no")
        said = self.host.run("iampassctl", "check", check=False)
        self.assertRegex(said, "swaylock.* does not tell logind that the screen is locked: on_expiry, on_unreachable")

    def test_the_script_of_the_manual_tells_logind(self):
        self.lock_by("/home/alice/lock-screen")
        self.assert_eventually("the hint is not set", lambda: self.hint() == "yes")
        self.alice("wtype", "-s", "200", password_of("alice"), "-k", "Return")
        self.assert_eventually("the hint stays", lambda: self.hint() == "no")


if __name__ == "__main__":
    unittest.main()
