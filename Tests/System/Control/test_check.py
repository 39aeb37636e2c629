"""`iampassctl check` on a configuration that is well, and on ones that are broken in one way each."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from control import NO_PERMISSION, SHIPPED, world_with_a_phone
from Support.Service.world import WITHOUT_TOKEN, program, read, run

COMMON = f"""# here are the per-package modules (the "Primary" block)
{SHIPPED.splitlines()[0]}
{SHIPPED.splitlines()[1]}
# here's the fallback if no module succeeds
{SHIPPED.splitlines()[2]}
{SHIPPED.splitlines()[3]}
# and here are more per-package modules (the "Additional" block)
# end of pam-auth-update config
"""


def setUpModule():
    global world
    world = world_with_a_phone()


class Check(unittest.TestCase):
    def setUp(self):
        world.set_up_for_sudo()
        self.kept = world.snapshot()
        self.addCleanup(self.put_back)

    def put_back(self):
        for name, (mode, text) in self.kept.items():
            world.write(name, text, int(mode, 8))
            os.chown(world.path(name), 0, 0)

    def check(self, *words, **options):
        before = world.snapshot()
        answer = world.ctl("check", "--pam-folder", world.path("pam.d"), *words, **options)
        self.assertEqual(world.snapshot(), before, "check changes nothing")
        return answer

    def findings(self, level=None, **options):
        answer = self.check("--json", **options)
        found = json.loads(answer.out)
        self.assertEqual({"ok": 0, "warning": 1, "problem": 2}[found["result"]], answer.code)
        return [finding for finding in found["findings"] if level in (None, finding["level"])]

    def assert_problem(self, pattern, hint=None, level="problem", **options):
        found = [f for f in self.findings(level, **options) if re.search(pattern, f["text"])]
        self.assertEqual(len(found), 1, f"{pattern} in {self.findings()}")
        if hint:
            self.assertRegex(found[0].get("hint", ""), hint)

    def test_a_well_host_has_no_problem(self):
        answer = self.check()
        self.assertNotIn("problem ", answer.out)
        for line in ("answers over TLS", "accepts the signature", "clock agrees", "certificate", "sudo: asks the phone"):
            self.assertIn(line, answer.out)
        self.assertRegex(answer.out.splitlines()[-1], r"^\d+ ok, \d+ warnings?, 0 problems$")

    def test_a_page_that_is_not_the_one_of_the_digests_is_a_problem(self):
        text, wrong = run(program("iampass-server"), "page-digest"), "0" * 64
        path = world.path("page-digests")
        self.addCleanup(os.unlink, path)
        world.write("page-digests", text, 0o644)
        self.assertIn("the phone's page is the one of page-digests", self.check().out)
        other = re.sub(r"(?m)^[0-9a-f]{64}  phone/(app.js|)$", rf"{wrong}  phone/\1", text)
        world.write("page-digests", other, 0o644)
        self.assert_problem(
            "^the phone's page is not the one of page-digests: phone/, phone/app.js$", "iampass-server page-digest")
        world.write("page-digests", text + f"{wrong}  phone/another.js\n", 0o644)
        self.assert_problem(": phone/another.js$")
        world.write("page-digests", text[64:], 0o644)
        self.assert_problem("page-digests is invalid", "iampass-server page-digest")
        world.write("page-digests", text, 0o666)
        self.assert_problem("page-digests is writable by")

    def test_a_token_of_two_users_is_said_whether_it_is_allowed_or_not(self):
        users = read(world.path("users"))
        token = users.split(":")[1].split()[0]
        world.write("users", f"{users}games:{token}\n")
        self.assert_problem("^these have the same token, none can sign in by phone: ", "shared_tokens = allowed")
        world.configure(shared_tokens="allowed")
        self.addCleanup(world.configure, shared_tokens=None)
        self.assert_problem("^these have the same token, one phone signs in as each of them: ", level="warning")
        world.write("users", f"{users}root:{token}\n")
        self.assert_problem("^root is root and shares its token, none can sign in by phone: ")

    def test_a_damaged_line_is_a_problem_of_its_user_alone(self):
        world.write("users", read(world.path("users")) + "games:a\r\n")
        self.assert_problem("users:2: not a line of text .*: its user cannot sign in by phone")

    def test_authorities_without_a_certificate_are_a_problem(self):
        world.write("ca.pem", "# later\n", 0o644)
        world.configure(ca_file=world.path("ca.pem"))
        self.assertEqual(
            {f["text"] for f in self.findings("problem")} & {f"{world.path('ca.pem')} has no certificate in it"},
            {f"{world.path('ca.pem')} has no certificate in it"})

    def test_a_readable_secret_is_a_problem_with_its_mend(self):
        os.chmod(world.path("credentials"), 0o644)
        self.assert_problem("credentials is readable by group or others", "^chmod 600 ")

    def test_a_copy_of_a_file_with_secrets_is_named_with_its_removal(self):
        names = ("credentials.bak", "users~", ".credentials.swp", "#users#", "credentials.dpkg-old")
        for name in (*names, "credentials.pending", "users-of-the-office"):
            world.write(name, "application_secret = old\n")
        for name in ("credentials.pending", "users-of-the-office"):
            self.addCleanup(os.unlink, world.path(name))
        found = {f["text"].split(" ")[0]: f["hint"] for f in self.findings("warning") if "copy of a file" in f["text"]}
        self.assertEqual(sorted(found), sorted(world.path(name) for name in names))
        for path, hint in found.items():
            # As a person pastes it.
            subprocess.run(["sh", "-c", hint.split(";")[0]], check=True)
            self.assertFalse(os.path.exists(path))

    def test_a_configuration_that_others_write_is_a_problem(self):
        os.chmod(world.path("iampass.conf"), 0o666)
        self.assert_problem("iampass.conf is writable", "^chmod go-w ")

    def test_a_folder_that_others_write_is_a_problem_with_its_mend(self):
        mode = os.stat(world.folder).st_mode & 0o7777
        self.addCleanup(os.chmod, world.folder, mode)
        os.chmod(world.folder, mode | 0o020)
        mends = {f.get("hint") for f in self.findings("problem") if re.search("the folder of .* is not root's alone", f["text"])}
        self.assertEqual(mends, {f"chmod go-w {world.folder}"})

    def test_a_configuration_in_everybodys_folder_gets_no_command_that_would_change_that_folder(self):
        folder = tempfile.mkdtemp(prefix="shared-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o1777)
        for name in ("iampass.conf", "credentials", "users"):
            shutil.copy(world.path(name), os.path.join(folder, name))
        os.rename(os.path.join(folder, "credentials"), os.path.join(folder, "credentials.bak"))
        report = json.loads(world.ctl("check", "--json", "--config", os.path.join(folder, "iampass.conf"), configured=False).out)
        hints = [finding["hint"] for finding in report["findings"] if folder in finding["text"] and "hint" in finding]
        self.assertTrue(any("copy the file to a folder that only root can write" in hint for hint in hints), hints)
        self.assertTrue(any(hint.startswith("look at it, and remove it if it is a copy") for hint in hints), hints)
        self.assertEqual([hint for hint in hints if re.search(r"\b(chmod|chown|rm)\b", hint)], [])

    def test_another_owner_is_a_problem(self):
        os.chown(world.path("users"), 65534, 65534)
        self.assert_problem("users is not owned by root", "^chown root:root ")

    def test_a_bad_value_is_named_with_its_line(self):
        world.write("iampass.conf", "server = https://localhost\napproval_timeout = 3s\n", 0o644)
        self.assert_problem("iampass.conf:2: bad approval_timeout: takes")

    def test_half_of_a_killed_commands_change_is_a_problem(self):
        world.write("iampassctl.pending", "credentials\n")
        self.addCleanup(os.unlink, world.path("iampassctl.pending"))
        self.assert_problem("has half of a change, whose command was killed", "^iampassctl setup$")

    def test_an_unknown_key_is_a_warning(self):
        world.configure(aproval_timeout="30s")
        self.assert_problem("unknown key aproval_timeout", level="warning")

    def test_a_missing_configuration_says_how_to_begin(self):
        os.unlink(world.path("iampass.conf"))
        self.assert_problem("iampass.conf is missing", "^iampassctl setup$")

    def test_a_name_that_is_not_found_is_a_problem(self):
        world.configure(server="https://no-such-host.invalid")
        self.assert_problem("name not found|name lookup timed out", "getent hosts no-such-host.invalid")

    def test_nobody_listening_is_a_problem(self):
        world.configure(server="https://127.0.0.1:1")
        self.assert_problem("cannot be asked: refused", "firewall")

    def test_an_untrusted_certificate_is_a_problem(self):
        world.configure(ca_file=None)
        self.assert_problem("not trusted", "setup --ca FILE")

    def test_a_certificate_that_ends_soon_is_a_warning(self):
        # It is valid for two days, and was perhaps made in this very second.
        self.assert_problem("certificate ends in (?:2 days|1 day|0 days)$", "renew", level="warning")

    def test_a_wrong_secret_is_a_problem(self):
        text = read(world.path("credentials"))
        world.write("credentials", re.sub(r"(application_secret\s*=\s*).*", r"\1" + "A" * 24, text))
        self.assert_problem("does not accept the signature", "setup")

    def test_an_unknown_application_is_a_problem(self):
        world.write("credentials", f"application_id = nobody\napplication_secret = {'A' * 24}\n")
        self.assert_problem("does not know the application_id", "setup")

    def test_replies_that_could_be_checked_and_are_not_are_a_warning(self):
        world.configure(signed_replies=None, signed_targets=None)
        self.assert_problem("signed_replies is off", "signed_replies = required", level="warning")

    def test_a_signature_that_could_cover_what_was_asked_is_a_warning(self):
        world.configure(signed_targets=None)
        self.assert_problem("signed_targets is off", "signed_targets = required", level="warning")

    def test_a_worker_that_others_write_is_a_problem(self):
        os.chmod(world.path("iampass-https"), 0o777)
        self.addCleanup(os.chmod, world.path("iampass-https"), 0o711)
        self.assert_problem("iampass-https must be root's alone to write")

    def test_a_worker_that_others_read_is_a_warning(self):
        os.chmod(world.path("iampass-https"), 0o755)
        self.addCleanup(os.chmod, world.path("iampass-https"), 0o711)
        self.assert_problem("iampass-https is readable by others", "chmod 711", level="warning")

    def test_an_open_stack_is_a_problem(self):
        world.pam("sudo", lines="auth optional MODULE\nauth required pam_permit.so\n")
        self.assert_problem("sudo: lets anybody in", "pam_deny")

    def test_what_a_caller_brings_about_must_not_skip_a_second_factor(self):
        password = "auth requisite pam_unix.so\n"
        world.pam("sudo", lines=password + "auth [success=ok authinfo_unavail=ignore default=die] MODULE\n")
        self.assert_problem("^sudo: a row of unanswered requests skips the phone", "fail=open")
        world.pam("sudo", arguments="fail=open", lines=password + "auth required MODULE\n")
        self.assertIn("sudo: asks the phone", self.check().out)

    def test_a_number_that_does_not_count_the_phone_is_a_problem(self):
        world.pam("common-auth", lines=COMMON)
        # A service that is not listed goes by the same file.
        for service, number, end in (("sudo", 2, "is refused"), ("su", 2, "is refused"), ("sudo", 3, "gets in, with a wrong")):
            with self.subTest(service=service, number=number):
                lines = f"auth [success={number} default=ignore] pam_succeed_if.so user ingroup nophone\n@include common-auth\n"
                world.pam(service, lines=lines)
                place = world.path("pam.d", service)
                self.assert_problem(f"^{service}: success={number} at {place}:1 leads past pam_iampass.so .*{end}", "count again")
        world.pam("sudo", lines=lines.replace("success=3", "success=1"))
        self.assertEqual([f for f in self.findings() if f["text"].startswith("sudo: success")], [])

    def test_a_listed_service_without_the_module_is_a_warning(self):
        world.pam("login", lines="auth required pam_unix.so\n")
        world.configure(services="sudo login")
        self.assert_problem("login is in services, but its PAM stack", "enable", level="warning")

    def test_an_installed_locker_without_a_file_is_judged_by_the_one_that_it_asks_as(self):
        world.configure(services="sudo xsecurelock")
        world.pam("common-auth", lines=COMMON)
        self.assertNotIn("xsecurelock", self.check().text)
        installed = {"before": world.with_program("xsecurelock")}
        self.assert_problem("^xsecurelock: asks the phone ", level="ok", **installed)
        world.pam("common-auth", lines="auth required pam_unix.so\n")
        self.assert_problem("^xsecurelock is in services, but its PAM stack", "enable", level="warning", **installed)

    def test_a_second_factor_in_a_service_that_is_not_listed_is_a_problem(self):
        # A service for sign-ins, a forgotten one, a copy, and one that asks nobody.
        for service in ("su", "vlock", "su.save", "cron"):
            world.pam(service, lines="auth required pam_unix.so\nauth required MODULE\n")
        for service, level in (("su", "problem"), ("vlock", "warning")):
            self.assert_problem(
                f"^{service}: refuses every sign-in: it is not in services", f"name {service} in services", level=level)
        self.assertNotRegex(self.check().out, "cron|save")
        self.assertNotRegex(self.check().out, "stands aside in .*(?:su|vlock)\\b")

    def test_the_shipped_lines_stand_aside_where_they_are_not_listed(self):
        world.pam("su", lines=SHIPPED)
        self.assert_problem("stands aside in su: not in services", level="ok")

    def test_an_account_line_that_may_refuse_is_named(self):
        world.pam("sudo", lines=SHIPPED + "account required pam_access.so\n")
        self.assert_problem(
            "pam.d/sudo:5: pam_access may refuse, by /etc/security/access.conf, whom the phone approved in sudo$", level="ok")

    def test_a_bad_module_argument_is_a_problem(self):
        world.pam("sudo", arguments="timeout=500s", lines=SHIPPED)
        self.assert_problem("bad module argument timeout=500s")

    def test_a_module_that_is_not_there_is_a_problem(self):
        world.pam("sudo", lines=SHIPPED.replace("MODULE", "/nowhere/pam_iampass.so config=/x"))
        self.assert_problem("/nowhere/pam_iampass.so is not in the folder")

    def test_a_token_without_user_is_a_warning(self):
        world.write("users", read(world.path("users")) + "nosuchuser:sometoken\n")
        self.assert_problem("not known to this system: nosuchuser", "^iampassctl user remove --local nosuchuser$", level="warning")

    def test_a_token_without_phone_is_a_warning(self):
        world.ctl("user", "add", WITHOUT_TOKEN)
        self.assert_problem(f"without a phone: {WITHOUT_TOKEN}", f"enroll {WITHOUT_TOKEN}", level="warning")

    def test_a_user_named_twice_is_a_problem(self):
        line = read(world.path("users"))
        world.write("users", line + line)
        self.assert_problem("user named twice")

    def test_a_windows_users_file_is_a_problem(self):
        world.write("users", read(world.path("users")).replace("\n", "\r\n"))
        self.assert_problem("users:1: not a line of text")

    def test_a_session_that_is_over_is_a_warning(self):
        record = {
            "version": 1, "id": "0" * 32, "user": "daemon", "uid": 1, "service": "login", "status_url": "/a",
            "logout_url": "/b", "session_token": "t", "session_secret": "s", "process": {"pid": 999999, "start": "1"},
            "parent": {"pid": 999998, "start": "1"}, "created": 1, "duration": 60, "claimed": False, "released": False,
            "condemned": False,
        }  # fmt: skip
        os.makedirs(world.path("run", "sessions"), mode=0o700, exist_ok=True)
        os.chmod(world.path("run"), 0o700)
        world.write("run/sessions/" + "0" * 32, json.dumps(record))
        self.addCleanup(shutil.rmtree, world.path("run"))
        self.assert_problem("^1 session record left by sessions that are over$", level="warning")

    def test_a_trial_that_has_ended_is_told(self):
        place = world.path("iampass-trial-ended")
        self.addCleanup(os.unlink, place)
        said = "switched sign-in by phone off: nobody had signed in by phone$"
        self.assertEqual([f for f in self.findings() if "trial" in f["text"]], [])
        world.write("iampass-trial-ended", "1795000000\n")
        self.assert_problem(rf"^a trial ended \(2026-11-1\d [\d:]+\) and {said}", "^iampassctl enable, or iampassctl disable", level="warning")
        # However it came to be so.
        for text, mode in (("", 0o600), ("now\n", 0o600), ("1795000000\n", 0o666)):
            world.write("iampass-trial-ended", text, mode)
            self.assert_problem(f"^a trial ended and {said}", level="warning")

    def test_control_characters_of_files_are_not_printed(self):
        world.write("users", read(world.path("users")) + "evil\x1b[31mname:token\n")
        self.assertNotIn("\x1b", self.check().out)

    def test_colour_only_on_a_terminal_and_without_no_color(self):
        words = ("check", "--pam-folder", world.path("pam.d"))
        child = world.terminal(*words)
        world.finish(child)
        self.assertIn("\x1b[32mok", child.screen.getvalue())
        child = world.terminal(*words, environment={"NO_COLOR": "1"})
        world.finish(child)
        self.assertNotIn("\x1b", child.screen.getvalue())

    def test_not_root_is_said_at_once(self):
        folder = tempfile.mkdtemp(prefix="iampassctl-as-nobody-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        shutil.copy(program("iampassctl"), folder)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", os.path.join(folder, "iampassctl"), "check"],
            capture_output=True, text=True, cwd="/", timeout=60)  # fmt: skip
        self.assertEqual((done.returncode, done.stderr), (NO_PERMISSION, "iampassctl: only root can do this\nhint: sudo iampassctl …\n"))


if __name__ == "__main__":
    unittest.main()
