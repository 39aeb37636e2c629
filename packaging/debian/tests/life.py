"""The packages' whole life on a machine: installed, used, upgraded, removed and purged. A test goes on where the one
before it ended, so the first that fails is the last."""

import contextlib
import ctypes
import glob
import os
import pwd
import re
import shutil
import subprocess
import time
import unittest

import machine
from machine import Phone, apt, finish, press_enter_for_the_phone, run, terminal, wait_until

DEBS = os.environ["IAMPASS_DEBS"]
PACKAGES = ["libpam-iampass", "iampass-server", "iampass-phone"]
PASSWORD = "alice-password"
SUDO = "sudo -k; sudo id -un"
SSH = "ssh -tt -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR alice@localhost"
CERTIFICATE = "/etc/iampass-server/cert.pem"
AUTHORITY = "/etc/iampass-server/own/authority.pem"
CONFIGURATION = "/etc/iampass/iampass.conf"
COMMON_AUTH = "/etc/pam.d/common-auth"
SSHD_SETTINGS = "/etc/ssh/sshd_config.d/00-iampass.conf"
#: Seconds; a sign-in by password takes one.
HALF_CONFIGURED_TIME = 5


def package_files(folder=DEBS):
    return sorted(glob.glob(os.path.join(folder, "*.deb")))


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def version_of(package):
    return run("dpkg-query", "--show", "--showformat=${Version}", package)


class MustNeverHappen(AssertionError):
    """Has no second try in packaging/test."""


class Before:
    """The machine as it was before the packages came."""

    def __init__(self):
        for user in ("alice", "phone", "visitor"):
            run("useradd", "--create-home", "--shell", "/bin/bash", user)
            open(f"/home/{user}/.hushlogin", "w").close()
        run("chpasswd", text_in=f"alice:{PASSWORD}\n")
        write("/etc/sudoers.d/iampass-tests", "alice ALL=(ALL) ALL\n")
        os.chmod("/etc/sudoers.d/iampass-tests", 0o440)
        run("ssh-keygen", "-q", "-A")
        run("systemctl", "restart", "ssh")
        run("systemctl", "daemon-reload")
        self.pam, self.accounts, self.units = machine.pam_files(), machine.accounts(), machine.units()
        self.debconf, self.files = machine.debconf_answers(), machine.files()


