"""The network workers that wait for sign-ins, as the packaged units have them."""

import contextlib
import re
import shlex
import unittest

from host_case import HostCase

UNIT = "iampass-worker"
#: What a sign-in hears first. If no worker waits, systemd starts one.
GREETING = "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/iampass/worker'); print(len(s.recv(1)))"
#: Opens the memory of whatever it can for some seconds, and says the names of those.
OPENER = """
import os, time
end = time.monotonic() + 8
seen = set()
while time.monotonic() < end:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if pid in seen or int(pid) == os.getpid():
            continue
        try:
            open(f"/proc/{pid}/mem", "r+b").close()
            print(open(f"/proc/{pid}/comm").read(), flush=True)
            seen.add(pid)
        except OSError:
            pass
"""
PASSWORD = r"\[sudo\] password for alice: "
#: Sign-ins of which one takes a worker that waits. Each is patient for a quarter of a second.
TRIES = 12


class WorkerCase(HostCase):
    def setUp(self):
        super().setUp()
        self.host.run("systemctl", "reset-failed", f"{UNIT}.service", f"{UNIT}.socket", check=False)
        self.host.run("systemctl", "start", f"{UNIT}.socket", f"{UNIT}.service")
        self.addCleanup(self.host.run, "systemctl", "start", f"{UNIT}.socket", f"{UNIT}.service")
        self.assert_it_waits()

    def assert_it_waits(self):
        """With everything loaded: on a busy machine that can take longer than a sign-in is patient."""
        self.assertEqual(self.host.run("python3", "-c", GREETING).strip(), "1")
        self.assert_eventually("the worker is left", lambda: not self.host.workers())

    def sign_in_asked_for(self):
        """A sudo that waits for its phone, which waits for `answer`."""
        self.asked = self.enterContext(self.phone("ask"))
        child = self.sudo()
        self.asked.wait_for("approve? [y/n] ")
        return child

    def sign_in_by_one_that_waits(self):
        """As above. On a busy machine one that waits can be too slow, and a sign-in rightly starts its own."""
        for _ in range(TRIES):
            self.assert_it_waits()
            child = self.sign_in_asked_for()
            if self.worker()[1] == self.host.main_pid(UNIT):
                return child
            self.assert_signed_in(child)
        self.fail(f"none of {TRIES} sign-ins took a worker that waits")

    def worker(self):
        """The one worker of the sign-in under way, and whose child it is."""
        workers = self.host.workers()
        self.assertEqual(len(workers), 1)
        return workers[0], self.host.run("ps", "-o", "ppid=", "-p", workers[0]).strip()

    def assert_signed_in(self, child):
        self.asked.type("y")
        self.assertEqual(child.finish(), 0, child.screen)
        self.assertIn("root", child.screen)
        self.assert_eventually("the worker is left", lambda: not self.host.workers())


class Waiting(WorkerCase):
    def test_a_sign_in_takes_a_waiting_worker(self):
        self.assert_signed_in(self.sign_in_by_one_that_waits())

    def test_the_first_sign_in_starts_those_that_wait(self):
        self.host.run("systemctl", "stop", f"{UNIT}.service")
        self.assertEqual(self.host.main_pid(UNIT), "0")
        # By one of them, or on a busy machine by a worker of its own.
        self.assert_signed_in(self.sign_in_asked_for())
        self.assertNotEqual(self.host.main_pid(UNIT), "0")
        self.assert_signed_in(self.sign_in_by_one_that_waits())

    def test_without_the_socket_a_sign_in_starts_its_own(self):
        self.host.run("systemctl", "stop", f"{UNIT}.socket")
        self.assertIn("No such file", self.host.run("ls", "/run/iampass/worker", check=False))
        child = self.sign_in_asked_for()
        command = self.host.run("ps", "-o", "comm=", "-p", self.worker()[1]).strip()
        self.assertEqual(command, "sudo")
        self.assert_signed_in(child)

    def test_a_sign_in_starts_its_own_program_if_that_one_hangs(self):
        self.host.run("systemctl", "kill", "--signal=STOP", UNIT)
        self.addCleanup(self.host.run, "systemctl", "kill", "--signal=CONT", UNIT)
        child = self.sign_in_asked_for()
        self.assertEqual(self.host.run("ps", "-o", "comm=", "-p", self.worker()[1]).strip(), "sudo")
        self.assert_signed_in(child)

    def test_a_program_that_cannot_start_stops_nobody(self):
        self.host.run("systemctl", "stop", f"{UNIT}.service")
        self.host.run("sh", "-c", f"mkdir -p /run/systemd/system/{UNIT}.service.d && printf '[Service]\\nExecStart=\\n"
                      f"ExecStart=/bin/false\\n' >/run/systemd/system/{UNIT}.service.d/broken.conf")
        self.host.run("systemctl", "daemon-reload")
        try:
            self.assert_signed_in(self.sign_in_asked_for())
            # Whatever became of the socket meanwhile.
            self.assert_signed_in(self.sign_in_asked_for())
        finally:
            self.host.run("rm", "-r", f"/run/systemd/system/{UNIT}.service.d")
            self.host.run("systemctl", "daemon-reload")
            self.host.run("systemctl", "reset-failed", f"{UNIT}.service", f"{UNIT}.socket", check=False)

    def test_a_sign_in_outlives_a_restart(self):
        for verb in ("restart", "stop"):
            with self.subTest(verb=verb):
                self.host.run("systemctl", "start", UNIT)
                child = self.sign_in_by_one_that_waits()
                before = self.worker()[0]
                self.host.run("systemctl", verb, UNIT)
                self.assertNotRegex(self.journal(), f"{UNIT}.*timed out")
                self.assertEqual(self.host.workers(), [before])
                self.assert_signed_in(child)

    def test_a_killed_worker_signs_nobody_in(self):
        child = self.sign_in_asked_for()
        self.host.run("kill", "-KILL", self.worker()[0])
        child.expect(PASSWORD)
        child.close(force=True)
        self.assertNotRegex(child.screen, r"(?m)^root$")

    def test_after_a_crash_the_next_sign_in_has_another_program(self):
        first = self.host.main_pid(UNIT)
        child = self.sign_in_by_one_that_waits()
        self.host.run("kill", "-SEGV", self.worker()[0])
        child.expect(PASSWORD)
        child.close(force=True)
        self.assert_eventually("the program goes on", lambda: self.host.main_pid(UNIT) != first)
        self.host.forget_attempts()
        self.assert_signed_in(self.sign_in_by_one_that_waits())

    def test_a_killed_sudo_keeps_no_worker(self):
        child = self.sign_in_asked_for()
        self.host.run("pkill", "-KILL", "-x", "sudo")
        child.close(force=True)
        self.assert_eventually("the worker is left", lambda: not self.host.workers())


