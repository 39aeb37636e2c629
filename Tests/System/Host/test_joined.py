"""A computer that has joined by a code: who comes onto the service's list signs in, and who leaves it is signed out."""

import contextlib
import re
import unittest

from helper_case import HelperCase
from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, Phone, password_of

DATA = "/var/lib/iampass-server"
#: What the service shows, and what signed it.
SHOWN, AUTHORITY = "/etc/iampass-server/cert.pem", "/etc/iampass/ca.pem"
CREDENTIALS, USERS = "/etc/iampass/credentials", "/etc/iampass/users"
LIST = "/var/lib/iampass/service/users"
STATE = "/home/phone/listed.json"
SSHD = "/etc/ssh/sshd_config.d/test-host.conf"


class Joined(HelperCase):
    def setUp(self):
        super().setUp()
        put_back = contextlib.ExitStack()
        self.addCleanup(put_back.close)
        # Last of all, with the files of before.
        put_back.callback(self.host.run, "systemctl", "reload", "iampass-server", "iampass-helper")
        put_back.callback(self.host.run, "rm", "-rf", "/etc/iampass/service-ca.pem", "/var/lib/iampass/service", STATE)
        for file in (testhost.CONFIGURATION, CREDENTIALS, USERS):
            put_back.enter_context(self.host.changed(file, lambda text: text))
        put_back.enter_context(self.host.changed(SHOWN, lambda text: text + self.host.path(AUTHORITY).read_text()))
        self.host.run("systemctl", "reload", "iampass-server")
        self.join()

    def join(self):
        code = self.server("join-code", "create", "workstation", "--unattended", "--certificate", SHOWN).split()[-1]
        said = self.host.run("iampassctl", "join", "--again", "--yes", "https://localhost:8443", "-", text_in=code + "\n")
        self.assertIn("joined workstation as workstation\n", said)
        self.addCleanup(self.server, "host-credential", "revoke", "workstation", "workstation")
        # Only the service says who signs in.
        self.host.path(USERS).write_text("")
        self.host.run("systemctl", "reload", "iampass-helper")

    def test_yes_and_enable_ask_nothing_at_a_terminal(self):
        self.addCleanup(self.host.run, "systemctl", "restart", "ssh")
        code = self.server("join-code", "create", "workstation", "--unattended", "--certificate", SHOWN).split()[-1]
        self.addCleanup(self.server, "host-credential", "revoke", "workstation", "another")
        self.server("user", "add", "workstation", "bob", "--no-link")
        self.addCleanup(self.server, "user", "remove", "workstation", "bob")
        self.addCleanup(self.host.run, "pam-auth-update", "--package", "--enable", "iampass", "iampass-session")
        self.host.run("iampassctl", "disable")
        # As Debian has it.
        with self.host.changed(SSHD, lambda text: text.replace("KbdInteractiveAuthentication yes", "KbdInteractiveAuthentication no")):
            child = self.host.terminal(f"iampassctl join --again --name another --yes --enable https://localhost:8443 {code}", timeout=60)
            self.assertEqual(child.finish(60), 0, child.screen)
        self.assertNotIn("[y/N]", child.screen)
        self.assertIn("sshd does not ask PAM, so it never asks the phone", child.screen)
        self.assertIn("sign-in by phone is on for sudo, sudo-i, login", child.screen)

    def server(self, *words):
        return self.host.run("iampass-server", *words, "--data", DATA)

    def listed(self):
        return re.findall(r"(?m)^([^#:\n]+):", self.host.run("cat", LIST, check=False))

    def add(self, user):
        link = re.search(r"https://\S+/register/\S+", self.server("user", "add", "workstation", user))[0]
        self.host.run("iampass-phone", "register", link, "--force", "--state", STATE, "--ca", AUTHORITY, user="phone")
        self.assert_eventually("the user is not on the list", lambda: user in self.listed())

    def test_whoever_is_removed_from_the_list_is_signed_out(self):
        self.add("bob")
        shells = [self.ssh_shell("bob", Phone(self.host, "approve", state=STATE)) for _ in range(2)]
        self.server("user", "remove", "workstation", "bob")
        for child in shells:
            self.assert_over(child, "Signed out: ")
        self.assert_nothing_left()
        self.assert_eventually("the user is on the list", lambda: self.listed() == [])
        lines = [line for line in self.journal().splitlines() if "logged out user=bob" in line]
        self.assertEqual(len(lines), 2, lines)
        # No phone is asked for bob any more.
        before = self.requests_at_the_service()
        child = self.host.terminal("ssh bob@localhost id -un", user="visitor")
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline("")
        child.expect_exact("Password: ")
        child.sendline(password_of("bob"))
        self.assertEqual(child.finish(), 0)
        self.assertEqual(self.requests_at_the_service(), before)

    def test_another_users_session_goes_on(self):
        self.add("bob")
        stays = self.ssh_shell("bob", Phone(self.host, "approve", state=STATE))
        self.server("user", "add", "workstation", "alice", "--no-link")
        self.assert_eventually("alice is not on the list", lambda: sorted(self.listed()) == ["alice", "bob"])
        self.server("user", "remove", "workstation", "alice")
        self.assert_eventually("alice is on the list", lambda: self.listed() == ["bob"])
        self.assert_alive(stays, "bob")
        self.server("user", "remove", "workstation", "bob")
        self.assert_over(stays, "Signed out: ")


if __name__ == "__main__":
    unittest.main()
