#!/usr/bin/python3 -B
"""packaging/test, once what it needs is installed: runs the plan and says how it went."""

import argparse
import collections
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

if __name__ == "__main__":
    # In place of this folder, whose modules nobody imports by their names alone.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])

from Support.Runner import changes, last_server, machine_load, noise, second_tries, sizes, stamp
from Support.Runner.jobs import Schedule, Stage
from Support.Runner.plan import PROJECT, ROLLING, SLOW, TESTS, Plan, closure, release
from Support.Runner.results import Result

#: Seconds for everything, so that the closing line comes before minute 85: whatever ends a job has a minute.
LONGEST = 83 * 60
#: How many lines of a failed job's log are shown.
SHOWN = 80


def say(text):
    print(text, file=sys.stderr, flush=True)


def lanes():
    """How many jobs of each lane at once. Suites mostly wait, so that more than two for each processor keep it at work; what
    keeps it at work by itself takes two places. Hosts wait too, for what boots, locks or expires: with one for each processor
    they ended long after everything else, beside idle processors."""
    processors = len(os.sched_getaffinity(0))
    return {"build": 2, "suite": 2 * processors + 1, "host": processors + 1, "machine": 1, "light": 4, "again": 1}


def choose(words, jobs):
    """The jobs to run, and lines about those that were left out."""
    if words.only:
        suite = words.only.partition(".")[0]
        chosen = [job for job in jobs if suite in (job.suite, job.name)]
        if not chosen:
            say(f"test: there is no suite {suite}\nhint: one of {', '.join(dict.fromkeys(job.suite for job in jobs))}")
            sys.exit(64)
        pattern = words.only.partition(".")[2]
        chosen = with_the_test(chosen, pattern) if pattern else chosen
        return repeated(closure(jobs, chosen), chosen, words.repeat), []
    if words.quick:
        return [job for job in jobs if job.suite not in SLOW], ["hosts, sanitizers and fuzzers (--quick)"]
    if words.all:
        return jobs, []
    changed_since = functools.cache(lambda commit: sizes.changed_since(PROJECT, commit))
    if words.base and changed_since(words.base) is None:
        say(f"test: {words.base} is not a commit before this one\nhint: git log")
        sys.exit(64)
    base = words.base or stamp.passed_commit()
    differing_from = functools.cache(lambda commit: sizes.differing_from(PROJECT, commit))
    changed = sizes.what_changed(base, stamp.passed_parts(), changed_since, differing_from)
    due = sizes.for_landing(jobs, (lambda part: changed_since(base)) if words.base else changed)
    kept, words.due = sizes.without_heavy(due)
    rare = [job.name for job in kept if sizes.paths_of(job)]
    since = f"changed since {base}" if words.base else f"has not passed here as it is (a run has, at {base or 'no commit'})"
    say(f"for a landing, and what {since}: {', '.join(rare) or 'nothing more'}")
    if words.due:
        say(f"due, and left to --all: {', '.join(words.due)}")
    return kept, []


def choose_changed(base, logs, other):
    """(All jobs, the stages for what has changed since a commit, lines about what was left out.)"""
    changed = sizes.changed_since(PROJECT, base or stamp.passed_commit() or "HEAD~1")
    if changed is None:
        say(f"test: {base} is not a commit before this one\nhint: git log")
        sys.exit(64)
    change = changes.Change(PROJECT, changed)
    plan = Plan(logs, None, units=change.units, debug=True, other=other).everything()
    first, several, rest = change.choose(plan, stamp.last_times())
    names = lambda jobs: ", ".join(job.name for job in jobs) or "nothing"  # noqa: E731
    say(f"{len(changed)} files changed: {names(first)}\nthen {changes.TIMES} times beside noise: {names(several)}\n"
        f"then as many as the time allows: {names(rest)}")  # fmt: skip
    return plan, changes.stages(first, repeated([], several, changes.TIMES), rest), change.left_out(plan)


