"""sshd of Debian 13 under a PAM service of an administrator's own, and variables that never come through: a session that the
phone approved is watched all the same, and ends when the phone leaves."""

import contextlib
import unittest

from helper_case import PROMPT, HelperCase
from Support.Hosts import testhost

SSHD = "/etc/ssh/sshd_config.d/test-service.conf"
#: What the module hands from sshd's child to its parent.
VARIABLE = "IAMPASS_SESSION"
OWN_VARIABLES = "/home/alice/.pam_environment"
PAM_ENV = "session required pam_env.so user_readenv=1"
SESSIONS = "@include common-session"


class Watched(HelperCase):
    release = "13-desktop"

    @contextlib.contextmanager
    def service(self, name):
        """sshd asks PAM for this service, which the phone's list has too."""
        lines = self.host.path("/etc/pam.d/sshd").read_text()
        self.host.path(f"/etc/pam.d/{name}").write_text(lines)
        self.host.path(SSHD).write_text(f"PAMServiceName {name}\n")
        try:
            self.host.run("systemctl", "restart", "ssh")
            with self.configured_services(name):
                yield
        finally:
            self.host.run("rm", "-f", SSHD, f"/etc/pam.d/{name}")
            self.host.run("systemctl", "restart", "ssh")

    def configured_services(self, name):
        return self.host.changed(
            testhost.CONFIGURATION, lambda text: text.replace("services = ", f"services = {name} "))

    @contextlib.contextmanager
    def own_variables(self, service, text):
        """pam_env reads what alice wrote, in front of the session lines."""
        self.host.path(OWN_VARIABLES).write_text(text)
        self.host.run("chown", "alice:", OWN_VARIABLES)
        try:
            with self.host.changed(
                f"/etc/pam.d/{service}", lambda lines: lines.replace(SESSIONS, f"{PAM_ENV}\n{SESSIONS}", 1)
            ):
                yield
        finally:
            self.host.run("rm", "-f", OWN_VARIABLES)

    def shell(self, service):
        """Its record is bound, and the helper watches it."""
        child = self.ssh_shell()
        # As the helper shows it; a session that nobody watches would not be there.
        self.assertEqual([(one["user"], one["service"], one["watched"]) for one in self.sessions()], [("alice", service, True)])
        return child

    def shown(self, child, words):
        """What the shell has in these variables."""
        child.sendline(f"echo \"<{words}>\"")
        child.expect("<([^<$]*)>\r?\n")
        found = child.match[1]
        child.expect(PROMPT)
        return found

    def assert_ends_with_the_walkaway(self, child):
        self.leave()
        self.assert_over(child)
        self.assert_nothing_left()
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())
        self.come_back()

    def test_under_another_service_name_the_session_ends_with_the_walkaway(self):
        with self.service("ssh2"):
            child = self.shell("ssh2")
            self.assertEqual(self.shown(child, f"${VARIABLE}"), "")
            self.assert_ends_with_the_walkaway(child)

    def test_a_variable_of_the_users_own_does_not_keep_it_from_being_watched(self):
        # One is empty, which takes it out; the other names a record that is not there.
        for line in ("DEFAULT= OVERRIDE=", f"DEFAULT={'0' * 32} OVERRIDE={'0' * 32}"):
            with self.subTest(line=line), self.own_variables("sshd", f"{VARIABLE} {line}\nMARK DEFAULT=read\n"):
                child = self.shell("sshd")
                # pam_env did read the file.
                self.assertEqual(self.shown(child, "$MARK"), "read")
                self.assert_ends_with_the_walkaway(child)

    def test_both_together_change_nothing(self):
        with self.service("ssh2"), self.own_variables("ssh2", f"{VARIABLE} DEFAULT= OVERRIDE=\nMARK DEFAULT=read\n"):
            child = self.shell("ssh2")
            self.assertEqual(self.shown(child, "$MARK"), "read")
            self.assert_ends_with_the_walkaway(child)


if __name__ == "__main__":
    unittest.main()
