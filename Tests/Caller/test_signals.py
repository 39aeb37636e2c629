"""FAULTS H1 to H3 and H8: signals while a login waits for the phone."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
import unittest

from caller import *
from world import SUCCESS

# What is waited for below takes a tenth of a second; on a busy machine some seconds.
LONGEST = 60


def setUpModule():
    global world
    world = CallerWorld()
    unittest.addModuleCleanup(world.close)


def wait_until(holds, claim):
    end = time.monotonic() + LONGEST
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(claim)
        time.sleep(0.02)


def workers():
    """The processes that run this world's worker."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.readlink(f"/proc/{name}/exe").startswith(world.path("iampass-https")):
                found.append(int(name))
    return found


class Case(unittest.TestCase):
    @contextlib.contextmanager
    def waiting(self):
        """A host whose login waits for the phone, and the service that it asks; the host has ended afterwards."""
        service = world.serve_by(approving_service("pending"))
        self.addCleanup(service.stop)
        with tempfile.NamedTemporaryFile(dir=world.folder) as report:
            host = subprocess.Popen(world.host_words(report.name), stdin=subprocess.DEVNULL)
            try:
                wait_until(lambda: asked(service, STATUS) > 0, "the service was not asked")
                yield host, service
                host.wait(LONGEST)
                host.report = Report(read(report.name), subprocess.CompletedProcess([], host.returncode, "", ""))
            finally:
                host.kill()
                host.wait()


class Ends(Case):
    def test_what_ends_the_host_cancels_the_request_and_then_ends_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                with self.waiting() as (host, service):
                    host.send_signal(number)
                self.assertEqual(host.returncode, -number)
                self.assertEqual(asked(service, LOGOUT), 1)
                self.assertEqual(host.report.codes, [], "it went on before the signal reached it")

    def test_a_host_that_dies_at_once_takes_its_worker_along(self):
        for number in (signal.SIGKILL, signal.SIGALRM, signal.SIGSEGV):
            with self.subTest(signal=number):
                with self.waiting() as (host, service):
                    self.assertNotEqual(workers(), [], "nothing would be seen")
                    host.send_signal(number)
                self.assertEqual(host.returncode, -number)
                wait_until(lambda: not workers(), "the worker lives on")


class JobControl(Case):
    def test_a_host_that_is_stopped_goes_on_where_it_was(self):
        # SIGSTOP: a process group without a shell, as a test's may be, does not stop by SIGTSTP.
        with self.waiting() as (host, service):
            host.send_signal(signal.SIGSTOP)
            wait_until(lambda: " T " in read(f"/proc/{host.pid}/stat"), "it was not stopped")
            service.behaviour[STATUS] = status("active")
            host.send_signal(signal.SIGCONT)
        self.assertEqual((host.returncode, host.report.codes, host.report.changed), (0, [SUCCESS], []))
        self.assertEqual(asked(service, START), 1)


if __name__ == "__main__":
    unittest.main()