class Life(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = Before()

    # What every stage claims

    def assert_sudo_takes_the_password(self):
        """Returns the lines that were shown besides sudo's own."""
        child = terminal(SUDO, user="alice")
        self.assertEqual(child.expect([r"\[sudo\] password[^\n]*: ", r"Password[^\n]*: ", r"phone"]), 0)
        lines = child.before.splitlines()
        child.sendline(PASSWORD)
        status, shown = finish(child)
        self.assertEqual(status, 0, shown)
        self.assertIn("root", shown)
        return [line for line in lines + shown.splitlines() if line.strip() not in ("", "root")]

    def assert_sudo_asks_the_phone(self):
        with Phone("approve") as phone:
            status, shown = finish(terminal(SUDO, user="alice"))
            self.assertEqual((status, "root" in shown, "assword" in shown), (0, True, False), shown)
            self.assertEqual(phone.rings(), 1)

    def assert_pam_is_as_before(self):
        self.assertEqual(machine.pam_files(), self.before.pam)

    def assert_sessions_of_alice(self, count):
        wait_until(f"{count} sessions of alice", lambda: len(machine.sessions("alice")) == count)

    @contextlib.contextmanager
    def configured_with(self, line):
        before = read(CONFIGURATION)
        write(CONFIGURATION, before + line + "\n")
        try:
            yield
        finally:
            write(CONFIGURATION, before)

    # The life

    def test_01_apt_installs_the_previous_version(self):
        apt("install", *package_files(os.path.join(DEBS, "previous")))
        for package in PACKAGES:
            self.assertTrue(version_of(package).endswith("~previous"))

    def test_02_installing_changes_nothing_for_anybody(self):
        self.assert_pam_is_as_before()
        mark = machine.mark("installed")
        self.assert_sudo_takes_the_password()
        self.assertEqual(machine.journal_of_the_module(mark), [])

    def test_03_profiles_that_are_half_configured_change_nothing_either(self):
        run("pam-auth-update", "--package", "--enable", "iampass", "iampass-session")
        self.assertIn("pam_iampass", read(COMMON_AUTH))
        mark = machine.mark("unconfigured")
        self.assertEqual(self.assert_sudo_takes_the_password(), [])
        self.assertLessEqual(len(machine.journal_of_the_module(mark)), 1)
        self.assertEqual(machine.journal_of_the_module(mark, least="info"), [])
        mark = machine.mark("without credentials")
        began = time.monotonic()
        with self.configured_with("server = https://localhost:1"):
            shown = self.assert_sudo_takes_the_password()
        self.assertLess(time.monotonic() - began, HALF_CONFIGURED_TIME)
        self.assertLessEqual(len(shown), 1, shown)
        logged = machine.journal_of_the_module(mark)
        self.assertLessEqual(len(logged), 1, logged)

    def test_04_a_missing_module_or_library_leaves_the_password(self):
        with machine.moved_away(machine.library_path("libmd.so.0")):
            with self.assertRaises(OSError, msg="the module does not need this library"):
                ctypes.CDLL(machine.module_path())
            self.assertEqual(self.assert_sudo_takes_the_password(), [])
        with machine.moved_away(machine.module_path()):
            self.assertEqual(self.assert_sudo_takes_the_password(), [])
            child = terminal("su alice -c 'id -un'", user="visitor")
            child.expect("assword: ")
            child.sendline(PASSWORD)
            self.assertEqual(finish(child)[0], 0)
        run("pam-auth-update", "--package", "--disable", "iampass", "iampass-session")
        self.assert_pam_is_as_before()

    def test_05_the_services_run_confined(self):
        for unit in ("iampass-helper", "iampass-server", "iampass-worker.socket", "iampass-presence.socket"):
            wait_until(f"{unit} runs", lambda unit=unit: machine.is_active(unit))
        # Everybody may connect to it: it is on only if a listed service needs it.
        self.assertFalse(machine.is_active("iampass-broker.socket"))
        for unit in ("iampass-server", "iampass-helper", "iampass-worker", "iampass-presence", "iampass-broker"):
            said = run("systemd-analyze", "security", "--no-pager", unit)
            exposure = float(re.search(r"exposure level[^:]*: ([0-9.]+)", said)[1])
            self.assertLess(exposure, 2 if unit == "iampass-presence" else 3, unit)
        self.assertEqual(run("stat", "--format=%U %a", "/var/lib/iampass-server").split(), ["_iampass-server", "700"])

    def test_06_the_first_start_makes_a_certificate_and_says_so(self):
        said = run("journalctl", "--no-pager", "--unit=iampass-server")
        self.assertIn("made a self-signed certificate", said)
        self.assertIn("hint: iampass-server setup", said)
        self.assertEqual(run("stat", "--format=%U %G %a", "/etc/iampass-server/key.pem").split(), ["root", "_iampass-server", "640"])

    def test_07_a_renewed_certificate_is_taken_without_a_restart(self):
        pid = machine.main_pid("iampass-server")
        for path in (CERTIFICATE, "/etc/iampass-server/key.pem"):
            shutil.move(path, path + ".old")
        run("/usr/libexec/iampass-server/make-certificate", CERTIFICATE, "/etc/iampass-server/key.pem")
        run("systemctl", "reload", "iampass-server")
        own = run("openssl", "x509", "-in", CERTIFICATE, "-noout", "-fingerprint").strip()

        def shown():
            said = run("sh", "-c", "openssl s_client -connect localhost:8443 </dev/null 2>/dev/null | openssl x509 -noout -fingerprint", check=False)
            return said[1].strip()

        wait_until("the new certificate is shown", lambda: shown() == own)
        self.assertEqual(machine.main_pid("iampass-server"), pid)
        for path in (CERTIFICATE, "/etc/iampass-server/key.pem"):
            os.unlink(path + ".old")

    def test_08_half_a_certificate_pair_stops_the_start_and_says_so(self):
        leftover = "/etc/iampass-server/.new-interrupted"
        os.mkdir(leftover)
        with machine.moved_away("/etc/iampass-server/key.pem"):
            mark = machine.mark("half a pair")
            self.assertNotEqual(run("systemctl", "restart", "iampass-server", check=False)[0], 0)
            run("journalctl", "--sync")
            said = run("journalctl", "--no-pager").split(mark, 1)[1]
            self.assertRegex(said, "only one of /etc/iampass-server/cert.pem and /etc/iampass-server/key.pem exists")
            self.assertFalse(os.path.exists(leftover))
            self.assertFalse(os.path.exists("/etc/iampass-server/key.pem"), "another certificate's key was made")
        run("systemctl", "reset-failed", "iampass-server")
        run("systemctl", "restart", "iampass-server")
        wait_until("the service is back", lambda: run("ss", "-Hltn", "src 127.0.0.1:8443"))

    def test_09_it_is_set_up_and_a_phone_enrolled(self):
        said = run("iampass-server", "setup", "--name", "localhost", "--listen", "127.0.0.1:8443", "--yes")
        own = f"iampassctl setup --server https://localhost:8443 --secret-file /root/office --ca {AUTHORITY}"
        self.assertRegex(said, r"\n  iampassctl join https://localhost:8443 IJ[12]\S+\n")
        # As if it had been killed before it restarted the service: run again, it does.
        open("/etc/iampass-server/restart-needed", "w").close()
        pid = machine.main_pid("iampass-server")
        self.assertIn("the service listens on 127.0.0.1:8443", run("iampass-server", "setup", "--yes"))
        self.assertNotEqual(machine.main_pid("iampass-server"), pid)
        self.assertNotIn("the service listens", run("iampass-server", "setup", "--yes"))
        # Without codes, which nobody is there to type on the phone.
        run("iampass-server", "application", "set", "office", "--match-code", "off", "--data", "/var/lib/iampass-server")
        owners = run("sh", "-c", "stat --format=%U /var/lib/iampass-server/*")
        self.assertEqual(set(owners.split()), {"_iampass-server"})
        run(*own.split())
        os.unlink("/root/office")
        run("iampassctl", "user", "add", "alice")
        link = re.search(r"https://\S+", run("iampassctl", "enroll", "alice"))[0]
        run("iampass-phone", "register", link, "--state", machine.PHONE_STATE, "--ca", AUTHORITY, user="phone")
        self.assert_pam_is_as_before()

    def test_09b_the_timer_renews_the_certificate_without_a_restart(self):
        self.assertTrue(machine.is_active("iampass-server-renew.timer"))
        pid, pair = machine.main_pid("iampass-server"), "/etc/iampass-server/own/service.pem"
        before = read(pair)
        self.assertIn("nothing to do", run("iampass-server", "certificate", "renew"))
        run("systemctl", "start", "iampass-server-renew")
        self.assertEqual(read(pair), before)
        # As one that ends soon.
        run("sh", "-c", f"""cd /root && openssl x509 -in {pair} -x509toreq -copy_extensions copy -signkey {pair} -out soon.csr && \
            openssl x509 -req -in soon.csr -CA {AUTHORITY} -CAkey /etc/iampass-server/own/authority.key -days 20 -copy_extensions copy \
            -out soon.pem && openssl pkey -in {pair} >soon.key && cat soon.key soon.pem >{pair}; rm -f soon.*""")
        soon = read(pair)
        self.assertNotEqual(soon, before)
        run("systemctl", "start", "iampass-server-renew")
        self.assertNotEqual(read(pair), soon)
        self.assertEqual(run("stat", "--format=%U %G %a", pair).split(), ["root", "_iampass-server", "640"])
        self.assertEqual(machine.main_pid("iampass-server"), pid)
        run("iampassctl", "user", "list")

    def test_09c_settings_with_which_the_service_does_not_start_are_put_back(self):
        hidden, unit = "/etc/iampass-hidden", "/run/systemd/system/iampass-server.service.d"
        settings, pair = read("/etc/default/iampass-server"), "/etc/iampass-server/own/service.pem"
        os.mkdir(hidden)
        os.makedirs(unit)
        shutil.copy(pair, hidden)
        shutil.chown(f"{hidden}/service.pem", group="_iampass-server")
        os.chmod(f"{hidden}/service.pem", 0o640)
        write(f"{unit}/hidden.conf", f"[Service]\nInaccessiblePaths={hidden}\n")
        run("systemctl", "daemon-reload")
        try:
            words = ["--yes", "--tls-cert", f"{hidden}/service.pem", "--tls-key", f"{hidden}/service.pem"]
            status, said = run("iampass-server", "setup", *words, check=False)
        finally:
            shutil.rmtree(hidden)
            shutil.rmtree(unit)
            run("systemctl", "daemon-reload")
        self.assertEqual(status, 69, said)
        self.assertIn("the settings of before are put back\nhint: journalctl -u iampass-server", said)
        self.assertEqual(read("/etc/default/iampass-server"), settings)
        wait_until("the service is back", lambda: run("ss", "-Hltn", "src 127.0.0.1:8443"))

    def test_10_enable_has_sudo_ask_the_phone(self):
        run("iampassctl", "enable", "--services", "sudo,login,sshd,su", "--sshd")
        self.assert_sudo_asks_the_phone()

    def test_11_a_denial_refuses_and_rings_once(self):
        with Phone("deny") as phone:
            status, shown = finish(terminal(SUDO, user="alice"))
            if status == 0:
                raise MustNeverHappen("a denied sudo ran its command")
            self.assertIn("denied", shown)
            self.assertEqual(phone.rings(), 1)

    def test_12_ssh_login_and_su_ask_the_phone(self):
        with Phone("approve"):
            child = terminal(SSH + " id -un", user="visitor")
            press_enter_for_the_phone(child)
            status, shown = finish(child)
            self.assertEqual((status, "alice" in shown), (0, True), shown)
            child = terminal("su alice -c 'id -un'", user="visitor")
            press_enter_for_the_phone(child)
            self.assertEqual(finish(child)[0], 0)
            child = terminal("systemd-run --quiet --pty --collect --wait --service-type=exec login")
            child.expect("login: ")
            child.sendline("alice")
            press_enter_for_the_phone(child)
            child.expect(r"alice@[^\n]*\$ ")
            child.sendline("exit")
            finish(child)

    def test_13_who_walks_away_is_logged_out(self):
        self.assert_sessions_of_alice(0)
        with Phone("approve"):
            child = terminal(SSH, user="visitor")
            press_enter_for_the_phone(child)
            child.expect(r"alice@[^\n]*\$ ")
            self.assert_sessions_of_alice(1)
            child.sendline("sudo echo $((6 * 7))")
            child.expect(r"\n42\r?\n")
        self.assertNotEqual(machine.sudo_tickets("alice"), [])
        machine.leave()
        self.assertIn("Signed out", finish(child)[1])
        self.assert_sessions_of_alice(0)
        wait_until("alice has no ticket of sudo's", lambda: machine.sudo_tickets("alice") == [])
        run("iampass-phone", "return", "--state", machine.PHONE_STATE, user="phone")

    def test_14_an_upgrade_that_lacks_the_public_address_names_it_and_stops_nothing(self):
        settings = "/etc/default/iampass-server"
        before, pid = read(settings), machine.main_pid("iampass-server")
        write(settings, re.sub("(?m)^OPTIONS=", "OPTIONS=--listen 0.0.0.0:8443\n#", before))
        try:
            status, said = run("dpkg", "--install", *glob.glob(f"{DEBS}/iampass-server_*.deb"), check=False)
        finally:
            write(settings, before)
        self.assertNotEqual(status, 0)
        self.assertIn("--public-url", said)
        self.assertIn("dpkg --configure iampass-server", said)
        # The old version serves, until the setting is there.
        self.assertEqual((machine.is_active("iampass-server"), machine.main_pid("iampass-server")), (True, pid))
        self.assert_sudo_asks_the_phone()
        run("dpkg", "--configure", "iampass-server")
        self.assertNotEqual(machine.main_pid("iampass-server"), pid)
        wait_until("the service is back", lambda: run("ss", "-Hltn", "src 127.0.0.1:8443"))
        run("dpkg", "--install", *glob.glob(f"{DEBS}/previous/iampass-server_*.deb"))
        wait_until("the service is back", lambda: run("ss", "-Hltn", "src 127.0.0.1:8443"))

    def test_15_an_upgrade_leaves_sign_ins_and_sessions_alone(self):
        pam, units = machine.pam_files(), ("iampass-helper", "iampass-worker")
        before = {unit: machine.main_pid(unit) for unit in units}
        self.assertNotIn("0", before.values())
        with Phone("approve"):
            session = terminal(SSH, user="visitor")
            press_enter_for_the_phone(session)
            session.expect(r"alice@[^\n]*\$ ")
        # Its requests wait on disk; an upgrade of it takes longer than a phone has time.
        run("dpkg", "--install", *glob.glob(f"{DEBS}/iampass-server_*.deb"))
        wait_until("the service is back", lambda: run("ss", "-Hltn", "src 127.0.0.1:8443"))
        with self.configured_with("approval_timeout = 60s"):
            waiting = terminal(SUDO, user="alice")
            waiting.expect("Approve the sign-in on your phone")
            run("dpkg", "--install", *glob.glob(f"{DEBS}/libpam-iampass_*.deb"), *glob.glob(f"{DEBS}/iampass-phone_*.deb"))
            with Phone("approve"):
                status, shown = finish(waiting)
        self.assertEqual((status, "root" in shown, "assword" in shown), (0, True, False), shown)
        session.sendline("echo $((6 * 7))")
        session.expect("42")
        for unit in units:
            self.assertNotIn(machine.main_pid(unit), ("0", before[unit]), unit)
        self.assertEqual(machine.pam_files(), pam)
        machine.leave()
        self.assertIn("Signed out", finish(session)[1])
        run("iampass-phone", "return", "--state", machine.PHONE_STATE, user="phone")

    def test_16_the_programs_are_of_the_packages_version(self):
        for program, package in (("iampassctl", "libpam-iampass"), ("iampass-server",) * 2, ("iampass-phone",) * 2,
                                 ("/usr/libexec/iampass/iampass-helper", "libpam-iampass")):
            self.assertEqual(run(program, "--version").strip(), version_of(package))

    def test_17_disable_gives_every_pam_file_back(self):
        run("iampassctl", "disable")
        self.assert_pam_is_as_before()
        self.assert_sudo_takes_the_password()

    def test_18_no_upgrade_or_downgrade_switches_it_on(self):
        run("dpkg", "--install", *package_files(os.path.join(DEBS, "previous")))
        self.assert_pam_is_as_before()
        run("dpkg", "--install", *package_files())
        self.assert_pam_is_as_before()

    def test_19_who_is_deconfigured_for_another_package_keeps_the_profiles(self):
        run("iampassctl", "enable")
        pam = machine.pam_files()
        # As dpkg calls it before it unpacks a package that breaks this one (Debian Policy 6.6).
        run("/var/lib/dpkg/info/libpam-iampass.prerm", "deconfigure", "in-favour", "another", "1.0",
            package="libpam-iampass")
        self.assertEqual(machine.pam_files(), pam)

    def test_20_lines_by_hand_stop_the_removal(self):
        line = "auth required pam_iampass.so\n"
        before = read("/etc/pam.d/sudo")
        write("/root/elsewhere", line)
        os.makedirs("/usr/lib/pam.d", exist_ok=True)
        os.symlink("/root/elsewhere", "/etc/pam.d/linked")
        write("/usr/lib/pam.d/vendor", line)
        write("/etc/pam.d/sudo", line + before)
        said = self.assert_removal_stops()
        for path in ("/etc/pam.d/sudo", "/etc/pam.d/linked", "/usr/lib/pam.d/vendor"):
            self.assertIn(f"{path}:1:auth required pam_iampass.so", said)
        self.assertNotIn("pam_iampass", read(COMMON_AUTH))
        # The same for lines of other modules that need what the package keeps.
        for other in ("authfile=/etc/iampass/security-keys", "cue origin=pam://iampass"):
            write("/etc/pam.d/sudo", f"auth required pam_u2f.so {other}\n" + before)
            self.assertIn(f"/etc/pam.d/sudo:1:auth required pam_u2f.so {other}", self.assert_removal_stops())
        write("/etc/pam.d/sudo", before)
        for path in ("/etc/pam.d/linked", "/usr/lib/pam.d/vendor", "/root/elsewhere"):
            os.unlink(path)
        with contextlib.suppress(OSError):
            os.rmdir("/usr/lib/pam.d")
        run("dpkg", "--configure", "--pending")
        self.assert_pam_is_as_before()

    def assert_removal_stops(self):
        status, said = run("apt-get", "-y", "remove", "libpam-iampass", check=False)
        self.assertNotEqual(status, 0)
        self.assertTrue(os.path.exists(machine.module_path()))
        return said

    def test_21_files_that_disable_could_not_take_away_stop_the_removal(self):
        run("iampassctl", "enable", "--sshd")
        # A file that is mounted upon cannot be taken away (rename(2), unlink(2): EBUSY).
        run("mount", "--bind", SSHD_SETTINGS, SSHD_SETTINGS)
        try:
            said = self.assert_removal_stops()
        finally:
            run("umount", SSHD_SETTINGS)
        self.assertRegex(said, f"left these files in force:\\s+{SSHD_SETTINGS}")
        run("dpkg", "--configure", "--pending")
        run("iampassctl", "disable")
        self.assertFalse(os.path.exists(SSHD_SETTINGS))
        self.assert_pam_is_as_before()

    def test_22_a_removal_during_a_sign_in_lets_it_end(self):
        run("iampassctl", "enable")
        waiting = terminal(SUDO, user="alice")
        waiting.expect("Approve the sign-in on your phone")
        sealed = "/var/lib/iampass/keyring"
        os.makedirs(sealed, 0o700, exist_ok=True)
        write(f"{sealed}/{pwd.getpwnam('alice').pw_uid}.host", "")
        said = run("dpkg", "--remove", "iampass-phone", "libpam-iampass")
        self.assertIn("keyring: forgot the sealed password of alice\n", said)
        self.assertEqual(glob.glob(f"{sealed}/[0-9]*"), [])
        self.assert_pam_is_as_before()
        # Nobody answers: the phone's program is gone too.
        waiting.expect("assword[^\n]*: ")
        waiting.sendline(PASSWORD)
        self.assertEqual(finish(waiting)[0], 0)
        self.assert_sudo_takes_the_password()

    def test_23_a_purge_keeps_tokens_and_data_unless_asked(self):
        with open("/etc/iampass/phones", "a") as file:
            file.write("# trusted\n")
        apt("purge", *PACKAGES)
        for path in ("/etc/iampass/users", "/etc/iampass/credentials", "/etc/iampass/phones",
                     "/var/lib/iampass-server/iampass.sqlite"):
            self.assertTrue(os.path.exists(path), path)

    def test_23b_a_purge_keeps_the_keys_that_a_line_by_hand_still_asks_for(self):
        apt("install", *package_files())
        apt("remove", "libpam-iampass")
        for name in ("security-keys", "security-key-users"):
            write(f"/etc/iampass/{name}", "")
        write("/etc/pam.d/by-hand", "auth required pam_u2f.so authfile=/etc/iampass/security-keys\n")
        run("debconf-set-selections", text_in="libpam-iampass libpam-iampass/remove-secrets boolean true\n")
        try:
            apt("purge", "libpam-iampass")
        finally:
            os.unlink("/etc/pam.d/by-hand")
        self.assertFalse(os.path.exists("/etc/iampass/users"))
        for name in ("security-keys", "security-key-users"):
            os.unlink(f"/etc/iampass/{name}")

    def test_24_a_purge_that_is_asked_to_leaves_nothing(self):
        apt("install", *package_files())
        run("debconf-set-selections", text_in="libpam-iampass libpam-iampass/remove-secrets boolean true\n"
            "iampass-server iampass-server/remove-data boolean true\n")
        # It may have gone before.
        with machine.moved_away("/usr/bin/openssl"):
            apt("purge", *PACKAGES)
        run("systemctl", "daemon-reload")
        self.assert_pam_is_as_before()
        self.assertEqual(machine.accounts(), self.before.accounts)
        self.assertEqual(machine.units(), self.before.units)
        self.assertEqual(machine.debconf_answers(), self.before.debconf)
        now = machine.files()
        changed = {path for path in now.keys() | self.before.files.keys() if now.get(path) != self.before.files.get(path)}
        self.assertEqual(changed, set())
        self.assertFalse(os.path.exists("/run/iampass"))
        self.assertEqual(subprocess.run(["pgrep", "-f", "iampass-(helper|https|server)"], check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main(failfast=True)
