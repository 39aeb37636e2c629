"""What holds for each agent of polkit's: the administrator's dialog of a desktop."""

import time

from desktop_case import PROMPT
from host_case import ASKED
from Support.Hosts.testhost import password_of

SAID = "/home/alice/pkexec.out"


class Agents:
    """A class that has this is of one agent.

    `terminal` is alice's, in the session that the agent is registered for, and `type` types at the dialog. polkit asks a
    new conversation after each that failed, and the dialog stays.
    """

    def setUp(self):
        super().setUp()
        self.host.run("rm", "-f", SAID)
        self.assert_eventually("no agent is there", lambda: "Registered Authentication Agent" in self.host.run(
            "journalctl", "--no-pager", "--unit=polkit"))
        self.addCleanup(self.host.run, "pkill", "-x", "pkexec", check=False)

    def open_dialog(self):
        def dialog_comes():
            # pkexec ends at once while polkit does not know the agent yet.
            if self.has_ended():
                self.ask()
            return self.dialog_is_there()

        self.ask()
        self.assert_eventually("there is no dialog", dialog_comes)

    def ask(self):
        self.host.run("rm", "-f", SAID)
        # In the background: a job of the terminal's, in the session that the agent is registered for.
        self.terminal.sendline(f"(pkexec --disable-internal-agent id -un >{SAID} 2>&1; echo ended $? >>{SAID}) &")
        self.terminal.expect(PROMPT)

    def dialog_is_there(self):
        """PAM runs for it."""
        return bool(self.host.run("pgrep", "-f", "polkit-agent-helper-1", check=False).strip())

    def has_ended(self):
        return "ended" in self.host.run("cat", SAID, check=False)

    def press_enter(self):
        self.enter_for_the_phone("polkit-1", lambda: self.enter(""))

    def enter(self, text):
        # Until it takes keys.
        time.sleep(0.5)
        self.type(text)

    def assert_allowed(self):
        self.assert_eventually("pkexec waits", self.has_ended)
        self.assertEqual(self.host.run("cat", SAID).splitlines(), ["root", "ended 0"])
        # It opens no session that anybody would have to watch.
        self.assertEqual(self.host.run("ls", "/run/iampass/sessions"), "")

    def allow_by_password(self, taken):
        """See Lockers.unlock_by_password."""
        before = len(self.passwords("polkit-1"))
        self.again_until(self.has_ended, lambda: self.enter(password_of("alice")), "the password allows nothing")
        self.assert_allowed()
        self.assert_taken("polkit-1", before, taken)

    def test_an_approval_is_enough(self):
        with self.phone("approve") as phone:
            self.open_dialog()
            self.press_enter()
            self.assert_allowed()
            self.assertEqual(len(phone.requests()), 1)
        self.assertEqual(len(self.broker_lines("approved user=alice service=polkit-1 ")), 1)
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_the_password_is_taken_at_the_same_prompt(self):
        with self.phone("approve") as phone:
            self.open_dialog()
            self.allow_by_password("next")
            self.assertEqual(phone.requests(), [])

    def test_a_wrong_password_is_refused_once_and_asks_no_phone(self):
        with self.phone("approve") as phone:
            self.open_dialog()
            self.again_until(
                lambda: "refused" in self.passwords("polkit-1"), lambda: self.enter("wrong"), "it is not refused", ASKED)
            # It answers the choice of password and phone, and one try of pam_unix's is all that it costs.
            self.assertEqual(self.passwords("polkit-1"), ["next", "refused"])
            self.assertEqual(phone.requests(), [])
            self.assertEqual(self.requests_at_the_service(), 0)
            self.assertFalse(self.has_ended())
            self.allow_by_password("next")

    def test_after_a_denial_the_dialog_asks_again(self):
        with self.phone("deny") as phone:
            self.open_dialog()
            self.press_enter()
            self.assert_eventually("it is not denied", lambda: self.broker_lines("reason=denied on the phone"))
            self.assertFalse(self.has_ended())
            self.allow_by_password("next")
            self.assertEqual(len(phone.requests()), 1)

    def test_after_nobody_answered_the_password_is_enough(self):
        with self.short_time():
            self.open_dialog()
            self.press_enter()
            self.assert_eventually("somebody answered", lambda: self.broker_lines("reason=not answered"))
            self.allow_by_password("same")

    def test_while_the_service_is_down_the_password_is_enough(self):
        with self.host.service_down():
            self.open_dialog()
            self.press_enter()
            self.assert_eventually("it was reached", lambda: self.broker_lines("reason=unavailable"))
            self.allow_by_password("same")

    def test_without_a_broker_the_password_is_enough(self):
        with self.broker_down():
            self.open_dialog()
            self.allow_by_password("same")

    def test_after_the_broker_was_killed_the_password_is_enough(self):
        with self.phone("ask") as phone:
            self.open_dialog()
            self.press_enter()
            phone.wait_for_requests(1)
            self.kill_broker()
            self.allow_by_password("same")

    def test_an_upgrade_leaves_the_broker_that_asks_the_phone(self):
        with self.phone("ask") as phone:
            self.open_dialog()
            self.press_enter()
            phone.wait_for_requests(1)
            self.upgrade()
            phone.type("y")
            self.assert_allowed()
