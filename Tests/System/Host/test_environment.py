"""FAULTS H12: whatever a caller of sudo and su sets, nothing is read or written by it, nobody else is asked, and the
command gets it.
"""

import re
import shlex
import unittest

from host_case import HostCase
from hostile_variables import variables
from Support.Hosts.testhost import CHOOSE_LINE, PUSH_LINE
from Support.Service.late_line import without_late_line
from watching import FolderWatch, PortWatch

FOLDER = "/var/hostile"
SUDOERS = "/etc/sudoers.d/environment"

#: Those that the loader does not remove from a setuid program, nor sudo from its command.
KEPT_ALWAYS = ("SSLKEYLOGFILE", "OPENSSL_CONF", "OPENSSL_ia32cap", "SWIFT_BACKTRACE", "SWIFT_DEBUG_HELP", "https_proxy",
               "CURL_CA_BUNDLE", "SSL_CERT_FILE", "DBUS_SYSTEM_BUS_ADDRESS", "GNUTLS_DEBUG_LEVEL")  # fmt: skip

VARIABLE = re.compile(r"(?m)^\w+=.*\n?")


class HostileEnvironment(HostCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.run("mkdir", "-m", "777", FOLDER)
        cls.addClassCleanup(cls.host.run, "rm", "-rf", FOLDER)

    def setUp(self):
        super().setUp()
        self.port = PortWatch(self.host.leader)
        self.addCleanup(self.port.close)
        self.hostile = variables(FOLDER, self.port.port)
        for name in self.hostile:
            # There to be read; a value that makes it worth while is left to imagination.
            self.host.path(f"{FOLDER}/{name}").write_text("localhost elsewhere.example\n")
        self.watch = FolderWatch(self.host.path(FOLDER))
        self.addCleanup(self.watch.close)
        self.addCleanup(self.host.run, "rm", "-f", SUDOERS)

    def allow(self, *lines):
        file = self.host.path(SUDOERS)
        file.write_text("\n".join(lines) + "\n")
        file.chmod(0o440)

    def hostile_words(self, command):
        """The command with all that set, and not the shell before it."""
        return shlex.join(["env", *(f"{name}={value}" for name, value in self.hostile.items())]) + " " + command

    def assert_nothing_was_touched(self):
        self.assertEqual(self.watch.seen(), set())
        # The watchers see: one open and one connection of our own.
        self.host.path(f"{FOLDER}/TZ").read_text()
        self.assertEqual(self.watch.seen(), {"TZ"})
        self.host.run("bash", "-c", f"echo {self.port.OURS} >/dev/tcp/127.0.0.1/{self.port.port}")
        self.assertEqual(self.port.strangers(), [])

    def assert_the_command_has(self, screen, names):
        for name in names:
            self.assertIn(f"{name}={self.hostile[name]}", screen)
        self.assertNotRegex(screen, r"(?m)^[^=\n]*IAMPASS_SESSION=[0-9a-f]{32}")

    def run_sudo(self, options=""):
        """The screen of a plain sign-in, and of one with all of it set."""
        screens = []
        for command in (f"sudo {options} env", self.hostile_words(f"sudo {options} env")):
            with self.phone("approve"):
                child = self.host.terminal(command, user="alice")
                self.assertEqual(child.finish(), 0, child.screen)
            screens.append(child.screen)
        plain, hostile = (VARIABLE.sub("", without_late_line(screen)) for screen in screens)
        self.assertEqual(hostile, plain)
        self.assert_nothing_was_touched()
        return screens[1]

    def test_sudo_that_resets_nothing(self):
        self.allow("Defaults !env_reset")
        self.assert_the_command_has(self.run_sudo(), KEPT_ALWAYS)

    def test_sudo_that_is_asked_to_keep_everything(self):
        self.allow("alice ALL=(ALL) SETENV: ALL")
        self.assert_the_command_has(self.run_sudo("-E"), KEPT_ALWAYS)

    def test_sudo_that_is_told_to_keep_everything(self):
        self.allow('Defaults env_keep += "*"')
        self.assert_the_command_has(self.run_sudo(), KEPT_ALWAYS)

    def test_sudo_as_it_comes(self):
        screen = self.run_sudo()
        for name in KEPT_ALWAYS:
            self.assertNotIn(name, screen)

    def test_su(self):
        with self.phone("approve"):
            child = self.host.terminal(self.hostile_words("su alice -c env"), user="visitor")
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0, child.screen)
        shown = [line for line in VARIABLE.sub("", without_late_line(child.screen)).splitlines()
                 if line and not line.startswith("bash: ")]
        self.assertEqual([line.strip() for line in shown], [CHOOSE_LINE, "Password:", PUSH_LINE])
        self.assert_the_command_has(child.screen, KEPT_ALWAYS)
        self.assert_nothing_was_touched()


class HostileEnvironmentOfAWorker(HostileEnvironment):
    """The same where each sign-in starts its worker itself."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.run("systemctl", "stop", "iampass-worker.socket")
        cls.addClassCleanup(cls.host.run, "systemctl", "start", "iampass-worker.socket")


if __name__ == "__main__":
    unittest.main()
