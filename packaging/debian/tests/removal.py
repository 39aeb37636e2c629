"""The packages go: what still needs them stops the removal, and a purge leaves what it should."""

import contextlib
import glob
import os
import pwd
import shutil
import subprocess

import machine
from machine import apt, finish, run, terminal
from stage import COMMON_AUTH, PACKAGES, PASSWORD, SUDO, Stage, package_files, read, write

SSHD_SETTINGS = "/etc/ssh/sshd_config.d/00-iampass.conf"


class Removal(Stage):
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
        # What the credential, which stays, must go on trusting.
        state = "/var/lib/iampass"
        trusted = [f"{state}/service/administrators.kept", f"{state}/recovery/kept"]
        for path in (*trusted, f"{state}/open/kept"):
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            write(path, "")
        apt("purge", *PACKAGES)
        self.addCleanup(shutil.rmtree, state, ignore_errors=True)
        self.assertEqual(sorted(os.listdir(state)), ["recovery", "service"])
        for path in trusted:
            self.assertTrue(os.path.exists(path), path)
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
