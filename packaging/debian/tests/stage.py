"""What every stage of the packages' life claims, and the machine as it was before them."""

import contextlib
import glob
import os
import unittest

import machine
from machine import Phone, finish, run, terminal

DEBS = os.environ["IAMPASS_DEBS"]
PACKAGES = ["libpam-iampass", "iampass-server", "iampass-phone"]
PASSWORD = "alice-password"
SUDO = "sudo -k; sudo id -un"
SSH = "ssh -tt -o StrictHostKeyChecking=accept-new -o LogLevel=ERROR alice@localhost"
CONFIGURATION = "/etc/iampass/iampass.conf"
COMMON_AUTH = "/etc/pam.d/common-auth"


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


class Stage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.before = Before()

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

    @contextlib.contextmanager
    def configured_with(self, line):
        before = read(CONFIGURATION)
        write(CONFIGURATION, before + line + "\n")
        try:
            yield
        finally:
            write(CONFIGURATION, before)
