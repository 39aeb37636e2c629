"""Things that are wrong: the service is down, a file is broken, the caller brings a hostile environment."""

import re
import unittest

from host_case import HostCase
from Support.Hosts.testhost import CHOOSE_PROMPT, PUSH_LINE, password_of

PASSWORD = r"\[sudo\] password for alice: |Password: "
CREDENTIALS = "/etc/iampass/credentials"


class ServiceDown(HostCase):
    def test_one_clear_line_and_then_the_password_works(self):
        with self.host.service_down():
            child = self.sudo()
            child.expect(PASSWORD)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
        # At once: a wait in vain would be told as "no answer".
        self.assertEqual(len(re.findall(r"IAMPASS: server not reachable \(.+\)\. Use your password\.", child.screen)), 1)
        self.assertIn("server not reachable (refused).", child.screen)

    def test_ssh_goes_on_to_the_password(self):
        with self.host.service_down():
            child = self.ssh()
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
            child.expect("Password: ")
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)

    def test_the_next_sign_in_after_it_works(self):
        with self.host.service_down():
            child = self.sudo()
            child.expect(PASSWORD)
            child.close(force=True)
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)


class BrokenFiles(HostCase):
    def password_goes_on(self):
        child = self.sudo()
        child.expect(PASSWORD)
        child.sendline(password_of("alice"))
        self.assertEqual(child.finish(), 0)
        self.assertNotIn(PUSH_LINE, child.screen)

    def test_credentials_that_others_can_read_are_refused(self):
        file = self.host.path(CREDENTIALS)
        file.chmod(0o644)
        self.addCleanup(file.chmod, 0o600)
        with self.phone("approve") as phone:
            self.password_goes_on()
            self.assertEqual(phone.requests(), [])
        self.assertIn(CREDENTIALS, "\n".join(self.module_lines()))

    def test_a_bad_configuration_value_is_logged_with_file_and_line(self):
        # Behind the lines that setup wrote.
        line = self.host.path("/etc/iampass/iampass.conf").read_text().count("\n") + 1
        with self.host.changed("/etc/iampass/iampass.conf", lambda text: text + "approval_timeout = soon\n"):
            self.password_goes_on()
        self.assertRegex("\n".join(self.module_lines()), rf"/etc/iampass/iampass\.conf:{line}: bad approval_timeout: ")

    def test_a_missing_module_leaves_the_password(self):
        module = next(self.host.path("/usr/lib").glob("*/security/pam_iampass.so"))
        away = module.with_suffix(".away")
        module.rename(away)
        self.addCleanup(away.rename, module)
        self.password_goes_on()


class HostileEnvironment(HostCase):
    def setUp(self):
        super().setUp()
        self.keys = "/tmp/keys-of-a-caller"
        self.environment = {
            "SSLKEYLOGFILE": self.keys, "https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9",
            "ALL_PROXY": "http://127.0.0.1:9", "SWIFT_BACKTRACE": "enable=yes,output-to=/tmp/backtrace-of-a-caller",
            "OPENSSL_CONF": "/tmp/openssl-of-a-caller", "RES_OPTIONS": "attempts:9", "MALLOC_TRACE": "/tmp/m",
        }

    def assert_nothing_was_written(self):
        self.assertEqual([name.name for name in self.host.path("/tmp").glob("*-of-a-caller")], [])

    def test_sudo_is_not_led_by_it(self):
        with self.phone("approve"):
            child = self.sudo(environment=self.environment)
            self.assertEqual(child.finish(), 0)
        self.assert_nothing_was_written()

    def test_su_is_not_led_by_it(self):
        with self.phone("approve"):
            child = self.host.terminal("su alice -c 'id -un'", user="visitor", environment=self.environment)
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0)
        self.assert_nothing_was_written()

    def test_the_command_still_gets_its_swift_variables(self):
        with self.phone("approve"):
            child = self.host.terminal("su alice -c env", user="visitor", environment=self.environment)
            self.press_enter_for_the_phone(child)
            child.finish()
        self.assertIn("SWIFT_BACKTRACE=enable=yes", child.screen)
        self.assertIn(f"SSLKEYLOGFILE={self.keys}", child.screen)


class Log(HostCase):
    def test_an_approval_is_one_line_with_user_service_and_outcome(self):
        with self.phone("approve"):
            self.sudo().finish()
        lines = [line for line in self.module_lines() if "approved" in line]
        self.assertEqual(len(lines), 1, self.module_lines())
        for word in ("alice", "sudo"):
            self.assertIn(word, lines[0])

    def test_a_denial_is_one_line_with_user_service_and_outcome(self):
        with self.phone("deny"):
            self.sudo().finish()
        lines = [line for line in self.module_lines() if "denied" in line]
        self.assertEqual(len(lines), 1, self.module_lines())
        for word in ("alice", "sudo"):
            self.assertIn(word, lines[0])

    def test_no_secret_stands_in_the_whole_journal(self):
        with self.phone("approve"):
            self.sudo().finish()
        secrets = self.secrets()
        self.host.run("logger", f"planted {secrets[0]}")
        journal = self.host.journal()
        # A search that finds what was planted can be believed when it finds nothing else.
        self.assertIn(f"planted {secrets[0]}", journal)
        left = journal.replace(f"planted {secrets[0]}", "")
        for secret in secrets:
            self.assertNotIn(secret, left)

    def secrets(self):
        credentials = self.host.path(CREDENTIALS).read_text()
        secret = re.search(r"application_secret = (\S+)", credentials)[1]
        tokens = re.findall(r":(\S+)$", self.host.path("/etc/iampass/users").read_text(), re.MULTILINE)
        self.assertTrue(tokens)
        return [secret, *tokens, password_of("alice")]


if __name__ == "__main__":
    unittest.main()
