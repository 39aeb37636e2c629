"""A real display manager and a real screen locker: lightdm's session of X, locked by xss-lock and xtrlock.

The screen is Xvfb's, since a test host has none; for the same reason lightdm takes it for a remote one.
"""

import os
import pathlib
import time
import unittest

from helper_case import HelperCase
from Support.Hosts import testhost
from Support.Hosts.terminal import READING_TIME
from Support.Hosts.testhost import GREETER_PROMPT, password_of

FOLDER = "/var/lib/lightdm"
#: A program that the desktop does not wait for.
DETACHED = "sleep 4243"
FILES = {
    "/usr/share/xgreeters/test.desktop": "[Desktop Entry]\nType=Application\nName=test\nExec=/usr/local/bin/test-greeter\n",
    "/usr/share/xsessions/test.desktop": "[Desktop Entry]\nType=Application\nName=test\nExec=/usr/local/bin/test-desktop\n",
    # Memory that is locked is not to be had in a container; sessions have no Xsession file here.
    "/etc/lightdm/lightdm.conf.d/test.conf": "\n".join((
        "[LightDM]", "lock-memory=false", "logind-check-graphical=false", "[Seat:*]", "type=xremote",
        "xserver-display-number=7", "greeter-session=test", "session-wrapper=env", "")),
}