def repeated(jobs, chosen, count):
    """The jobs, with each chosen one `count` times; it has passed if each of them has, at the first try."""
    if count == 1:
        return jobs
    names = {job.name for job in chosen}
    once = [job for job in jobs if job.name not in names]
    return once + [dataclasses.replace(job, name=f"{job.name}/{number}", again=None, result=Result())
                   for number in range(1, count + 1) for job in chosen]  # fmt: skip


def with_the_test(chosen, pattern):
    """The jobs of a suite that run the file that the pattern names; all of its jobs if none does."""
    file = pattern.split(".")[0]
    found = [job for job in chosen if file in (job.name.rpartition("/")[2], *job.files)]
    return found or chosen


def tell(job, text, logs):
    say(f"{job.name}: {len(job.result.passed)} passed, {len(job.result.failed)} failed, {job.ended - job.began:.0f} s")
    if job.result.failed:
        lines = text.splitlines()
        say(f"---- {logs / job.name}.log ends:")
        say("\n".join(lines[-SHOWN:]))
        for name in sorted(job.result.failed):
            say(f"---- failed: {job.name}: {name}: {job.result.reasons.get(name, '')}")


def run_second_tries(jobs, logs, end, read_flakes):
    """Runs failed tests once more, one job at a time with nothing beside it, and puts both results together."""
    again, why = second_tries.choose(jobs, read_flakes, end - time.monotonic())
    if why:
        say(f"no second tries: {why}")
    if not again:
        return
    say(f"---- once more, alone: {', '.join(job.name for job in again)}")
    Schedule(again, lanes(), logs, end, lambda job, text: tell(job, text, logs)).run()
    by_name = {job.name: job for job in jobs}
    for second in again:
        first = by_name[second.name.removeprefix("again/")]
        first.result = second_tries.settle(first.result, second.result)
        if first.result.flaked:
            stamp.keep_log(logs / f"{first.name}.log", first.name)
        for name, reason in sorted(first.result.flaked.items()):
            say(f"flaked: {first.name}: {name}: first: {reason or 'see the log'}; second: passed alone")


def check_faults(by_suite, elsewhere, logs):
    """Holds the table of faults against the tests that passed. `elsewhere`: jobs that a run of this size has not."""
    file = logs / "results.json"
    ran = {suite: {"passed": sorted(result.passed), "failed": sorted(result.failed)}
           for suite, result in by_suite.items() if result.passed or result.failed}  # fmt: skip
    file.write_text(json.dumps({"ran": ran, "elsewhere": elsewhere}))
    done = subprocess.run([TESTS / "check-faults", file], capture_output=True, text=True, timeout=120)
    say(done.stdout + done.stderr)
    return Result({"faults"}) if done.returncode == 0 else Result(failed={"faults"})


def totals(jobs):
    by_suite = collections.defaultdict(Result)
    for job in jobs:
        by_suite[job.suite].add(job.result)
    return by_suite


def show_tables(jobs, by_suite, began, load):
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
    say(f"\n{load.since()}\nall of it: {time.monotonic() - began:.0f} s")


