#!/usr/bin/python3 -B
"""Runs a folder of Python's unit tests, and says of each how it ended and how long it took.

usage: suite.py FOLDER [MODULE]... [-k PATTERN]...
       suite.py FOLDER --test NAME...

MODULE is a file of the folder without its ending. Without one, all of them run. NAME is a test's, a class's or a file's.
Tests is on the path, so that Tests/Support is the package Support, beside the modules of FOLDER.

Prints what `python3 -m unittest -v` prints, and lines for results.py as soon as each test has ended:

    test passed SECONDS NAME
    test failed SECONDS NAME
    test skipped NAME: REASON
    why NAME: what the last line of its exception says
    late SECONDS NAME: how late the machine woke a sleeper during a test that failed
    must never happen: NAME
"""

import argparse
import pathlib
import re
import sys
import threading
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[2]

#: Seconds between two looks of the watcher, and how late it has to be woken to count: a busy machine does so by little.
PACE, LATE = 0.1, 0.2
#: The share of ends that may be given up.
MISSES = 0.02
#: Characters of a reason that are printed.
SHOWN = 200


class Watcher(threading.Thread):
    """A sleeper that adds up how late it is woken. A test that fails meanwhile may have met a busy machine."""

    def __init__(self):
        super().__init__(daemon=True)
        self.late = 0.0

    def run(self):
        while True:
            began = time.monotonic()
            time.sleep(PACE)
            late = time.monotonic() - began - PACE
            if late > LATE:
                self.late += late


WATCHER = Watcher()


def test_name(test):
    """A sub-test has the name of its test; what a file's or class's set-up did is that file's or class's."""
    test = getattr(test, "test_case", test)
    if isinstance(test, unittest.TestCase):
        # Not test.id(): a case may have put a name of its own there.
        return unittest.TestCase.id(test)
    found = re.fullmatch(r"(?:setUp|tearDown)(?:Module|Class) \(([\w.]+)\)", test.id())
    return found[1] if found else test.id()


def say(*lines):
    """Lines of their own, whatever a thread of the test's has just written."""
    sys.stderr.write("".join(f"\n{line}" for line in lines) + "\n")
    sys.stderr.flush()


class ToldResult(unittest.TextTestResult):
    """Tells how each test ended as it ends: a job that is ended in the middle has said what it knew."""

    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.running = None
        #: What is known of the running test: None, "failed" or "skipped".
        self.ending = None

    def startTest(self, test):
        self.running, self.ending = test, None
        self.began, self.late = time.monotonic(), WATCHER.late
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        if self.ending != "skipped":
            say(f"test {self.ending or 'passed'} {time.monotonic() - self.began:.3f} {test_name(test)}")
        if self.ending == "failed" and WATCHER.late > self.late:
            say(f"late {WATCHER.late - self.late:.1f} {test_name(test)}")
        self.running = None

    def failed(self, test, error):
        name, kinds = test_name(test), {kind.__name__ for kind in error[0].__mro__}
        why = (str(error[1]).strip().splitlines() or [""])[0]
        lines = [f"why {name}: {error[0].__name__}: {why[:SHOWN]}"]
        # By name: a suite may have loaded the module a second time.
        if "MustNeverHappen" in kinds:
            lines.append(f"must never happen: {name}")
        if self.running is None:
            lines.append(f"test failed 0 {name}")
        self.ending = "failed"
        say(*lines)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.failed(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.failed(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self.failed(test, error)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.ending = "failed"

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.ending = self.ending or "skipped"
        say(f"test skipped {test_name(test)}: {reason}")


def load(words):
    loader = unittest.TestLoader()
    if words.tests:
        sys.path.insert(0, words.folder)
        return loader.loadTestsFromNames(words.tests)
    if words.patterns:
        loader.testNamePatterns = [pattern if "*" in pattern else f"*{pattern}*" for pattern in words.patterns]
    tests = unittest.TestSuite()
    for module in words.modules or ["test*"]:
        tests.addTest(loader.discover(words.folder, pattern=module + ".py", top_level_dir=words.folder))
    return tests


def too_many_misses():
    """Ends that the module may give up on a busy machine (Support/Service/ends.py): each was excused, many are not."""
    ends = sys.modules.get("Support.Service.ends")
    missed, asked = ends.misses() if ends else (0, 0)
    if missed <= max(1, asked * MISSES):
        return False
    say(f"why ends: {missed} of {asked} ends were given up", "test failed 0 ends")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-k", action="append", dest="patterns")
    parser.add_argument("--test", action="append", dest="tests")
    words = parser.parse_args()
    # In place of this folder.
    sys.path[0] = str(TESTS)
    WATCHER.start()
    result = unittest.TextTestRunner(verbosity=2, resultclass=ToldResult).run(load(words))
    sys.exit(too_many_misses() or not result.wasSuccessful() or result.testsRun == 0)


if __name__ == "__main__":
    main()
