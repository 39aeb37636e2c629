"""What holds for each display manager and its greeter; and how a test types at them."""

import contextlib
import os
import time

from helper_case import HelperCase
from host_case import ASKED, shared_host
from Support.Hosts import testhost
from Support.Hosts.testhost import password_of

FOLDER = "/var/lib/test-greeter"
#: What a session runs: a screen locker that tells logind.
X_DESKTOP = "#!/bin/sh\nexec xss-lock -- i3lock -n\n"
SESSIONS = "[Desktop Entry]\nType=Application\nName=test\nExec=/usr/local/bin/test-desktop\n"


class GreeterCase(HelperCase):
    release = "13-greeters"
    #: systemd's unit of the display manager, which is its PAM service, too.
    service = ""
    #: Files that it needs, by their paths; programs in /usr/local/bin may be executed.
    files = {}
    #: What runs in alice's session.
    desktop = "^xss-lock"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.run("install", "--directory", "--mode=777", FOLDER)
        cls.host.run("mkfifo", "--mode=666", f"{FOLDER}/typed", check=False)
        for path, text in cls.files.items():
            cls.host.path(path).parent.mkdir(parents=True, exist_ok=True)
            cls.host.path(path).write_text(text)
            if "/bin/" in path:
                cls.host.path(path).chmod(0o755)
        if "@desktop" not in cls.host.run("cat", testhost.CONFIGURATION):
            cls.host.run("iampassctl", "enable", "--desktop")
            cls.host.run("systemctl", "reload", "iampass-helper")
        cls.host.run("systemctl", "start", cls.service)
        # Other tests want a host without sessions, its greeter's included.
        cls.addClassCleanup(cls.host.run, "systemctl", "stop", cls.service)

    def alice_sessions(self):
        """logind's sessions of alice that this display manager opened."""
        lines = self.host.run("loginctl", "list-sessions", "--no-legend").splitlines()
        named = [words[0] for words in map(str.split, lines) if words[2] == "alice"]
        return [one for one in named if self.of_logind(one, "Service") == self.service]

    def of_logind(self, session, name):
        return self.host.run("loginctl", "show-session", session, f"--property={name}", "--value", check=False).strip()

    def assert_signed_in(self):
        # lightdm forgets a session that ends before its program has begun.
        self.assert_eventually("alice is not signed in", lambda: self.alice_sessions() and self.desktop_runs())
        return self.alice_sessions()[0]

    def desktop_runs(self):
        return self.host.run("pgrep", "-u", "alice", "-f", self.desktop, check=False).strip()

    def short_time(self):
        """In which nobody answers."""
        return self.host.changed(testhost.CONFIGURATION, lambda text: text + "approval_timeout = 5s\n")

    def answer_for_the_phone(self):
        self.answer("")

    def module_says(self, text):
        return any(text in line for line in self.module_lines())


