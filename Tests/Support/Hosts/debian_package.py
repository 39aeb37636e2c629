"""Debian's packages that a test host's root does not have, as this machine's apt finds them. Both are Debian 12."""

import fcntl
import pathlib

from Support.Service.pypi import CACHE, run_three_times

FOLDER = pathlib.Path(CACHE, "debian-packages")
#: What the host lacks, by its own list; copies of earlier versions go.
RESOLVE = """
options=(-q -y -o APT::Sandbox::User=root -o Debug::NoLocking=1 -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o Dir::Cache::archives="$0" -o Dir::State::status="$1")
apt-get "${options[@]}" autoclean
exec apt-get "${options[@]}" --no-install-recommends --download-only install "${@:2}"
"""
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


def install_with_needs(host, *names):
    """With all that they depend on and the host does not have."""
    archives = FOLDER / "archives"
    (archives / "partial").mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # A copy: apt takes what lies below /proc/PID/root for this machine's.
        (FOLDER / "status").write_bytes(host.path("/var/lib/dpkg/status").read_bytes())
        run_three_times(["bash", "-euc", RESOLVE, str(archives), str(FOLDER / "status"), *names])
        inside = host.path("/root/archives")
        inside.mkdir()
        for package in archives.glob("*.deb"):
            (inside / package.name).write_bytes(package.read_bytes())
    host.run("bash", "-c", "dpkg --install --force-unsafe-io /root/archives/*.deb", environment={"DEBIAN_FRONTEND": "noninteractive"},
             timeout=600)  # fmt: skip
