"""What a job's log says: which tests passed, failed or were skipped, and how long each took."""

import dataclasses
import re


@dataclasses.dataclass
class Result:
    """Names and not numbers: a test that two jobs of a suite ran counts once, and has passed only if it passed in both."""

    passed: set = dataclasses.field(default_factory=set)
    failed: set = dataclasses.field(default_factory=set)
    #: Lines that say what was skipped and why.
    skipped: list = dataclasses.field(default_factory=list)
    #: (seconds, test). A test of Swift's waits for its turn within that time, so those are left out.
    took: list = dataclasses.field(default_factory=list)
    #: Those of the passed tests that had failed once.
    second_tries: set = dataclasses.field(default_factory=set)

    def add(self, other):
        self.failed |= other.failed
        self.passed = (self.passed | other.passed) - self.failed
        self.skipped += other.skipped
        self.took += other.took
        self.second_tries = (self.second_tries | other.second_tries) - self.failed


def blame(result, status, job):
    """A job that found nothing, or ended badly without naming a test, has failed itself."""
    found = result.passed or result.failed or result.skipped
    if (status != 0 and not result.failed) or not found:
        result.failed.add(f"{job} (exit {status})")
    return result


def read_step(text, status, job):
    """A command whose exit status is the one result."""
    return Result({job}, set()) if status == 0 else Result(set(), {job})


def read_unittest(text, status, job):
    """Python's unittest, by suite.py or by itself. "ok" may stand on a later line than its test's name."""
    result = Result()
    # Once for a test, however many of its sub-tests failed: "FAIL: name (module.Class.name) (subject='a')".
    result.failed = set(re.findall(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): \S+ \(([^)]*)\)", text, re.MULTILINE))
    current = None
    for line in text.splitlines():
        if found := re.match(r"\w+ \(([\w.]+)\)", line):
            current = found[1]
        if re.search(r"(\.\.\. |^)ok$", line) and current:
            result.passed.add(current)
            current = None
        elif re.search(r"(\.\.\. |^)skipped ", line):
            result.skipped.append(line)
    result.second_tries = set(re.findall(r"^second try (\S+)$", text, re.MULTILINE))
    result.failed -= result.second_tries
    result.passed = (result.passed | result.second_tries) - result.failed
    result.took = [(float(took[1]), took[2]) for took in re.finditer(r"^took ([0-9.]+) (\S+)$", text, re.MULTILINE)]
    return blame(result, status, job)


def read_swift(text, status, job):
    """Swift Testing: "✔ Test name() passed after …". The whole run, and each case of a test with arguments, has a line of
    that kind too, which is not another test."""
    result, suites = Result(), {}
    for line in text.splitlines():
        found = re.match(r"\S+ Test (?!run with|case passing)(.+?)(?: with \d+ test cases?)? (passed|failed) after ", line)
        if found:
            # Functions of two types may have one name.
            name, number = found[1], suites.get(found[1], 0)
            suites[name] = number + 1
            (result.passed if found[2] == "passed" else result.failed).add(f"{name} {number}" if number else name)
        elif re.match(r"\S+ Test .* skipped", line):
            result.skipped.append(line)
    return blame(result, status, job)


def read_lines(text, status, job):
    """A command that prints a line for each result: "…, ok", or with "broken"."""
    lines = re.findall(r"^((?:sanitize|fuzz) [^:]+):(.*)$", text, re.MULTILINE)
    passed = {name for name, said in lines if said.endswith(", ok")}
    return blame(Result(passed, {name for name, said in lines if "broken" in said}), status, job)
