"""Other people's code from PyPI, for tests that need a judge which Debian does not have."""

import fcntl
import glob
import os
import site
import subprocess
import sys
import time

CACHE = os.environ.get("IAMPASS_CACHE", "/var/cache/iampass")
#: Seconds for pip.
PATIENCE = 300
#: Seconds between two tries.
PAUSE = 10


def run_three_times(words):
    """A download may fail for once."""
    for _ in range(3):
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 0:
            return
        time.sleep(PAUSE)
    raise AssertionError(f"{words} exited with {done.returncode}: {done.stderr[-2000:]}")


def use_packages(name, packages):
    """Brings these packages into a folder of that name in the cache, once, and makes them importable. Versions are
    pinned, as NAME==VERSION: a test's judge must not change by itself."""
    folder = os.path.join(CACHE, name)
    mark = os.path.join(folder, "-".join(packages).replace("=", ""))
    os.makedirs(CACHE, exist_ok=True)
    # Several suites may need it at once.
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(mark):
            for words in (
                ["/usr/bin/python3", "-m", "venv", "--clear", folder],
                [os.path.join(folder, "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *packages],
            ):
                run_three_times(words)
            open(mark, "w").close()
    packages = glob.glob(os.path.join(folder, "lib/python3*/site-packages"))[0]
    site.addsitedir(packages)
    # Before this machine's own packages, which may be older.
    sys.path.remove(packages)
    sys.path.insert(0, packages)
