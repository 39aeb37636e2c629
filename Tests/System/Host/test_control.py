"""iampassctl on a booted host: the doctor, and switching on and off."""

import contextlib
import re
import unittest

from control_case import ControlCase
from host_case import expired
from Support.Hosts.testhost import PUSH_LINE, password_of

SSHD_CONFIG = "/etc/ssh/sshd_config.d/test-host.conf"
DROP_IN = "/etc/ssh/sshd_config.d/00-iampass.conf"
CONFIGURATION = "/etc/iampass/iampass.conf"


class Check(ControlCase):
    def assert_found(self, level, pattern):
        found = self.findings(level)
        self.assertTrue([text for text in found if re.search(pattern, text)], f"{pattern} in {found}")

    def test_a_well_host_has_no_problem(self):
        self.assertEqual(self.findings("problem"), [])
        fine = "\n".join(self.findings("ok"))
        for text in ("sudo: asks the phone", "sshd: asks the phone", "login: asks the phone", "LOGIN_TIMEOUT of 60 s",
                     "UsePAM and KbdInteractiveAuthentication are on|public keys go past PAM", "systemd-logind is running",
                     "accepts the signature", "without the phone|stands aside|su: asks"):
            self.assertRegex(fine, text)

    def test_an_sshd_that_does_not_ask_pam_is_a_problem(self):
        with self.host.changed(SSHD_CONFIG, lambda text: text.replace("KbdInteractiveAuthentication yes", "KbdInteractiveAuthentication no")):
            self.assert_found("problem", "KbdInteractiveAuthentication is off")

    def test_a_sudo_that_asks_another_service_is_a_problem(self):
        with self.host.changed("/etc/sudoers", lambda text: text + "Defaults pam_service=sudo-phone\n"):
            self.assert_found("problem", "^sudo: pam_service is sudo-phone, which is not in services")
        with self.host.changed("/etc/sudoers", lambda text: text + "Defaults:alice pam_service=sudo-i\n"):
            self.assertEqual(self.findings("problem"), [])

    def test_a_policy_of_sudo_with_errors_is_a_warning(self):
        with self.host.changed("/etc/sudoers", lambda text: text + "Defaults : :\n"):
            self.assert_found("warning", "^/etc/sudoers was not understood, .*syntax error")

    def test_usepam_off_is_a_problem(self):
        with self.host.changed(SSHD_CONFIG, lambda text: text.replace("UsePAM yes", "UsePAM no")):
            self.assert_found("problem", "UsePAM is off")

    def test_methods_without_keyboard_interactive_are_a_problem(self):
        with self.host.changed(SSHD_CONFIG, lambda text: text + "AuthenticationMethods publickey\n"):
            self.assert_found("problem", "leaves keyboard-interactive out")

    def test_a_list_of_methods_that_leaves_the_phone_out_of_a_longer_one_is_a_problem(self):
        methods = "AuthenticationMethods publickey publickey,keyboard-interactive\n"
        with self.host.changed(SSHD_CONFIG, lambda text: text + methods):
            self.assert_found("problem", "one list is enough, so that publickey opens without the phone")

    def test_a_short_grace_time_is_a_warning(self):
        with self.host.changed(SSHD_CONFIG, lambda text: text + "LoginGraceTime 20\n"):
            self.assert_found("warning", "LoginGraceTime of 20 s")

    def test_a_password_that_has_expired_is_a_warning(self):
        with self.host.changed("/etc/shadow", expired):
            self.assert_found("warning", "^password has expired, asked for and changed after the phone has approved: alice$")

    def test_a_short_login_timeout_is_a_warning(self):
        with self.host.changed("/etc/login.defs", lambda text: re.sub(r"(?m)^LOGIN_TIMEOUT.*", "LOGIN_TIMEOUT 20", text)):
            self.assert_found("warning", "LOGIN_TIMEOUT of 20 s")

    def test_a_missing_session_line_is_a_problem(self):
        with self.host.changed("/etc/pam.d/common-session", lambda text: re.sub(r"(?m)^session.*pam_iampass.*\n", "", text)):
            self.assert_found("problem", "sshd: has no session line of pam_iampass.so")

    def test_a_session_line_before_logind_is_a_problem(self):
        line = "session [session_err=die default=ignore] pam_iampass.so\n"
        with self.host.changed("/etc/pam.d/common-session", lambda text: line + text):
            self.assert_found("problem", "login: pam_iampass.so opens its session before pam_systemd.so")

    def test_a_missing_deny_is_a_problem(self):
        def change(text):
            return re.sub(r"(?m)^auth\s+requisite\s+pam_deny.*\n", "", text).replace("success=2", "success=1")

        with self.host.changed("/etc/pam.d/common-auth", change):
            self.assert_found("problem", "sudo: lets anybody in")

    def test_a_missing_worker_is_a_problem(self):
        with self.without("/usr/libexec/iampass/iampass-https"):
            self.assert_found("problem", "iampass-https is missing")

    def test_a_missing_module_is_a_problem(self):
        path = self.host.run("sh", "-c", "ls /usr/lib/*/security/pam_iampass.so").strip()
        with self.without(path):
            self.assert_found("problem", "pam_iampass.so is not in the folder")

    def test_a_service_that_is_away_is_a_problem(self):
        with self.host.service_down():
            self.assert_found("problem", "https://localhost:8443 cannot be asked: refused")

    def test_right_after_setup_the_helper_knows_the_server(self):
        line = re.compile(r"^server\s*=\s*(\S+)\n", re.MULTILINE)
        server = line.search(self.host.path(CONFIGURATION).read_text())[1]
        with self.host.changed(CONFIGURATION, lambda text: line.sub("", text)):
            self.host.run("systemctl", "restart", "iampass-helper")
            self.assertIn("no server", self.host.run("systemctl", "show", "--property=StatusText", "iampass-helper"))
            code, output = self.ctl("setup", "--server", server)
            self.assertEqual(code, 0, output)
            self.assertIn("iampass-helper is running: watching", "\n".join(self.findings("ok")))

    def test_it_changes_nothing(self):
        state = "find /etc /run/iampass -type f -printf '%p %m %T@ %s\\n' | sort | sha256sum"
        before = self.host.run("sh", "-c", state)
        self.findings("ok")
        self.assertEqual(self.host.run("sh", "-c", state), before)


