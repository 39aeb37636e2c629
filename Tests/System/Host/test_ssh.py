"""Real sshd with keyboard-interactive."""

import contextlib
import re
import time
import unittest

import pexpect

from host_case import HostCase
from Support.Hosts.testhost import CHOOSE_PROMPT, CODE_PROMPT, password_of
from Support.Service.never import assert_refused

#: As scripts sign in that know ssh's own prompts alone: what is typed at another one is typed into the password.
PXSSH = """
import sys
from pexpect import pxssh
shell = pxssh.pxssh(options={"StrictHostKeyChecking": "no"}, timeout=60)
shell.login("localhost", sys.argv[1], sys.argv[2], login_timeout=60)
shell.sendline("id -un")
shell.prompt()
print("ran as", shell.before.decode().split()[-1])
shell.logout()
"""
GRACE = "/etc/ssh/sshd_config.d/grace-of-the-tests.conf"
#: How logind and PAM log a session of alice's.
OPENED = r"New session \S+ of user alice|sshd:session\): session opened for user alice"


class Approved(HostCase):
    def test_enter_and_an_approval_open_a_shell_without_a_password(self):
        with self.phone("approve"):
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0)
        self.assertRegex(child.screen, r"(?m)^alice$")

    def test_push_mode_asks_nothing_first(self):
        with self.host.module_arguments("prompt=push"), self.phone("approve"):
            child = self.ssh()
            self.pass_code_prompt(child)
            self.assertEqual(child.finish(), 0)
        self.assertNotIn("Password", child.screen)
        self.assertRegex(child.screen, r"(?m)^alice$")

    def test_the_password_typed_at_the_choice_signs_in_and_rings_no_phone(self):
        with self.phone("approve") as phone:
            child = self.ssh()
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
            self.assertEqual(phone.requests(), [])

    def test_the_shell_gets_no_session_variable(self):
        with self.phone("approve"):
            child = self.ssh(command="env")
            self.press_enter_for_the_phone(child)
            child.finish()
        self.assertIn("SSH_CONNECTION", child.screen)
        self.assertNotIn("IAMPASS_SESSION", child.screen)

    def test_the_shell_has_a_logind_session(self):
        with self.phone("approve"):
            child = self.ssh(command="env")
            self.press_enter_for_the_phone(child)
            child.finish()
        self.assertIn("XDG_SESSION_ID", child.screen)
        self.assertEqual(len(re.findall(OPENED, self.journal())), 2)

    def test_the_session_lives_until_the_shell_exits(self):
        with self.phone("approve"):
            child = self.ssh(options="-tt", command="'echo in-here; read -r line'")
            self.press_enter_for_the_phone(child)
            child.expect_exact("in-here")
            self.assertEqual(len(self.live_sessions()), 1)
            child.sendline("")
            child.finish()
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())


