"""Lockers of X whose own dialog asks: xsecurelock, and those of MATE and Xfce."""

import time
import unittest

import test_lockers
from desktop_case import DesktopCase


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
