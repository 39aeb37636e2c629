"""The runner itself, with small suites that fail as they are told: what is tried again, what is not, and how it is counted."""

import contextlib
import dataclasses
import datetime
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from Support.Runner import jobs, second_tries, stamp
from Support.Runner import main as runner
from Support.Runner.jobs import Job, Schedule, Stage
from Support.Runner.results import Result, read_step, read_suite

RUNNER = pathlib.Path(runner.__file__).parent

SUITE = """
import os, sys, unittest
from Support.Service.never import MustNeverHappen, SignedIn

def fails(times):
    here = os.path.join(os.path.dirname(__file__), "failed")
    with open(here, "a") as file:
        count = file.tell()
        file.write("x")
    return count < times

class Small(unittest.TestCase):
    def test_that_passes(self):
        pass
"""
ONCE = "    def test_that_fails_once(self):\n        self.assertFalse(fails(1), 'the first time')\n"
TWICE = "    def test_that_fails_twice(self):\n        self.assertFalse(fails(2))\n"
SIGNS_IN = "    def test_that_signs_in(self):\n        self.assertEqual([SignedIn()], [7] if fails(1) else [0])\n"
SET_UP = "    @classmethod\n    def setUpClass(cls):\n        assert not fails(1), 'set-up'\n"
DIES = "    def test_that_dies(self):\n        if fails(1): os.kill(os.getpid(), 9)\n"
SKIPPED = "    @unittest.skip('needs a release')\n    def test_it_needs_a_release(self):\n        pass\n"
NOISY = "    def test_that_prints(self):\n        sys.stderr.write('noise of a thread'); sys.stderr.flush()\n"


class RunnerCase(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="iampass-runner-"))
        self.addCleanup(subprocess.run, ["rm", "-rf", self.folder], check=True)
        self.stamp = self.folder / "cache" / "last-run.json"
        file = mock.patch.object(stamp, "FILE", self.stamp)
        file.start()
        self.addCleanup(file.stop)

    def job(self, name, text, again=True):
        """A job for a suite of one file, which `again` allows a second try."""
        place = self.folder / name
        place.mkdir()
        (place / f"test_{name}.py").write_text(SUITE + text)
        words = [sys.executable, "-B", str(RUNNER / "suite.py"), str(place)]
        tests = lambda names: lambda: [*words, *(f"--test={one}" for one in names)]  # noqa: E731
        whole = lambda names: lambda: words  # noqa: E731
        pick = lambda names: (whole if any(" (exit " in one for one in names) else tests)(names)  # noqa: E731
        return Job(name, name, lambda: words, 60, ("suite",), read=read_suite, again=pick if again else None)

    def play(self, *jobs, flakes="", then=(), strict=False, longest=None):
        """(failures, what was printed)."""
        printed = io.StringIO()
        words = runner.read_words(["--only", "it"])
        words.strict = strict
        logs = self.folder / "logs"
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            began = time.monotonic() - (runner.LONGEST - longest if longest else 0)
            failed = runner.run_plan([Stage(list(jobs)), *then], [], [], logs, words, second_tries.Flakes(flakes), began)
        return failed, printed.getvalue()


