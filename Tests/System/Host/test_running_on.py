"""What runs on after sshd has ended is watched, and ends when the phone leaves."""

import shlex

from helper_case import HelperCase
from Support.Hosts import debian_package


class AfterSSH(HelperCase):
    # As tmux and mosh-server do: a process of its own session that holds a terminal for its child.
    ON_A_TERMINAL = "import pty, sys; pty.spawn(sys.argv[1:])"

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-u", "alice", check=False)

    def sign_out_leaving(self, command, number):
        """alice signs in over ssh, starts a command in the background, and signs out."""
        child = self.ssh_shell()
        child.sendline(f"setsid -f {command} </dev/null >/dev/null 2>&1; echo put-$((40 + 2))")
        child.expect("put-42")
        self.assert_eventually("it runs", lambda: self.processes(f"^sleep {number}$"))
        child.sendline("exit")
        child.finish()

    def leave_on_a_terminal(self, number):
        self.sign_out_leaving(f"python3 -c {shlex.quote(self.ON_A_TERMINAL)} sleep {number}", number)

    def assert_watched(self):
        """Its leader has gone, and the helper watches it."""
        self.assert_eventually("the session is not closing", lambda: self.host.run(
            "sh", "-c", "grep -l STATE=closing /run/systemd/sessions/*[0-9]", check=False))
        self.assert_eventually("it is not watched", lambda: self.watched_count() == 1)

    def assert_ends(self, number):
        self.leave()
        self.assert_eventually("it still runs", lambda: not self.processes(f"^sleep {number}$"))
        self.assert_nothing_left()
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_what_has_a_terminal_ends_with_the_walkaway(self):
        with self.configured("on_linger = keep"):
            self.leave_on_a_terminal(7551)
            self.assert_watched()
            self.assert_ends(7551)

    def test_tmux_ends_with_the_walkaway(self):
        with self.configured("on_linger = keep"):
            self.sign_out_leaving("tmux new-session -d sleep 7555", 7555)
            self.assert_watched()
            self.assert_ends(7555)

    def test_mosh_ends_with_the_walkaway(self):
        self.assert_mosh_ends()

    def test_mosh_ends_with_the_walkaway_where_lingering_is_kept(self):
        # Its server opens its terminal once its ssh has ended, a moment sooner or later.
        for attempt in range(3):
            with self.subTest(attempt), self.configured("on_linger = keep"):
                self.assert_mosh_ends()

    def assert_mosh_ends(self):
        """By Debian's own client and server; its ssh ends as soon as the server runs."""
        debian_package.install(self.host, "libprotobuf32", "mosh")
        with self.host.module_arguments("prompt=push"), self.phone("approve"):
            child = self.host.terminal("mosh alice@localhost", user="visitor", environment={"TERM": "xterm"})
            child.expect_exact("alice@workstation")
        self.assert_watched()
        # By the server that has no ssh any more.
        child.sendline("echo still-$((40 + 2))")
        child.expect_exact("still-42")
        self.assertEqual(len(self.processes("^mosh-server ")), 1)
        self.leave()
        self.assert_eventually("the server still runs", lambda: not self.processes("^mosh-server "))
        self.assert_nothing_left()
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())
        child.close(force=True)

    def test_a_job_without_a_terminal_ends_with_the_walkaway(self):
        self.sign_out_leaving("sleep 7552", 7552)
        self.assert_watched()
        self.assert_ends(7552)

    def test_a_job_without_a_terminal_runs_on_where_lingering_is_kept(self):
        with self.configured("on_linger = keep"):
            self.sign_out_leaving("sleep 7553", 7553)
            self.assert_eventually("a record is left", lambda: not self.records())
            self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())
            self.leave()
            self.assertTrue(self.processes("^sleep 7553$"))

    def test_the_service_is_told_once_nothing_runs_on(self):
        self.leave_on_a_terminal(7554)
        self.assert_watched()
        self.assertTrue(self.live_sessions())
        self.host.run("pkill", "-f", "^sleep 7554$")
        self.assert_eventually("a record is left", lambda: not self.records())
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())