class Desktop(HelperCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for path, text in FILES.items():
            cls.host.path(path).parent.mkdir(parents=True, exist_ok=True)
            cls.host.path(path).write_text(text)
        for name, text in {
                "test-greeter": pathlib.Path(__file__).with_name("greeter.py").read_text(),
                "test-desktop": "#!/bin/sh\nexec xss-lock -- xtrlock\n"}.items():
            cls.host.path(f"/usr/local/bin/{name}").write_text(text)
            cls.host.path(f"/usr/local/bin/{name}").chmod(0o755)
        cls.host.run("mkfifo", "--mode=666", f"{FOLDER}/typed", check=False)
        # Without -noreset it restarts when its last client leaves, just as the next one comes.
        cls.host.run("systemd-run", "--quiet", "--unit=test-screen", "Xvfb", ":7", "-ac", "-noreset", "-nolisten", "tcp")
        cls.addClassCleanup(cls.host.run, "systemctl", "stop", "test-screen", check=False)
        cls.host.run("systemctl", "start", "iampass-helper")
        # After the configuration was put back.
        cls.addClassCleanup(cls.host.run, "systemctl", "reload", "iampass-helper")
        cls.enterClassContext(cls.host.changed(testhost.CONFIGURATION, cls.with_lightdm))
        cls.host.run("systemctl", "reload", "iampass-helper")

    @staticmethod
    def with_lightdm(text):
        services = "services = sudo sudo-i login sshd su"
        assert services in text, text
        return text.replace(services, services + " lightdm")

    def setUp(self):
        super().setUp()
        self.host.run("rm", "-f", f"{FOLDER}/said")
        self.assert_eventually("there is no screen", self.host.path("/tmp/.X11-unix/X7").exists)
        # Other tests want a host without sessions, its greeter's included.
        self.addCleanup(self.assert_eventually, "the greeter is left", lambda: not self.sessions_of("lightdm"))
        self.addCleanup(self.host.run, "systemctl", "stop", "lightdm")
        self.host.run("systemctl", "start", "lightdm")
        self.wait_for("ready")

    def said(self):
        return self.host.run("cat", f"{FOLDER}/said", check=False)

    def type(self, line):
        if line == "answer ":
            # As from a person who reads the question.
            time.sleep(READING_TIME)
        # Without waiting for a greeter that is not there: that is an error.
        descriptor = os.open(self.host.path(f"{FOLDER}/typed"), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(descriptor, line.encode() + b"\n")
        finally:
            os.close(descriptor)

    def sessions_of(self, user):
        """logind's sessions of a user."""
        lines = self.host.run("loginctl", "list-sessions", "--no-legend").splitlines()
        return [words[0] for words in map(str.split, lines) if words[2] == user]

    def wait_for(self, line, count=1):
        self.assert_eventually(
            f"the greeter says {line!r} {count} times, and not {self.said()!r}",
            lambda: self.said().splitlines().count(line) >= count, 60)

    def sign_in(self):
        """Alice's session of X, by phone, watched by the helper; its name at logind."""
        with self.phone("approve"):
            self.type("user alice")
            self.wait_for(f"prompt: {GREETER_PROMPT}")
            self.type("answer ")
            self.wait_for("signed in")
        self.assert_eventually("the helper watches it", lambda: self.watched_count() == 1 and self.sessions_of("alice"))
        return next(one["logind_session"] for one in self.sessions() if one["watched"])

    def of_logind(self, session, name):
        return self.host.run("loginctl", "show-session", session, f"--property={name}", "--value", check=False).strip()

    def test_an_approval_opens_a_session_and_leaving_ends_it(self):
        self.enterContext(self.host.changed(
            "/usr/local/bin/test-desktop", lambda text: text.replace("exec", f"setsid --fork {DETACHED}\nexec")))
        stays = self.password_shell()
        session = self.sign_in()
        self.assertEqual(
            [self.of_logind(session, name) for name in ("Name", "Service", "Type", "Seat", "Class", "Remote")],
            ["alice", "lightdm", "x11", "seat0", "user", "no"])
        self.assert_eventually("the desktop runs", lambda: self.processes("^xss-lock"))
        self.assert_eventually("its own program runs", lambda: self.processes(f"^{DETACHED}"))
        self.leave()
        self.wait_for("ready", 2)
        self.assert_eventually("the session is left", lambda: session not in self.logind_sessions())
        self.assert_eventually("a program is left", lambda: not self.processes(f"^xss-lock|^{DETACHED}"))
        self.assert_alive(stays)
        stays.sendline("exit")
        stays.finish()
        self.assert_nothing_left_of_alice()
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_leaving_locks_the_screen_where_that_is_configured(self):
        with self.configured("on_walkaway = lock", "on_lock_failure = ignore"):
            session = self.sign_in()
            self.assert_eventually("the desktop runs", lambda: self.processes("^xss-lock"))
            self.assertEqual(self.of_logind(session, "LockedHint"), "no")
            self.leave()
            self.assert_eventually("it is not locked", lambda: self.of_logind(session, "LockedHint") == "yes")
            # The locker has its own name a moment after xss-lock has begun it.
            self.assert_eventually("no locker runs", lambda: len(self.processes("^xtrlock")) == 1)
            self.assertIn(session, self.logind_sessions())
            self.come_back()
            self.assert_eventually("the helper sees it back", lambda: self.watched_count() == 1)
            self.assertEqual(self.of_logind(session, "LockedHint"), "yes")

    def test_a_desktop_that_does_not_lock_is_logged_out(self):
        with self.configured("on_walkaway = lock"):
            session = self.sign_in()
            # Without xss-lock nothing acts on logind's signal. The desktop must go on.
            self.assert_eventually("the desktop runs", lambda: self.processes("^xss-lock"))
            self.host.run("pkill", "-STOP", "-x", "xss-lock")
            self.leave()
            self.wait_for("ready", 2)
            self.assert_eventually("the session is left", lambda: session not in self.logind_sessions())

    def test_logging_out_tells_the_service(self):
        self.sign_in()
        self.assert_eventually("the desktop runs", lambda: self.processes("^xss-lock"))
        self.assertEqual(len(self.live_sessions()), 1)
        self.host.run("pkill", "-x", "xss-lock")
        self.wait_for("ready", 2)
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())
        self.assert_nothing_left_of_alice()

    def test_a_denial_refuses_and_the_password_works_at_the_next_try(self):
        with self.phone("deny"):
            self.type("user alice")
            self.wait_for(f"prompt: {GREETER_PROMPT}")
            self.type("answer ")
            self.wait_for("refused")
        self.assertIn("message: IAMPASS: denied on your phone", self.said())
        self.assertNotIn("signed in", self.said())
        self.type("user alice")
        self.wait_for(f"prompt: {GREETER_PROMPT}", 2)
        self.type(f"answer {password_of('alice')}")
        self.wait_for("signed in")
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def assert_nothing_left_of_alice(self):
        self.assert_eventually("a record is left", lambda: not self.records())
        self.assert_eventually("a session is left", lambda: not self.sessions_of("alice"))


if __name__ == "__main__":
    unittest.main()