class SecondTries(RunnerCase):
    def test_a_test_that_fails_once_is_flaked_and_named_with_both_results(self):
        failed, said = self.play(self.job("a", ONCE))
        self.assertEqual(failed, 0, said)
        self.assertIn("flaked: a: test_a.Small.test_that_fails_once: first: AssertionError: True is not false : the first time; "
                      "second: passed alone", said)  # fmt: skip
        self.assertTrue(said.endswith("2 passed, 0 failed\n"), said)
        self.assertIn("give it a row in Tests/flakes.txt: a test_a.Small.test_that_fails_once", said)

    def test_a_test_that_fails_twice_has_failed(self):
        failed, said = self.play(self.job("a", TWICE))
        self.assertEqual(failed, 1)
        self.assertIn("failed: a: test_a.Small.test_that_fails_twice", said)
        self.assertTrue(said.endswith("1 passed, 1 failed\n"), said)

    def test_the_log_of_the_first_try_is_kept(self):
        self.play(self.job("a", ONCE))
        [kept] = (self.stamp.parent / "flaked").iterdir()
        self.assertRegex(kept.name, r"^\d{8}T\d{6}Z-a\.log$")
        self.assertIn("the first time", kept.read_text())

    def test_the_oldest_of_kept_logs_goes_first(self):
        folder = self.stamp.parent / "flaked"
        folder.mkdir(parents=True)
        for number in range(stamp.GREATEST_COUNT):
            (folder / f"20200101T0000{number:02}Z-b.log").touch()
        self.play(self.job("a", ONCE))
        names = sorted(path.name for path in folder.iterdir())
        self.assertEqual((len(names), names[0]), (stamp.GREATEST_COUNT, "20200101T000001Z-b.log"))
        self.assertTrue(names[-1].endswith("-a.log"))

    def test_four_flaked_tests_have_failed_all(self):
        many = "".join(ONCE.replace("once", f"once_{name}").replace("fails(1)", "fails(4)") for name in "wxyz")
        failed, said = self.play(self.job("a", many))
        self.assertEqual(failed, 4, said)
        self.assertIn("4 tests of 1 jobs passed at the second try: more than 3 of 2 count as failed", said)

    def test_flaked_tests_of_three_jobs_have_failed_all(self):
        failed, said = self.play(*[self.job(name, ONCE) for name in "abc"])
        self.assertEqual(failed, 3, said)

    def test_more_than_twelve_failures_have_no_second_try(self):
        many = "".join(f"    def test_{number}(self):\n        self.fail()\n" for number in range(13))
        failed, said = self.play(self.job("a", many))
        self.assertEqual(failed, 13)
        self.assertIn("no second tries: 13 failed, more than 12", said)

    def test_what_must_never_happen_fails_at_once(self):
        failed, said = self.play(self.job("a", SIGNS_IN), self.job("b", ONCE))
        self.assertEqual(failed, 2, said)
        self.assertIn("no second tries: this must never happen: a: test_a.Small.test_that_signs_in", said)

    def test_a_job_that_has_one_try_has_one(self):
        failed, said = self.play(self.job("a", ONCE, again=False))
        self.assertEqual(failed, 1)
        self.assertIn("no second tries: has one try: a", said)

    def test_a_class_whose_set_up_failed_is_tried_whole(self):
        failed, said = self.play(self.job("a", SET_UP))
        self.assertEqual(failed, 0, said)
        self.assertIn("flaked: a: test_a.Small: AssertionError: set-up", said)

    def test_a_job_that_died_in_the_middle_is_tried_whole(self):
        failed, said = self.play(self.job("a", DIES))
        self.assertEqual(failed, 0, said)
        self.assertIn("flaked: a: a (exit -9)", said)

    def test_text_between_a_tests_name_and_its_end_hides_nothing(self):
        failed, said = self.play(self.job("a", NOISY))
        self.assertTrue(said.endswith("2 passed, 0 failed\n"), said)

    def test_a_test_that_was_left_out_is_named_and_fails_the_run_before_a_landing(self):
        failed, said = self.play(self.job("a", SKIPPED))
        self.assertEqual(failed, 0, said)
        self.assertIn("left out: a: test_a.Small.test_it_needs_a_release: needs a release\n", said)
        self.assertTrue(said.endswith("1 passed, 0 failed, 1 left out\n"), said)
        with mock.patch.object(runner.stamp, "write"):
            failed, said = self.play(self.job("b", SKIPPED), strict=True)
        self.assertEqual(failed, 1, said)

    def test_a_failed_step_that_found_a_secret_must_never_happen(self):
        self.assertEqual(read_step("never.MustNeverHappen: a secret", 1, "acts").never, {"acts"})
        self.assertEqual(read_step("AssertionError: late", 1, "acts").never, set())


class Stages(RunnerCase):
    """The jobs that run once the others have ended, and need what those have made."""

    def then(self, **more):
        return Stage([dataclasses.replace(self.job("b", ""), needs=("a",))], **more)

    def test_they_use_what_an_earlier_job_made(self):
        failed, said = self.play(self.job("a", ""), then=[self.then(beside_noise=True)])
        self.assertEqual(failed, 0, said)
        self.assertTrue(said.endswith("2 passed, 0 failed\n"), said)

    def test_they_are_left_out_if_that_failed(self):
        failed, said = self.play(self.job("a", TWICE), then=[self.then()])
        self.assertEqual(failed, 1, said)
        self.assertIn("left out: b: b: needs a", said)

    def test_a_stage_has_its_part_of_the_time_left_and_the_next_one_has_the_rest(self):
        last = Stage([self.job("c", "")])
        failed, said = self.play(self.job("a", ""), then=[self.then(share=0.5), last], longest=116)
        self.assertEqual(failed, 0, said)
        self.assertIn("left out: b: b: no time left", said)
        self.assertTrue(said.endswith("2 passed, 0 failed, 1 left out\n"), said)


