"""FAULTS L8 and L11: little of everything. A login is served or refused, ends its host by no signal, and where it would
have to be watched it succeeds only with its record on the disk.
"""

import os
import re
import signal
import unittest

from caller import START, CallerWorld, ServedCase, asked, assert_ended
from Support.Service.never import assert_nobody_signed_in
from Support.Service.world import AUTHINFO_UNAVAIL, SUCCESS

# libpam's messages: too little memory, and a module that cannot be loaded.
BUF_ERR, MODULE_UNKNOWN, PAM_START_REFUSED = 5, 28, 1026

# Swift's runtime ends the process at a failed allocation (SIGABRT, SIGILL); where it does not look, an address near 0
# does (SIGSEGV).
ENDS_FOR_WANT_OF_MEMORY = {-signal.SIGABRT, -signal.SIGILL, -signal.SIGSEGV}
# A login makes about 1,000 allocations. Each 10th fails alone, and each 10th run fails one in 400: 0.1 s each.
EACH_OF_ALLOCATIONS = 10
SEEDS = 60

UNWATCHED, WATCHED = "sudo", "login"


def setUpModule():
    global world
    world = CallerWorld()
    unittest.addModuleCleanup(world.close)


class Case(ServedCase):
    def codes_under(self, name, values, service, *options):
        """How a login ends under each of these values of a limit."""
        codes = {}
        for value in values:
            world.forget_attempts()
            # An end by a signal fails here.
            report = world.log_in(f"limit={name}:{value}", *options, service=service)
            self.assertEqual((report.changed, report.printed), ([], ""), (name, value))
            codes[value] = report.codes[0]
        return codes


class Limits(Case):
    def assert_refused_or_served(self, codes, refusals):
        """Refused if it is too little, and served if it is enough."""
        found = list(codes.values())
        self.assertLessEqual(set(found), {SUCCESS, *refusals}, codes)
        self.assertEqual((found[0] == SUCCESS, found[-1]), (False, SUCCESS), codes)

    def test_few_descriptors(self):
        for service in (UNWATCHED, WATCHED):
            with self.subTest(service=service):
                self.serve()
                codes = self.codes_under("NOFILE", range(24), service)
                self.assert_refused_or_served(codes, {AUTHINFO_UNAVAIL, MODULE_UNKNOWN, PAM_START_REFUSED})

    def test_little_address_space(self):
        # In KiB. The module and its libraries take 12 MB of it.
        for service, step in ((UNWATCHED, 256), (WATCHED, 1024)):
            with self.subTest(service=service):
                self.serve()
                codes = self.codes_under("AS", range(0, 32 * 1024 + 1, step), service)
                self.assert_refused_or_served(codes, {AUTHINFO_UNAVAIL, MODULE_UNKNOWN, BUF_ERR})

    def test_little_address_space_refuses_no_session_of_a_password(self):
        self.serve()
        world.pam("opened", lines="session required MODULE\n")
        codes = self.codes_under("AS", range(8 * 1024, 24 * 1024 + 1, 512), "opened", "session")
        # If the module can be loaded at all.
        self.assertLessEqual(set(codes.values()), {SUCCESS, MODULE_UNKNOWN, BUF_ERR}, codes)
        self.assertEqual(codes[24 * 1024], SUCCESS)

    def test_small_files(self):
        """SIGXFSZ would end the host. While a trial runs an approval is noted, too."""
        self.addCleanup(os.unlink, world.path("iampass-trial"))
        for service in (UNWATCHED, WATCHED):
            with self.subTest(service=service):
                self.serve()
                world.write("iampass-trial", "")
                codes = self.codes_under("FSIZE", (0, 1, 3, 6, 100, 400, 4096), service)
                self.assert_refused_or_served(codes, {AUTHINFO_UNAVAIL})

    def test_few_processes(self):
        """Counted for the worker's user, since root has no such limit."""
        self.serve()
        codes = self.codes_under("NPROC", (0, 1, 5), WATCHED)
        self.assertLessEqual(set(codes.values()), {SUCCESS, AUTHINFO_UNAVAIL}, codes)


