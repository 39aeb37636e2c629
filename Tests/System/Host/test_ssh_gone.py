"""Real sshd: the client vanishes while it waits for the phone, or sshd ends first."""

import contextlib
import re
import time
import unittest

from host_case import HostCase
from Support.Hosts.testhost import CHOOSE_PROMPT, CODE_PROMPT, SSH_OPENED
from Support.Service.never import assert_refused

GRACE = "/etc/ssh/sshd_config.d/grace-of-the-tests.conf"


class Gone(HostCase):
    def assert_opens_nothing(self):
        """Neither here, now or before, nor at the service, which ends by itself what nobody collects for 30 s."""
        self.assert_eventually("the session is still live", lambda: not self.live_sessions(), 60)
        self.assert_eventually("a record is left", lambda: not self.host.run("ls", "/run/iampass/sessions").split())
        self.assertNotIn("alice", self.host.run("loginctl", "list-sessions", "--no-legend"))
        self.assertNotRegex(self.journal(), SSH_OPENED)

    def test_an_approval_after_the_client_vanished_opens_nothing_and_is_logged(self):
        self.host.run("systemctl", "start", "iampass-helper")
        with self.host.module_arguments("timeout=60s"), self.phone("ask") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            phone.wait_for("approve? [y/n] ")
            # Nobody sees that it is gone: its connection stays, as if the network had been cut.
            self.host.run("pkill", "-STOP", "-u", "visitor", "-x", "ssh")
            phone.type("y")
            phone.wait_for("approved")
            approval = r"sshd:auth\): approved user=alice .*session=(\w+)"
            self.assert_eventually("the module has not seen it", lambda: re.search(approval, self.journal()))
            self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh")
            child.close(force=True)
            self.assert_opens_nothing()
        approved = re.search(approval, self.journal())
        self.assertRegex(self.journal(), rf"over user=alice .*session={approved[1]}: no session was opened")
        self.assertEqual(self.host.workers(), [])

    def test_a_client_that_vanishes_takes_its_request_back_at_once(self):
        # sshd itself would end the wait with its LoginGraceTime.
        with self.host.module_arguments("timeout=90s"), self.phone("ask") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            phone.wait_for("approve? [y/n] ")
            began = time.monotonic()
            self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh")
            child.close(force=True)
            refused = r"sshd:auth\): refused user=alice .*reason=interrupted"
            self.assert_eventually("the module goes on waiting", lambda: re.search(refused, self.journal()), 20)
            self.assertLess(time.monotonic() - began, 20)
            phone.type("y")
            phone.wait_for("too late")
            self.assert_opens_nothing()
        self.assertEqual(self.host.workers(), [])

    def test_a_client_that_vanishes_at_the_code_prompt_holds_back_no_other(self):
        with self.host.with_match_codes():
            self.ask_for_a_code(self.ssh()).close(force=True)
            self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh", check=False)
            # Until then the process that asks may still be there, and the next one would wait its turn.
            gone = "pgrep -f '^sshd(-session)?: alice ' || echo gone"
            self.assert_eventually("sshd goes on", lambda: self.host.run("sh", "-c", gone).strip() == "gone", 60)
            child = self.ask_for_a_code(self.ssh())
            digits = child.match[1]
            # Not before: the phone would ask for the digits of the first one, which is withdrawn by now.
            with self.phone("approve") as phone:
                phone.type(digits)
                phone.wait_for("approved")
                child.sendline("")
                self.assertEqual(child.finish(), 0, phone.printed)
                self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assertNotIn("another request", child.screen)
        # By the next sign-in; or by its own module, if that still looked at the connection when the client left.
        ended = r"withdrew user=alice session=\w+: its sign-in was killed|refused user=alice .*reason=interrupted"
        self.assertRegex(self.journal(), rf"sshd:auth\): (?:{ended})")

    def ask_for_a_code(self, child):
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline("")
        child.expect(CODE_PROMPT)
        return child

    def test_a_client_that_stays_is_waited_for(self):
        with self.host.module_arguments("timeout=60s"), self.phone("ask") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            phone.wait_for("approve? [y/n] ")
            # Many looks at the connection.
            time.sleep(5)
            phone.type("y")
            self.assertEqual(child.finish(), 0)

    def test_a_wait_that_outlasts_the_grace_time_is_over_with_it(self):
        with self.grace_time(8), self.host.module_arguments("timeout=90s"), self.phone("ask") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            phone.wait_for("approve? [y/n] ")
            self.assertTrue(self.host.workers(), "no worker runs during the wait")
            assert_refused(child.finish(40))
            self.assert_eventually("a worker is left", lambda: not self.host.workers(), 15)
            self.assertRegex(self.journal(), r"sshd:auth\): refused user=alice .*reason=interrupted")
            phone.type("y")
            phone.wait_for("too late")
            self.assert_opens_nothing()

    @contextlib.contextmanager
    def grace_time(self, seconds):
        file = self.host.path(GRACE)
        file.write_text(f"LoginGraceTime {seconds}\n")
        try:
            # A reload is not waited for.
            self.host.run("systemctl", "restart", "ssh")
            yield
        finally:
            file.unlink()
            self.host.run("systemctl", "restart", "ssh")

    def test_a_client_that_vanishes_leaves_no_worker(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore") as phone:
            child = self.ssh(options="-o ControlPath=none")
            self.press_enter_for_the_phone(child)
            phone.wait_for_requests(1)
            self.assertTrue(self.host.workers(), "no worker runs during the wait")
            self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh")
            child.close(force=True)
            self.assert_eventually("a worker outlived the wait", lambda: not self.host.workers())

    def test_sshd_killed_during_the_wait_leaves_no_worker(self):
        with self.phone("ignore") as phone:
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            phone.wait_for_requests(1)
            self.assertTrue(self.host.workers(), "no worker runs during the wait")
            self.host.run("pkill", "-KILL", "-f", r"^sshd: alice \[")
            self.assert_eventually("the worker outlived sshd", lambda: not self.host.workers())
            child.close(force=True)


if __name__ == "__main__":
    unittest.main()
