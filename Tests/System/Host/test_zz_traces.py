"""What all tests of this folder have left on the host, of which these come last by their odd name: no secret that
anybody can find.

Every session of the run is known to the service, with its token and secret, so that each is looked for.
"""

import contextlib
import json
import pathlib
import re
import sqlite3
import tempfile
import unittest

from host_case import HostCase
from Support.Hosts import testhost
from Support.Hosts.testhost import password_of
from Support.Service.never import MustNeverHappen

BACKUP = "/var/lib/iampass-server/backup-of-the-tests.sqlite"
PATTERNS = "/tmp/what-is-looked-for"
#: Where anything is written while a host runs.
PLACES = "/etc /home /opt /root /run /srv /tmp /var"
QUERIES = (
    "SELECT secret FROM application", "SELECT secret FROM host_credential", "SELECT token FROM session",
    "SELECT secret FROM session", "SELECT reply_secret FROM session", "SELECT name FROM user",
    "SELECT private_key FROM push_key", "SELECT auth FROM push_subscription",
)  # fmt: skip
#: Where the test host's service has its metrics.
FETCH = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9464/metrics', timeout=30).read().decode())"
#: Shorter texts are found by chance.
SHORTEST = 16


def in_database(content):
    # SQLite would follow /proc/PID/root, a link, to a file of this machine's own.
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with contextlib.closing(sqlite3.connect(file.name)) as database:
            return {row[0] for query in QUERIES for row in database.execute(query) if row[0]}


