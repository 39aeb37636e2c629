#!/usr/bin/python3 -B
"""Runs a folder of Python's unit tests and says how long each test took.

usage: suite.py [--second-try] FOLDER MODULE... [-k PATTERN]...
       suite.py FOLDER --test NAME...

MODULE is a file of the folder without its ending. Without one, all of them run. NAME is a test's, a class's or a file's.
Prints what `python3 -m unittest -v` prints, and a line `took SECONDS TEST` for each test at the end. Whatever lies in a
folder of Tests/Support can be imported.

With --second-try, a test or two that failed are tried once more, by themselves; if the set-up of a file or class failed, all
of its tests. A line `second try TEST` for each says that they passed then.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time
import unittest

#: So many tests of one job may fail because something else kept the machine busy.
FEW = 2


class TimedResult(unittest.TextTestResult):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.took = []

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        # Not test.id(): a case may have put a name of its own there.
        self.took.append((time.monotonic() - self.began, unittest.TestCase.id(test)))


def failed(result):
    """The names of tests that failed, and of files and classes whose set-up did; None if something else did."""
    names = set()
    for test in [test for test, _ in result.failures + result.errors] + list(result.unexpectedSuccesses):
        # A sub-test is its test's.
        test = getattr(test, "test_case", test)
        if isinstance(test, unittest.TestCase):
            names.add(unittest.TestCase.id(test))
        elif found := re.fullmatch(r"setUp(?:Module|Class) \(([\w.]+)\)", test.id()):
            names.add(found[1])
        else:
            return None
    return sorted(names)


def try_again(names, folder):
    """In a process of its own: what a suite mounted and kept is gone with its process."""
    print(f"---- once more, by themselves: {', '.join(names)}", file=sys.stderr, flush=True)
    words = [word for name in names for word in ("--test", name)]
    if subprocess.run([sys.executable, "-B", __file__, folder, *words], check=False).returncode != 0:
        return False
    for name in names:
        print(f"second try {name}", file=sys.stderr)
    return True


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-k", action="append", dest="patterns")
    parser.add_argument("--test", action="append", dest="tests")
    parser.add_argument("--second-try", action="store_true")
    words = parser.parse_args()
    sys.path[:0] = [str(path) for path in pathlib.Path(__file__).resolve().parents[1].iterdir() if path.is_dir()]
    result = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult).run(load(words))
    for seconds, name in result.took:
        print(f"took {seconds:.3f} {name}", file=sys.stderr)
    passed = result.wasSuccessful() and result.testsRun > 0 and not (words.tests and result.skipped)
    if words.second_try and not passed:
        names = failed(result)
        passed = bool(names) and len(names) <= FEW and try_again(names, words.folder)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
