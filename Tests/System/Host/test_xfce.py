"""Xfce of Debian 13 with light-locker, which locks by bringing lightdm's GTK greeter: lightdm goes back to the session.

lightdm shows each of its sessions on an X server of its own. Here these are Xvfbs, at a seat of their own: seat0 has no
virtual terminals in a test host, and lightdm would want one for each server.
"""

import contextlib
import time
import unittest

import test_sddm
from greeter_case import SESSIONS, GreeterCase
from host_case import shared_host
from Support.Hosts import testhost
from Support.Hosts.testhost import password_of
from test_lightdm_gtk import GtkGreeter

RUNTIME = "/run/user/1000"
#: The first screen of X; the lock screen's greeter is on another one.
FIRST = 20
#: What udev would write down of a graphics card at that seat.
UDEV = test_sddm.UDEV + "E:ID_SEAT=seat1\n"
#: lightdm's words for the X server are `:20 -seat seat1 -auth FILE -nolisten tcp`.
SCREEN = """#!/bin/bash
while [[ $# -gt 0 ]]; do
    case $1 in
    :*) words+=("$1") ;;
    -auth) words+=("$1" "$2") && shift ;;
    esac
    shift
done
exec Xvfb "${words[@]}" -ac -noreset -nolisten tcp
"""
CONFIGURATION = f"""[LightDM]
minimum-display-number={FIRST}
[Seat:*]
type=local
xserver-command=/usr/local/bin/test-x
session-wrapper=env
user-session=test
"""
#: Xfce starts light-locker by itself, which make-root has switched off for the sake of other desktops.
DESKTOP = "#!/bin/sh\nlight-locker &\nexec xfce4-session\n"


