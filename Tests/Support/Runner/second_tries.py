"""Which failed tests run once more, and what counts of both results.

A test that waits for real programs can fail because the machine stood still. It is run once more at the end, with nothing
beside it, and both results are told. Few may need that; more have a common cause. What must never happen, and what decides
nothing by waiting (builds, checks, sanitizers, fuzzers), has one try.
"""

import dataclasses
import datetime
import re

from Support.Runner.results import Result

#: The tests that may pass at the second try, and the jobs that they may be in.
TESTS, JOBS = 3, 2
#: More failures than this have a cause that no second try takes away.
MANY = 12
#: Seconds that have to be left.
SHORTEST = 8 * 60
#: Days within which the cause of a test that is listed in flakes.txt has to be mended.
PATIENCE = 14

ROW = re.compile(r"(\d{4}-\d{2}-\d{2}) (\S+) (\S+): \S.*")


class Flakes:
    """Tests/flakes.txt: tests that are known to have needed a second try. A line: DATE SUITE TEST: CAUSE."""

    def __init__(self, text, today=None):
        self.today = today or datetime.date.today()
        self.dates, self.complaints = {}, []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            try:
                date, suite, test = ROW.fullmatch(line).groups()
                self.dates[suite, test] = datetime.date.fromisoformat(date)
            except (AttributeError, ValueError):
                self.complaints.append(f"flakes.txt: line {number} is not DATE SUITE TEST: CAUSE")

    def lapsed(self, suite, test):
        date = self.dates.get((suite, test))
        return date is not None and (self.today - date).days > PATIENCE

    def unlisted(self, jobs):
        """Names of tests that needed a second try and have no row yet."""
        return [f"{job.suite} {name}" for job in jobs for name in job.result.flaked if (job.suite, name) not in self.dates]


def choose(jobs, flakes, left):
    """(The jobs that run the failed tests once more, why there are none if there are failures.)

    `left`: seconds for them."""
    failed = [job for job in jobs if job.result.failed]
    if not failed:
        return [], None
    if never := sorted(f"{job.name}: {name}" for job in failed for name in job.result.never):
        return [], f"this must never happen: {', '.join(never)}"
    if (count := sum(len(job.result.failed) for job in failed)) > MANY:
        return [], f"{count} failed, more than {MANY}"
    if left < SHORTEST:
        return [], "no time left"
    if once := sorted(job.name for job in failed if not job.again):
        return [], f"has one try: {', '.join(once)}"
    if lapsed := sorted(name for job in failed for name in job.result.failed if flakes.lapsed(job.suite, name)):
        return [], f"has been known for more than {PATIENCE} days: {', '.join(lapsed)}"
    return [once_more(job) for job in failed], None


def once_more(job):
    return dataclasses.replace(
        job, name=f"again/{job.name}", words=job.again(job.result.failed), lanes=("again",), weight=1, needs=(), alone=False,
        state="waiting", result=Result(), process=None, began=0, ended=0, processor=0)  # fmt: skip


def settle(first, second):
    """The one result of a job and of its failed tests' second try. A test is `flaked` if it passed then."""
    flaked = {name: first.reasons.get(name, "") for name in first.failed if passed(name, second)}
    failed = (first.failed - set(flaked)) | second.failed
    return Result(
        passed=(first.passed | second.passed | set(flaked)) - failed, failed=failed, skipped=first.skipped + second.skipped,
        took=first.took, reasons={**second.reasons, **first.reasons}, flaked=flaked, never=first.never | second.never)  # fmt: skip


def passed(name, second):
    """A file or class whose set-up failed, and a job that was ended, have passed if all of their tests have."""
    whole = " (exit " in name
    return name in second.passed or (
        not second.failed and not second.skipped and any(whole or one.startswith(name + ".") for one in second.passed))  # fmt: skip


def judge(jobs):
    """Why the flaked tests count as failed, if they do; then they do."""
    flaked = [job for job in jobs if job.result.flaked]
    count = sum(len(job.result.flaked) for job in flaked)
    if count <= TESTS and len(flaked) <= JOBS:
        return None
    for job in flaked:
        job.result.failed |= set(job.result.flaked)
        job.result.passed -= set(job.result.flaked)
    return f"{count} tests of {len(flaked)} jobs passed at the second try: more than {TESTS} of {JOBS} count as failed"