class KnownFlakes(RunnerCase):
    @staticmethod
    def row(days):
        return f"{datetime.date.today() - datetime.timedelta(days)} a test_a.Small.test_that_fails_once: unknown\n"

    def test_one_that_is_listed_is_tried_again_and_not_asked_for(self):
        failed, said = self.play(self.job("a", ONCE), flakes=self.row(14))
        self.assertEqual(failed, 0, said)
        self.assertNotIn("Tests/flakes.txt", said)

    def test_one_that_is_known_for_longer_than_two_weeks_has_one_try(self):
        failed, said = self.play(self.job("a", ONCE), flakes=self.row(15))
        self.assertEqual(failed, 1, said)
        self.assertIn("known for more than 14 days: test_a.Small.test_that_fails_once", said)

    def test_a_line_that_is_not_a_row_fails_the_run(self):
        failed, said = self.play(self.job("a", ""), flakes="test_a.Small sometimes\n")
        self.assertEqual(failed, 1)
        self.assertIn("flakes.txt: line 1 is not DATE SUITE TEST: CAUSE", said)


class Lanes(RunnerCase):
    """What runs beside what. Each job writes when it began and ended."""

    def run_jobs(self, *jobs, end=600):
        lanes = {"suite": 2, "build": 1, "machine": 1}
        Schedule(list(jobs), lanes, self.folder, time.monotonic() + end, lambda job, text: None).run()
        return jobs

    @staticmethod
    def sleeper(name, seconds=0.4, lane="suite", lanes=(), **more):
        return Job(name, name, lambda: ["sleep", str(seconds)], 60, lanes or (lane,), **more)

    @staticmethod
    def overlap(one, other):
        return one.began < other.ended and other.began < one.ended

    def test_nothing_runs_beside_a_job_that_is_alone_but_what_gives_way(self):
        build = self.sleeper("build", 2, "build", gives_way=True)
        others = [self.sleeper(name) for name in "abc"]
        alone = self.sleeper("alone", alone=True)
        self.run_jobs(build, others[0], alone, *others[1:])
        self.assertTrue(self.overlap(build, alone))
        self.assertEqual([one.name for one in others if self.overlap(one, alone)], [])

    def test_a_job_that_is_alone_comes_last(self):
        alone, *others = self.run_jobs(self.sleeper("alone", alone=True), *[self.sleeper(name) for name in "abc"])
        self.assertGreaterEqual(alone.began, max(one.ended for one in others))

    def test_a_heavy_job_takes_two_places(self):
        heavy, *others = self.run_jobs(self.sleeper("heavy", weight=2), self.sleeper("a"), self.sleeper("b"))
        self.assertEqual([one.name for one in others if self.overlap(one, heavy)], [])
        self.assertTrue(self.overlap(*others))

    def test_a_heavy_job_has_the_next_places_and_lighter_ones_wait(self):
        first, heavy, *later = self.run_jobs(
            self.sleeper("first"), self.sleeper("heavy", weight=2), *[self.sleeper(name) for name in "abc"])
        # One place was free meanwhile.
        self.assertLess(heavy.began, min(one.began for one in later))
        self.assertLess(first.ended, heavy.began)

    def test_a_job_keeps_no_place_where_it_would_fit(self):
        lanes = ("suite", "machine")
        one, other, light = self.run_jobs(
            self.sleeper("one", lanes=lanes), self.sleeper("other", lanes=lanes), self.sleeper("light", 0.1))
        self.assertFalse(self.overlap(one, other))
        self.assertLess(light.began, one.ended, "a place of the suites was free")

    def test_what_gives_way_keeps_no_place(self):
        build, _, other = self.run_jobs(
            self.sleeper("build"), self.sleeper("whole", weight=2, gives_way=True), self.sleeper("other"))
        self.assertLess(other.began, build.ended)

    @unittest.skipUnless(os.path.exists("/proc/self/autogroup"), "this kernel shares out time by niceness alone")
    def test_a_job_that_is_behind_another_gives_way_until_that_has_ended(self):
        share = lambda niceness: f"until grep -q 'nice {niceness}$' /proc/self/autogroup; do sleep 0.05; done; "  # noqa: E731
        told, log = self.folder / "told", self.folder / "log"
        # It ends once the other has seen that it gives way.
        first = Job("first", "first", lambda: ["sh", "-c", f"until test -e {told}; do sleep 0.05; done; echo ended >{log}"], 60, ("suite",))
        words = share(19) + f"echo behind >{told}; " + share(0) + f"cat {log}"
        behind = Job("behind", "behind", lambda: ["sh", "-euc", words], 60, ("suite",), behind=("first", "in-another-run"))
        self.run_jobs(first, behind)
        self.assertEqual((first.state, behind.state), ("done", "done"))
        self.assertEqual((self.folder / "behind.log").read_text(), "ended\n")

    def test_a_job_that_has_no_time_left_is_not_begun(self):
        (job,) = self.run_jobs(self.sleeper("late"), end=1)
        self.assertEqual((job.state, job.result.skipped), ("left out", ["late: no time left"]))

    def test_a_job_that_the_end_of_all_cuts_off_counts_for_what_it_has_said(self):
        self.addCleanup(setattr, jobs, "SHORTEST", jobs.SHORTEST)
        jobs.SHORTEST = 0
        says = "echo 'test passed 0.1 a.A.test_one'; echo 'test failed 0.1 a.A.test_two'; exec sleep 100"
        said = Job("said", "said", lambda: ["sh", "-c", says], 600, ("suite",), read=read_suite)
        silent = Job("silent", "silent", lambda: ["sleep", "100"], 600, ("suite",))
        own = Job("own", "own", lambda: ["sleep", "100"], 1, ("build",))
        self.run_jobs(said, silent, own, end=3)
        self.assertEqual((said.result.passed, said.result.failed), ({"a.A.test_one"}, {"a.A.test_two"}))
        self.assertEqual((said.state, silent.state, own.state), ("failed", "left out", "failed"))
        self.assertEqual((silent.result.failed, own.result.failed), (set(), {"own"}))
        for job in (said, silent):
            self.assertRegex(job.result.skipped[-1], rf"{job.name}: no time left after \d+ s")

    def test_what_a_cut_job_leaves_in_groups_of_its_own_ends_with_it(self):
        told = self.folder / "child"
        # As swift build starts compilers.
        child = f"import os, time; os.setpgrp(); open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(100)"
        self.run_jobs(Job("parent", "parent", lambda: ["sh", "-c", f'{sys.executable} -c "{child}" & wait'], 2, ("suite",)))
        state = pathlib.Path(f"/proc/{told.read_text()}/stat")
        # It may be dead and not yet waited for.
        self.assertTrue(not state.exists() or " Z " in state.read_text())

    def test_a_job_that_ignores_its_end_is_killed_while_others_go_on(self):
        self.addCleanup(setattr, jobs, "PATIENCE_AT_THE_END", jobs.PATIENCE_AT_THE_END)
        jobs.PATIENCE_AT_THE_END = 1
        deaf = Job("deaf", "deaf", lambda: ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], 1, ("suite",))
        other = self.sleeper("other", 1.5)
        self.run_jobs(deaf, other)
        self.assertEqual((deaf.state, other.state), ("failed", "done"))
        self.assertLess(other.ended - other.began, 10)


