"""Upgrades and downgrades leave sign-ins, sessions and settings alone, and `disable` gives every file back."""

import glob
import os
import re

import machine
from machine import Phone, finish, press_enter_for_the_phone, run, terminal, wait_until
from stage import DEBS, SSH, SUDO, Stage, package_files, read, version_of, write


class Upgrades(Stage):
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
