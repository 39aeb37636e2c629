"""What tests of GDM share: its real daemon on a booted host, with a greeter and lock screens of the tests' own.

A test host has neither a graphics card nor virtual terminals. GDM 48 shows its greeter on seat0 all the same, with a
program in place of Xorg that only says that it has started. GDM 43 needs a virtual terminal for seat0. There a screen of
Xvfb asks for its greeter by XDMCP, as from another computer.
"""

import contextlib
import json
import os
import pathlib
import re
import time

from helper_case import HelperCase
from Support.Hosts import testhost
from Support.Hosts.terminal import READING_TIME
from Support.Hosts.testhost import password_of

SERVICE = "gdm-password"
PROMPT = "Password, or Enter for phone: "
#: pam_unix's own.
PASSWORD_PROMPT = "Password: "
FOLDERS = "/run/test-greeters"
RUNTIME = "/run/user/1000"
SESSION_FILE = "\n".join((
    "[Desktop Entry]", "Type=Application", "Name=test", "Exec=/usr/local/bin/test-desktop", "X-GDM-SessionRegisters=true",
    ""))
#: A desktop that GDM knows of. The program in place of Xorg sleeps, too, and for ever.
DESKTOP = "sleep 9999999"
#: What takes the place of GNOME's programs and of Xorg. GDM hands Xorg descriptor 3, for the number of its display.
PROGRAMS = {
    "/usr/bin/gnome-session": pathlib.Path(__file__).with_name("gdm_greeter.py").read_text(),
    "/usr/local/bin/test-desktop": f"""#!/bin/sh
gdbus call --system -d org.gnome.DisplayManager -o /org/gnome/DisplayManager/Manager \\
    -m org.gnome.DisplayManager.Manager.RegisterSession '{{}}'
exec {DESKTOP}
""",
}
XORG = "#!/bin/sh\necho 7 >&3\nexec sleep infinity\n"
#: GDM goes on counting a screen that is gone until a ping finds that out.
XDMCP = "[xdmcp]\nEnable=true\nDisplaysPerHost=8\n"