def run_plan(stages, left_out, elsewhere, logs, words, flakes, began):
    """Runs the stages, tries again what may be, and prints everything. The number of failures."""
    load = machine_load.Load()
    end = began + (changes.LONGEST if words.changed is not None else LONGEST)
    jobs = []
    for stage in stages:
        its_end = time.monotonic() + stage.share * (end - time.monotonic())
        with noise.noise() if stage.beside_noise and stage.jobs else contextlib.nullcontext():
            Schedule(stage.jobs, lanes(), logs, its_end, lambda job, text: tell(job, text, logs), jobs).run()
        jobs = jobs + stage.jobs
    run_second_tries(jobs, logs, end, flakes)
    too_many = second_tries.judge(jobs)
    by_suite = totals(jobs)
    if flakes.complaints:
        by_suite["flakes"] = Result(failed=set(flakes.complaints))
    if not words.only and words.changed is None:
        by_suite["faults"] = check_faults(by_suite, elsewhere, logs)
    left_out = left_out + [f"{suite}: {line}" for suite, result in by_suite.items() for line in result.skipped]
    show_tables(jobs, by_suite, began, load)
    for line in left_out:
        say(f"left out: {line}")
    for suite, result in by_suite.items():
        for name in sorted(result.flaked):
            say(f"flaked: {suite}: {name}: {result.flaked[name]}")
        for name in sorted(result.failed):
            say(f"failed: {suite}: {name}: {result.reasons.get(name, '')}")
    if too_many:
        say(too_many)
    if unlisted := flakes.unlisted(jobs):
        say(f"hint: mend the cause of each, or give it a row in Tests/flakes.txt: {', '.join(unlisted)}")
    passed = sum(len(result.passed) for result in by_suite.values())
    failed = sum(len(result.failed) for result in by_suite.values()) + (len(left_out) if words.strict else 0)
    rest = f", {len(left_out)} left out" if left_out and not words.strict else ""
    parts = [job.name for job in jobs if sizes.paths_of(job) and job.ended and not job.cut and not job.result.failed]
    if words.only and "." not in words.only and words.repeat == 1:
        stamp.write_parts(parts)
    if words.strict:
        stamp.write("all" if words.all else "landing", passed, failed, by_suite, time.monotonic() - began,
                    sum(job.ended - job.began for job in jobs if "build" in job.lanes),
                    {job.name: job.ended - job.began for job in jobs if job.state == "done"}, parts,
                    left_parts=words.base is not None and not words.all, due=words.due)  # fmt: skip
    if words.strict and not failed and words.commit:
        if complaint := last_server.keep(pathlib.Path(release(logs), last_server.PROGRAM), words.commit):
            say(complaint)
    if failed:
        say(f"the logs are kept in {logs}")
    print(f"{passed} passed, {failed} failed{rest}", flush=True)
    return failed


def read_words(arguments=None):
    parser = argparse.ArgumentParser(prog="packaging/test", add_help=False)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--base", metavar="REV")
    parser.add_argument("--only", metavar="SUITE[.TEST]")
    parser.add_argument("--changed", nargs="?", const="", metavar="BASE")
    parser.add_argument("--repeat", type=int, default=1, metavar="N")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--last", action="store_true")
    words = parser.parse_args(arguments)
    if (words.repeat != 1 or words.noise) and not words.only:
        parser.error("--repeat and --noise go with --only")
    #: Whatever was left out counts as a failure.
    words.strict = not words.quick and not words.only and words.changed is None
    #: The names of parts whose code has changed, and that a landing leaves to --all.
    words.due = ()
    #: What the tree had as the run began, if nothing was changed.
    words.commit = None
    return words


def main():
    words = read_words()
    if words.last:
        sys.exit(stamp.show())
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    began = time.monotonic()
    logs = pathlib.Path(tempfile.mkdtemp(prefix="iampass-test-"))
    # Packages are read by apt's own user.
    logs.chmod(0o755)
    words.commit = last_server.clean_commit()
    other, which = last_server.choose(logs)
    # A class stands between a file and its test.
    pattern = (words.only or "").partition(".")[2].replace(".", ".*", 1) or None
    if words.changed is not None:
        plan, stages, left_out = choose_changed(words.changed, logs, other)
    else:
        plan = Plan(logs, pattern, words.all, took=stamp.last_times(), other=other).everything()
        jobs, left_out = choose(words, plan)
        stages = [Stage(jobs, beside_noise=words.noise)]
    if any(file in job.name for stage in stages for job in stage.jobs for file in ROLLING):
        say(which)
    elsewhere = sorted({job.name for job in plan} - {job.name for stage in stages for job in stage.jobs})
    os.chdir(PROJECT)
    failed = 1
    try:
        failed = run_plan(stages, left_out, elsewhere, logs, words, second_tries.Flakes((TESTS / "flakes.txt").read_text()), began)
    finally:
        shutil.rmtree(logs / "debs", ignore_errors=True)
        if other:
            shutil.rmtree(other, ignore_errors=True)
        if not failed:
            shutil.rmtree(logs, ignore_errors=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
