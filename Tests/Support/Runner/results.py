"""What a job's log says: which tests passed, failed or were skipped, and how long each took."""

import dataclasses
import re

#: The exit statuses of a shell and of timeout(1) for these.
CANNOT_START, OUT_OF_TIME = 127, 124


@dataclasses.dataclass
class Result:
    """Names and not numbers: a test that two jobs of a suite ran counts once, and has passed only if it passed in both."""

    passed: set = dataclasses.field(default_factory=set)
    failed: set = dataclasses.field(default_factory=set)
    #: Lines that say what was skipped and why.
    skipped: list = dataclasses.field(default_factory=list)
    #: (seconds, test). A test of Swift's waits for its turn within that time, so those are left out.
    took: list = dataclasses.field(default_factory=list)
    #: Why each failed test failed, as far as the log says it in a line.
    reasons: dict = dataclasses.field(default_factory=dict)
    #: Those of the passed tests that had failed once, with the reason.
    flaked: dict = dataclasses.field(default_factory=dict)
    #: Those of the failed tests that found what may not happen once.
    never: set = dataclasses.field(default_factory=set)

    def add(self, other):
        self.failed |= other.failed
        self.passed = (self.passed | other.passed) - self.failed
        self.skipped += other.skipped
        self.took += other.took
        self.reasons |= other.reasons
        self.never |= other.never
        self.flaked = {name: why for name, why in (self.flaked | other.flaked).items() if name not in self.failed}


def blame(result, status, job):
    """A job that found nothing, or ended badly without naming a test, has failed itself."""
    found = result.passed or result.failed or result.skipped
    if (status != 0 and not result.failed) or not found:
        result.failed.add(f"{job} (exit {status})")
    return result


def read_step(text, status, job):
    """A command whose exit status is the one result."""
    if status == 0:
        return Result({job})
    return Result(failed={job}, never={job} if "MustNeverHappen" in text else set())


def read_suite(text, status, job):
    """A folder of tests by suite.py, which says of each how it ended."""
    result = Result()
    for line in text.splitlines():
        if found := re.fullmatch(r"test (passed|failed) ([0-9.]+) (\S+)", line):
            (result.passed if found[1] == "passed" else result.failed).add(found[3])
            result.took.append((float(found[2]), found[3]))
        elif line.startswith("test skipped "):
            result.skipped.append(line.removeprefix("test skipped "))
        elif found := re.fullmatch(r"why (\S+): (.*)", line):
            result.reasons.setdefault(found[1], found[2])
        elif found := re.fullmatch(r"late ([0-9.]+) (\S+)", line):
            result.reasons[found[2]] = f"{result.reasons.get(found[2], '')} (the machine was {found[1]} s late)"
        elif found := re.fullmatch(r"must never happen: (\S+)", line):
            result.never.add(found[1])
    result.passed -= result.failed
    if status in (OUT_OF_TIME, CANNOT_START) or status < 0:
        # Ended in the middle: nobody has run the rest.
        result.failed.add(f"{job} (exit {status})")
    return blame(result, status, job)


def read_unittest(text, status, job):
    """Python's unittest by itself. "ok" may stand on a later line than its test's name."""
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
    result.passed -= result.failed
    if "MustNeverHappen" in text:
        result.never = set(result.failed)
    return blame(result, status, job)


def read_swift(text, status, job):
    """Swift Testing: "✔ Test name() passed after …". The whole run, and each case of a test with arguments, has a line of
    that kind too, which is not another test."""
    result, suites = Result(), {}
    for line in text.splitlines():
        if found := re.match(r"\S+ Test (.+?) recorded an issue at (.*)", line):
            result.reasons.setdefault(function_of(found[1]), found[2])
        found = re.match(r"\S+ Test (?!run with|case passing)(.+?)(?: with \d+ test cases?)? (passed|failed) after ", line)
        if found:
            # Functions of two types may have one name.
            name, number = found[1], suites.get(found[1], 0)
            suites[name] = number + 1
            (result.passed if found[2] == "passed" else result.failed).add(f"{name} {number}" if number else name)
        elif re.match(r"\S+ Test .* skipped", line):
            result.skipped.append(line)
    result.reasons = {name: result.reasons[function_of(name)] for name in result.failed if function_of(name) in result.reasons}
    return blame(result, status, job)


def function_of(name):
    """Swift Testing writes "name(_:) with value → 3", and this program "name() 1"."""
    return name.partition("(")[0]


def read_lines(text, status, job):
    """A command that prints a line for each result: "…, ok", or with "broken"."""
    lines = re.findall(r"^((?:sanitize|fuzz) [^:]+):(.*)$", text, re.MULTILINE)
    passed = {name for name, said in lines if said.endswith(", ok")}
    return blame(Result(passed, {name for name, said in lines if "broken" in said}), status, job)
