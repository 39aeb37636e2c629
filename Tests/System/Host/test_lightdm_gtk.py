"""lightdm of Debian 13 with its GTK greeter, on an Xvfb in place of the screen, typed at by a virtual keyboard.

Its sessions also show which lockers the helper sees, with `on_walkaway = lock`.
"""

import unittest

import greeter_case
from greeter_case import SESSIONS, X_DESKTOP, GreeterCase, Typed

#: As in test_desktop, for another greeter.
CONFIGURATION = """[LightDM]
logind-check-graphical=false
[Seat:*]
type=xremote
xserver-display-number=9
session-wrapper=env
user-session=test
"""


#: As iampass-helper(8) shows it: tells logind of a screen saver of the session's bus.
LOCK_HINT = """#!/bin/sh
busctl --user --json=short monitor --match="type='signal',interface='$1',member='ActiveChanged'" |
while read -r line; do
    case $line in
    *'"data":[true]'*) hint=true ;;
    *'"data":[false]'*) hint=false ;;
    *) continue ;;
    esac
    busctl call --quiet org.freedesktop.login1 /org/freedesktop/login1/session/auto \\
        org.freedesktop.login1.Session SetLockedHint b "$hint"
done
"""


class GtkGreeter(Typed):
    service = "lightdm"
    display = ":9"
    files = {
        "/etc/lightdm/lightdm.conf.d/test.conf": CONFIGURATION,
        "/usr/share/xsessions/test.desktop": SESSIONS,
        "/usr/local/bin/test-desktop": X_DESKTOP,
    }
    greeter = "lightdm-gtk-greeter"

    @classmethod
    def setUpClass(cls):
        cls.start_screen()
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.asked = self.questions()
        self.is_asked = False

    def begin(self):
        """After a refusal the greeter asks alice by itself."""
        if not self.is_asked:
            self.type_line("alice")
            self.assert_asked()

    def questions(self):
        """How often the greeter was to show a question."""
        return self.host.run("cat", "/var/log/lightdm/lightdm.log").count("Prompt greeter with")

    def assert_asked(self):
        self.assert_eventually("nothing is asked", lambda: self.questions() > self.asked)
        self.asked = self.questions()

    def answer(self, text):
        self.type_line(text)

    def answer_next(self, text):
        """In the same conversation."""
        self.assert_asked()
        self.answer(text)

    def assert_refused(self):
        self.assert_asked()
        self.is_asked = True


class LightDM(GtkGreeter, greeter_case.Greeters, GreeterCase):
    pass


class Locks(GtkGreeter, GreeterCase):
    """What the helper takes for locked, of lockers that logind's signal reaches."""

    files = {**GtkGreeter.files, "/usr/local/bin/lock-hint": LOCK_HINT}

    def walk_away_from(self, *lines):
        """A session that runs these; its name at logind."""
        self.host.path("/usr/local/bin/test-desktop").write_text("\n".join(["#!/bin/sh", *lines, ""]))
        self.desktop = "^" + lines[-1].removeprefix("exec ").split()[0]
        with self.phone("approve"):
            self.begin()
            self.answer_for_the_phone()
            session = self.assert_signed_in()
        self.assert_eventually("the helper watches it", lambda: self.watched_count() == 1)
        for line in lines:
            if line.startswith("lock-hint "):
                self.assert_eventually(f"{line} has no locker", lambda name=line.split()[1]: self.listen(name))
        self.leave()
        return session

    def listen(self, name):
        """Whether the locker and the script do, by now: neither logind's signal nor the locker's is repeated."""
        look = f"busctl --user status {name} >/dev/null 2>&1 && pgrep -f 'busctl.*interface=.{name}' >/dev/null && echo yes"
        return self.host.run(
            "sh", "-c", look, user="alice", environment={"XDG_RUNTIME_DIR": "/run/user/1000"}, check=False) == "yes\n"

    def assert_locked_by_the_hint(self, session):
        self.assert_eventually("it is not locked", lambda: "by logind's hint" in self.journal())
        self.assertEqual(self.of_logind(session, "LockedHint"), "yes")
        self.assertEqual(self.alice_sessions(), [session])

    def assert_ended_unseen(self, session):
        self.assert_eventually("it is not given up", lambda: "not locked within 5 s" in self.journal())
        self.assert_eventually("the session is left", lambda: not self.alice_sessions())

    def test_xss_lock_tells_logind_of_i3lock(self):
        with self.configured("on_walkaway = lock"):
            self.assert_locked_by_the_hint(self.walk_away_from("exec xss-lock -- i3lock -n"))

    def test_xss_lock_tells_logind_of_xsecurelock(self):
        with self.configured("on_walkaway = lock"):
            self.assert_locked_by_the_hint(self.walk_away_from(
                "export XSECURELOCK_NO_COMPOSITE=1 XSECURELOCK_SAVER=saver_blank", "exec xss-lock -- xsecurelock"))

    def test_mate_does_not_tell_logind(self):
        with self.configured("on_walkaway = lock"):
            self.assert_ended_unseen(self.walk_away_from("exec mate-screensaver --no-daemon"))

    def test_the_script_of_the_manual_tells_logind_of_mate(self):
        with self.configured("on_walkaway = lock"):
            self.assert_locked_by_the_hint(self.walk_away_from(
                "lock-hint org.mate.ScreenSaver &", "exec mate-screensaver --no-daemon"))

    def test_xfce_does_not_tell_logind(self):
        with self.configured("on_walkaway = lock"):
            self.assert_ended_unseen(self.walk_away_from("exec xfce4-screensaver"))

    def test_the_script_of_the_manual_tells_logind_of_xfce(self):
        with self.configured("on_walkaway = lock"):
            self.assert_locked_by_the_hint(self.walk_away_from(
                "lock-hint org.xfce.ScreenSaver &", "exec xfce4-screensaver"))


if __name__ == "__main__":
    unittest.main()
