"""What the run before a landing leaves out, and what brings a part of it back."""

import pathlib
import subprocess
import tempfile
import unittest

from Support.Runner import sizes
from Support.Runner.plan import Plan


def names(changed):
    jobs = Plan(pathlib.Path("/nowhere"), None).everything()
    return {job.name for job in sizes.for_landing(jobs, changed if callable(changed) else lambda part: changed)}


def due(base, passed_parts, changes):
    """The parts of a landing's run. `changes`: the paths that differ from each commit that git knows."""
    found = names(sizes.what_changed(base, passed_parts, changes.get, changes.get))
    return found & RARE


RARE = {job.name for job in Plan(pathlib.Path("/nowhere"), None).everything() if sizes.paths_of(job)}


class Sizes(unittest.TestCase):
    def test_a_landing_has_neither_machines_nor_firefox_nor_what_only_serves_them(self):
        left = {job.name for job in Plan(pathlib.Path("/nowhere"), None).everything()} - names([])
        self.assertLessEqual({"machine/test_presence", "machine-13", "firefox/test_answers", "sanitizers", "fuzzers"}, left)
        self.assertLessEqual({"build", "root-12", "root-13", "unit-tests/kept-inputs", "host-sign-ins", "module/test_endings"}, names([]))

    def test_a_part_comes_back_with_what_makes_it_if_its_code_has_changed(self):
        found = names(["Sources/Computer/PresenceLink/Probe.swift"])
        self.assertLessEqual({"machine/test_presence", "machine-13"}, found)
        self.assertEqual({"machine/test_tpm", "firefox/test_answers"} & found, set())

    def test_a_part_comes_back_with_each_program_that_it_tries(self):
        for path, part in (
            ("Sources/Computer/SessionHelper/Bluetooth/PhoneProbe.swift", "machine/test_presence"),
            ("Sources/Computer/HostState/Bluetooth/BoundPhones.swift", "machine/test_presence"),
            ("Sources/Commands/IAMPASSControl/Presence/PresenceUse.swift", "machine/test_presence"),
            ("Sources/Computer/HostState/Keyring/SealedPasswords.swift", "machine/test_tpm"),
            ("Sources/Commands/IAMPASSControl/Keyring/KeyringCommand.swift", "machine/test_tpm"),
            ("Tests/Fuzz/Login/JSONTarget.swift", "fuzzers"), ("Tests/Fuzz/Server/RequestsTarget.swift", "fuzzers"),
            ("Tests/Fuzz/Kit/Claims.swift", "fuzzers"),
        ):  # fmt: skip
            with self.subTest(path):
                self.assertIn(part, names([path]))

    def test_a_landing_leaves_what_is_heavy_to_all(self):
        jobs = Plan(pathlib.Path("/nowhere"), None).everything()
        due = sizes.for_landing(jobs, lambda part: ["Sources/Computer/PresenceLink/Probe.swift", "pam/iampass.c", "Tests/Model/a"])
        kept, left = sizes.without_heavy(due)
        self.assertLessEqual({"machine/test_presence", "sanitizers", "sanitizers-build"}, set(left))
        self.assertIn("model", {job.name for job in kept})
        self.assertNotIn("machine-13", {job.name for job in kept})

    def test_each_part_has_its_own_commit_at_which_it_passed(self):
        found = names(lambda part: ["pam/iampass.c"] if part == "sanitizers" else [])
        self.assertLessEqual({"sanitizers", "sanitizers-build"}, found, "what it needs comes along")
        self.assertNotIn("machine/test_presence", found)

    def test_the_first_run_here_has_no_part(self):
        self.assertEqual(due(None, {}, {}), set())

    def test_a_part_that_has_never_passed_here_is_due_if_its_code_differs_from_the_last_run(self):
        self.assertEqual(due("a", {}, {"a": ["README.md"]}), set())
        self.assertEqual(due("a", {}, {"a": ["pam/iampass.c"]}), {"sanitizers", "sanitizers-build"})

    def test_a_repetition_of_what_has_passed_has_no_part_more(self):
        self.assertEqual(due("a", {}, {"a": []}), set())

    def test_a_part_that_has_passed_is_due_again_if_its_code_differs_from_that_commits(self):
        parts = dict.fromkeys(RARE, "a") | {"sanitizers": "b", "sanitizers-build": "b"}
        # `c` passed without the sanitizers, though what they look at had changed.
        changes = {"a": ["pam/iampass.c"], "b": ["pam/iampass.c"], "c": ["README.md"]}
        self.assertEqual(due("c", parts, changes), {"sanitizers", "sanitizers-build"})
        changes["b"] = ["README.md"]
        self.assertEqual(due("c", parts, changes), set())

    def test_a_part_whose_commit_git_does_not_know_is_compared_with_the_last_run(self):
        parts = dict.fromkeys(RARE, "b") | {"sanitizers": "gone", "sanitizers-build": "gone"}
        changes = {"a": ["pam/iampass.c"], "b": ["README.md"]}
        self.assertEqual(due("a", parts, changes), {"sanitizers", "sanitizers-build"})

    def test_every_pattern_is_that_of_a_job(self):
        jobs = Plan(pathlib.Path("/nowhere"), None).everything()
        for pattern, paths in sizes.RARE.items():
            self.assertTrue(any(sizes.paths_of(job) is paths for job in jobs), pattern)

    def test_every_path_is_there(self):
        project = pathlib.Path(__file__).resolve().parents[3]
        for path in {path for paths in sizes.RARE.values() for path in paths}:
            self.assertTrue(list(project.glob(path.rstrip("/") + "*")), path)


class Changes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = pathlib.Path(folder.name)
        self.git("init", "--quiet")
        self.first = self.commit("a")

    def git(self, *words):
        done = subprocess.run(
            ["git", "-C", self.project, "-c", "user.name=a", "-c", "user.email=a@localhost", *words], check=True,
            capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, name):
        (self.project / name).write_text(name)
        self.git("add", name)
        self.git("commit", "--quiet", "-m", name)
        return self.git("rev-parse", "HEAD")

    def test_committed_changed_and_new_files_count(self):
        self.commit("b")
        (self.project / "a").write_text("changed")
        (self.project / "c").write_text("new")
        self.assertEqual(sorted(sizes.changed_since(self.project, self.first)), ["a", "b", "c"])

    def test_a_commit_that_is_not_before_this_one_does_not_count(self):
        second = self.commit("b")
        self.git("checkout", "--quiet", self.first)
        for base in (None, second, "no-such-commit"):
            self.assertIsNone(sizes.changed_since(self.project, base))

    def test_a_part_differs_from_a_commit_that_is_not_before_this_one(self):
        # As after a rebase: what passed there has other parents here.
        second = self.commit("b")
        self.git("checkout", "--quiet", self.first)
        self.assertEqual(sizes.differing_from(self.project, second), ["b"])
        self.assertIsNone(sizes.differing_from(self.project, "no-such-commit"))


if __name__ == "__main__":
    unittest.main()
