#!/usr/bin/python3 -B
"""packaging/test, once what it needs is installed: runs the plan and says how it went."""

import argparse
import collections
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from jobs import Schedule
from plan import PROJECT, SLOW, Plan, closure
from results import Result

#: Seconds for everything; CI has two minutes more.
LONGEST = 88 * 60
#: So many tests may pass at the second try. More have a common cause, and count as failed.
SECOND_TRIES = 3
#: How many lines of a failed job's log are shown.
SHOWN = 80


def say(text):
    print(text, file=sys.stderr, flush=True)


def lanes():
    """How many jobs of each lane at once. Suites mostly wait, so that two for each processor keep it at work: one fewer, for
    the virtual machine beside them."""
    processors = len(os.sched_getaffinity(0))
    return {"build": 1, "suite": 2 * processors - 1, "host": max(1, processors), "machine": 1, "light": 4}


def choose(words, plan):
    """The jobs to run, and lines about those that were left out."""
    jobs = plan.everything()
    if words.only:
        suite = words.only.partition(".")[0]
        chosen = [job for job in jobs if suite in (job.suite, job.name)]
        if not chosen:
            say(f"test: there is no suite {suite}\nhint: one of {', '.join(dict.fromkeys(job.suite for job in jobs))}")
            sys.exit(64)
        chosen = with_the_test(chosen, plan.pattern) if plan.pattern else chosen
        return closure(jobs, chosen), []
    if words.quick:
        return [job for job in jobs if job.suite not in SLOW], ["left out by --quick: hosts, sanitizers and fuzzers"]
    return jobs, []


def with_the_test(chosen, pattern):
    """The jobs of a suite that run the file that the pattern names; all of its jobs if none does."""
    file = pattern.split(".")[0]
    found = [job for job in chosen if file in (job.name.rpartition("/")[2], *job.files)]
    return found or chosen


def tell(job, text, logs):
    took = f"{job.ended - job.began:.0f} s"
    say(f"{job.name}: {len(job.result.passed)} passed, {len(job.result.failed)} failed, {took}")
    if job.result.failed or job.result.second_tries:
        lines = text.splitlines()
        say(f"---- {logs / job.name}.log ends:")
        say("\n".join(lines[-SHOWN:]))
        for name in sorted(job.result.failed):
            say(f"---- failed: {job.name}: {name}")
        for name in sorted(job.result.second_tries):
            say(f"---- passed at the second try: {job.name}: {name}")


def check_faults(jobs, logs):
    """Holds the table of faults against the tests that passed, from one log a suite."""
    for suite in dict.fromkeys(job.suite for job in jobs if "/" in job.name or job.name.startswith("host-")):
        whole = logs / f"{suite}.log"
        with open(whole, "wb") as file:
            for job in jobs:
                part = logs / f"{job.name}.log"
                if job.suite == suite and part.is_file():
                    file.write(part.read_bytes() + b"\n")
    done = subprocess.run([PROJECT / "Tests/check-faults", logs], capture_output=True, text=True, timeout=120)
    say(done.stdout + done.stderr)
    return Result({"faults"}, set()) if done.returncode == 0 else Result(set(), {"faults"})


def totals(jobs):
    by_suite = collections.defaultdict(Result)
    for job in jobs:
        by_suite[job.suite].add(job.result)
    return by_suite


def judge_second_tries(by_suite):
    """Says which tests passed at the second try; if they are many, they have failed."""
    count = sum(len(result.second_tries) for result in by_suite.values())
    for suite, result in by_suite.items():
        for name in sorted(result.second_tries):
            say(f"passed at the second try: {suite}: {name}")
        if count > SECOND_TRIES:
            result.failed |= result.second_tries
            result.passed -= result.second_tries
    if count > SECOND_TRIES:
        say(f"{count} passed at the second try: more than {SECOND_TRIES} count as failed")


def show_tables(jobs, by_suite, began):
    say(f"\n{'suite':<18}{'passed':>7}{'failed':>7}{'from':>7}{'to':>7}{'busy':>7}{'processor':>10}  (seconds)")
    for suite, result in by_suite.items():
        ran = [job for job in jobs if job.suite == suite and job.ended]
        if ran:
            say(f"{suite:<18}{len(result.passed):>7}{len(result.failed):>7}"
                f"{min(job.began for job in ran) - began:>7.0f}{max(job.ended for job in ran) - began:>7.0f}"
                f"{sum(job.ended - job.began for job in ran):>7.0f}{sum(job.processor for job in ran):>10.0f}")  # fmt: skip
    slowest = sorted(((took, job.suite, name) for job in jobs for took, name in job.result.took), reverse=True)[:20]
    if slowest:
        say("\nthe slowest tests, in seconds:")
    for took, suite, name in slowest:
        say(f"{took:>7.1f}  {suite} {name}")
    say(f"\nall of it: {time.monotonic() - began:.0f} s")


def read_words():
    parser = argparse.ArgumentParser(prog="packaging/test", add_help=False)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--only", metavar="SUITE[.TEST]")
    return parser.parse_args()


def main():
    words = read_words()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    began = time.monotonic()
    logs = pathlib.Path(tempfile.mkdtemp(prefix="iampass-test-"))
    # Packages are read by apt's own user.
    logs.chmod(0o755)
    pattern = (words.only or "").partition(".")[2] or None
    jobs, left_out = choose(words, Plan(logs, pattern))
    os.chdir(PROJECT)
    failed = 1
    try:
        Schedule(jobs, lanes(), logs, began + LONGEST, lambda job, text: tell(job, text, logs)).run()
        by_suite = totals(jobs)
        if not words.only:
            by_suite["faults"] = check_faults(jobs, logs)
        left_out += [f"{suite}: {line}" for suite, result in by_suite.items() for line in result.skipped]
        judge_second_tries(by_suite)
        show_tables(jobs, by_suite, began)
        for line in left_out:
            say(f"left out: {line}")
        for suite, result in by_suite.items():
            for name in sorted(result.failed):
                say(f"failed: {suite}: {name}")
        passed = sum(len(result.passed) for result in by_suite.values())
        failed = sum(len(result.failed) for result in by_suite.values()) + (len(left_out) if words.strict else 0)
        if failed:
            say(f"the logs are kept in {logs}")
        skipped = f", {len(left_out)} skipped" if left_out and not words.strict else ""
        print(f"{passed} passed, {failed} failed{skipped}", flush=True)
    finally:
        shutil.rmtree(logs / "debs", ignore_errors=True)
        if not failed:
            shutil.rmtree(logs, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