class Faults(unittest.TestCase):
    """Tests/check-faults on a run of the suite `caller`."""

    TABLE = pathlib.Path(__file__).resolve().parents[2] / "faults.txt"

    def check(self, change, elsewhere=()):
        named = set(re.findall(r"^ +Caller (\S+)$", self.TABLE.read_text(), re.MULTILINE))
        result = Result(passed=named)
        change(result, min(named))
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()) as printed:
            return runner.check_faults({"caller": result}, list(elsewhere), pathlib.Path(folder)).failed, printed.getvalue()

    def test_a_failed_test_counts_where_it_ran_and_not_again_as_a_fault(self):
        def change(result, name):
            result.passed.remove(name)
            result.failed.add(name)

        failed, said = self.check(change)
        self.assertEqual(failed, set(), said)
        self.assertIn("failed, and counted where it ran: ", said)

    def test_a_test_that_did_not_run_is_a_complaint(self):
        failed, said = self.check(lambda result, name: result.passed.remove(name))
        self.assertEqual(failed, {"faults"}, said)

    def test_a_file_that_a_run_of_this_size_leaves_out_is_not_complained_of(self):
        def without_a_file(result, name):
            result.passed = {one for one in result.passed if not one.startswith("test_races.")}

        self.assertEqual(self.check(without_a_file)[0], {"faults"})
        self.assertEqual(self.check(without_a_file, ["caller/test_races"])[0], set())

    def test_nothing_is_said_if_all_have_passed(self):
        failed, said = self.check(lambda result, name: None)
        self.assertEqual(failed, set())
        self.assertNotIn("counted where it ran", said)


if __name__ == "__main__":
    unittest.main()
