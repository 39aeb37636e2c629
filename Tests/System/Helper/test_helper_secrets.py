"""What the helper knows of a session's secrets goes with the session, and no dump has any."""

import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from helper_world import ACTIVE, APPLICATION_SECRET, DONE, SESSION_SECRET, HelperWorld, ServedCase, until
from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import HostileService
from Support.Service.built_for import needs_release
from Support.Service.memory import search
from Support.Service.never import assert_hidden
from Support.Service.world import read

#: By name, since a failure must not print one.
SECRETS = {
    "token of the session": "canary-token-of-session-goes", "secret of the session": SESSION_SECRET,
    "application secret": APPLICATION_SECRET,
}  # fmt: skip
CLOSED = reply(200, b'{"session_status":"closed"}')
#: A debug program loads Swift's runtime from the toolchain, which would take SIGABRT for its backtrace. The program would go
#: on, since another process sent the signal. A release has no such handler.
WITHOUT_BACKTRACE = {"SWIFT_BACKTRACE": "enable=no"}


class Case(ServedCase):
    def setUp(self):
        super().setUp()
        self.world.watch("goes")
        self.world.start_helper()
        until(lambda: self.world.is_well("goes"), "not watched")
        self.pid = self.world.helper.process.pid

    def names(self, *pids):
        return {found.name for pid in pids for found in search(pid, SECRETS)}


class Memory(Case):
    @needs_release("only there the runtime's memory is cleared as it is freed (Sources/Shims/ClearingFree)")
    def test_a_session_that_is_over_leaves_no_secret_in_memory(self):
        self.assertIn("secret of the session", self.names(self.pid), "the search finds nothing")
        # The session ends with its leader.
        self.world.leader.kill()
        self.world.leader.wait()
        until(lambda: not self.world.watched(), "the record stays")
        # The record disappears a moment before its notes.
        until(lambda: not self.names(self.pid) - {"application secret"}, lambda: f"left: {self.names(self.pid)}", 20)

    def test_the_worker_never_has_a_secret_that_signs(self):
        helper, *workers = self.world.processes()
        self.assertEqual(len(workers), 1)
        self.assertEqual(self.names(*workers) - {"token of the session"}, set())


class Shown(Case):
    def test_no_argument_variable_or_file_of_others_shows_a_secret(self):
        shown = b"".join(
            pathlib.Path(f"/proc/{pid}/{name}").read_bytes() for pid in self.world.processes() for name in ("cmdline", "environ"))
        self.assertIn(b"iampass-helper", shown)
        readable = b"".join(path.read_bytes() for path in pathlib.Path(self.world.path("run")).rglob("*")
                            if path.is_file() and path.stat().st_mode & 0o077)
        for name, secret in SECRETS.items():
            assert_hidden(secret.encode(), shown + readable, name)


def end(process):
    """Ends a process that a failed test left."""
    if process.returncode is None:
        process.kill()
        process.wait()


class Dumps(unittest.TestCase):
    def crash(self, words, is_ready, folder):
        """Starts a program where every dump is wanted, and has it abort; whether the kernel dumped it."""
        process = subprocess.Popen(
            ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh", *words], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **WITHOUT_BACKTRACE})
        self.addCleanup(end, process)
        until(lambda: is_ready(process.pid), "not started")
        os.kill(process.pid, signal.SIGABRT)
        ended = until(lambda: (found := os.waitpid(process.pid, os.WNOHANG))[0] and found, "the signal did not end it")
        status = ended[1]
        # Popen need not wait any more.
        process.returncode = -os.WTERMSIG(status)
        self.assertEqual(os.WTERMSIG(status), signal.SIGABRT)
        return os.WCOREDUMP(status)

    def test_a_helper_that_crashes_leaves_no_dump(self):
        world = HelperWorld()
        self.addCleanup(world.close)
        service = HostileService().start()
        self.addCleanup(service.stop)
        service.behaviour = {"*": ACTIVE, "/l": DONE}
        world.serve_by(service.url, service.ca_file)
        world.watch("goes")
        os.mkdir(world.path("crash"))
        self.assertFalse(self.crash(world.helper_words(), lambda pid: world.is_well("goes"), world.path("crash")))

    def test_another_program_that_crashes_leaves_a_dump(self):
        """So that the helper's missing one says something, on a kernel that makes dumps."""
        with tempfile.TemporaryDirectory() as folder:
            is_ready = lambda pid: read(f"/proc/{pid}/comm").strip() == "sleep"  # noqa: E731
            makes_dumps = read("/proc/sys/kernel/core_pattern").strip() != ""
            self.assertEqual(self.crash(["sleep", "1000"], is_ready, folder), makes_dumps)


if __name__ == "__main__":
    unittest.main()
