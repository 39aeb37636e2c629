"""What the tests of the background helper share: sessions that it watches, and what is left of them."""

import contextlib
import json

import pexpect
from host_case import PATIENCE, HostCase
from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, password_of
from Support.Service import ends

ROOT_PROMPT = "root@workstation[^\n]*# "
LEFT = "Signed out: your phone left."
RECORDS = "/run/iampass/sessions"
LEAVING = "/run/iampass/leaving"


def prompt_of(user):
    return rf"{user}@workstation[^\n]*\$ "


PROMPT = prompt_of("alice")


class HelperCase(HostCase):
    def setUp(self):
        super().setUp()
        self.host.run("systemctl", "start", "iampass-helper")
        self.assert_eventually("a record of the test before is left", lambda: not self.records())
        # What comes after needs it, too.
        self.addCleanup(self.host.run, "systemctl", "start", "iampass-helper")
        self.addCleanup(self.host.run, "iampass-phone", "return", "--state", testhost.PHONE_STATE, user="phone")
        # Sessions that a failed test left would be in the next one's way.
        self.addCleanup(self.host.run, "systemctl", "stop", "user@1000", check=False)
        self.addCleanup(self.host.run, "loginctl", "terminate-user", "alice", check=False)

    def ssh_shell(self, user="alice", phone=None):
        """A shell over ssh, signed in by phone, watched by the helper."""
        before = self.watched_count()
        with self.host.module_arguments("prompt=push"), phone or self.phone("approve"):
            child = self.host.terminal(f"ssh {user}@localhost", user="visitor")
            child.expect(prompt_of(user))
        self.assert_eventually("the helper watches it", lambda: self.watched_count() > before)
        return child

    def login_shell(self):
        """Likewise on a terminal of `login`."""
        before = self.watched_count()
        with self.phone("approve"):
            child = self.host.login_terminal()
            child.expect("login: ")
            child.sendline("alice")
            self.press_enter_for_the_phone(child)
            child.expect(PROMPT)
        self.assert_eventually("the helper watches it", lambda: self.watched_count() > before)
        return child

    def password_shell(self):
        child = self.host.terminal("ssh alice@localhost", user="visitor")
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline(password_of("alice"))
        child.expect(PROMPT)
        return child

    def leave(self):
        self.host.run("iampass-phone", "leave", "--state", testhost.PHONE_STATE, user="phone")

    def come_back(self):
        self.host.run("iampass-phone", "return", "--state", testhost.PHONE_STATE, user="phone")

    def watched_count(self):
        return sum(1 for one in self.sessions() if one["watched"] and one.get("status") == "active")

    def sessions(self):
        return json.loads(self.host.run("iampassctl", "session", "list", "--json").splitlines()[0])

    def records(self):
        # What became of each stands beside it.
        return [name for name in self.host.run("ls", RECORDS).split() if "." not in name]

    def logind_sessions(self):
        return [line.split()[0] for line in self.host.run("loginctl", "list-sessions", "--no-legend").splitlines()]

    def assert_over(self, child, line=LEFT, patience=PATIENCE):
        """The helper says the line and then ends the session. On a busy machine sshd can be ended before it has sent the
        line on; few may be lost so (ends.py)."""
        lost = child.expect_exact([line, pexpect.EOF], timeout=patience) == 1
        if lost:
            self.assertIn("closed by remote host", child.before, f"without {line!r}")
        ends.note(lost)
        child.finish(patience)

    def assert_alive(self, child, user="alice"):
        child.sendline("echo still-$((40 + 2))")
        child.expect("still-42")
        child.expect(prompt_of(user))

    def assert_nothing_left(self):
        self.assert_eventually("a record is left", lambda: not self.records())
        self.assert_eventually("a session is left", lambda: not self.logind_sessions())
        self.assert_eventually("a logout is under way", lambda: not self.host.run(
            "sh", "-c", f"ls {LEAVING} 2>/dev/null", check=False))

    @contextlib.contextmanager
    def configured(self, *lines):
        """With further lines of configuration, which the helper reads when it is told to."""
        with self.host.changed(testhost.CONFIGURATION, lambda text: text + "".join(f"{line}\n" for line in lines)):
            self.host.run("systemctl", "reload", "iampass-helper")
            try:
                yield
            except BaseException:
                # What fails here must not be the next test's configuration.
                self.addCleanup(self.host.run, "systemctl", "reload", "iampass-helper")
                raise
        self.host.run("systemctl", "reload", "iampass-helper")

    def helper_pid(self):
        return self.host.main_pid("iampass-helper")

    @contextlib.contextmanager
    def lingering(self, number):
        self.host.run("loginctl", "enable-linger", "alice")
        try:
            self.assert_eventually("alice's manager runs", lambda: self.host.run(
                "systemctl", "is-active", "user@1000", check=False).strip() == "active")
            self.host.run(
                "systemd-run", "--user", "--quiet", "sleep", str(number), user="alice",
                environment={"XDG_RUNTIME_DIR": "/run/user/1000"})
            self.assert_eventually("it runs", lambda: self.processes(f"sleep {number}$"))
            yield
        finally:
            self.host.run("loginctl", "disable-linger", "alice")
            self.host.run("systemctl", "stop", "user@1000", check=False)

    def processes(self, pattern):
        return self.host.run("pgrep", "-f", pattern, check=False).split()

    def processes_of(self, unit):
        """Those in the control group of a unit, whatever user they have become."""
        return self.host.run("sh", "-c", f"grep -lsF '/{unit}' /proc/[0-9]*/cgroup", check=False).split()
