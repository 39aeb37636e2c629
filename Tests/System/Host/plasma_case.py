"""KDE's desktop of alice's, without a monitor: Plasma on Wayland with KWin, or what locks the screen in Plasma on X."""

import contextlib
import pathlib
import time

from desktop_case import PROMPT, RUNTIME, DesktopCase
from Support.Hosts.testhost import CHOOSE_PROMPT, password_of

#: What the locker that is started says of PAM.
SAID = "/home/alice/kde.log"
SETTINGS = {"QT_QUICK_BACKEND": "software", "LIBGL_ALWAYS_SOFTWARE": "1", "QT_LOGGING_RULES": "kscreenlocker_greet*=true"}
#: Two monitors, drawn by the processor.
KWIN = f"""[Service]
Environment=KWIN_WAYLAND_NO_PERMISSION_CHECKS=1 KWIN_COMPOSE=Q
ExecStart=
ExecStart=kwin_wayland_wrapper --virtual --width 800 --height 600 --output-count 2
StandardError=truncate:{SAID}
"""
DROP_IN = "/etc/systemd/user/plasma-kwin_wayland.service.d/tests.conf"
KEYBOARD = "/usr/local/bin/kwin-keyboard"
WORDS = " ".join(f"{name}='{value}'" for name, value in SETTINGS.items())


class KDECase(DesktopCase):
    """A class that has this says which of the two it is."""

    release = "13-greeters"
    #: As a display manager calls its sessions; login says tty.
    kind = ""
    #: What begins the desktop, and the process that shows that it is there.
    begins = ""
    program = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for path, text in {DROP_IN: KWIN, KEYBOARD: pathlib.Path(__file__).with_name("kwin_keyboard.py").read_text()}.items():
            cls.host.path(path).parent.mkdir(parents=True, exist_ok=True)
            cls.host.path(path).write_text(text)
        cls.host.path(KEYBOARD).chmod(0o755)

    @classmethod
    def signed_in_by_password(cls):
        """A terminal with the desktop behind it."""
        with cls.host.changed("/etc/pam.d/common-session", cls.with_kind):
            terminal = cls.host.login_terminal()
            terminal.expect("login: ")
            terminal.sendline("alice")
            terminal.expect_exact(CHOOSE_PROMPT)
            terminal.sendline(password_of("alice"))
            terminal.expect(PROMPT)
        cls.begin(terminal)
        return terminal

    @classmethod
    def with_kind(cls, text):
        return text.replace("pam_systemd.so", f"pam_systemd.so type={cls.kind}")

    @classmethod
    def begin(cls, terminal):
        terminal.sendline(f"{cls.begins} 2>&1 &")
        terminal.expect(PROMPT)
        cls.wait_until(f"{cls.program} is there", cls.desktop_is_there)

    @classmethod
    def desktop_is_there(cls):
        """It is, and what locks the screen listens."""
        if not cls.host.run("pgrep", "-u", "alice", "-x", cls.program, check=False):
            return False
        listens = ("busctl", "--user", "call", *["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"],
                   "NameHasOwner", "s", "org.kde.screensaver")
        answer = cls.host.run(*listens, user="alice", environment={"XDG_RUNTIME_DIR": RUNTIME}, check=False)
        return answer.strip() == "b true"

    @classmethod
    def session(cls):
        """logind's."""
        lines = cls.host.run("loginctl", "list-sessions", "--no-legend").splitlines()
        return next(words[0] for words in map(str.split, lines) if words[2] == "alice" and words[5] == "user")

    def is_locked(self):
        return self.host.run(
            "loginctl", "show-session", self.session(), "--property=LockedHint", "--value").strip() == "yes"

    def before_the_lock(self):
        self.answered = self.questions()

    def questions(self):
        """How often PAM has asked."""
        return self.host.path(SAID).read_text().count("[PAM worker kde] Message: Echo-off prompt")

    def is_asked(self):
        if self.questions() == self.answered:
            # It begins at the first key that it sees.
            self.press("Shift")
            time.sleep(0.1)
        return self.questions() > self.answered

    def type(self, text):
        """The locker takes an answer only while it is asked."""
        # If it asks nothing new, the keys of before were lost on a busy machine, and it still asks.
        with contextlib.suppress(AssertionError):
            self.assert_eventually("it asks nothing", lambda: self.is_asked() or not self.is_locked(), 10)
        self.answered = self.questions()
        # Until it takes keys.
        time.sleep(0.5)
        self.press(*([text] if text else []), "Return")


class Plasma(KDECase):
    """Its processes run in alice's service manager, outside of the session's scope."""

    kind = "wayland"
    begins = f"{WORDS} startplasma-wayland >kde.out"
    program = "plasmashell"

    def press(self, *keys):
        self.host.run(
            KEYBOARD, *keys, user="alice", environment={"XDG_RUNTIME_DIR": RUNTIME, "WAYLAND_DISPLAY": "wayland-0"})