class Screen:
    """A greeter or a lock screen: what GDM told it, read once and in order."""

    def __init__(self, case, folder):
        self.case = case
        self.folder = folder
        self.read = self.first = 0
        #: GDM has no conversation with it any more.
        self.is_done = False

    def said(self):
        text = self.case.host.path(f"{self.folder}/said").read_text()
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def call(self, method, *arguments):
        # Without waiting for a greeter that is not there: that is an error.
        descriptor = os.open(self.case.host.path(f"{self.folder}/typed"), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(descriptor, json.dumps([method, *arguments]).encode() + b"\n")
        finally:
            os.close(descriptor)

    def expect(self, *names, patience=60):
        """The next signal that has one of these names, with its arguments."""
        deadline = time.monotonic() + patience
        while True:
            said = self.said()
            while self.read < len(said):
                self.read += 1
                if said[self.read - 1][0] in names:
                    return said[self.read - 1]
            if time.monotonic() > deadline:
                self.case.fail(f"GDM did not say {names}, but {said}:\n{self.case.journal()[-6_000:]}")
            time.sleep(0.02)

    def expect_text(self, pattern):
        """The next line for the user that matches."""
        while True:
            found = re.search(pattern, self.expect("Info", "Problem")[2])
            if found:
                return found

    def begin(self, user=None):
        """What GDM asks first."""
        if user:
            self.call("BeginVerificationForUser", SERVICE, user)
        else:
            self.call("BeginVerification", SERVICE)
        return self.question()

    def question(self):
        return self.expect("SecretInfoQuery", "InfoQuery")[2]

    def answer(self, text):
        if not text:
            # As from a person who reads the question.
            time.sleep(READING_TIME)
        self.call("AnswerQuery", SERVICE, text)

    def cancel(self):
        """Until GDM has ended the conversation; it begins no other before."""
        self.call("Cancel")
        self.expect("Reset")

    def leave(self):
        """What a test left, if a process is there still to hear it."""
        with contextlib.suppress(OSError):
            if not self.is_done:
                self.cancel()


class GDMCase(HelperCase):
    """`release`: 12-gdm or 13-gdm."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not hasattr(cls.host, "has_gdm"):
            cls.prepare()
            cls.host.has_gdm = True

    @classmethod
    def prepare(cls):
        host = cls.host
        programs = PROGRAMS if cls.is_remote() else {**PROGRAMS, "/usr/bin/Xorg": XORG}
        for path, text in programs.items():
            host.path(path).write_text(text)
            host.path(path).chmod(0o755)
        host.path("/usr/share/xsessions").mkdir(exist_ok=True)
        host.path("/usr/share/xsessions/gnome.desktop").write_text(SESSION_FILE)
        host.run("mkdir", "--mode=1777", FOLDERS)
        host.run("iampassctl", "enable", "--desktop")
        if cls.is_remote():
            host.path("/etc/gdm3/daemon.conf").write_text(XDMCP)
            host.run("systemctl", "start", "gdm")
            cls.show_screen(9)
        else:
            host.run("systemctl", "start", "gdm")
            # GDM would wait ten seconds for a graphics card.
            cls.another_greeter()

    @classmethod
    def is_remote(cls):
        return cls.release.startswith("12")

    @classmethod
    def show_screen(cls, number):
        cls.host.run("systemd-run", "--quiet", "--collect", f"--unit=test-screen-{number}",
                     "Xvfb", f":{number}", "-query", "127.0.0.1", "-ac", "-listen", "tcp")

    @classmethod
    def another_greeter(cls):
        # GDM has its name on the bus a moment before it has its objects.
        call = ("gdbus call --system -d org.gnome.DisplayManager -o /org/gnome/DisplayManager/LocalDisplayFactory "
                "-m org.gnome.DisplayManager.LocalDisplayFactory.CreateTransientDisplay")
        cls.host.run("sh", "-c", f"for turn in $(seq 100); do {call} && exit 0; sleep 0.1; done; exit 1")

    def setUp(self):
        super().setUp()
        self.screens = []
        self.greeter = self.screen("greeter")

    def tearDown(self):
        """gnome-shell never asks again after this one."""
        for screen in self.screens:
            self.assertNotIn("ServiceUnavailable", [line[0] for line in screen.said()[screen.first:]])

    # Screens

    def live_screens(self, kind):
        """Folders of greeters or lock screens whose process runs and that GDM listens to."""
        script = (f"for said in {FOLDERS}/{kind}-*/said; do folder=${{said%/said}}; "
                  "[ -d \"/proc/${folder##*-}\" ] && grep -q Ready $said 2>/dev/null && echo $folder; done")
        return self.host.run("sh", "-c", script, check=False).split()

    def screen(self, kind, but=()):
        found = []

        def look():
            found[:] = [folder for folder in self.live_screens(kind) if folder not in but]
            return found

        self.assert_eventually(f"there is no {kind}", look, 60)
        screen = Screen(self, found[-1])
        screen.read = screen.first = len(screen.said())
        self.addCleanup(screen.leave)
        self.screens.append(screen)
        return screen

    def lock_screen(self, user="alice"):
        """In the user's manager, where GNOME's shell runs."""
        before = self.live_screens("lock")
        self.host.run("systemd-run", "--user", "--quiet", "--collect", "/usr/bin/gnome-session", "--lock", user,
                      user=user, environment={"XDG_RUNTIME_DIR": RUNTIME})
        lock = self.screen("lock", before)
        # It is gone with the session.
        lock.is_done = True
        return lock

    def second_greeter(self):
        """What GNOME's "Switch User" brings, or another screen."""
        before = self.live_screens("greeter")
        if self.is_remote():
            self.show_screen(10)
            self.addCleanup(self.host.run, "systemctl", "stop", "test-screen-10")
        else:
            self.another_greeter()
        return self.screen("greeter", before)

    # Acts

    def sign_in(self):
        """Alice's desktop by phone, watched by the helper; its name at logind."""
        with self.phone("approve"):
            self.approve(self.greeter)
            self.start(self.greeter, "alice")
        self.assert_eventually("the helper watches it", lambda: self.watched_count() == 1)
        return next(one["logind_session"] for one in self.sessions() if one["watched"])

    def approve(self, screen):
        """The phone answers by itself."""
        self.assertEqual(screen.begin("alice"), PROMPT)
        screen.answer("")
        screen.expect("VerificationComplete")

    def take_the_password(self, screen, user="alice", prompt=PROMPT):
        self.assertEqual(screen.begin(user), prompt)
        screen.answer(password_of(user))
        screen.expect("VerificationComplete")

    def start(self, screen, user):
        """The session of a user whom GDM has verified."""
        screen.expect("SessionOpened")
        screen.call("StartSessionWhenReady", SERVICE, True)
        screen.is_done = True
        self.assert_eventually("there is no desktop", lambda: self.desktops(user))

    def desktops(self, user="alice"):
        return self.host.run("pgrep", "-u", user, "-f", "-x", DESKTOP, check=False).split()

    def of_logind(self, session, name):
        return self.host.run("loginctl", "show-session", session, f"--property={name}", "--value", check=False).strip()

    def short_time(self):
        """In which nobody answers."""
        return self.host.changed(testhost.CONFIGURATION, lambda text: text + "approval_timeout = 5s\n")
