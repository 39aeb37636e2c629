"""Recovery codes alone by real sudo and ssh, and made over ssh; test_offline has them beside the digits of a phone."""

import re
import unittest

import pexpect

from helper_case import PROMPT, HelperCase
from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, password_of

OFFER = "Server not reachable. Recovery code, or password: "
SIGNED_IN = r"IAMPASS: signed in by a recovery code; (\d) left"
# No route leads there: the host has no network but its own.
ELSEWHERE = "https://192.0.2.1"
CODE = r"\b[0-9a-z]{5}-[0-9a-z]{5}\b"
#: The other computer goes on once it is there.
GOES_ON = "/run/collect-goes-on"
ROOT_BY_SSH = "/etc/ssh/sshd_config.d/0-root-of-the-tests.conf"
SEALED = r"iampass-codes-1\.[\w-]+"


class RecoveryCase(HelperCase):
    def setUp(self):
        super().setUp()
        taken = self.configured("methods_offline = recovery", "offline_session = 10m")
        taken.__enter__()
        self.addCleanup(taken.__exit__, None, None, None)
        shown = self.host.run("iampassctl", "recovery", "create", "--any-output", "alice")
        self.codes = re.findall(CODE, shown)
        self.addCleanup(self.host.run, "iampassctl", "recovery", "revoke", "alice")

    def sudo_by_code(self, code):
        child = self.sudo()
        child.expect_exact(OFFER)
        child.sendline(code)
        self.assertEqual(child.finish(), 0)
        self.assertRegex(child.screen, SIGNED_IN)
        self.assertRegex(child.screen, r"(?m)^root\r?$")


class Recovery(RecoveryCase):
    def shell_by_code(self, child, code):
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline("")
        child.expect_exact(OFFER)
        child.sendline(code)
        child.expect(PROMPT)
        self.assert_eventually("the session is offline", lambda: [
            one["offline"] for one in self.sessions() if one["logind_session"]] == [True])

    def test_sudo_with_the_service_down(self):
        with self.host.service_down():
            self.sudo_by_code(self.codes[0])
            child = self.sudo("--reset-timestamp id -un")
            child.expect_exact(OFFER)
            child.sendline(self.codes[0])
            child.expect_exact(OFFER)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)
        self.assertIn("by=recovery-code code=1 left=9", "\n".join(self.module_lines()))

    def test_ssh_without_a_way_to_the_service(self):
        with self.host.changed(testhost.CONFIGURATION, lambda text: re.sub(r"(?m)^server = .*$", f"server = {ELSEWHERE}", text)):
            self.shell_by_code(child := self.host.terminal("ssh alice@localhost", user="visitor"), self.codes[1])
            child.sendline("exit")
            child.finish()
        self.assert_nothing_left()


class CollectedBySSH(RecoveryCase):
    """`recovery collect` of a user without privileges, who reaches root of this computer by real ssh."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.run("chpasswd", text_in=f"root:{password_of('root')}\n")
        cls.host.path(ROOT_BY_SSH).write_text("PermitRootLogin yes\n")
        cls.addClassCleanup(cls.host.run, "sh", "-c", f"rm {ROOT_BY_SSH}; systemctl reload ssh; usermod --lock root")
        cls.host.run("systemctl", "reload", "ssh")

    def collect(self, command="iampassctl recovery create --sealed-for {key} alice", computers="workstation"):
        return self.host.terminal(
            f"iampassctl recovery collect --computers {computers} -- ssh root@localhost {command}", user="visitor")

    def type_roots_password(self, child):
        # Root has no token here.
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline(password_of("root"))

    def left(self):
        return self.host.run("iampassctl", "recovery", "list", "alice")

    def test_ssh_asks_at_this_terminal_and_the_codes_that_come_sign_in(self):
        child = self.collect()
        self.type_roots_password(child)
        self.assertEqual(child.finish(), 0, child.screen)
        codes = re.findall(CODE, child.screen)
        self.assertEqual(len(codes), 10, child.screen)
        self.assertIn("workstation: alice\n", child.screen)
        # What the other computer says besides is passed on, without the text that was opened.
        self.assertIn("alice: these codes serve from now on", child.screen)
        self.assertNotRegex(child.screen, SEALED)
        with self.host.service_down():
            self.sudo_by_code(codes[3])
            child = self.sudo("--reset-timestamp id -un")
            child.expect_exact(OFFER)
            # The earlier ones serve no more.
            child.sendline(self.codes[0])
            child.expect_exact(OFFER)
            child.sendline(password_of("alice"))
            self.assertEqual(child.finish(), 0)

    def test_with_a_terminal_of_its_own_too(self):
        """ssh -t ends each line with a carriage return, and gives the other side's complaints as output."""
        child = self.collect("-t iampassctl recovery create --sealed-for {key} alice")
        self.type_roots_password(child)
        self.assertEqual(child.finish(), 0, child.screen)
        self.assertEqual(len(re.findall(CODE, child.screen)), 10, child.screen)

    def test_ctrl_c_at_sshs_question_changes_nothing_and_gives_the_echo_back(self):
        child = self.host.terminal(
            "sh -c 'trap : INT; iampassctl recovery collect -- ssh root@localhost"
            " iampassctl recovery create --sealed-for {key} alice; echo ended-$?; stty -a'", user="visitor")
        child.expect_exact(CHOOSE_PROMPT)
        child.sendintr()
        child.expect_exact("ended-130")
        child.expect(r"[ ;](-?)echo[ ;]")
        self.assertEqual(child.match[1], "")
        child.finish()
        self.assertNotRegex(child.screen, CODE)
        with self.host.service_down():
            self.sudo_by_code(self.codes[0])

    def test_a_computer_that_cannot_be_signed_in_to_is_named(self):
        child = self.collect("-o NumberOfPasswordPrompts=1 iampassctl recovery create --sealed-for {key} alice")
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline("wrong")
        while child.expect(["assword: ", pexpect.EOF]) == 0:
            child.sendline("wrong")
        child.close()
        self.assertNotEqual(child.exitstatus, 0)
        self.assertIn("no codes came from workstation", child.screen)
        self.assertIn("10 of 10", self.left())

    def test_a_connection_that_is_cut_before_the_text_came_leaves_the_earlier_codes(self):
        """The sealed text cannot be written any more, so that the new codes are dropped."""
        self.addCleanup(self.host.run, "rm", "-f", GOES_ON)
        waiting = f"echo waits; until test -e {GOES_ON}; do sleep 0.1; done"
        child = self.collect(f"'{waiting}; exec iampassctl recovery create --sealed-for {{key}} alice'")
        self.type_roots_password(child)
        child.expect_exact("waits")
        self.host.run("pkill", "-KILL", "-u", "visitor", "-x", "ssh")
        child.finish()
        self.assertNotRegex(child.screen, CODE)
        self.assert_eventually("sshd keeps the connection", lambda: not self.processes("^sshd(-session)?: root@notty"))
        self.assertTrue(self.processes("recovery create"), "the other computer did not wait")
        self.host.path(GOES_ON).touch()
        self.assert_eventually("it still runs", lambda: not self.processes("recovery create"))
        with self.host.service_down():
            self.sudo_by_code(self.codes[0])


if __name__ == "__main__":
    unittest.main()
