"""What tests of lockers and polkit share: a desktop of alice's without a monitor, and `enable --desktop`."""

import contextlib
import time

from host_case import ASKED, BUSY, HostCase
from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, password_of

RUNTIME = "/run/user/1000"
PROMPT = r"alice@workstation[^\n]*\$ "
SWAY = "WLR_BACKENDS=headless WLR_LIBINPUT_NO_DEVICES=1 WLR_RENDERER=pixman sway -c sway.cfg >sway.log 2>&1 &"
SWAY_ANSWERS = f"for socket in {RUNTIME}/sway-ipc.*; do swaymsg --socket $socket --quiet nop && echo yes; done"
IDLE_LOG = "idle.log"
#: The last that swayidle does before it waits, when it has asked for logind's signals.
SWAYIDLE_WAITS = "Enable idle timeouts"
#: As iampass-helper(8) shows it: swaylock, which tells logind.
LOCK_SCREEN = """#!/bin/sh
hint() {
    busctl call --quiet org.freedesktop.login1 /org/freedesktop/login1/session/auto \\
        org.freedesktop.login1.Session SetLockedHint b "$1"
}
swaylock -f && hint true && pidwait -x swaylock
hint false
"""


class DesktopCase(HostCase):
    release = "13-desktop"
    #: For programs of her desktop.
    screen = {"WAYLAND_DISPLAY": "wayland-1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.host.path("/home/alice/lock-screen").exists():
            return
        # pam_unix takes two seconds for a wrong password. No test measures seconds: they count its failures.
        profile = cls.host.path("/usr/share/pam-configs/unix")
        profile.write_text(profile.read_text().replace("pam_unix.so nullok", "pam_unix.so nodelay nullok"))
        # polkit asks administrators for their own password.
        cls.host.run("usermod", "--append", "--groups", "sudo", "alice")
        cls.host.run("iampassctl", "enable", "--desktop")
        for name, text in {"sway.cfg": "", "lock-screen": LOCK_SCREEN}.items():
            cls.host.path(f"/home/alice/{name}").write_text(text)
            cls.host.path(f"/home/alice/{name}").chmod(0o755)
        cls.host.run("systemd-run", "--quiet", "--unit=test-screen", "Xvfb", ":7", "-ac", "-noreset", "-nolisten", "tcp")

    @classmethod
    def desktop(cls):
        """Alice at a terminal of this computer, signed in by password, with a desktop of Wayland behind; one a host."""
        if not hasattr(cls.host, "desktop"):
            cls.host.desktop = cls.made_desktop()
        return cls.host.desktop

    @classmethod
    def made_desktop(cls):
        terminal = cls.host.login_terminal()
        terminal.expect("login: ")
        terminal.sendline("alice")
        terminal.expect_exact(CHOOSE_PROMPT)
        terminal.sendline(password_of("alice"))
        terminal.expect(PROMPT)
        cls.begin_sway(terminal)
        return terminal

    @classmethod
    def begin_sway(cls, terminal):
        """Its socket is there before it listens, and that of a desktop before for as long as it ends."""
        cls.wait_until("the desktop before is gone", lambda: not cls.host.run("pgrep", "-x", "sway", check=False))
        terminal.sendline(SWAY)
        terminal.expect(PROMPT)
        cls.wait_until("sway answers", lambda: "yes" in cls.host.run(
            "sh", "-c", SWAY_ANSWERS, user="alice", check=False).split())

    def begin_swayidle(self, terminal, locker):
        """For what logind asks; a signal that comes before it waits is lost."""
        log = self.host.path(f"/home/alice/{IDLE_LOG}")
        log.unlink(missing_ok=True)
        terminal.sendline(f"WAYLAND_DISPLAY=wayland-1 swayidle -d -w lock '{locker}' >{IDLE_LOG} 2>&1 &")
        terminal.expect(PROMPT)
        self.wait_until("swayidle waits", lambda: log.exists() and SWAYIDLE_WAITS in log.read_text())

    @classmethod
    def wait_until(cls, claim, check):
        """As `assert_eventually`, for what a class begins with."""
        deadline = time.monotonic() + BUSY
        while not check():
            if time.monotonic() > deadline:
                said = cls.host.run("sh", "-c", "tail -n 40 /home/alice/*.log /home/alice/*.out", check=False)
                raise AssertionError(f"not {claim}: {said}")
            time.sleep(0.1)

    def alice(self, *words, check=True):
        """As a program of her desktop."""
        environment = {"XDG_RUNTIME_DIR": RUNTIME, **self.screen}
        return self.host.run(*words, user="alice", environment=environment, check=check, timeout=30)

    def passwords(self, service):
        """What became of passwords until now, by what the modules say.

        "next": it answered the choice of password and phone, which begins each conversation. "refused": by pam_unix, in
        a conversation that went on after that choice, or in the one that has just begun.
        """
        kinds = {(f"pam_iampass({service}:auth)", "reason=password typed instead"): "next",
                 (f"pam_unix({service}:auth)", "authentication failure"): "refused"}  # fmt: skip
        lines = self.journal().splitlines()
        return [kind for line in lines for words, kind in kinds.items() if all(word in line for word in words)]

    def assert_taken(self, service, before, taken):
        """Since `before`, what `passwords` said then. Without a word of either the conversation has gone on.

        "next" by the last word, which is about what was taken. Letters that come before the locker reads them again are
        lost: Return alone then asks the phone once more, or the end of the conversation before is told after `before`.
        """
        said = self.passwords(service)[before:]
        decides = said[-1:] if taken == "next" else said[:1]
        self.assertEqual("next" if decides == ["next"] else "same", taken, said)

    def enter_for_the_phone(self, service, enter):
        """Until the phone is asked, or cannot be."""
        before = self.attempts(service)
        self.again_until(lambda: self.attempts(service) != before, enter, "Enter asks nobody", ASKED)

    def attempts(self, service):
        """Requests that the service took, and those that did not reach it."""
        return self.requests_at_the_service() + len(self.broker_lines(f"service={service} "))

    def broker_lines(self, text):
        self.host.run("journalctl", "--sync")
        return [line for line in self.journal().splitlines() if "iampass-broker" in line and text in line]

    @contextlib.contextmanager
    def broker_down(self):
        self.host.run("systemctl", "stop", "iampass-broker.socket", "iampass-broker.service")
        try:
            yield
        finally:
            self.host.run("systemctl", "start", "iampass-broker.socket")

    def kill_broker(self):
        """systemd starts another one."""
        killed = self.host.main_pid("iampass-broker")
        self.host.run("systemctl", "kill", "--signal=KILL", "iampass-broker.service")
        self.assert_eventually(
            "no broker comes", lambda: self.host.main_pid("iampass-broker") not in (killed, "0"))

    def upgrade(self):
        """By the package that is installed already; the broker that asks a phone is left alone."""
        broker = self.host.main_pid("iampass-broker")
        self.host.run("sh", "-c", "dpkg --install /var/cache/iampass/libpam-iampass_*.deb")
        self.assertEqual(self.host.main_pid("iampass-broker"), broker)

    def short_time(self):
        """In which nobody answers."""
        return self.host.changed(testhost.CONFIGURATION, lambda text: text + "approval_timeout = 5s\n")
