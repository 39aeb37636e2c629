"""The server that a whole run keeps, and the one that a later run has beside its own."""

import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

from Support.Runner import last_server, main, stamp
from Support.Runner.plan import Plan

STARTS, FAILS = "#!/bin/sh\necho 0.10.0\n", "#!/bin/sh\nexit 1\n"


class Case(unittest.TestCase):
    """A project of three commits, the last of which is HEAD, beside a branch that HEAD has not come from."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.project, self.cache = self.folder / "project", self.folder / "cache"
        self.git("init", "--quiet", "--initial-branch=main", self.project, at=self.folder)
        self.first, self.second, self.head = (self.commit(name) for name in ("first", "second", "third"))
        self.git("checkout", "--quiet", "-b", "branch", self.first)
        self.branch = self.commit("branch")
        self.git("checkout", "--quiet", "main")
        self.enterContext(mock.patch.object(stamp, "FILE", self.cache / "last-run.json"))
        self.enterContext(mock.patch.object(last_server, "PROJECT", self.project))

    def git(self, *words, at=None):
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *names, *words], cwd=at or self.project, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, name):
        self.git("commit", "--quiet", "--allow-empty", "-m", name)
        return self.git("rev-parse", "HEAD")

    def program(self, text, name="built"):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def keep(self, commit, text=STARTS, hours=0):
        """As a run of this commit has kept it, that number of hours ago."""
        last_server.folder().mkdir(parents=True, exist_ok=True)
        file = last_server.folder() / f"iampass-server-{commit}"
        file.write_text(text)
        file.chmod(0o755)
        os.utime(file, (file.stat().st_mtime - 3600 * hours,) * 2)
        return file

    def choose(self):
        return last_server.choose(pathlib.Path(tempfile.mkdtemp(dir=self.folder)))


class Keep(Case):
    def test_it_is_a_copy_under_its_commit(self):
        built = self.program(STARTS)
        self.assertIsNone(last_server.keep(built, self.head))
        [(commit, file)] = last_server.kept()
        self.assertEqual((commit, file.read_text(), file.stat().st_mode & 0o777), (self.head, STARTS, 0o755))
        # The next build writes the program in place.
        built.write_text(FAILS)
        self.assertEqual(file.read_text(), STARTS)
        self.assertEqual(list(last_server.folder().iterdir()), [file])

    def test_a_run_of_the_same_commit_replaces_a_damaged_one(self):
        self.keep(self.head, FAILS)
        last_server.keep(self.program(STARTS), self.head)
        self.assertEqual([file.read_text() for _, file in last_server.kept()], [STARTS])

    def test_what_was_changed_is_not_kept(self):
        self.assertEqual(last_server.clean_commit(), self.head)
        (self.project / "changed").touch()
        self.assertIsNone(last_server.clean_commit())
        for commit in (self.head, None):
            last_server.keep(self.program(STARTS), commit)
        self.assertEqual(last_server.kept(), [])

    def test_a_commit_that_came_during_the_run_is_not_kept(self):
        last_server.keep(self.program(STARTS), self.second)
        self.assertEqual(last_server.kept(), [])

    def test_the_oldest_go(self):
        for hours in range(1, 6):
            self.keep(str(hours) * 40, hours=hours)
        last_server.keep(self.program(STARTS), self.head)
        self.assertEqual([commit for commit, _ in last_server.kept()], [self.head, "1" * 40, "2" * 40])

    def test_what_cannot_be_kept_is_said_and_leaves_the_former_one(self):
        file = self.keep(self.head)
        said = last_server.keep(self.folder / "nothing", self.head)
        self.assertRegex(said, "^this run's server is not kept for the next one: ")
        self.assertEqual(list(last_server.folder().iterdir()), [file])


class Choose(Case):
    def test_the_first_run_has_none(self):
        self.assertEqual(
            self.choose(), (None, "this version's server alone stands for both in a rolling upgrade; no other is kept"))

    def test_the_newest_of_another_commit_stands_beside(self):
        self.keep(self.head)
        self.keep(self.second, hours=1)
        self.keep(self.first, hours=2)
        folder, said = self.choose()
        self.assertEqual((folder / "iampass-server").read_text(), STARTS)
        self.assertEqual(said, f"the server of {self.second} stands beside this one's in a rolling upgrade")

    def test_it_stays_though_another_run_removes_what_is_kept(self):
        self.keep(self.second)
        folder, _ = self.choose()
        self.keep(self.second).unlink()
        self.assertTrue(os.access(folder / "iampass-server", os.X_OK))

    def test_its_own_commit_does_not_stand_beside_itself(self):
        self.keep(self.head)
        self.assertIsNone(self.choose()[0])

    def test_one_that_this_commit_has_not_come_from_is_refused(self):
        self.keep(self.branch)
        self.keep("f" * 40, hours=1)
        self.keep("HEAD~1", hours=2)
        folder, said = self.choose()
        self.assertIsNone(folder)
        for commit in (self.branch, "f" * 40, "HEAD~1"):
            self.assertIn(f"{commit} is not an ancestor of this one", said)
        self.assertNotIn("\n", said)

    def test_a_damaged_one_is_refused_and_the_one_before_it_taken(self):
        for text in (FAILS, "", "\x7fELF cut off", "#!/bin/sh\n"):
            with self.subTest(text):
                self.keep(self.second, text)
                folder, said = self.choose()
                self.assertIsNone(folder)
                self.assertIn(f"the one kept of {self.second} does not start: ", said)
        self.keep(self.first, hours=1)
        folder, said = self.choose()
        self.assertEqual(folder.name, f"server-of-{self.first}")
        self.assertIn("does not start", said)

    def test_one_that_may_not_be_run_is_refused(self):
        self.keep(self.second).chmod(0o644)
        self.assertIsNone(self.choose()[0])


class InAPlan(unittest.TestCase):
    def environments(self, other):
        jobs = Plan(pathlib.Path("/nowhere"), None, other=other).everything()
        return {job.name: job.environment["IAMPASS_OTHER_VERSION"] for job in jobs if "IAMPASS_OTHER_VERSION" in job.environment}

    def test_the_rolling_upgrade_alone_has_the_other_version(self):
        self.assertEqual(self.environments(pathlib.Path("/other")), {"server/test_rolling_upgrade": "/other"})
        self.assertEqual(self.environments(None), {})


class WholeRun(Case):
    def ended(self, words, commit, passes=True):
        """A run without a job has ended. What is kept then."""
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        (logs / "build.log").write_text(f"compiling\n{self.folder}\n")
        self.program(STARTS, "iampass-server")
        read = main.read_words(words)
        read.commit = commit
        left_out = [] if passes else ["hosts"]
        flakes = mock.Mock(complaints=[], unlisted=lambda jobs: [])
        with mock.patch.object(main, "check_faults", return_value=main.Result({"faults"})), mock.patch("builtins.print"), \
                mock.patch.object(main, "say"):  # fmt: skip
            main.run_plan([main.Stage([])], left_out, [], logs, read, flakes, main.time.monotonic())
        return [kept for kept, _ in last_server.kept()]

    def test_only_a_green_one_of_everything_keeps_its_server(self):
        self.assertEqual(self.ended([], self.head, passes=False), [])
        for words in (["--quick"], ["--only", "module"], ["--changed"]):
            self.assertEqual(self.ended(words, self.head), [], words)
        self.assertEqual(self.ended([], None), [])
        self.assertEqual(self.ended([], self.head), [self.head])

    def test_one_with_everything_that_takes_long_keeps_it_too(self):
        self.assertEqual(self.ended(["--all"], self.head), [self.head])


if __name__ == "__main__":
    unittest.main()
