"""`iampassctl audit` and `iampassctl login-test` on a booted host: sign-ins as they were, and as they would be."""

import json
import re
import unittest

from control_case import ControlCase
from Support.Hosts.testhost import PUSH_LINE


class Audit(ControlCase):
    def setUp(self):
        super().setUp()
        made = self.host.run(
            "iampass-server", "host-credential", "create", "workstation", f"audit-{id(self)}", "--host", "workstation",
            "--data", "/var/lib/iampass-server", user="_iampass-server")
        changed = self.host.changed("/etc/iampass/credentials", lambda _: made)
        changed.__enter__()
        self.addCleanup(self.host.run, "systemctl", "reload", "iampass-helper")
        self.addCleanup(changed.__exit__, None, None, None)
        self.host.run("systemctl", "reload", "iampass-helper")

    def rows(self):
        code, output = self.ctl("audit", "--json", "--user", "alice", "--since", "1h")
        self.assertEqual(code, 0, output)
        # Earlier tests had another credential: the service does not tell of their sign-ins.
        return [row for row in json.loads(output) if row["at"] >= self.began * 1000]

    def rows_in_the_journal(self):
        """The service may tell of a sign-in before the journal has its line."""
        return [row for row in self.rows() if row["journal"]]

    def test_one_sign_in_is_one_line_with_one_name_here_and_at_the_service(self):
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)

        def is_whole():
            rows = self.rows_in_the_journal()
            return len(rows) == 1 and rows[0]["journal"].get("ended") and len(rows[0]["service"].get("entries", [])) == 3
        self.assert_eventually("its end is missing", is_whole)
        [row] = self.rows()
        self.assertEqual(row["journal"]["result"], "approved")
        self.assertEqual([entry["event"] for entry in row["service"]["entries"]], ["asked", "approved", "ended"])
        lines = self.host.run("journalctl", f"--since=@{int(self.began)}", "--priority=info", "--output=cat").splitlines()
        own = [line for line in lines if "user=alice" in line and f"session={row['session']}" in line]
        self.assertEqual(len(own), 1, own)
        self.assertIn(f"phone={row['journal']['phone']}", own[0])

    def test_a_denial_and_a_line_of_a_users_own(self):
        with self.phone("deny"):
            self.sudo().finish()
        line = "pam_iampass(sudo:auth): approved user=alice service=sudo rhost=- session=" + "e" * 32
        self.host.run("logger", "--priority", "authpriv.notice", "--tag", "sudo", line, user="visitor")
        self.assert_eventually("the lines are missing", lambda: len(self.rows_in_the_journal()) == 2)
        denied, forged = self.rows()
        self.assertEqual(denied["journal"]["reason"], "denied on the phone")
        self.assertIn("denied", [entry["event"] for entry in denied["service"]["entries"]])
        self.assertEqual(forged["service"], {"known": False})
        self.assertGreater(forged["journal"]["written_by_uid"], 0)


class LoginTest(ControlCase):
    def login_test(self, service, answer="approve"):
        with self.phone(answer):
            child = self.host.terminal(f"iampassctl login-test alice --service {service}", timeout=40)
            if child.expect_exact([PUSH_LINE, "asks     Password: "]) == 1:
                child.sendline("")
            return child.finish(40), child.screen

    def test_sudos_stacks_open_and_close(self):
        code, screen = self.login_test("sudo")
        self.assertEqual(code, 0, screen)
        self.assertEqual(len(re.findall("success after", screen)), 4)

    def test_logins_stacks_open_a_session_of_logind(self):
        code, screen = self.login_test("login")
        self.assertEqual(code, 0, screen)
        self.assertEqual(len(re.findall("success after", screen)), 4, screen)

    def test_sshds_stacks_open_a_session_of_logind(self):
        code, screen = self.login_test("sshd")
        self.assertEqual(code, 0, screen)
        self.assertEqual(len(re.findall("success after", screen)), 4, screen)

    def test_a_denial_is_said(self):
        code, screen = self.login_test("sudo", "deny")
        self.assertEqual(code, 77)
        self.assertRegex(screen, "maxtries after .*: denied on the phone")


if __name__ == "__main__":
    unittest.main()
