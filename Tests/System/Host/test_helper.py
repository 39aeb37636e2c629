"""The background helper: a user who walks away is logged out, and nobody else."""

import contextlib
import re
import time
import unittest

from helper_case import ROOT_PROMPT, HelperCase, prompt_of
from Support.Hosts.signed_requests import close_at_the_service
from Support.Hosts.testhost import CHOOSE_PROMPT, password_of


class Walkaway(HelperCase):
    def test_ssh_is_gone_and_its_terminal_says_why(self):
        with self.lasting_tickets(), self.lingering(7536):
            child = self.ssh_shell()
            self.take_ticket(child)
            with self.everything_goes():
                self.leave()
                self.assert_over(child)

    def test_login_on_a_terminal_is_gone_and_says_why(self):
        with self.lasting_tickets(), self.lingering(7537):
            child = self.login_shell()
            self.take_ticket(child)
            with self.everything_goes():
                self.leave()
                self.assert_over(child)

    def test_a_session_signed_in_by_password_stays(self):
        stays = self.password_shell()
        goes = self.ssh_shell()
        self.leave()
        self.assert_over(goes)
        self.assert_alive(stays)
        stays.sendline("exit")
        stays.finish()

    def test_another_users_session_stays(self):
        child = self.host.terminal("ssh bob@localhost", user="visitor")
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline(password_of("bob"))
        child.expect(prompt_of("bob"))
        goes = self.ssh_shell()
        self.leave()
        self.assert_over(goes)
        child.sendline("exit")
        self.assertEqual(child.finish(), 0)

    def test_a_root_shell_in_the_session_is_gone_too(self):
        with self.lasting_tickets(), self.lingering(7538):
            child = self.ssh_shell()
            with self.phone("approve"):
                child.sendline("sudo -i")
                child.expect(ROOT_PROMPT)
            # Without the phone, by the ticket.
            child.sendline("su alice -c 'sudo -i'")
            child.expect(ROOT_PROMPT)
            child.sendline("sleep 7531")
            self.assert_eventually("the command runs", lambda: self.processes("^sleep 7531"))
            with self.everything_goes():
                self.leave()
                self.assert_over(child)
            self.assertEqual(self.processes("^sleep 7531"), [])

    def test_what_ignores_signals_is_killed(self):
        child = self.ssh_shell()
        child.sendline("(trap '' TERM HUP INT; exec setsid sleep 7532) & disown; echo put-$((40 + 2))")
        child.expect("put-42")
        self.leave()
        self.assert_over(child)
        self.assertTrue(self.processes("^sleep 7532"))
        self.assert_eventually("it still runs", lambda: not self.processes("^sleep 7532"))

    def test_sudo_asks_again_afterwards(self):
        with self.lasting_tickets():
            stays = self.password_shell()
            self.take_ticket(stays)
            stays.sendline("sudo -n id -un")
            stays.expect("root")
            goes = self.ssh_shell()
            self.leave()
            self.assert_over(goes)
            stays.sendline("sudo -n id -un || echo asks-$((40 + 2))")
            stays.expect("asks-42")
            stays.sendline("exit")
            stays.finish()

    def test_what_lingers_is_stopped_with_the_last_session(self):
        with self.lingering(7533):
            child = self.ssh_shell()
            self.leave()
            self.assert_over(child)
            self.assert_eventually("it still runs", lambda: not self.processes("sleep 7533$"))

    def test_what_lingers_is_kept_where_that_is_configured(self):
        with self.configured("on_linger = keep"), self.lingering(7534):
            child = self.ssh_shell()
            self.leave()
            self.assert_over(child)
            self.assert_nothing_left()
            time.sleep(1)
            self.assertTrue(self.processes("sleep 7534$"))

    def lasting_tickets(self):
        """sudo does not ask again for ten minutes, on whatever terminal."""
        tickets = "Defaults timestamp_timeout=10, !tty_tickets, timestamp_type=global\n"
        return self.host.changed("/etc/sudoers.d/test-host", lambda text: text.replace(
            "Defaults timestamp_timeout=0\n", tickets))

    def take_ticket(self, child):
        with self.phone("approve"):
            child.sendline("sudo -v && echo got-$((40 + 2))")
            child.expect("got-42")

    @contextlib.contextmanager
    def everything_goes(self):
        """What the one watched session and its user have on the machine: there at first, and gone at the end."""
        scope = next(f"session-{one['logind_session']}.scope" for one in self.sessions() if one["watched"])
        looks = {
            "processes of the session": lambda: self.processes_of(scope),
            "processes of alice's manager": lambda: self.processes_of("user@1000.service"),
            "processes of alice": lambda: self.host.run("pgrep", "-u", "alice", check=False),
            "alice's tickets": lambda: self.host.path("/run/sudo/ts/alice").exists(),
        }
        self.assertEqual([what for what, look in looks.items() if not look()], [])
        yield
        for what, look in looks.items():
            self.assert_eventually(f"{what} are left", lambda look=look: not look())
        self.assert_nothing_left()
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())