class Xfce(GtkGreeter, GreeterCase):
    files = {
        "/etc/lightdm/lightdm.conf.d/test.conf": CONFIGURATION,
        "/usr/share/xsessions/test.desktop": SESSIONS,
        "/usr/local/bin/test-x": SCREEN,
        "/usr/local/bin/test-desktop": DESKTOP,
    }
    desktop = "^xfce4-session"

    @classmethod
    def start_screen(cls):
        """lightdm starts those that it needs, at a seat that has a graphics card."""
        cls.host = shared_host(cls.release)
        cls.addClassCleanup(cls.host.run, "systemctl", "restart", "systemd-logind")
        for path, text in {f"data/{test_sddm.SEAT_OF}": UDEV, f"tags/master-of-seat/{test_sddm.SEAT_OF}": ""}.items():
            file = cls.host.path(f"/run/udev/{path}")
            file.parent.mkdir(parents=True, exist_ok=True)
            # Other display managers would take the seat, too.
            if file.exists():
                cls.addClassCleanup(file.write_text, file.read_text())
            else:
                cls.addClassCleanup(file.unlink)
            file.write_text(text)
        cls.host.run("systemctl", "restart", "systemd-logind")

    # Screens

    @property
    def display(self):
        """That of the greeter in front; one that is not there if none is."""
        for session in self.logind_sessions():
            if self.of_logind(session, "Class") == "greeter" and self.of_logind(session, "Active") == "yes":
                return self.of_logind(session, "Display")
        return ":99"

    def type_line(self, text):
        if text:
            # In front of a locked session the greeter has filled in the name. It is selected once keys are taken.
            time.sleep(0.5)
            self.xdotool("key", "ctrl+a")
        super().type_line(text)

    def locker_says(self):
        return self.host.run(
            "light-locker-command", "--query", user="alice", environment={"XDG_RUNTIME_DIR": RUNTIME}, check=False)

    def is_locked(self):
        return "is active" in self.locker_says()

    # Acts

    def begun(self):
        """logind's session that alice has just signed in to."""
        session = self.assert_signed_in()
        self.assert_eventually("no locker runs", lambda: "is inactive" in self.locker_says())
        self.assertEqual(self.of_logind(session, "Seat"), "seat1")
        return session

    def sign_in(self):
        """By phone."""
        with self.phone("approve"):
            self.begin()
            self.answer_for_the_phone()
            session = self.begun()
        self.assert_eventually("the helper watches it", lambda: self.watched_count() == 1)
        return session

    def lock(self):
        before = self.questions()
        self.host.run("light-locker-command", "--lock", user="alice", environment={"XDG_RUNTIME_DIR": RUNTIME})
        self.assert_greeter(before)

    def assert_greeter(self, before):
        """It is in front of the locked session, and has asked for the name."""
        self.assert_eventually("no greeter comes", lambda: self.questions() > before and self.greeter_is_there())
        self.assertTrue(self.is_locked())
        self.asked, self.is_asked = self.questions(), False

    def assert_back(self, session):
        """lightdm has opened no other."""
        self.assert_eventually("it stays locked", lambda: "is inactive" in self.locker_says())
        self.assert_eventually("it is not in front", lambda: self.of_logind(session, "Active") == "yes")
        self.assertEqual(self.alice_sessions(), [session])
        self.assertTrue(self.desktop_runs())

    def unlisted(self, policy):
        """With lightdm not in `services`."""
        def change(text):
            lines = [line for line in text.splitlines() if not line.startswith(("services", "unlock"))]
            return "\n".join([*lines, "services = sudo login sshd", f"unlock = {policy}", ""])
        return self.host.changed(testhost.CONFIGURATION, change)

    @contextlib.contextmanager
    def nothing_new(self):
        """What was watched, and what was open at the service, is so afterwards, and nothing else."""
        records, live = self.records(), self.live_sessions()
        yield
        self.assert_eventually("a record is left", lambda: self.records() == records)
        self.assert_eventually("the request is open", lambda: self.live_sessions() == live)

    # What holds

    def test_an_approval_goes_back_to_the_session(self):
        session = self.sign_in()
        with self.nothing_new(), self.phone("approve") as phone:
            self.lock()
            self.begin()
            self.answer_for_the_phone()
            self.assert_back(session)
            self.assertEqual(len(phone.requests()), 1)

    def test_the_password_goes_back_at_the_same_prompt(self):
        session = self.sign_in()
        with self.nothing_new(), self.phone("approve") as phone:
            self.lock()
            self.begin()
            self.answer(password_of("alice"))
            self.assert_back(session)
            self.assertEqual(phone.requests(), [])

    def test_after_a_denial_the_next_try_takes_the_password(self):
        session = self.sign_in()
        with self.nothing_new(), self.phone("deny") as phone:
            self.lock()
            self.begin()
            self.answer_for_the_phone()
            self.assert_eventually("it is not denied", lambda: self.module_says("reason=denied on the phone"))
            self.assert_refused()
            self.assertTrue(self.is_locked())
            self.begin()
            self.answer(password_of("alice"))
            self.assert_back(session)
            self.assertEqual(len(phone.requests()), 1)

    def test_after_nobody_answered_the_password_goes_back(self):
        session = self.sign_in()
        self.lock()
        with self.nothing_new(), self.short_time():
            self.begin()
            self.answer_for_the_phone()
            self.assert_eventually("somebody answered", lambda: self.module_says("reason=not answered"))
            self.answer_next(password_of("alice"))
            self.assert_back(session)

    def test_while_the_service_is_down_the_password_goes_back(self):
        session = self.sign_in()
        self.lock()
        with self.host.service_down():
            self.begin()
            self.answer_for_the_phone()
            self.assert_eventually("it was reached", lambda: self.module_says("reason=unavailable"))
            self.answer_next(password_of("alice"))
            self.assert_back(session)

    def test_unlock_asks_at_the_lock_screen_although_services_does_not_list_lightdm(self):
        with self.unlisted("approved"), self.phone("approve") as phone:
            self.begin()
            self.answer(password_of("alice"))
            session = self.begun()
            self.assertEqual(phone.requests(), [])
            with self.nothing_new():
                self.lock()
                self.begin()
                self.answer_for_the_phone()
                self.assert_back(session)
            self.assertEqual(len(phone.requests()), 1)

    def test_after_a_walkaway_that_locks_an_approval_goes_back(self):
        with self.configured("on_walkaway = lock", "on_lock_failure = ignore"):
            session = self.sign_in()
            with self.unlisted("walkaway"):
                before = self.questions()
                self.leave()
                # light-locker waits ten seconds until it brings the greeter.
                self.assert_greeter(before)
                self.come_back()
                self.assert_eventually("the helper sees it back", lambda: self.watched_count() == 1)
                self.assertTrue(self.is_locked())
                with self.phone("approve") as phone:
                    self.begin()
                    self.answer_for_the_phone()
                    self.assert_back(session)
                    self.assertEqual(len(phone.requests()), 1)
                self.assertEqual(self.host.run("ls", "/run/iampass/locked"), "")

    def test_light_locker_does_not_tell_logind(self):
        with self.configured("on_walkaway = lock"):
            self.sign_in()
            self.leave()
            self.assert_eventually("it is not given up", lambda: "not locked within 5 s" in self.journal())
            self.assert_eventually("the session is left", lambda: not self.alice_sessions())

    def test_leaving_ends_all_of_the_desktop(self):
        self.sign_in()
        self.leave()
        self.assert_eventually("the session is left", lambda: not self.alice_sessions())
        self.assert_eventually("the desktop is left", lambda: not self.host.run("pgrep", "-u", "alice", check=False))
        self.assert_eventually("no greeter is back", self.greeter_is_there)
        self.assert_eventually("a record is left", lambda: not self.records())


if __name__ == "__main__":
    unittest.main()
