"""The packages come: nothing changes for anybody, and what is missing or half configured leaves the password."""

import ctypes
import os
import time

import machine
from machine import apt, finish, run, terminal
from stage import COMMON_AUTH, DEBS, PACKAGES, PASSWORD, Stage, package_files, read, version_of

#: Seconds; a sign-in by password takes one.
HALF_CONFIGURED_TIME = 5


class Installing(Stage):
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
