"""The background helper in an outage, killed, without a bus, and with damaged records: nobody is logged out by it, and
whoever leaves is logged out all the same."""

import re
import time
import unittest

from helper_case import PROMPT, RECORDS, HelperCase
from Support.Service import ends


class WhateverHappens(HelperCase):
    def test_an_outage_ends_nothing(self):
        child = self.ssh_shell()
        with self.host.service_down():
            time.sleep(7)
            self.assert_alive(child)
        self.leave()
        self.assert_over(child, patience=70)

    def test_a_killed_helper_comes_back_and_loses_nothing(self):
        child = self.ssh_shell()
        before = self.helper_pid()
        self.host.run("systemctl", "kill", "--signal=KILL", "iampass-helper")
        self.assert_eventually("a new helper runs", lambda: self.helper_pid() not in ("0", before))
        self.assert_alive(child)
        self.assertEqual(len(self.records()), 1)
        self.leave()
        self.assert_over(child)

    def test_a_sign_in_needs_no_helper(self):
        self.host.run("systemctl", "stop", "iampass-helper")
        with self.host.module_arguments("prompt=push"), self.phone("approve"):
            child = self.host.terminal("ssh alice@localhost", user="visitor")
            child.expect(PROMPT)
        self.host.run("systemctl", "start", "iampass-helper")
        self.assert_eventually("the helper watches it", lambda: self.watched_count() == 1)
        self.leave()
        self.assert_over(child)

    def test_without_a_helper_the_module_tells_the_service_itself(self):
        self.host.run("systemctl", "stop", "iampass-helper")
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)
        missed = self.journal().count(ends.NOT_ENDED)
        ends.assert_ended(lambda: 1 - len(self.live_sessions()), missed)
        # Such a record waits for the helper.
        self.assertLessEqual(len(self.records()), missed)

    def test_a_restarted_logind_ends_nothing(self):
        child = self.ssh_shell()
        self.host.run("systemctl", "restart", "systemd-logind")
        time.sleep(3)
        self.assert_alive(child)
        self.leave()
        self.assert_over(child)

    def test_a_restarted_bus_ends_nothing(self):
        child = self.ssh_shell()
        self.host.run("systemctl", "restart", "dbus")
        time.sleep(3)
        self.assert_alive(child)
        self.leave()
        # logind itself needs a moment to be on the new bus.
        self.assert_over(child)

    def test_a_hostile_record_is_left_aside_and_logged_once(self):
        child = self.ssh_shell()
        name = "0" * 32
        try:
            self.host.run("ln", "-s", "/etc/shadow", f"{RECORDS}/{name}")
            self.assert_eventually("the log names it", lambda: f"record {name} is left aside" in self.journal())
            self.assert_alive(child)
            self.leave()
            self.assert_over(child)
        finally:
            self.host.run("rm", "-f", f"{RECORDS}/{name}")
        self.assertEqual(self.journal().count(f"record {name} is left aside"), 1)

    def test_a_full_run_folder_stops_no_logout(self):
        self.host.run("mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1,mode=700", "tmpfs", "/run/iampass/watch")
        try:
            with self.host.module_arguments("prompt=push"), self.phone("approve"):
                child = self.host.terminal("ssh alice@localhost", user="visitor")
                child.expect(PROMPT)
            self.assert_eventually("the log says so", lambda: re.search("note of .* not written", self.journal()))
            self.leave()
            self.assert_over(child)
        finally:
            self.host.run("umount", "/run/iampass/watch")


if __name__ == "__main__":
    unittest.main()
