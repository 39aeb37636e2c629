"""Debian's packages that a test host's root does not have, as this machine's apt finds them. Both are Debian 12."""

import fcntl
import pathlib

from pypi import CACHE, run_three_times

FOLDER = pathlib.Path(CACHE, "debian-packages")
DOWNLOAD = 'cd "$0" && exec apt-get -q -o APT::Sandbox::User=root download "$1"'


def install(host, *names):
    """By dpkg, from copies that are kept. What they depend on is there, or is named too."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    packages = []
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in names:
            if not list(FOLDER.glob(f"{name}_*.deb")):
                run_three_times(["sh", "-euc", DOWNLOAD, str(FOLDER), name])
            packages += FOLDER.glob(f"{name}_*.deb")
        for package in packages:
            host.path(f"/root/{package.name}").write_bytes(package.read_bytes())
    host.run("dpkg", "--install", *(f"/root/{package.name}" for package in packages))
