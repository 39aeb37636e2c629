"""The helper killed by SIGKILL at different moments of a walkaway: the user who left is signed out, and nobody else."""

import contextlib
import json
import unittest

from helper_case import RECORDS, HelperCase
from host_case import PATIENCE
from Support.Hosts import testhost
from Support.Hosts.testhost import Phone

BOBS_PHONE = "/home/phone/bob.json"
NOTES = "/run/iampass/watch"
#: Seconds from when the phone has said that it leaves; the logout takes about 0.1 s.
MOMENTS = (0, 0.005, 0.02, 0.06, 0.15)
#: One process, since a command from outside takes longer than what it is to hit.
LEAVE_AND_KILL = f"""
import os, signal, subprocess, sys, time
subprocess.run(["iampass-phone", "leave", "--state", "{testhost.PHONE_STATE}"], user="phone", group="phone", check=True)
time.sleep(float(sys.argv[2]))
os.kill(int(sys.argv[1]), signal.SIGKILL)
"""


class Killed(HelperCase):
    """Bob has a phone of his own, which stays; and Alice a session that no phone opened."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.run("iampassctl", "user", "add", "bob")
        # Other tests know bob as a user without a token.
        cls.addClassCleanup(cls.host.run, "rm", "-f", BOBS_PHONE)
        cls.addClassCleanup(cls.host.run, "iampassctl", "user", "remove", "bob")
        link = json.loads(cls.host.run("iampassctl", "enroll", "bob", "--json"))["register_url"]
        cls.host.run(
            "iampass-phone", "register", link, "--state", BOBS_PHONE, "--ca", "/etc/iampass/ca.pem", user="phone")

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "loginctl", "terminate-user", "bob", check=False)
        self.bob = self.ssh_shell("bob", Phone(self.host, "approve", state=BOBS_PHONE))
        self.bobs_record = self.records()
        self.by_password = self.password_shell()

    def leave_and_kill(self, moment):
        before = self.helper_pid()
        self.host.run("python3", "-c", LEAVE_AND_KILL, before, str(moment))
        self.assert_files_are_whole()
        return before

    def assert_new_helper(self, before):
        # Active once it has taken everything up.
        self.assert_eventually("a new helper runs", lambda: self.helper_pid() not in ("0", before) and self.host.run(
            "systemctl", "is-active", "iampass-helper", check=False).strip() == "active")

    def assert_files_are_whole(self):
        """Also in the second in which no helper runs. What is being written has a suffix, and counts for nothing."""
        files = [file for folder in (RECORDS, NOTES) for file in self.host.path(folder).iterdir() if not file.suffix]
        for file in files:
            # Its host or a new helper may be faster than we are.
            with contextlib.suppress(FileNotFoundError):
                json.loads(file.read_text())

    def assert_who_stayed_is_there(self):
        self.assert_alive(self.bob, "bob")
        self.assert_alive(self.by_password)
        self.assert_eventually("another record is left", lambda: self.records() == self.bobs_record)
        self.assert_eventually("bob is not watched", lambda: self.watched_count() == 1)
        self.assertNotRegex(self.journal(), r"(logged out|over) user=bob")

    def test_who_walked_away_is_signed_out_and_nobody_else(self):
        for moment in MOMENTS:
            with self.subTest(moment=moment):
                self.come_back()
                goes = self.ssh_shell()
                before = self.leave_and_kill(moment)
                goes.finish(PATIENCE)
                self.assert_new_helper(before)
                self.assert_who_stayed_is_there()
        self.leave_in_order()

    def leave_in_order(self):
        for child in (self.bob, self.by_password):
            child.sendline("exit")
            self.assertEqual(child.finish(), 0)
        self.assert_nothing_left()


class Departing(HelperCase):
    """The helper ends between a logout and the kill of what is left of it, 5 s later."""

    def assert_goes_on_after(self, *verb):
        with self.lingering(7540):
            goes = self.ssh_shell()
            goes.sendline("(trap '' TERM HUP INT; exec setsid sleep 7539) & disown; echo put-$((40 + 2))")
            goes.expect("put-42")
            self.leave()
            self.assert_over(goes)
            self.assertTrue(self.processes("^sleep 7539"))
            before = self.helper_pid()
            self.host.run("systemctl", *verb, "iampass-helper")
            self.assert_eventually("a new helper runs", lambda: self.helper_pid() not in ("0", before))
            self.addCleanup(self.host.run, "pkill", "-KILL", "-f", "^sleep 7539", check=False)
            # systemd itself would take 90 s.
            self.assert_eventually("it still runs", lambda: not self.processes("^sleep 7539"))
            self.assert_eventually("alice's manager still runs", lambda: not self.processes("sleep 7540$"))

    def test_the_next_helper_kills_what_ignores_signals_after_a_kill(self):
        self.assert_goes_on_after("kill", "--signal=KILL")

    def test_the_next_helper_kills_what_ignores_signals_after_a_restart(self):
        self.assert_goes_on_after("restart")


if __name__ == "__main__":
    unittest.main()
