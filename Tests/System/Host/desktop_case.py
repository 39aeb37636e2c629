"""What tests of lockers and polkit share: a desktop of alice's without a monitor, and `enable --desktop`."""

import contextlib
import time

from support import HostTestCase, password_of, testhost

RUNTIME = "/run/user/1000"
PROMPT = r"alice@workstation[^\n]*\$ "
SWAY = "WLR_BACKENDS=headless WLR_LIBINPUT_NO_DEVICES=1 WLR_RENDERER=pixman sway -c sway.cfg >sway.log 2>&1 &"
#: As iampass-helper(8) shows it: swaylock, which tells logind.
LOCK_SCREEN = """#!/bin/sh
hint() {
    busctl call --quiet org.freedesktop.login1 /org/freedesktop/login1/session/auto \\
        org.freedesktop.login1.Session SetLockedHint b "$1"
}
swaylock -f && hint true && pidwait -x swaylock
hint false
"""
#: Longer than a wrong password takes: pam_unix and pam_faildelay wait for up to five seconds.
REPEAT = 8


class DesktopTestCase(HostTestCase):
    release = "13-desktop"
    #: For programs of her desktop.
    screen = {"WAYLAND_DISPLAY": "wayland-1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if "@desktop" in cls.host.run("cat", testhost.CONFIGURATION):
            return
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
        terminal.expect("on your phone: ")
        terminal.sendline(password_of("alice"))
        terminal.expect(PROMPT)
        terminal.sendline(SWAY)
        terminal.expect(PROMPT)
        deadline = time.monotonic() + 60
        while not cls.host.path(f"{RUNTIME}/wayland-1.lock").exists():
            if time.monotonic() > deadline:
                raise AssertionError(cls.host.run("cat", "/home/alice/sway.log"))
            time.sleep(0.1)
        return terminal

    def alice(self, *words, check=True):
        """As a program of her desktop."""
        environment = {"XDG_RUNTIME_DIR": RUNTIME, **self.screen}
        return self.host.run(*words, user="alice", environment=environment, check=check, timeout=30)

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
        self.host.run("systemctl", "kill", "--signal=KILL", "iampass-broker.service")

    def short_time(self):
        """In which nobody answers."""
        return self.host.changed(testhost.CONFIGURATION, lambda text: text + "approval_timeout = 5s\n")
