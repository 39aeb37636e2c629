"""Anybody may run polkit's setuid helper for alice. That costs her none of her own requests, and her phone names who began
it. The helper, pkexec, sudo and login of Debian 13."""

import re
import subprocess
import threading
import time
import unittest

from desktop_case import PROMPT, DesktopCase
from Support.Hosts.terminal import READING_TIME
from Support.Hosts.testhost import CHOOSE_PROMPT, PUSH_LINE
from Support.Service.never import assert_nobody_signed_in

HELPER = "/usr/lib/polkit-1/polkit-agent-helper-1"
#: max_requests, as it is without a line.
GREATEST = 5
#: Seconds for the helper's next line.
PATIENCE = 120


class Strangers(DesktopCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.terminal = cls.desktop()
        # Without a session here. www-data is on each computer with a web server.
        cls.host.run("useradd", "mallory")
        cls.addClassCleanup(cls.host.run, "userdel", "--force", "mallory")

    def helper(self, user):
        """It asks alice's phone, as a program of this user's has it do. Its output goes on to be read."""
        child = self.host.start(
            HELPER, "alice", user=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # polkitd would check it if PAM let somebody in.
        self.type(child, "a cookie")
        self.read_until(child, "Password: ")
        # Faster than anybody types is not Enter.
        time.sleep(READING_TIME)
        self.type(child, "")
        return child

    def type(self, child, line):
        child.stdin.write(line + "\n")
        child.stdin.flush()

    def read_until(self, child, text):
        said = ""
        while text not in said:
            line = self.next_line(child)
            self.assertTrue(line, f"the helper has ended, or is silent, without {text!r}: {said}")
            said += line

    @staticmethod
    def next_line(child):
        """Nothing if none comes."""
        lines = []
        reading = threading.Thread(target=lambda: lines.append(child.stdout.readline()), daemon=True)
        reading.start()
        reading.join(PATIENCE)
        return lines[0] if lines else ""

    def end(self, child, user):
        self.host.run("pkill", "-KILL", "-U", user, "-f", HELPER, check=False)
        child.communicate(timeout=60)

    def use_up(self, user):
        """Requests that are killed while they ring, until no more of them reach the phone."""
        with self.phone("ignore") as phone:
            for number in range(1, GREATEST + 1):
                child = self.helper(user)
                self.assertEqual(len(phone.wait_for_requests(number)), number, phone.printed)
                # The phone may have it before who asked knows its name, by which it is taken back.
                self.read_until(child, "PAM_TEXT_INFO")
                self.end(child, user)
                # Until then her phone has another open request.
                self.assert_eventually("its request goes on", lambda number=number: self.requests_that_ended() == number)
            child = self.helper(user)
            self.read_until(child, "too many requests went unanswered")
            self.end(child, user)
            self.assertEqual(len(phone.requests()), GREATEST)
        # By the kernel's word.
        self.assertEqual(re.findall(r"(?m)^ +asked by +(.*)$", phone.printed), [user] * GREATEST)
        assert_nobody_signed_in([0] * self.approvals())

    def requests_that_ended(self):
        """In the service's own log."""
        return self.journal().count("request ended")

    def assert_alice_is_asked(self):
        """At the programs that would share a count of root's, and at her own."""
        with self.phone("approve") as phone:
            with self.subTest("login"):
                login = self.host.login_terminal()
                login.expect("login: ")
                login.sendline("alice")
                self.press_enter_for_the_phone(login)
                login.expect(PROMPT)
                login.sendline("exit")
                login.finish()
            with self.subTest("pkexec"):
                self.terminal.sendline("pkexec id -un")
                self.terminal.expect_exact(CHOOSE_PROMPT)
                self.terminal.sendline("")
                self.terminal.expect(PUSH_LINE)
                self.terminal.expect_exact("AUTHENTICATION COMPLETE")
                self.terminal.expect("root\r?\n")
                self.terminal.expect(PROMPT)
            with self.subTest("sudo"):
                child = self.sudo()
                self.assertEqual(child.finish(), 0, child.screen)
            self.assertEqual(re.findall(r"(?m)^ +service +(.*)$", phone.printed), ["login", "polkit-1", "sudo"])
        # Her own requests look otherwise.
        self.assertNotIn("asked by", phone.printed)

    def test_what_another_user_breaks_off_costs_her_nothing_and_is_named(self):
        self.use_up("mallory")
        self.assert_alice_is_asked()

    def test_what_a_user_without_a_login_breaks_off_costs_her_nothing_and_is_named(self):
        self.use_up("www-data")
        self.assert_alice_is_asked()

    def test_each_stranger_has_a_count_of_their_own(self):
        self.use_up("mallory")
        with self.phone("ignore") as phone:
            child = self.helper("www-data")
            self.assertEqual(len(phone.wait_for_requests(1)), 1)
            self.end(child, "www-data")


if __name__ == "__main__":
    unittest.main()
