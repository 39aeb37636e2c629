"""What a PAM host may do around a login, and what a login must leave of the host: many of them in one process."""

import os
import re
import subprocess
import unittest

from caller import LOGOUT, PATIENCE, START, CallerWorld, Report, ServedCase, asked, assert_ended
from Support.Service import ends
from Support.Service.built_for import needs_release
from Support.Service.never import assert_nobody_signed_in
from Support.Service.world import AUTHINFO_UNAVAIL, SUCCESS, read, run

# A login takes 0.1 s here, with both its workers and the service in Python. More logins show nothing new.
ALL = os.environ.get("IAMPASS_TEST_ALL") == "yes"
MANY = 1000 if ALL else 300
# After these logins everything that is made once exists.
FIRST = 100

# In seconds, for all logins on a busy machine. Under valgrind one login takes 0.15 s.
WATCHED, FIRST_WATCHED, VALGRIND_PATIENCE = MANY if ALL else 100, 20, 900

# In malloc's bytes. Its least piece is 32: one lost by each of the fewest logins that are measured here would be 1,600.
GREATEST_GROWTH = 1_536
# glibc keeps some freed memory for each thread and counts it as in use. Without that the figure is exact.
EXACT = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
# KiB of pages, three times what the allocator's free lists take: they depend on what else runs.
GREATEST_RESIDENT_GROWTH = 3 * 1024


def setUpModule():
    global world
    world = CallerWorld()
    unittest.addModuleCleanup(world.close)


class Case(ServedCase):
    def log_in(self, *options, **more):
        """Logins that all succeed and leave the host as it was."""
        report = world.log_in(*options, **more)
        self.assertEqual(set(report.codes), {SUCCESS}, report.text)
        self.assertEqual(report.changed, [])
        return report