class Greeters:
    """What holds for each. A class that has this is of one display manager.

    `begin` brings alice's first question, `answer` types the answer, and `answer_next` types where the password is asked
    for after the phone did not approve.
    """

    def test_an_approval_opens_a_session_and_leaving_ends_it(self):
        with self.phone("approve") as phone:
            self.begin()
            self.answer_for_the_phone()
            session = self.assert_signed_in()
            self.assertEqual(len(phone.requests()), 1)
        self.assert_eventually("the helper watches it", lambda: self.watched_count() == 1)
        self.assertEqual(
            [one["logind_session"] for one in self.sessions() if one["watched"]], [session])
        self.leave()
        self.assert_eventually("the session is left", lambda: not self.alice_sessions())
        self.assert_eventually("no greeter is back", self.greeter_is_there)
        self.assertFalse(self.desktop_runs())
        self.assert_eventually("a record is left", lambda: not self.records())
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_the_password_is_taken_at_the_same_prompt(self):
        with self.phone("approve") as phone:
            self.begin()
            self.answer(password_of("alice"))
            self.assert_signed_in()
            self.assertEqual(len(phone.requests()), 0)
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_after_a_denial_the_next_try_takes_the_password(self):
        with self.phone("deny") as phone:
            self.begin()
            self.answer_for_the_phone()
            self.assert_eventually("it is not denied", lambda: self.module_says("reason=denied on the phone"))
            self.assert_refused()
            self.assertEqual(len(phone.requests()), 1)
            self.begin()
            self.answer(password_of("alice"))
            self.assert_signed_in()
            self.assertEqual(len(phone.requests()), 1)

    def test_after_nobody_answered_the_password_is_taken(self):
        with self.short_time():
            self.begin()
            self.answer_for_the_phone()
            self.assert_eventually("somebody answered", lambda: self.module_says("reason=not answered"))
            self.answer_next(password_of("alice"))
            self.assert_signed_in()

    def test_while_the_service_is_down_the_password_is_taken(self):
        with self.host.service_down():
            self.begin()
            self.answer_for_the_phone()
            self.assert_eventually("it was reached", lambda: self.module_says("reason=unavailable"))
            self.answer_next(password_of("alice"))
            self.assert_signed_in()


class Scripted:
    """A greeter of the tests' own, which reads the FIFO `typed` and writes to `said`."""

    def setUp(self):
        super().setUp()
        # The greeter appends.
        self.host.run("sh", "-c", f"> {FOLDER}/said; chmod 666 {FOLDER}/said")
        self.assert_eventually("there is no greeter", self.greeter_is_there)

    def said(self):
        return self.host.run("cat", f"{FOLDER}/said", check=False).splitlines()

    def greeter_is_there(self):
        with contextlib.suppress(OSError):
            self.type_line("")
            return True
        return False

    def type_line(self, line):
        # Without waiting for a greeter that is not there: that is an error.
        descriptor = os.open(self.host.path(f"{FOLDER}/typed"), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(descriptor, line.encode() + b"\n" if line else b"")
        finally:
            os.close(descriptor)

    def wait_for(self, line, count=1):
        self.assert_eventually(
            f"the greeter says {line!r} {count} times, and not {self.said()!r}",
            lambda: self.said().count(line) >= count, 60)


class Typed:
    """The program's own greeter on a screen of X without a monitor, typed at by a virtual keyboard."""

    display = ""
    #: The name of its process; the kernel keeps 15 letters of it.
    greeter = ""

    @classmethod
    def start_screen(cls):
        """For a display manager that takes a screen that is there."""
        cls.host = shared_host(cls.release)
        unit = "test-screen" + cls.display[1:]
        cls.host.run("systemd-run", "--quiet", "--collect", f"--unit={unit}", "Xvfb", cls.display, "-ac", "-noreset", "-nolisten", "tcp")
        cls.addClassCleanup(cls.host.run, "systemctl", "stop", unit, check=False)

    def setUp(self):
        super().setUp()
        self.assert_eventually("there is no greeter", self.greeter_is_there)

    def greeter_is_there(self):
        """Its window is."""
        if not self.host.run("pgrep", "-x", self.greeter[:15], check=False):
            return False
        return bool(self.xdotool("search", "--onlyvisible", "--class", ".", check=False).strip())

    def xdotool(self, *words, check=True):
        return self.host.run("xdotool", *words, environment={"DISPLAY": self.display}, timeout=30, check=check)

    def answer_for_the_phone(self):
        """Enter, until the phone is asked, or cannot be."""
        before = self.attempts()
        self.again_until(lambda: self.attempts() != before, super().answer_for_the_phone, "Enter asks nobody", ASKED)

    def attempts(self):
        """Requests that the service took, and what the module says of those that it did not."""
        return self.requests_at_the_service() + sum("reason=" in line for line in self.module_lines())

    def type_line(self, text):
        # Keys that come while a window is just being shown go nowhere.
        time.sleep(0.5)
        if text:
            self.xdotool("type", "--delay", "20", text)
        self.xdotool("key", "Return")
