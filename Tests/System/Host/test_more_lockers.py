"""Lockers of X whose own dialog asks: xsecurelock, and those of MATE and Xfce."""

import time
import unittest

import test_lockers
from desktop_case import PROMPT, DesktopCase
from Support.Hosts import testhost


class Asking(test_lockers.X11, test_lockers.Lockers):
    """A locker whose dialog, a process of its own, comes at the first key. That key is lost."""

    release = "13-greeters"
    dialog = ""
    after_silence = "same"

    def type(self, text):
        if not self.dialog_is_there():
            self.alice("xdotool", "mousemove_relative", "--", "10", "10", "key", "BackSpace")
            self.assert_eventually("it asks nothing", lambda: self.dialog_is_there() or not self.is_locked())
            # Until it takes keys.
            time.sleep(1)
        self.typed_at = self.dialog_is_there()
        super().type(text)

    def dialog_is_there(self):
        return self.host.run("pgrep", "-x", self.dialog[:15], check=False).strip()


class Xsecurelock(Asking, DesktopCase):
    name = "xsecurelock"
    # What it shows after a wrong password stays for a while, and was not tried.
    test_a_wrong_password_is_refused_once_and_asks_no_phone = None
    # As Debian brings it, without a file of its own.
    asks_as = "common-auth"
    dialog = "authproto_pam"
    command = ("rm -f /tmp/is-locked; XSECURELOCK_NO_COMPOSITE=1"
               " XSECURELOCK_SAVER=saver_blank xsecurelock -- touch /tmp/is-locked &"
               " while ! [ -e /tmp/is-locked ]; do sleep 0.1; done")

    def test_the_phone_shows_its_own_name(self):
        with self.phone("deny") as phone:
            self.press_enter()
            self.assert_eventually("it is not denied", lambda: self.broker_lines("reason=denied on the phone"))
            self.assertIn("xsecurelock (says the user's own program)", phone.printed)
            self.unlock_by_password("next")

    def unlock_by_password(self, taken):
        if taken == "next":
            # It shows for a moment that it has failed.
            self.assert_eventually("the dialog stays", lambda: self.dialog_is_there() != self.typed_at)
        super().unlock_by_password(taken)


class ApprovedXsecurelock(Xsecurelock):
    """With `unlock = approved`: `services` lists no locker, and this one runs in the session whose screen it locks."""

    def setUp(self):
        self.enterContext(self.unlock("approved"))
        super().setUp()

    def unlock(self, policy):
        def change(text):
            lines = [line for line in text.splitlines() if not line.startswith(("services", "unlock"))]
            return "\n".join([*lines, "services = sudo login sshd", f"unlock = {policy}", ""])
        return self.host.changed(testhost.CONFIGURATION, change)

    def lock(self):
        self.in_the_session(f"DISPLAY={self.screen['DISPLAY']} sh -c 'exec >/dev/null 2>&1; {self.command}'")
        self.assertTrue(self.is_locked())

    def in_the_session(self, command):
        """What the command shows."""
        self.desktop().sendline(f"{command}; echo done-$((1 + 1))")
        self.desktop().expect("done-2")
        shown = self.desktop().before
        self.desktop().expect(PROMPT)
        return shown

    def lock_again(self, lock):
        """The screen that the test found locked, by another locker."""
        self.host.run("pkill", "-KILL", "-x", self.process)
        self.assert_unlocked()
        lock()
        self.assertTrue(self.is_locked())

    def test_a_locker_outside_of_the_session_takes_the_password_alone(self):
        self.lock_again(super().lock)
        with self.phone("approve") as phone:
            self.type("")
            # pam_unix had Enter for the password.
            self.assert_eventually("Enter is not taken", lambda: self.passwords(self.pam_service) == ["refused"])
            self.unlock_by_password("same")
            self.assertEqual(len(phone.requests()), 0)

    def test_with_unlock_off_it_takes_the_password_alone(self):
        with self.unlock("off"), self.phone("approve") as phone:
            self.type("")
            self.assert_eventually("Enter is not taken", lambda: self.passwords(self.pam_service) == ["refused"])
            self.unlock_by_password("same")
            self.assertEqual(len(phone.requests()), 0)

    def test_what_another_program_is_approved_opens_nothing(self):
        with self.phone("approve") as phone:
            shown = self.in_the_session(f"echo | pamtester {self.pam_service} alice authenticate")
            self.assertIn("successfully authenticated", shown)
            self.assertEqual(len(phone.requests()), 1)
        self.assertTrue(self.is_locked())

    def test_a_session_elsewhere_that_is_approved_opens_nothing(self):
        with self.phone("approve") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0)
            self.assertEqual(len(phone.requests()), 1)
        self.assertTrue(self.is_locked())

    def test_a_phone_that_comes_back_opens_nothing(self):
        with self.phone("approve") as phone:
            for word in ("leave", "return"):
                self.host.run("iampass-phone", word, "--state", testhost.PHONE_STATE, user="phone")
            self.assertEqual(len(phone.requests()), 0)
        self.assertTrue(self.is_locked())


class ScreenSaver(Asking):
    @property
    def command(self):
        # Started in each turn: the one that is there may be the last test's, which is about to be gone.
        return (f"until pgrep -x {self.process} || {{ {self.name} & false; }}; {self.name}-command -l &&"
                f" {self.name}-command -q | grep -q 'is active'; do sleep 0.2; done")

    @property
    def dialog(self):
        return f"{self.name}-dialog"

    def is_locked(self):
        return "is active" in self.alice(f"{self.name}-command", "-q", check=False)

    def dialog_is_there(self):
        return self.host.run("pgrep", "-f", self.dialog, check=False).strip()


class MateScreensaver(ScreenSaver, DesktopCase):
    name = "mate-screensaver"


class Xfce4Screensaver(ScreenSaver, DesktopCase):
    name = "xfce4-screensaver"


if __name__ == "__main__":
    unittest.main()
