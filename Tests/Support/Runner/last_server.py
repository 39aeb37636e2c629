"""The service's program of earlier whole runs that passed. A later run has it beside the new one, as in a rolling upgrade."""

import os
import re
import shutil
import subprocess
import tempfile

from Support.Runner import stamp
from Support.Runner.plan import PROJECT
from Support.Runner.sizes import git

PROGRAM = "iampass-server"
#: One would not do: the run after a landing often tests the very commit that the landing kept.
GREATEST_COUNT = 3
#: Seconds for a program that says its version: generous, it may be read from a busy disk.
PATIENCE = 60


def folder():
    """Beside the stamp, shared by all clones on this machine: one file a commit, which has the commit in its name."""
    return stamp.FILE.parent / "last-server"


def clean_commit():
    """The commit that the tree has without a change; None if there is a change."""
    return git(PROJECT, "rev-parse", "HEAD") if git(PROJECT, "status", "--porcelain") == "" else None


def kept():
    """(Commit, file) of each program that is kept, the newest first."""
    found = []
    for file in folder().glob(f"{PROGRAM}-*"):
        try:
            found.append((file.stat().st_mtime, file))
        except FileNotFoundError:
            pass  # Another run has just removed it.
    return [(file.name.removeprefix(f"{PROGRAM}-"), file) for _, file in sorted(found, reverse=True)]


def keep(program, commit):
    """Keeps a copy of a run's program, whole or not at all. `commit`: what the tree had without a change as the run began.

    Not a link: the next build in the same folder may write the program in place. Returns a line about what could not be kept.
    """
    if not commit or clean_commit() != commit:
        return None
    try:
        folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder()) as new:
            copy = os.path.join(new, PROGRAM)
            shutil.copyfile(program, copy)
            os.chmod(copy, 0o755)
            os.replace(copy, folder() / f"{PROGRAM}-{commit}")
        for _, old in kept()[GREATEST_COUNT:]:
            old.unlink(missing_ok=True)
    except OSError as error:
        return f"this run's server is not kept for the next one: {error}"
    return None


def choose(place):
    """(A folder in `place` with the newest program that HEAD has come from, or None; a line that says which, and why).

    The folder has a link of its own, so that another run may remove what is kept.
    """
    head, refused = git(PROJECT, "rev-parse", "HEAD"), []
    for commit, file in kept():
        if commit == head:
            continue
        if not re.fullmatch("[0-9a-f]{40,64}", commit) or git(PROJECT, "merge-base", "--is-ancestor", commit, "HEAD") is None:
            refused.append(f"{commit} is not an ancestor of this one")
            continue
        other = place / f"server-of-{commit}"
        if why := unusable(file, other):
            shutil.rmtree(other, ignore_errors=True)
            refused.append(f"the one kept of {commit} does not start: {why}")
            continue
        return other, "; ".join([f"the server of {commit} stands beside this one's in a rolling upgrade", *refused])
    return None, "; ".join(
        ["this version's server alone stands for both in a rolling upgrade", *(refused or ["no other is kept"])])


def unusable(file, other):
    """Links the program into the folder, and starts it there. Why that cannot be; None if it can."""
    program = other / PROGRAM
    try:
        other.mkdir()
        try:
            os.link(file, program)
        except OSError:  # Another file system.
            shutil.copy2(file, program)
        done = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode != 0 or not done.stdout.strip():
        return f"--version exits with {done.returncode}"
    return None
