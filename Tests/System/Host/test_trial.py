"""`iampassctl enable --trial` on a booted host."""

import json
import shlex
import unittest

from control_case import ControlCase
from Support.Hosts.testhost import password_of

TRIAL = "iampass-trial"
TRIAL_NOTES = "/etc/iampass/iampass-trial"
SSHD_CONFIG = "/etc/ssh/sshd_config.d/test-host.conf"
#: An interrupted command's.
INTERRUPTED = 130


class Trial(ControlCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.enabled_again)
        self.ctl("disable")
        uid = self.host.run("id", "-u", "alice").strip()
        code, output = self.ctl("enable", "--trial", "10m", environment={"SUDO_UID": uid})
        self.assertEqual(code, 0, output)
        self.assertIn("it turns itself off in 10m, unless alice signs in by phone before", output)

    def end(self):
        """As the timer does, and the boot."""
        self.host.run("systemctl", "start", f"{TRIAL}.service", timeout=120)

    def told(self):
        """What `check` says of a trial."""
        found = json.loads(self.ctl("check", "--json")[1])["findings"]
        return [(finding["level"], finding["text"]) for finding in found if finding["text"].startswith("a trial")]

    def assert_nothing_is_left_of_it(self):
        self.assertEqual(self.host.run("sh", "-c", f"ls /etc/systemd/system | grep {TRIAL}", check=False), "")
        self.assertNotIn(TRIAL, self.host.run("systemctl", "list-timers", "--all"))
        self.assertFalse(self.host.path(TRIAL_NOTES).exists())

    def assert_its_end_is_told(self):
        self.assertRegex(self.told()[0][1], r"^a trial ended \(20[-\d: ]+\) and switched sign-in by phone off: nobody had")
        self.assertEqual([level for level, _ in self.told()], ["warning"])

    def test_check_tells_of_a_trial_that_runs(self):
        (level, text), = self.told()
        self.assertEqual(level, "ok")
        self.assertRegex(text, "^a trial turns itself off in ([1-9]m|10m|[0-9]+s), unless alice signs in by phone before$")
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)
        self.assertRegex(self.told()[0][1], "^a trial ends in .*, and sign-in by phone stays on: alice has signed in by phone$")

    def test_check_tells_of_a_timer_that_does_not_run(self):
        self.host.run("systemctl", "stop", f"{TRIAL}.timer")
        self.assertEqual([level for level, _ in self.told()], ["problem"])

    def test_its_end_is_told_until_it_is_switched_on_or_off(self):
        for words in (("disable",), ("enable",), ("enable", "--trial", "10m")):
            with self.subTest(words=words):
                self.end()
                self.assert_its_end_is_told()
                self.assertEqual(self.ctl(*words)[0], 0)
                self.assertNotIn("ended", str(self.told()))
                self.assertEqual(self.ctl("disable")[0], 0)
                self.assertEqual(self.ctl("enable", "--trial", "10m")[0], 0)

    def test_its_timer_waits_and_it_runs_at_boot_too(self):
        self.assertEqual(self.host.run("systemctl", "is-active", f"{TRIAL}.timer").strip(), "active")
        self.assertEqual(self.host.run("systemctl", "is-enabled", f"{TRIAL}.service").strip(), "enabled")

    def test_it_turns_itself_off_where_nobody_signed_in(self):
        self.end()
        self.assertEqual(self.has_profiles(), [])
        self.assert_nothing_is_left_of_it()
        self.assert_its_end_is_told()

    def test_it_stays_where_the_user_signed_in_by_phone(self):
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)
        self.end()
        self.assertEqual(self.has_profiles(), ["common-auth", "common-session"])
        self.assert_nothing_is_left_of_it()
        self.assertEqual(self.told(), [])

    def test_a_password_does_not_count_as_a_sign_in_by_phone(self):
        with self.host.service_down():
            child = self.sudo()
            child.expect(r"password for alice: |Password: ")
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
        self.end()
        self.assertEqual(self.has_profiles(), [])

    def test_a_users_own_files_and_log_lines_do_not_count_as_a_sign_in(self):
        line = "pam_iampass(sudo:auth): approved user=alice service=sudo rhost=- session=none"
        words = f"logger --priority authpriv.notice --tag sudo {shlex.quote(line)}; echo alice sudo >>{TRIAL_NOTES}"
        self.assertIn("ermission denied", self.host.run("sh", "-c", words, user="visitor", check=False))
        # There the system's journal takes a process for a privileged one.
        said = self.host.run("unshare", "--user", "--map-root-user", "sh", "-c", words, user="visitor", check=False)
        self.assertIn("ermission denied", said)
        self.assertEqual(self.host.run("stat", "--format=%s %a %U", TRIAL_NOTES).strip(), "0 600 root")
        self.end()
        self.assertEqual(self.has_profiles(), [])

    def test_another_trial_is_refused_and_this_one_ends(self):
        code, output = self.ctl("enable", "--trial", "1h")
        self.assertEqual(code, 78, output)
        self.assertIn("a trial begins only if sign-in by phone is off", output)
        self.assertRegex(self.told()[0][1], "^a trial turns itself off in ([1-9]m|10m|[0-9]+s), ")
        self.end()
        self.assertEqual(self.has_profiles(), [])

    def test_a_trial_of_what_is_on_is_refused_and_it_stays_on(self):
        self.assertEqual(self.ctl("enable")[0], 0)
        code, output = self.ctl("enable", "--trial", "10m")
        self.assertEqual(code, 78, output)
        self.assertRegex(output, r"(?m)^already there: /etc/pam\.d/common-auth:\d+: auth.*pam_iampass\.so")
        self.assertEqual(self.has_profiles(), ["common-auth", "common-session"])
        self.assert_nothing_is_left_of_it()

    def test_a_forgotten_question_does_not_keep_it_from_ending(self):
        # Last of all: sshd itself is told to read its files at a moment that nobody waits for.
        self.addCleanup(self.host.run, "systemctl", "restart", "ssh")
        setting = "KbdInteractiveAuthentication "
        with self.host.changed(SSHD_CONFIG, lambda text: text.replace(setting + "yes", setting + "no")):
            child = self.host.terminal("iampassctl enable --force", timeout=60)
            child.expect_exact("[y/N] ")
            self.end()
            self.assertEqual(self.has_profiles(), [])
            self.assertNotIn("waiting for another iampassctl", self.journal())
            child.sendintr()
            self.assertEqual(child.finish(60), INTERRUPTED)

    def test_enable_without_trial_keeps_it(self):
        self.assertEqual(self.ctl("enable")[0], 0)
        self.assert_nothing_is_left_of_it()
        self.assertEqual(self.has_profiles(), ["common-auth", "common-session"])


if __name__ == "__main__":
    unittest.main()