class Grace(HelperCase):
    WARNING = "Your phone left: you are signed out in {} s unless it comes back."

    def test_who_comes_back_in_time_stays(self):
        # Enough for a phone that is slow to leave and to come back.
        with self.configured("walkaway_grace = 15s"):
            child = self.ssh_shell()
            self.leave()
            left = time.monotonic()
            child.expect_exact(self.WARNING.format(15))
            self.come_back()
            time.sleep(max(0, left + 16 - time.monotonic()))
            self.assert_alive(child)
            child.sendline("exit")
            child.finish()

    def test_who_does_not_is_logged_out(self):
        with self.configured("walkaway_grace = 2s"):
            child = self.ssh_shell()
            began = time.monotonic()
            self.leave()
            child.expect_exact(self.WARNING.format(2))
            self.assert_over(child)
            self.assertGreater(time.monotonic() - began, 2)


class ClosedRemotely(HelperCase):
    def test_only_that_session_of_the_user_ends(self):
        stays, goes = self.ssh_shell(), None
        first = set(self.records())
        goes = self.ssh_shell()
        record = (set(self.records()) - first).pop()
        close_at_the_service(self.host, record)
        self.assert_over(goes, "Signed out: the session was closed.")
        self.assert_alive(stays)
        stays.sendline("exit")
        stays.finish()

    def test_an_administrator_ends_a_session(self):
        # A session of the test before may still be on its way out.
        first = set(self.records())
        child = self.ssh_shell()
        record = (set(self.records()) - first).pop()
        said = self.host.run("iampassctl", "session", "end", record[:6])
        # By the name that the service and the phone have for it.
        self.assertRegex(said, r"\A[0-9a-f]{32}: ended\n\Z")
        self.assert_over(child, "Signed out: an administrator ended the session.")
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_an_end_that_the_service_does_not_know_yet_is_said(self):
        first = set(self.records())
        child = self.ssh_shell()
        record = (set(self.records()) - first).pop()
        with self.host.service_down():
            said = self.host.run("iampassctl", "session", "end", record[:6], check=False)
            self.assertRegex(said, "the service does not know yet that session [0-9a-f]{32} has ended")
            self.assert_over(child, "Signed out: an administrator ended the session.")
        # The helper tries again after growing pauses of up to a minute.
        self.assert_eventually("the service is not told", lambda: not self.records(), patience=150)

    def test_ending_what_is_not_there_is_an_error(self):
        said = self.host.run("iampassctl", "session", "end", "abcdef", check=False)
        self.assertIn("no session abcdef", said)


class Listing(HelperCase):
    def test_a_session_is_listed_with_what_the_service_says(self):
        child = self.ssh_shell()
        lines = self.host.run("iampassctl", "session", "list").splitlines()
        self.assertRegex(lines[0], r"^ID +USER +SERVICE +FROM +SESSION +STATUS +SINCE +NEXT CHECK +REMARK$")
        self.assertRegex(lines[1], r"^[0-9a-f]{8} +alice +sshd +\S+ +\d+ +active +\d+s ")
        child.sendline("exit")
        child.finish()
        self.assert_nothing_left()
        self.assertEqual(self.host.run("iampassctl", "session", "list").strip(), "no sessions")

    def test_watching_shows_what_happens(self):
        watching = self.host.terminal("exec iampassctl session watch")
        child = self.ssh_shell()
        watching.expect(r"\d\d:\d\d:\d\d  opened +[0-9a-f]{8}  alice  sshd  from ")
        self.leave()
        self.assert_over(child)
        watching.expect(r"ended +[0-9a-f]{8}  alice  sshd")
        watching.sendintr()
        self.assertEqual(watching.finish(), 0)

    def test_it_says_where_no_helper_runs(self):
        self.host.run("systemctl", "stop", "iampass-helper")
        self.assertIn("iampass-helper does not run", self.host.run("iampassctl", "session", "list"))


class Sudo(HelperCase):
    def test_the_helper_tells_the_service_when_the_command_is_over(self):
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())
        self.assert_eventually("the record is left", lambda: not self.records())

    def test_a_ticket_alone_keeps_no_session(self):
        with self.phone("approve"):
            self.assertEqual(self.sudo("-v").finish(), 0)
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())

    def test_a_killed_sudo_keeps_no_session(self):
        with self.phone("approve"):
            child = self.sudo("sleep 7535")
            self.assert_eventually("the command runs", lambda: self.processes("^sleep 7535"))
        self.host.run("pkill", "-KILL", "-x", "sudo")
        child.close(force=True)
        self.host.run("pkill", "-KILL", "-f", "^sleep 7535", check=False)
        self.assert_eventually("the session is still live", lambda: not self.live_sessions())


class Unit(HelperCase):
    def test_it_is_confined(self):
        said = self.host.run("systemd-analyze", "security", "--no-pager", "iampass-helper", check=False)
        level = float(re.search(r"exposure level for iampass-helper.service: ([\d.]+)", said)[1])
        self.assertLess(level, 3.0)

    def test_its_worker_is_not_root(self):
        child = self.ssh_shell()
        self.assertEqual(len(self.host.helper_workers()), 1)
        child.sendline("exit")
        child.finish()

    def test_a_second_helper_is_refused(self):
        said = self.host.run("/usr/libexec/iampass/iampass-helper", check=False)
        self.assertIn("another helper looks after /run/iampass", said)

    def test_it_stops_by_itself(self):
        self.host.run("systemctl", "stop", "iampass-helper")
        # And not "timeout", when systemd has to kill it.
        result = self.host.run("systemctl", "show", "--property=Result", "--value", "iampass-helper").strip()
        self.assertEqual(result, "success")


if __name__ == "__main__":
    unittest.main()