class Switch(ControlCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.enabled_again)

    def test_off_asks_for_passwords_and_on_asks_the_phone(self):
        code, output = self.ctl("disable")
        self.assertEqual((code, output, self.has_profiles()), (0, "sign-in by phone is off\n", []))
        child = self.sudo()
        child.expect(r"password for alice: |Password: ")
        child.sendline(password_of("alice"))
        self.assertEqual(child.finish(), 0)
        self.assertNotIn(PUSH_LINE, child.screen)
        code, output = self.ctl("enable")
        self.assertEqual(code, 0, output)
        self.assertIn("sign-in by phone is on for sudo, sudo-i, login, sshd, su\n", output)
        with self.phone("approve"):
            child = self.sudo()
            self.assertEqual(child.finish(), 0)
        self.assertIn(PUSH_LINE, child.screen)

    def test_services_are_written_and_the_rest_is_kept(self):
        before = self.host.path("/etc/iampass/iampass.conf").read_text()
        self.addCleanup(self.host.path("/etc/iampass/iampass.conf").write_text, before)
        code, output = self.ctl("enable", "--services", "sudo,login")
        self.assertEqual(code, 0, output)
        after = self.host.path("/etc/iampass/iampass.conf").read_text()
        self.assertEqual(after, re.sub(r"(?m)^services = .*", "services = sudo sudo-i login", before))

    def test_a_service_that_is_not_there_is_refused(self):
        code, output = self.ctl("enable", "--services", "sudo,nonsense")
        self.assertEqual(code, 66)
        self.assertIn("/etc/pam.d/nonsense is missing", output)

    def test_a_problem_refuses_unless_forced(self):
        self.ctl("disable")
        with self.host.service_down():
            code, output = self.ctl("enable")
            self.assertEqual((code, self.has_profiles()), (78, []))
            self.assertIn("cannot be asked: refused", output)
            self.assertEqual(self.ctl("enable", "--force")[0], 0)
        self.assertEqual(self.has_profiles(), ["common-auth", "common-session"])

    def test_lines_by_hand_are_named_and_fail(self):
        with self.host.changed("/etc/pam.d/sudo", lambda text: "auth required pam_iampass.so\n" + text):
            code, output = self.ctl("disable")
        self.assertEqual((code, self.has_profiles()), (73, []))
        self.assertIn("still there: /etc/pam.d/sudo:1: auth required pam_iampass.so\n", output)
        self.assertNotIn("sign-in by phone is off", output)

    def test_off_works_without_the_configurations_folder(self):
        with self.without("/etc/iampass"):
            code, output = self.ctl("disable")
        self.assertEqual((code, output, self.has_profiles()), (0, "sign-in by phone is off\n", []))

    def test_a_second_factor_that_would_not_be_listed_is_refused_before_anything_is_written(self):
        self.ctl("disable")
        before = self.host.path(CONFIGURATION).read_text()
        for service in ("sudo", "sudo-i"):
            lines = self.host.changed(
                f"/etc/pam.d/{service}", lambda text: "auth required pam_unix.so\nauth required pam_iampass.so\n" + text)
            with lines:
                code, output = self.ctl("enable", "--services", "login")
                self.assertEqual((code, self.has_profiles()), (78, []), output)
                self.assertIn(f"{service}: refuses every sign-in: it is not in services", output)
        self.assertEqual(self.host.path(CONFIGURATION).read_text(), before)

    def test_a_missing_module_is_refused_even_where_forced(self):
        self.ctl("disable")
        with self.without(self.host.run("sh", "-c", "ls /usr/lib/*/security/pam_iampass.so").strip()):
            for words in ((), ("--force",)):
                code, output = self.ctl("enable", *words)
                self.assertEqual((code, self.has_profiles()), (66, []), output)
                self.assertIn("pam_iampass.so is not in the folder of PAM modules", output)

    def test_what_fails_halfway_changes_nothing(self):
        self.ctl("disable")
        before = self.host.path(CONFIGURATION).read_text()
        with self.without("/run/systemd/system"):
            code, output = self.ctl("enable", "--services", "sudo", "--trial", "10m")
        self.assertEqual((code, self.has_profiles()), (71, []), output)
        self.assertEqual(self.host.path(CONFIGURATION).read_text(), before)
        # Here the profiles do not come on, when services are written already.
        edit = r"auth\trequired\tpam_faildelay.so delay=1\n\1"
        with self.host.changed("/etc/pam.d/common-auth", lambda text: re.sub(r"(?m)^(auth.*pam_unix)", edit, text)):
            code, output = self.ctl("enable", "--services", "sudo")
        self.assertEqual((code, self.has_profiles()), (73, []), output)
        self.assertEqual(self.host.path(CONFIGURATION).read_text(), before)

    def test_files_that_an_admin_edited_fail_with_the_lines_to_add(self):
        self.ctl("disable")
        edit = "auth\trequired\tpam_faildelay.so delay=1\n"
        with self.host.changed("/etc/pam.d/common-auth", lambda text: re.sub(r"(?m)^(auth.*pam_unix)", edit + r"\1", text)):
            code, output = self.ctl("enable")
            self.assertEqual(code, 73, output)
            self.assertIn("because an administrator edited them", output)
            self.assertNotIn("--force --enable", output)
            self.assertIn("above pam_unix:\n  auth [success=2 maxtries=die perm_denied=die abort=die default=ignore] pam_iampass.so", output)

    def test_sshd_gets_a_file_that_goes_again(self):
        old = "KbdInteractiveAuthentication yes"
        # Last of all: sshd itself is told to read its files at a moment that nobody waits for.
        self.addCleanup(self.host.run, "systemctl", "restart", "ssh")
        with self.host.changed(SSHD_CONFIG, lambda text: text.replace(old, "KbdInteractiveAuthentication no")):
            code, output = self.ctl("enable", "--force")
            self.assertIn("warning: sshd does not ask PAM", output)
            self.assertIn("sign-in by phone is on for sudo, sudo-i, login, su\n", output)
            code, output = self.ctl("enable")
            self.assertEqual(code, 78, output)
            self.assertIn("hint: iampassctl enable --sshd", output)
            code, output = self.ctl("enable", "--sshd")
            self.assertEqual(code, 0, output)
            self.assertIn("sign-in by phone is on for sudo, sudo-i, login, sshd, su\n", output)
            self.assertIn("kbdinteractiveauthentication yes", self.host.run("sshd", "-T"))
            code, output = self.ctl("disable")
            self.assertIn(f"removed {DROP_IN}", output)
            self.assertIn("kbdinteractiveauthentication no", self.host.run("sshd", "-T"))

    @contextlib.contextmanager
    def started_by_its_socket(self):
        """sshd as with ssh.socket before the first connection: not even its own folder is there."""
        self.host.run("systemctl", "stop", "ssh.service", "ssh.socket")
        self.host.run("rm", "-rf", "/run/sshd")
        self.host.run("systemctl", "start", "ssh.socket")
        try:
            yield
        finally:
            self.host.run("systemctl", "stop", "ssh.socket")
            self.host.run("systemctl", "restart", "ssh.service")

    def test_sshd_gets_its_file_also_if_its_socket_starts_it(self):
        old = "KbdInteractiveAuthentication yes"
        off = self.host.changed(SSHD_CONFIG, lambda text: text.replace(old, "KbdInteractiveAuthentication no"))
        with off, self.started_by_its_socket():
            code, output = self.ctl("enable")
            self.assertEqual(code, 78, output)
            self.assertIn("KbdInteractiveAuthentication is off", output)
            code, output = self.ctl("enable", "--sshd")
            self.assertEqual(code, 0, output)
            self.assertIn(f"wrote {DROP_IN}\n", output)
            # sshd's own unit makes the folder; neither a look nor a change does.
            self.assertFalse(self.host.path("/run/sshd").exists())
            self.host.run("mkdir", "-m", "755", "/run/sshd")
            self.assertIn("kbdinteractiveauthentication yes", self.host.run("sshd", "-T"))

    def test_an_sshd_whose_settings_cannot_be_read_changes_nothing(self):
        self.ctl("disable")
        with self.host.changed(SSHD_CONFIG, lambda text: text + "NoSuchWord yes\n"):
            code, output = self.ctl("enable", "--sshd")
            self.assertEqual((code, self.has_profiles()), (78, []), output)
            self.assertIn("sshd -T failed, so whether sshd asks the phone is unknown: ", output)
            self.assertIn("NoSuchWord", output)
            self.assertIn("or leave sshd out: --services sudo,login", output)
        self.assertFalse(self.host.path(DROP_IN).exists())

    def test_at_a_terminal_the_sshd_file_is_asked_for_unless_yes_is_given(self):
        old = "KbdInteractiveAuthentication yes"
        # Last of all: sshd itself is told to read its files at a moment that nobody waits for.
        self.addCleanup(self.host.run, "systemctl", "restart", "ssh")
        with self.host.changed(SSHD_CONFIG, lambda text: text.replace(old, "KbdInteractiveAuthentication no")):
            child = self.host.terminal("iampassctl enable --force", timeout=60)
            child.expect_exact("sshd asks users without a phone for their password")
            child.expect_exact("which lets it? [y/N] ")
            child.sendline("n")
            self.assertEqual(child.finish(60), 0)
            self.assertFalse(self.host.path(DROP_IN).exists())
            child = self.host.terminal("iampassctl enable --yes --force", timeout=60)
            self.assertEqual(child.finish(60), 0)
            self.assertNotIn("[y/N]", child.screen)
            self.assertIn("sshd does not ask PAM, so it never asks the phone", child.screen)
            self.assertFalse(self.host.path(DROP_IN).exists())


if __name__ == "__main__":
    unittest.main()