class Traces(HostCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The test before may have stopped it, and its words and variables are looked at too.
        cls.host.run("systemctl", "start", "iampass-helper")
        cls.one_of_each()
        cls.secrets = sorted(cls.all_secrets())

    @classmethod
    def one_of_each(cls):
        """A sign-in, a denial, links and a host's own credential, also where no other test ran before."""
        cls.host.forget_attempts()
        for answer in ("approve", "deny"):
            with testhost.Phone(cls.host, answer):
                cls.host.terminal("sudo id -un", user="alice").finish()
        made = cls.host.run(
            "iampass-server", "host-credential", "create", "workstation", "traces", "--host", "traces",
            "--data", "/var/lib/iampass-server", user="_iampass-server")
        cls.made = re.findall(r"secret\s*=\s*(\S+)", made)
        link = json.loads(cls.host.run("iampassctl", "lost-device", "bob", "--json")) if cls.has_bob() else {}
        console = cls.host.run(
            "iampass-server", "console-link", "--data", "/var/lib/iampass-server", user="_iampass-server")
        cls.codes = [re.findall(r"[\w-]{16,}", text)[-1] for text in (link.get("register_url", ""), console.strip())]

    @classmethod
    def has_bob(cls):
        cls.host.run("iampassctl", "user", "add", "bob", check=False)
        return "bob" in cls.host.run("iampassctl", "user", "list", "--json")

    @classmethod
    def all_secrets(cls):
        phone = json.loads(cls.host.path(testhost.PHONE_STATE).read_text())
        users = cls.host.path("/etc/iampass/users").read_text()
        found = {phone["private_key"], password_of("alice"), password_of("bob"), *cls.made, *cls.codes}
        found.update(re.findall(r":(\S+)$", users, re.MULTILINE))
        cls.host.run("iampass-server", "backup", BACKUP, "--data", "/var/lib/iampass-server", user="_iampass-server")
        try:
            found.update(in_database(cls.host.path(BACKUP).read_bytes()))
        finally:
            cls.host.path(BACKUP).unlink()
        return {secret for secret in found if len(secret) >= SHORTEST or secret.endswith("-password")}

    def assert_hidden(self, text):
        """None of the secrets stands in a text. A failure must not print them."""
        if count := sum(secret in text for secret in self.secrets):
            raise MustNeverHappen(f"{count} secrets were found")

    def test_every_secret_is_looked_for(self):
        # From application, users, this class's two sign-ins (token and secret each), link, host credential, passwords.
        self.assertGreaterEqual(len(self.secrets), 10)
        self.assertTrue(self.made and self.codes)

    def test_these_come_last(self):
        files = sorted(path.name for path in pathlib.Path(__file__).parent.glob("test_*.py"))
        self.assertEqual(files[-1], pathlib.Path(__file__).name)

    def test_the_units_leave_no_line_that_says_nothing(self):
        said = self.host.run("journalctl", "--no-pager", "--output=short", "--boot")
        # Each line's unit stands in it, so that this journal is one of a service that ran.
        self.assertIn("iampass-server", said)
        self.assertNotIn("Failed to set thread priority", said)
        self.assertNotIn("unset environment variable", said)

    def test_no_secret_stands_in_any_field_of_the_journal(self):
        words = "a secret of the tests' own: " + "".join(reversed(self.secrets[0]))
        self.host.run("logger", words)
        self.host.run("journalctl", "--sync")
        journal = self.host.run("journalctl", "--no-pager", "--all", "--output=export", timeout=120)
        # What was just written is there, so that the search is in the right place.
        self.assertIn(words, journal)
        # Another test plants one, to show that its search finds it.
        for secret in self.secrets:
            journal = journal.replace(f"planted {secret}", "planted")
        self.assert_hidden(journal)

    def test_no_user_can_read_a_secret_in_any_file(self):
        file = self.host.path(PATTERNS)
        self.addCleanup(file.unlink)
        file.write_text("".join(f"{secret}\n" for secret in self.secrets))
        file.chmod(0o644)
        # Without grep's words about what is removed meanwhile (-s).
        search = f"find {PLACES} -xdev -type f -readable -print0 2>/dev/null | xargs -0 grep -lsFf {PATTERNS}"
        found = self.host.run("sh", "-c", search, user="visitor", check=False, timeout=120).split()
        # The one that was made for this to be found.
        self.assertIn(PATTERNS, found)
        if found != [PATTERNS]:
            raise MustNeverHappen(f"a user can read a secret: {found}")

    def test_no_secret_stands_in_a_log_file(self):
        logs = self.host.run(
            "sh", "-c", "find /var/log -xdev -type f -not -path '/var/log/journal/*' -print0 | xargs -0 -r cat "
            "| tr -c '[:print:]\\n' '?'", timeout=60)
        self.assert_hidden(logs)

    def test_no_process_shows_a_secret_while_a_sign_in_waits(self):
        with testhost.Phone(self.host, "ignore") as phone:
            child = self.sudo()
            self.assertTrue(phone.wait_for_requests(1))
            shown = self.host.run(
                "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'", check=False)
            child.close(force=True)
        # The search is among processes' words and variables.
        self.assertIn("iampass-https", shown)
        self.assertIn("HOME=", shown)
        self.assert_hidden(shown)

    def test_no_command_shows_a_secret(self):
        for words in (("check", "--json"), ("check",), ("user", "list", "--json"), ("user", "show", "alice", "--json"),
                      ("session", "list", "--json")):
            with self.subTest(words=words):
                said = self.host.run("iampassctl", *words, check=False, timeout=60)
                self.assertTrue(said.strip())
                self.assert_hidden(said)

    def test_the_metrics_show_no_secret_name_id_or_address(self):
        said = self.host.run("python3", "-c", FETCH, timeout=60)
        # At least those of this class's own sign-ins.
        for event in ("approved", "denied"):
            self.assertRegex(said, rf'iampass_session_events_total{{event="{event}"}} [1-9]')
        self.assert_hidden(said)
        self.assertNotRegex(said, r"alice|bob|workstation|sudo|[0-9a-f]{32}|127\.0\.0\.1|::1")

    def test_the_audit_shows_no_secret(self):
        said = self.host.run(
            "iampass-server", "audit", "--data", "/var/lib/iampass-server", user="_iampass-server", timeout=60)
        self.assertIn("alice", said)
        self.assert_hidden(said)

    def test_neither_worker_nor_service_can_be_dumped(self):
        """A worker's files of /proc are root's, as those are that the kernel does not dump (proc(5))."""
        server = self.host.main_pid("iampass-server")
        limits = self.host.run("cat", f"/proc/{server}/limits")
        # For 1 the kernel does not pipe a dump to a program either (core(5)).
        self.assertRegex(limits, r"Max core file size\s+1\s+1\s")
        with testhost.Phone(self.host, "ignore") as phone:
            child = self.sudo()
            self.assertTrue(phone.wait_for_requests(1))
            worker = self.host.workers()[0]
            self.assertEqual(self.host.run("stat", "--format=%u", f"/proc/{worker}/environ").strip(), "0")
            self.assertRegex(self.host.run("cat", f"/proc/{worker}/limits"), r"Max core file size\s+0\s+0\s")
            child.close(force=True)


if __name__ == "__main__":
    unittest.main()
