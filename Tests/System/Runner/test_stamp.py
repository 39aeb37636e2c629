"""What a whole run leaves to the next one: its own result, and the last commit that passed."""

import contextlib
import io
import pathlib
import tempfile
import unittest
from unittest import mock

from Support.Runner import stamp

GREEN, RED = "1" * 40, "2" * 40


class Stamp(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = mock.patch.object(stamp, "FILE", pathlib.Path(folder.name) / "caches" / "last-run.json")
        file.start()
        self.addCleanup(file.stop)

    @contextlib.contextmanager
    def at(self, commit, changes=""):
        answers = {"rev-parse": commit, "status": changes}
        with mock.patch.object(stamp, "git", lambda _, verb, *rest: answers[verb]):
            yield

    def run_ends(self, commit, failed, changes="", took=None, **words):
        with self.at(commit, changes):
            stamp.write("landing", 10, failed, {}, 1, 1, took or {}, **words)

    def shown(self, commit):
        text = io.StringIO()
        with self.at(commit), contextlib.redirect_stdout(text):
            return stamp.show(), text.getvalue()

    def test_without_a_run_no_commit_has_passed(self):
        self.assertIsNone(stamp.passed_commit())
        self.assertEqual(self.shown(GREEN), (1, "no whole run has left a stamp here\n"))

    def test_a_green_run_is_the_next_ones_base(self):
        self.run_ends(GREEN, failed=0)
        self.assertEqual(stamp.passed_commit(), GREEN)
        self.assertEqual(self.shown(GREEN)[0], 0)

    def test_a_run_that_failed_leaves_the_commit_that_passed_before_it(self):
        self.run_ends(GREEN, failed=0)
        self.run_ends(RED, failed=1)
        self.run_ends(RED, failed=2)
        self.assertEqual(stamp.passed_commit(), GREEN)
        code, text = self.shown(RED)
        self.assertEqual(code, 1)
        self.assertIn(f"{RED}, landing", text)
        self.assertIn("2 failed", text)

    def test_a_run_from_a_base_of_its_own_leaves_the_commit_that_passed_before_it(self):
        self.run_ends(GREEN, failed=0)
        self.run_ends(RED, failed=0, left_parts=True)
        self.assertEqual(stamp.passed_commit(), GREEN)

    def test_a_part_that_passed_in_a_run_that_failed_has_passed(self):
        self.run_ends(GREEN, failed=0, parts=["firefox/test_answers", "debian-12"])
        self.run_ends(RED, failed=1, parts=["debian-12"])
        self.assertEqual(stamp.passed_parts(), {"firefox/test_answers": GREEN, "debian-12": RED})
        self.run_ends(GREEN, failed=0, parts=["debian-12"], changes=" M Package.swift")
        self.assertEqual(stamp.passed_parts()["debian-12"], RED)

    def test_a_part_that_was_due_and_left_out_stays_due(self):
        self.run_ends(RED, failed=0)
        self.run_ends(GREEN, failed=0, parts=["model"], due=["sanitizers"])
        self.assertEqual((stamp.passed_commit(), stamp.passed_parts()), (GREEN, {"sanitizers": RED, "model": GREEN}))
        self.run_ends("c" * 40, failed=0, due=["sanitizers"])
        self.assertEqual(stamp.passed_parts()["sanitizers"], RED)

    def test_parts_that_ran_alone_leave_the_last_whole_runs_result(self):
        with self.at(RED):
            stamp.write_parts(["debian-12"])
        self.assertEqual(self.shown(RED), (1, "no whole run has left a stamp here\n"))
        self.run_ends(GREEN, failed=0)
        with self.at(RED):
            stamp.write_parts(["machine/test_tpm"])
        self.assertEqual(stamp.passed_parts(), {"debian-12": RED, "machine/test_tpm": RED})
        self.assertEqual((stamp.passed_commit(), self.shown(GREEN)[0]), (GREEN, 0))
        with self.at(GREEN, " M Package.swift"):
            stamp.write_parts(["machine/test_tpm"])
        self.assertEqual(stamp.passed_parts()["machine/test_tpm"], RED)

    def test_what_was_not_committed_has_not_passed(self):
        self.run_ends(RED, failed=0, changes=" M Package.swift")
        self.assertIsNone(stamp.passed_commit())

    def test_the_seconds_of_each_job_are_kept_until_it_runs_again(self):
        self.assertEqual(stamp.last_times(), {})
        self.run_ends(GREEN, failed=0, took={"module/test_codes": 9.4, "machine/test_tpm": 60})
        self.run_ends(RED, failed=1, took={"module/test_codes": 12})
        self.assertEqual(stamp.last_times(), {"module/test_codes": 12, "machine/test_tpm": 60})

    def test_a_file_that_cannot_be_read_names_no_commit(self):
        self.run_ends(GREEN, failed=0)
        stamp.FILE.write_text("{")
        self.assertIsNone(stamp.passed_commit())


if __name__ == "__main__":
    unittest.main()