class Confinement(WorkerCase):
    def test_it_has_its_own_keyring_and_landlock(self):
        self.assertEqual(self.lacks(), [])

    def test_what_the_kernel_refuses_is_logged_once_and_stops_nobody(self):
        for code, words in (("EPERM", "Operation not permitted"), ("ENOSYS", "Function not implemented")):
            with self.subTest(code), self.refusing("keyctl", "landlock_create_ruleset", code=code):
                self.assertEqual(self.lacks(), [f"a keyring of its own: {words}", f"landlock: {words}"])

    def lacks(self):
        """What a new waiting worker logs as missing, with two sign-ins by workers that it forks."""
        known = len(self.logged_lacks())
        self.host.run("systemctl", "restart", UNIT)
        waiting = self.host.main_pid(UNIT)
        for _ in range(2):
            self.assert_signed_in(self.sign_in_by_one_that_waits())
        self.assertEqual(self.host.main_pid(UNIT), waiting)
        return self.logged_lacks()[known:]

    def logged_lacks(self):
        return re.findall(r"iampass-https\[\d+\]: confined without (.*)", self.journal())

    @contextlib.contextmanager
    def refusing(self, *calls, code):
        """The kernel answers these calls of the waiting worker with an error."""
        folder = self.host.path(f"/run/systemd/system/{UNIT}.service.d")
        folder.mkdir(parents=True, exist_ok=True)
        refusing = folder / "refusing.conf"
        refusing.write_text(f"[Service]\nSystemCallFilter=~{' '.join(calls)}\nSystemCallErrorNumber={code}\n")
        self.host.run("systemctl", "daemon-reload")
        try:
            yield
        finally:
            refusing.unlink()
            self.host.run("systemctl", "daemon-reload")
            self.host.run("systemctl", "restart", UNIT)


class Unit(HostCase):
    def test_it_is_confined(self):
        said = self.host.run("systemd-analyze", "security", "--no-pager", UNIT, check=False)
        self.assertLess(float(re.search(rf"exposure level for {UNIT}.service: ([\d.]+)", said)[1]), 2.0)

    def test_none_of_its_users_processes_can_open_its_memory(self):
        self.assertEqual(self.host.run("stat", "--format=%a %U", "/usr/libexec/iampass/iampass-https").strip(), "711 root")
        # One that can be opened shows that the others would have been.
        said = self.host.run(
            "sh", "-c", f"""
            setpriv --reuid=_iampass --regid=_iampass --clear-groups --no-new-privs python3 -c {shlex.quote(OPENER)} &
            for round in 1 2 3 4 5; do
                # systemd refuses a sixth start within ten seconds, and the tests before this one start it, too.
                systemctl reset-failed {UNIT}
                systemctl restart {UNIT}
                sleep 0.3
            done
            setpriv --reuid=_iampass --regid=_iampass --clear-groups sleep 2
            wait""", timeout=60)
        self.assertEqual(set(said.split()), {"sleep"})

    def test_nobody_else_reaches_the_socket(self):
        self.assertEqual(self.host.run("stat", "--format=%F %a %U", "/run/iampass/worker").strip(), "socket 600 root")
        said = self.host.run(
            "python3", "-c", "import socket; socket.socket(socket.AF_UNIX).connect('/run/iampass/worker')", user="alice",
            check=False)
        self.assertIn("PermissionError", said)


if __name__ == "__main__":
    unittest.main()
