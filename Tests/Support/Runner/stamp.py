"""What the last whole run tested, and the last commit that passed: a file beside the caches, so that anybody can see it."""

import json
import os
import pathlib
import shutil
import time

from Support.Runner.plan import PROJECT
from Support.Runner.sizes import git

FILE = pathlib.Path(os.environ.get("IAMPASS_CACHE", "/var/cache/iampass")) / "last-run.json"
#: Beside it, the logs of jobs with a test that passed at the second try alone: a green run removes its own logs, and a cause
#: that was seen once is looked for in them. This many are kept at most.
FLAKED, GREATEST_COUNT = "flaked", 20


def write(size, passed, failed, by_suite, seconds, building, took, parts=(), left_parts=False, due=()):
    """The stamp of a run that has ended. It replaces the former one at once, or not at all. A run that failed leaves the
    commit that passed before it: the next run must know what has changed since. So does one that was told by `--base` to
    leave out parts whose code has changed (`left_parts`). `took`: the seconds of each job. `parts`: the names of those that
    not every landing runs, and that passed here, whatever became of the others. No other part takes this commit for its own:
    a run without them passes, too. `due`: the names of those whose code has changed, and that were left out. What has no
    commit of its own is compared with the former one from now on, so that it stays due."""
    before = passed_commit()
    said = {
        "commit": git(PROJECT, "rev-parse", "HEAD"), "clean": git(PROJECT, "status", "--porcelain") == "", "size": size,
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "passed": passed, "failed": failed,
        "flaked": sorted(f"{suite} {name}" for suite, result in by_suite.items() for name in result.flaked),
        "why": {name: why for result in by_suite.values() for name, why in sorted(result.flaked.items())},
        "seconds": round(seconds), "seconds_of_builds": round(building),
        "took": {**last_times(), **{name: round(its) for name, its in took.items()}},
    }  # fmt: skip
    said["passed_commit"] = said["commit"] if said["clean"] and not failed and not left_parts else before
    former = dict.fromkeys(due, before) if before else {}
    said["parts"] = former | passed_parts() | (dict.fromkeys(sorted(parts), said["commit"]) if said["clean"] else {})
    replace(said)


def write_parts(parts):
    """Notes parts that passed in a run of some suites. What the last whole run said stays."""
    if parts and git(PROJECT, "status", "--porcelain") == "":
        replace((read() or {}) | {"parts": passed_parts() | dict.fromkeys(sorted(parts), git(PROJECT, "rev-parse", "HEAD"))})


def replace(said):
    FILE.parent.mkdir(parents=True, exist_ok=True)
    new = FILE.with_suffix(".new")
    new.write_text(json.dumps(said, indent=1) + "\n")
    new.replace(FILE)


def keep_log(log, job):
    """Keeps a job's log, under the time and the job's name."""
    folder = FILE.parent / FLAKED
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(log, folder / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{job.replace('/', '-')}.log")
    for old in sorted(folder.iterdir())[:-GREATEST_COUNT]:
        old.unlink()


def read():
    try:
        return json.loads(FILE.read_text())
    except (OSError, ValueError):
        return None


def passed_commit():
    """The last commit that passed a whole run with nothing changed; None if the stamp knows none."""
    return (read() or {}).get("passed_commit")


def passed_parts():
    """The last commit at which each part passed that not every landing runs, by the part's name."""
    return (read() or {}).get("parts", {})


def last_times():
    """The seconds that each job took when a whole run had it last, by its name."""
    return (read() or {}).get("took", {})


def show():
    """Prints the stamp in a line. An exit status: 0 if that run was green, of this very commit, with nothing changed."""
    said = read()
    if "commit" not in (said or {}):
        print("no whole run has left a stamp here")
        return 1
    this = said["commit"] == git(PROJECT, "rev-parse", "HEAD")
    changed = "" if said["clean"] else " with changes"
    flaked = f", flaked: {', '.join(said['flaked'])}" if said["flaked"] else ""
    print(f"{said['commit']}{changed}, {said['size']}, {said['ended']}, {said['seconds']} s ({said['seconds_of_builds']} s of builds): "
          f"{said['passed']} passed, {said['failed']} failed{flaked}{'' if this else '; HEAD is another commit'}")  # fmt: skip
    return 0 if this and said["clean"] and not said["failed"] else 1
