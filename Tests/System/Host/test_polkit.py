"""The administrator's dialog: pkexec of Debian 13 at a terminal, and polkit's helper in the sandbox of version 127."""

import unittest

from desktop_case import PROMPT, DesktopCase
from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, PUSH_LINE, password_of
from Support.Service.never import assert_refused

#: As polkit-agent-helper@.service of polkit 127 has them.
SANDBOX = [f"--property={line}" for line in (
    "PrivateNetwork=yes", "RestrictAddressFamilies=AF_UNIX", "ProtectSystem=strict", "ProtectHome=yes",
    "PrivateDevices=yes", "NoNewPrivileges=yes", "PrivateTmp=yes")]  # fmt: skip


class Cases:
    """What holds for both. `begin` gives a terminal before the question."""

    def test_an_approval_is_enough(self):
        with self.phone("approve") as phone:
            child = self.begin()
            self.press_enter(child)
            self.assert_allowed(child)
            self.assertEqual(len(phone.requests()), 1)
        self.assertEqual(len(self.broker_lines("approved user=alice service=polkit-1 ")), 1)
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_a_denial_refuses_and_the_next_try_takes_the_password(self):
        with self.phone("deny"):
            child = self.begin()
            self.press_enter(child)
            self.assert_refused(child)
        self.assert_the_password_is_enough()

    def test_after_nobody_answered_the_password_is_enough(self):
        with self.short_time():
            child = self.begin()
            self.press_enter(child)
            child.expect_exact("IAMPASS: not answered in time. Use your password.")
            self.answer_the_password(child)
            self.assert_allowed(child)

    def test_while_the_service_is_down_the_password_is_enough(self):
        with self.host.service_down():
            child = self.begin()
            self.press_enter(child)
            self.answer_the_password(child)
            self.assert_allowed(child)

    def test_without_a_broker_the_password_is_enough(self):
        with self.broker_down():
            child = self.begin()
            self.answer_the_password(child)
            self.assert_allowed(child)

    def test_after_the_broker_was_killed_the_password_is_enough(self):
        with self.phone("ask") as phone:
            child = self.begin()
            self.press_enter(child)
            phone.wait_for_requests(1)
            self.kill_broker()
            child.expect_exact("the broker of this computer stopped")
            self.answer_the_password(child)
            self.assert_allowed(child)

    def test_an_upgrade_leaves_the_broker_that_asks_the_phone(self):
        with self.phone("ask") as phone:
            child = self.begin()
            self.press_enter(child)
            phone.wait_for_requests(1)
            self.upgrade()
            phone.type("y")
            self.assert_allowed(child)

    def press_enter(self, child):
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline("")
        # In polkit's dialog too.
        child.expect([PUSH_LINE, "IAMPASS"])

    def answer_the_password(self, child):
        child.expect("Password: ")
        child.sendline(password_of("alice"))

    def assert_the_password_is_enough(self):
        child = self.begin()
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline(password_of("alice"))
        self.assert_allowed(child)


class Pkexec(Cases, DesktopCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.terminal = cls.desktop()

    def begin(self):
        self.terminal.sendline("pkexec id -un")
        return self.terminal

    def assert_allowed(self, child):
        child.expect_exact("AUTHENTICATION COMPLETE")
        child.expect("root\r?\n")
        child.expect(PROMPT)

    def assert_refused(self, child):
        child.expect("denied on your phone")
        child.expect_exact("Not authorized")
        child.expect(PROMPT)


class Sandbox(Cases, DesktopCase):
    """PAM as polkit's helper calls it: as root, without network."""

    def begin(self):
        # systemd-run may drop what a program says as it ends.
        ask = "sh -c 'pamtester polkit-1 alice authenticate && sleep 1'"
        return self.host.terminal(f"systemd-run --quiet --pty --collect --wait {' '.join(SANDBOX)} {ask}")

    def assert_allowed(self, child):
        child.expect_exact("successfully authenticated")
        self.assertEqual(child.finish(), 0)

    def assert_refused(self, child):
        child.expect_exact("denied on your phone")
        assert_refused(child.finish())


class Switch(DesktopCase):
    """The broker's socket is there if a listed service needs it."""

    def socket_state(self):
        return " ".join(
            self.host.run("systemctl", verb, "iampass-broker.socket", check=False).strip()
            for verb in ("is-enabled", "is-active"))

    def assert_switched_off(self):
        # The command does not wait until systemd has stopped it.
        self.assert_eventually("the socket is still there", lambda: self.socket_state() == "disabled inactive")

    def test_enable_starts_the_socket_and_disable_stops_it(self):
        self.assertEqual(self.socket_state(), "enabled active")
        # The tests that follow need it.
        self.addCleanup(self.host.run, "iampassctl", "enable")
        said = self.host.run("iampassctl", "check", check=False)
        self.assertRegex(said, r"iampass-broker.socket listens: polkit-1, gtklock, i3lock, swaylock ask the phone")
        services = self.host.run("grep", "^services", testhost.CONFIGURATION).partition("=")[2].split()
        self.host.run("iampassctl", "enable", "--services", "sudo,login,sshd,su")
        self.assert_switched_off()
        said = self.host.run("iampassctl", "enable", "--services", "sudo,login,sshd,su", "--desktop")
        self.assertRegex(said, "(?m)^swaylock: .*; it shows no digits, so the phone asks for none$")
        self.assertNotRegex(said, "(?m)^(gtklock|polkit-1): .*code")
        self.assertEqual(self.socket_state(), "enabled active")
        with self.broker_down():
            said = self.host.run("iampassctl", "check", check=False)
            self.assertIn("iampass-broker.socket does not listen: polkit-1, gtklock, ", said)
        self.host.run("iampassctl", "disable")
        self.assert_switched_off()
        self.host.run("iampassctl", "enable")
        self.assertEqual(self.socket_state(), "enabled active")
        self.assertIn("@desktop", services)


if __name__ == "__main__":
    unittest.main()
