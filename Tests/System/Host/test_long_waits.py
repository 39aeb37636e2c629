"""What takes minutes by nature: the times of sessions pass, and a helper stays away. Nothing here keeps a processor at work,
so that these tests have a host of their own beside the others."""

import time
import unittest

from helper_case import PROMPT, HelperCase
from Support.Hosts import testhost
from test_offline import Terminals


class OfflineSession(Terminals):
    """Sessions that either way opened end with their time, the service being away."""

    offline_session = "1m"

    def test_both_end_with_their_time(self):
        with self.interface_down():
            first, second = self.login(), self.visitor()
            for child, way in ((first, self.digits_for), (second, self.next_code)):
                self.choose_offline(child, way)
                child.expect(PROMPT)
            self.assert_offline(2)
            for child in (first, second):
                # A minute, and another for clocks that differ: the bound is far from both.
                self.assert_over(child, "Signed out: the session's time is over.", patience=300)
        self.assert_nothing_left()


class Expiry(HelperCase):
    """Sessions that are warned after half of their time. On a busy machine the other half is enough for a renewal."""

    def test_a_new_approval_prolongs_a_session_and_another_sudo_does_not(self):
        hour = self.host.changed(testhost.CONFIGURATION, lambda text: text.replace(
            "session_duration = 100s", "session_duration = 1h"))
        without_password = self.host.changed("/etc/sudoers.d/test-host", lambda text: text + (
            "alice ALL=(root) NOPASSWD: /usr/bin/iampassctl session renew\n"))
        with self.configured("session_duration = 100s"), without_password:
            stays, goes = self.ssh_shell(), self.ssh_shell()
            before = set(self.records())
            with self.phone("approve"):
                goes.sendline("sudo id -un")
                goes.expect("root")
            for child in (stays, goes):
                child.expect("You are signed out in [0-9]+ s, .*sudo iampassctl session renew", timeout=120)
            with hour, self.phone("approve"):
                stays.sendline("sudo iampassctl session renew")
                stays.expect("goes on for 1h", timeout=60)
            self.assert_eventually("the old record is left", lambda: not before <= set(self.records()))
            # By then the one that was renewed would be over, too.
            self.assert_over(goes, "Signed out: the session's time is over.", patience=240)
            self.assert_alive(stays)
            self.assertEqual(len(self.live_sessions()), 1)
            self.leave()
            self.assert_over(stays)
            self.assert_nothing_left()


class HelperAway(HelperCase):
    def test_who_leaves_while_the_helper_is_away_is_logged_out_when_it_is_back(self):
        child = self.ssh_shell()
        self.host.run("systemctl", "stop", "iampass-helper")
        self.leave()
        time.sleep(61)
        self.assert_alive(child)
        self.host.run("systemctl", "start", "iampass-helper")
        self.assert_over(child)


if __name__ == "__main__":
    unittest.main()