class MatchCode(HostCase):
    def test_the_code_stands_in_the_prompt_and_typing_it_on_the_phone_opens_a_shell(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            child = self.ssh()
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
            child.expect(CODE_PROMPT)
            phone.type(child.match[1])
            self.assert_eventually("the phone has not answered", lambda: "approved" in phone.printed)
            child.sendline("")
            self.assertEqual(child.finish(), 0, phone.printed)
        self.assertRegex(child.screen, r"(?m)^alice$")

    def test_enter_before_the_phone_has_answered_waits_for_it(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            child = self.ssh()
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
            child.expect(CODE_PROMPT)
            code = child.match[1]
            child.sendline("")
            phone.wait_for_requests(1)
            phone.type(code)
            self.assertEqual(child.finish(), 0, phone.printed)


class Refused(HostCase):
    def test_a_denial_opens_nothing_and_is_one_request(self):
        with self.phone("deny") as phone:
            child = self.ssh(options="-o NumberOfPasswordPrompts=3")
            self.press_enter_for_the_phone(child)
            while child.expect(["assword: ", pexpect.EOF]) == 0:
                child.sendline("")
            child.close()
            assert_refused(child.exitstatus)
            self.assertEqual(len(phone.requests()), 1, phone.printed)
        self.assertEqual(self.requests_at_the_service(), 1)

    def test_batch_mode_fails_at_once_and_rings_no_phone(self):
        with self.phone("approve") as phone:
            began = time.monotonic()
            child = self.ssh(options="-o BatchMode=yes")
            assert_refused(child.finish())
            # Waiting for a phone would take 30 s.
            self.assertLess(time.monotonic() - began, 25)
            self.assertEqual(phone.requests(), [])

    def test_without_a_terminal_it_rings_no_phone_and_ends(self):
        """ssh gives empty answers if it has nobody to ask, as under git."""
        with self.phone("approve") as phone:
            words = "ssh -T -o NumberOfPasswordPrompts=2 alice@localhost id -un".split()
            began = time.monotonic()
            shown = self.host.run("setsid", *words, user="visitor", check=False)
            self.assertIn("Permission denied", shown)
            # Waiting for a phone would take 30 s.
            self.assertLess(time.monotonic() - began, 25)
            self.assertEqual(phone.requests(), [])
        self.assertEqual(self.requests_at_the_service(), 0)
        self.assertIn("answered before anybody could read", self.journal())

    def test_no_answer_falls_to_the_password(self):
        with self.host.module_arguments("timeout=5s"), self.phone("ignore"):
            child = self.ssh()
            self.press_enter_for_the_phone(child)
            child.expect("assword: ", timeout=60)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)


class Copying(HostCase):
    """By a user without a key."""

    FILE = "/home/alice/copied"
    BY_SCP = f"/etc/hostname alice@localhost:{FILE}"
    BY_SFTP = f"alice@localhost:/etc/hostname {FILE}"

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "rm", "-f", self.FILE)

    def test_an_approval_copies_a_file(self):
        with self.phone("approve"):
            child = self.host.terminal(f"scp {self.BY_SCP}", user="visitor")
            self.press_enter_for_the_phone(child)
            self.assertEqual(child.finish(), 0)
        self.assertTrue(self.host.path(self.FILE).exists())

    def test_in_batch_mode_it_fails_at_once_and_rings_no_phone(self):
        # With this setting a phone rings as soon as anyone asks for keyboard-interactive.
        with self.host.module_arguments("prompt=push"), self.phone("approve") as phone:
            for command in (f"scp -o BatchMode=yes {self.BY_SCP}", f"sftp -o BatchMode=yes {self.BY_SFTP}"):
                with self.subTest(command=command):
                    began = time.monotonic()
                    child = self.host.terminal(command, user="visitor")
                    assert_refused(child.finish())
                    # Waiting for a phone would take 30 s.
                    self.assertLess(time.monotonic() - began, 25)
                    self.assertIn("Permission denied", child.screen)
            self.assertEqual(phone.requests(), [])
        self.assertEqual(self.requests_at_the_service(), 0)
        self.assertFalse(self.host.path(self.FILE).exists())


class Names(HostCase):
    def first_prompt(self, name):
        child = self.ssh(name)
        child.expect(r"\S[^:]*: ")
        prompt = child.after
        # ssh that only loses its terminal still sends an empty answer, which would ring.
        self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh")
        child.close(force=True)
        return re.sub(r"\(\S+@localhost\) ", "", prompt)

    def test_every_name_gets_the_same_prompt(self):
        prompts = {name: self.first_prompt(name) for name in ("alice", "bob", "nobody-of-this-name")}
        self.assertEqual(set(prompts.values()), {CHOOSE_PROMPT}, prompts)

    def test_a_user_without_a_token_signs_in_with_the_password(self):
        child = self.ssh("bob")
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline(password_of("bob"))
        self.assertEqual(child.finish(), 0)
        self.assertRegex(child.screen, r"(?m)^bob$")

    def test_enter_for_a_user_without_a_token_rings_no_phone(self):
        with self.phone("approve") as phone:
            child = self.ssh("bob", options="-o NumberOfPasswordPrompts=1")
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
            while child.expect(["assword: ", pexpect.EOF]) == 0:
                child.sendline("wrong")
            self.assertEqual(phone.requests(), [])


class Scripts(HostCase):
    def test_pxssh_signs_in_by_password_and_rings_no_phone(self):
        for name in ("alice", "bob"):
            with self.subTest(name):
                said = self.host.run("python3", "-c", PXSSH, name, password_of(name), user="visitor")
                self.assertIn(f"ran as {name}", said)
        self.assertEqual(self.requests_at_the_service(), 0)


class Gone(HostCase):
    def assert_opens_nothing(self):
        """Neither here, now or before, nor at the service, which ends by itself what nobody collects for 30 s."""
        self.assert_eventually("the session is still live", lambda: not self.live_sessions(), 60)
        self.assert_eventually("a record is left", lambda: not self.host.run("ls", "/run/iampass/sessions").split())
        self.assertNotIn("alice", self.host.run("loginctl", "list-sessions", "--no-legend"))
        self.assertNotRegex(self.journal(), OPENED)

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
