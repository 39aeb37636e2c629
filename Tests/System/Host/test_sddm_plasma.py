"""SDDM with KDE Plasma 6 on Wayland: its own greeter on an Xvfb, and a desktop that KWin draws without a monitor."""

import unittest

import test_sddm
from greeter_case import SESSIONS
from plasma_case import WORDS, Plasma

#: Wayland's sessions alone.
CONFIGURATION = (test_sddm.CONFIGURATION.replace("test-sessions", "other").replace("no-sessions", "test-sessions")
                 .replace("other", "no-sessions"))


class SDDM(test_sddm.SDDM, Plasma):
    """Signed in by phone, and what the phone's leaving ends is a whole desktop."""

    files = {
        **test_sddm.SDDM.files,
        "/etc/sddm.conf.d/test.conf": CONFIGURATION,
        "/usr/local/share/test-sessions/test.desktop": SESSIONS,
        "/usr/local/bin/test-desktop": f"#!/bin/sh\nexec env {WORDS} startplasma-wayland\n",
    }
    # The greeter is the same: see test_sddm.
    test_the_password_is_taken_at_the_same_prompt = None
    test_after_a_denial_the_next_try_takes_the_password = None
    test_after_nobody_answered_the_password_is_taken = None
    test_while_the_service_is_down_the_password_is_taken = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Without a graphics card SDDM offers no session of Wayland.
        cls.host.run("mkdir", "--parents", "/dev/dri")
        cls.addClassCleanup(cls.host.run, "rmdir", "/dev/dri")

    def desktop_runs(self):
        return self.desktop_is_there()

    def assert_signed_in(self):
        session = super().assert_signed_in()
        self.assertEqual(self.of_logind(session, "Type"), "wayland")
        return session

    def test_an_approval_opens_a_session_and_leaving_ends_it(self):
        super().test_an_approval_opens_a_session_and_leaving_ends_it()
        self.assert_eventually("the desktop is left", lambda: not self.host.run("pgrep", "-u", "alice", check=False))


if __name__ == "__main__":
    unittest.main()
