"""SDDM of Debian 13 with its own greeter, on an Xvfb in place of the screen, typed at by a virtual keyboard."""

import unittest

import greeter_case
from greeter_case import SESSIONS, X_DESKTOP, GreeterCase, Typed
from host_case import shared_host

#: SDDM's words for the X server begin with `-nolisten tcp -background none -seat seat0 vt-1`.
SCREEN = """#!/bin/bash
while [[ $# -gt 0 ]]; do
    case $1 in -displayfd | -auth) words+=("$1" "$2") && shift ;; esac
    shift
done
exec Xvfb :8 -noreset -nolisten tcp -ac "${words[@]}"
"""
CONFIGURATION = """[General]
DisplayServer=x11
GreeterEnvironment=QT_QUICK_BACKEND=software
[X11]
ServerPath=/usr/local/bin/test-screen
DisplayCommand=/bin/true
DisplayStopCommand=/bin/true
SessionDir=/usr/local/share/test-sessions
[Wayland]
SessionDir=/usr/local/share/no-sessions
"""
#: It has its name once it does not end by SIGTERM any more.
STUBBORN = "#!/bin/bash\ntrap '' TERM\nexec -a stubborn sleep infinity\n"
#: What udev would write down of a graphics card, here of a device that every computer has: SDDM waits for a seat with one.
SEAT_OF = "c1:3"
UDEV = "I:1\nG:master-of-seat\nG:seat\nQ:master-of-seat\nQ:seat\nV:1\n"


class SDDM(Typed, greeter_case.Greeters, GreeterCase):
    """SDDM asks for the password first, and answers each of PAM's questions with it."""

    service = "sddm"
    display = ":8"
    files = {
        "/etc/sddm.conf.d/test.conf": CONFIGURATION,
        "/usr/local/share/test-sessions/test.desktop": SESSIONS,
        "/usr/local/bin/test-screen": SCREEN,
        "/usr/local/bin/test-desktop": X_DESKTOP,
    }
    greeter = "sddm-greeter-qt6"

    @classmethod
    def setUpClass(cls):
        host = shared_host(cls.release)
        for path, text in {f"data/{SEAT_OF}": UDEV, f"tags/master-of-seat/{SEAT_OF}": ""}.items():
            host.path(f"/run/udev/{path}").parent.mkdir(parents=True, exist_ok=True)
            host.path(f"/run/udev/{path}").write_text(text)
        host.run("systemctl", "restart", "systemd-logind")
        super().setUpClass()

    def setUp(self):
        self.host.run("systemctl", "restart", "sddm")
        super().setUp()

    def begin(self):
        pass

    def answer(self, text):
        self.type_line(text)

    def answer_next(self, text):
        """At the next try: Enter has answered the password's question, too."""
        self.assert_refused()
        self.answer(text)

    def assert_refused(self):
        self.assert_eventually(
            "it is not refused", lambda: "Message received from daemon: LoginFailed" in self.journal())


class Stubborn(SDDM):
    """A desktop that does not end by SIGTERM, for which sddm-helper would wait for five seconds."""

    desktop = "^stubborn infinity$"
    files = {**SDDM.files, "/usr/local/bin/test-desktop": STUBBORN}
    test_the_password_is_taken_at_the_same_prompt = None
    test_after_a_denial_the_next_try_takes_the_password = None
    test_after_nobody_answered_the_password_is_taken = None
    test_while_the_service_is_down_the_password_is_taken = None

    def test_an_approval_opens_a_session_and_leaving_ends_it(self):
        super().test_an_approval_opens_a_session_and_leaving_ends_it()
        self.assertIn("killed user=alice service=sddm", self.journal())


if __name__ == "__main__":
    unittest.main()
