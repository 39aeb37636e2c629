#!/usr/bin/python3 -B
"""Runs a folder of Python's unit tests and says how long each test took.

usage: suite.py FOLDER MODULE... [-k PATTERN]...

MODULE is a file of the folder without its ending. Without one, all of them run. Prints what `python3 -m unittest -v`
prints, and a line `took SECONDS TEST` for each test at the end. Whatever lies in a folder of Tests/Support can be imported.
"""

import argparse
import pathlib
import sys
import time
import unittest


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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("modules", nargs="*")
    parser.add_argument("-k", action="append", dest="patterns")
    words = parser.parse_args()
    sys.path[:0] = [str(path) for path in pathlib.Path(__file__).resolve().parents[1].iterdir() if path.is_dir()]
    loader = unittest.TestLoader()
    if words.patterns:
        loader.testNamePatterns = [pattern if "*" in pattern else f"*{pattern}*" for pattern in words.patterns]
    tests = unittest.TestSuite()
    for module in words.modules or ["test*"]:
        tests.addTest(loader.discover(words.folder, pattern=module + ".py", top_level_dir=words.folder))
    result = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult).run(tests)
    for seconds, name in result.took:
        print(f"took {seconds:.3f} {name}", file=sys.stderr)
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)


if __name__ == "__main__":
    main()