class ManyLogins(Case):
    def test_many_logins_leave_the_process_as_it_was_and_no_larger(self):
        service = self.serve()
        report = self.log_in(f"count={MANY}", f"measure-after={FIRST}", environment=EXACT)
        self.assertEqual(len(report.codes), MANY)
        # On a busy machine a few of them may miss their 2 s.
        ends.assert_ended(lambda: asked(service, LOGOUT), MANY * 3 // 100, MANY)
        first, last = report.memory[FIRST], report.memory[MANY]
        self.assertLess(last["heap"] - first["heap"], GREATEST_GROWTH, report.memory)
        self.assertLess(last["resident"] - first["resident"], GREATEST_RESIDENT_GROWTH, report.memory)

    def test_refused_logins_leave_it_so_too(self):
        self.serve("cancelled")
        world.configure(max_requests="20", server="https://localhost:1")
        report = world.log_in(f"count={FIRST}", f"measure-after={FIRST // 2}", environment=EXACT)
        assert_nobody_signed_in(report.codes)
        self.assertEqual((set(report.codes), report.changed), ({AUTHINFO_UNAVAIL}, []))
        first, last = report.memory[FIRST // 2], report.memory[FIRST]
        self.assertLess(last["heap"] - first["heap"], GREATEST_GROWTH, report.memory)

    @needs_release("valgrind takes the loader's look at a debug module's RPATH for an error")
    def test_valgrind_finds_nothing_lost_nothing_wrong_and_no_growth(self):
        self.serve()
        # Its debugging information is too new for valgrind 3.19.
        run("strip", "--strip-debug", world.path("pam_iampass.so"))
        kept = [self.bytes_kept_after(count) for count in (FIRST_WATCHED, WATCHED)]
        # Less than a pointer's size for each.
        self.assertLess(kept[1] - kept[0], 4 * (WATCHED - FIRST_WATCHED), "some of it for each login")

    def bytes_kept_after(self, count):
        stand_in = world.compile("pidfd_stand_in.c", "-shared", "-fPIC", "-ldl")
        # Without the search for undefined values: it finds the bits that no case uses where Swift's optimiser compares
        # an enumeration's whole word.
        words = ["valgrind", "--leak-check=full", "--undef-value-errors=no", "--errors-for-leak-kinds=definite",
                 "--error-exitcode=99", "--num-callers=30"]  # fmt: skip
        environment = {**os.environ, "LD_PRELOAD": stand_in}
        report = self.log_in(f"count={count}", before=words, environment=environment, patience=VALGRIND_PATIENCE)
        self.assertEqual((len(report.codes), report.exit_status), (count, 0), report.printed)
        self.assertIn("definitely lost: 0 bytes in 0 blocks", report.printed)
        return int(re.search(r"in use at exit: ([0-9,]+) bytes", report.printed)[1].replace(",", ""))


class Loading(Case):
    def test_a_hundred_loads_and_unloads_leave_one_module_and_nothing_else(self):
        options = ("count=100", "measure-after=1", "load=" + world.path("pam_iampass.so"))
        report = world.log_in(*options, environment=EXACT)
        self.assertEqual(report.changed, [])
        first, last = report.memory[1], report.memory[100]
        # The module takes 7 MB.
        self.assertLess(last["mapped"] - first["mapped"], GREATEST_RESIDENT_GROWTH, report.memory)
        self.assertLess(last["heap"] - first["heap"], GREATEST_GROWTH, "some of it for each load")


class Threads(Case):
    def test_sixteen_threads_sign_in_at_once(self):
        service = self.serve()
        # All requests count as the user's own until they are approved.
        world.configure(max_requests="20")
        report = self.log_in("threads=16")
        self.assertEqual(len(report.codes), 16)
        self.assertEqual(asked(service, START), 16)


class Forks(Case):
    """A child has all of the login that its parent is in: it must not sign in by it, nor end it."""

    def test_a_child_that_goes_on_with_its_parents_login_is_refused(self):
        service = self.serve("pending", "active")
        report = self.log_in("fork=continue")
        self.assertEqual(report.codes_of_child, [AUTHINFO_UNAVAIL], report.text)
        self.assertEqual(report.child, [("exit", "0")])
        self.assertEqual(asked(service, START), 1, "the child has asked too")
        assert_ended(service, report)

    def test_a_child_that_holds_what_was_open_holds_up_nothing(self):
        service = self.serve(*["pending"] * 4, "active")
        report = self.log_in("fork=wait")
        self.assertEqual(report.child, [("exit", "0")])
        assert_ended(service, report)


class HostsWays(Case):
    def test_signals_that_the_host_ignores_or_handles_stay_so(self):
        self.serve()
        for signal in ("sigpipe", "sigchld"):
            for how in ("ignore", "handle"):
                with self.subTest(signal=signal, how=how):
                    self.log_in(f"{signal}={how}")

    def test_a_worker_that_hangs_up_does_not_end_the_host_by_sigpipe(self):
        """FAULTS H6."""
        self.serve()
        world.write("leaves", "#!/bin/sh\nexec 3>&-\nexit 0\n", 0o755)
        world.configure(worker=world.path("leaves"))
        report = world.log_in("count=20")
        assert_nobody_signed_in(report.codes)
        self.assertEqual((set(report.codes), report.changed), ({AUTHINFO_UNAVAIL}, []))

    def test_a_host_that_is_not_root_is_told_nothing_and_sends_nothing(self):
        """FAULTS L3: a screen locker cannot read the credentials."""
        service = self.serve()
        os.chmod(world.folder, 0o755)
        self.addCleanup(os.chmod, world.folder, 0o700)
        for name in ("pam.d", "pam.d/sudo", "pam_host", "pam_iampass.so"):
            os.chmod(world.path(name), 0o755)
        world.write("report", "", 0o666)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *world.host_words(world.path("report"))]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
        report = Report(read(world.path("report")), done)
        self.assertEqual((report.codes, report.changed, report.printed), ([AUTHINFO_UNAVAIL], [], ""))
        self.assertEqual(service.connections, 0)

    def test_standard_files_may_be_closed(self):
        self.serve()
        report = self.log_in("close-standard", "count=3")
        self.assertEqual(report.printed, "")


if __name__ == "__main__":
    unittest.main()
