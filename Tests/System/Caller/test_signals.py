"""FAULTS H1 to H3 and H8: signals while a login waits for the phone."""

import contextlib
import fcntl
import os
import signal
import subprocess
import tempfile
import termios
import time
import unittest

from caller import START, STATUS, CallerWorld, Report, approving_service, asked, assert_ended, status
from Support.Service.world import ABORT, SUCCESS, read

# The waits below take a tenth of a second, and some seconds on a busy machine.
LONGEST = 60

# The module's wait for the cancellation of its request.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


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


def as_at_a_terminal():
    """Whoever runs the tests in the background, or by nohup, has some of these ignored."""
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)


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
    def waiting(self, begins=as_at_a_terminal):
        """A host whose login waits for the phone, and the service that it asks; the host has ended afterwards."""
        service = world.serve_by(approving_service("pending"))
        self.addCleanup(service.stop)
        with tempfile.NamedTemporaryFile(dir=world.folder) as report:
            words = world.host_words(report.name)
            host = subprocess.Popen(words, stdin=subprocess.DEVNULL, preexec_fn=begins)
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
        for number in ENDING:
            with self.subTest(signal=number):
                with self.waiting() as (host, service):
                    began = time.monotonic()
                    host.send_signal(number)
                self.assertEqual(host.returncode, -number)
                assert_ended(service, host.report, since=began)
                self.assertEqual(host.report.codes, [], "it went on before the signal reached it")

    def test_a_host_that_dies_at_once_takes_its_worker_along(self):
        for number in (signal.SIGKILL, signal.SIGALRM, signal.SIGSEGV):
            with self.subTest(signal=number):
                with self.waiting() as (host, service):
                    self.assertNotEqual(workers(), [], "nothing would be seen")
                    host.send_signal(number)
                self.assertEqual(host.returncode, -number)
                wait_until(lambda: not workers(), "the worker lives on")


class Ignored(Case):
    """An ancestor has left SIGINT ignored, as `trap '' INT` and a script's background do."""

    def setUp(self):
        self.terminal, self.inside = os.openpty()
        self.addCleanup(os.close, self.terminal)
        self.addCleanup(os.close, self.inside)

    def begins(self, blocked=False):
        """What the host does first: the terminal becomes its own."""
        def begin():
            as_at_a_terminal()
            os.setsid()
            fcntl.ioctl(self.inside, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if blocked:
                signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        return begin

    def press_control_c(self):
        os.write(self.terminal, b"\x03")

    def test_control_c_at_the_terminal_ends_the_wait_all_the_same(self):
        for blocked in (False, True):
            with self.subTest(blocked=blocked):
                with self.waiting(self.begins(blocked)) as (host, service):
                    began = time.monotonic()
                    self.press_control_c()
                self.assertEqual((host.returncode, host.report.codes, host.report.changed), (0, [ABORT], []))
                assert_ended(service, host.report, since=began)
                # The host finds the signals that it had blocked as without the module.
                self.assertEqual("pending SIGINT" in host.report.text, blocked)

    def test_a_signal_that_no_terminal_sent_is_ignored(self):
        with self.waiting(self.begins()) as (host, service):
            host.send_signal(signal.SIGINT)
            asked_before = asked(service, STATUS)
            wait_until(lambda: asked(service, STATUS) > asked_before + 1, "it does not wait on")
            service.behaviour[STATUS] = status("active")
        self.assertEqual((host.returncode, host.report.codes, host.report.changed), (0, [SUCCESS], []))
        self.assertNotIn("pending SIGINT", host.report.text)


class JobControl(Case):
    def test_a_host_that_is_stopped_goes_on_where_it_was(self):
        # SIGSTOP: SIGTSTP does not stop a process group without a shell, such as a test's.
        with self.waiting() as (host, service):
            host.send_signal(signal.SIGSTOP)
            wait_until(lambda: " T " in read(f"/proc/{host.pid}/stat"), "it was not stopped")
            service.behaviour[STATUS] = status("active")
            host.send_signal(signal.SIGCONT)
        self.assertEqual((host.returncode, host.report.codes, host.report.changed), (0, [SUCCESS], []))
        self.assertEqual(asked(service, START), 1)


if __name__ == "__main__":
    unittest.main()