class Disk(Case):
    """`run_dir` on a memory disk of its own."""

    def log_in(self, mounts, service):
        os.makedirs(world.path("run"), mode=0o700, exist_ok=True)
        script = f'set -e; run={world.path("run")}; {mounts}; exec "$@"'
        return world.log_in(before=["unshare", "--mount", "sh", "-c", script, "sh"], service=service)

    def assert_ends(self, mounts, **expected):
        for service, code in expected.items():
            asked_before = self.serve()
            report = self.log_in(mounts, service)
            self.assertEqual((report.codes, report.changed, report.printed), ([code], [], ""), (mounts, service))
            # Everything that was started has ended.
            with self.subTest(mounts=mounts, service=service):
                assert_ended(asked_before, report, asked(asked_before, START))

    def test_this_disk_serves_where_there_is_room(self):
        """So that the refusals below are the faults' doing."""
        self.assert_ends("mount -t tmpfs -o mode=700 run $run", sudo=SUCCESS, login=SUCCESS)

    def test_a_full_disk_counts_no_request_and_so_sends_none(self):
        full = "mount -t tmpfs -o mode=700,size=4k run $run; head -c 4096 /dev/zero >$run/full"
        self.assert_ends(full, sudo=AUTHINFO_UNAVAIL, login=AUTHINFO_UNAVAIL)

    def test_a_read_only_disk_counts_no_request_either(self):
        self.assert_ends("mount -t tmpfs -o mode=700,ro run $run", sudo=AUTHINFO_UNAVAIL, login=AUTHINFO_UNAVAIL)

    def test_without_room_for_a_record_only_what_is_not_watched_is_signed_in(self):
        for options in ("ro,mode=700", "mode=700,size=4k", "mode=700,nr_inodes=1"):
            with self.subTest(options=options):
                mounts = f"mkdir -m 700 -p $run/sessions; mount -t tmpfs -o {options} sessions $run/sessions"
                if "size" in options:
                    mounts += "; head -c 4096 /dev/zero >$run/sessions/full"
                self.assert_ends(mounts, sudo=SUCCESS, login=AUTHINFO_UNAVAIL)

    def test_few_files_refuse_until_there_are_enough(self):
        for service in (UNWATCHED, WATCHED):
            with self.subTest(service=service):
                codes = []
                for inodes in range(1, 13):
                    self.serve()
                    report = self.log_in(f"mount -t tmpfs -o mode=700,nr_inodes={inodes} run $run", service)
                    self.assertEqual((report.changed, report.printed), ([], ""))
                    codes += report.codes
                self.assertEqual((codes[0], codes[-1]), (AUTHINFO_UNAVAIL, SUCCESS))
                self.assertEqual(set(codes), {AUTHINFO_UNAVAIL, SUCCESS})


class Memory(Case):
    """No allocation that fails, alone or among others, signs anybody in."""

    def log_in(self, **variables):
        world.forget_attempts()
        return world.log_in(environment={"LD_PRELOAD": world.failing, **variables}, check=False, service=WATCHED)

    @classmethod
    def setUpClass(cls):
        world.failing = world.compile("failing_malloc.c", "-shared", "-fPIC")

    def count_allocations(self):
        report = self.log_in()
        return int(re.search(r"^allocations (\d+)$", report.text, re.MULTILINE)[1])

    def assert_refused(self, report):
        assert_nobody_signed_in(report.codes)
        # It ended with a refusal's code, or the runtime ended it.
        self.assertTrue(report.codes or report.exit_status in ENDS_FOR_WANT_OF_MEMORY, report.exit_status)

    def test_no_failed_allocation_turns_a_denial_into_a_sign_in(self):
        self.serve("cancelled")
        count = self.count_allocations()
        self.assertGreater(count, 500, "nothing was counted")
        for number in range(1, count + 1, EACH_OF_ALLOCATIONS):
            with self.subTest(failing=number):
                self.assert_refused(self.log_in(FAIL_AT=str(number)))

    def test_no_number_of_them_does(self):
        self.serve("cancelled")
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.assert_refused(self.log_in(FAIL_SEED=str(seed)))


if __name__ == "__main__":
    unittest.main()
