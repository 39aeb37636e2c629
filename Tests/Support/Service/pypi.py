"""Other people's code from PyPI, for tests that need a judge which Debian does not have."""

import fcntl
import glob
import hashlib
import os
import pathlib
import site
import subprocess
import sys
import time

#: The versions of all of it: a test's judge must not change by itself.
VERSIONS = pathlib.Path(__file__).with_name("pypi-versions.txt")
CACHE = os.environ.get("IAMPASS_CACHE", "/var/cache/iampass")
#: Seconds for pip.
PATIENCE = 300
#: Seconds between two tries.
PAUSE = 10


def run_three_times(words):
    """What it says. A download may fail for once."""
    for _ in range(3):
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 0:
            return done.stdout
        time.sleep(PAUSE)
    raise AssertionError(f"{words} exited with {done.returncode}: {done.stderr[-2000:]}")


def use_packages(name, packages):
    """Brings these packages into a folder of that name in the cache, once, and makes them importable."""
    packages = installed(name, packages)
    site.addsitedir(packages)
    # Before this machine's own packages, which may be older.
    sys.path.remove(packages)
    sys.path.insert(0, packages)


def lone_package(name, package):
    """The folder with this package without those that it needs: for a file in it. Nothing of it can be imported."""
    return installed(name, (package,), "--no-deps")


def installed(name, packages, *options):
    """The folder in the cache that has these packages."""
    folder = os.path.join(CACHE, name)
    wanted = hashlib.sha256(" ".join(packages).encode() + VERSIONS.read_bytes()).hexdigest()[:16]
    mark = os.path.join(folder, wanted)
    os.makedirs(CACHE, exist_ok=True)
    # Several suites may need it at once.
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(mark):
            run_three_times(["/usr/bin/python3", "-m", "venv", "--clear", folder])
            pip = [os.path.join(folder, "bin/pip"), "--disable-pip-version-check"]
            run_three_times([*pip, "install", "--quiet", "--constraint", VERSIONS, *options, *packages])
            found = set(run_three_times([*pip, "freeze"]).split())
            if strangers := found - set(VERSIONS.read_text().split()):
                raise AssertionError(f"{VERSIONS.name} does not have {sorted(strangers)}")
            open(mark, "w").close()
    return glob.glob(os.path.join(folder, "lib/python3*/site-packages"))[0]
