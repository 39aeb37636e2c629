"""Sign-ins by pamtester as a whole process, in a world with programs as installed, and what they cost."""

import contextlib
import os
import pathlib
import re
import subprocess
import time

from bench_helper import Helper
from bench_parts import memory_at
from Support.Service.world import World

USER = "daemon"
PASSWORD = "bench-password"
#: Longer than any sign-in here; a run that takes it has failed.
PATIENCE = 30


@contextlib.contextmanager
def served_world():
    """A world with the service, and with programs as installed: what is stripped is smaller to map."""
    with contextlib.ExitStack() as ending:
        world = World()
        ending.callback(world.close)
        ending.enter_context(memory_at(world.path("run")))
        for name in ("pam_iampass.so", "iampass-https"):
            subprocess.run(["strip", world.path(name)], check=True, timeout=PATIENCE)
        world.serve()
        yield world


@contextlib.contextmanager
def taken_pam_folder(world):
    """/etc/pam.d, and a password for the user of pam_unix, as only this namespace sees them, for a while."""
    for name, lines in {
        "bench-permit": "auth required pam_permit.so\n",
        "bench-unix": "auth required pam_unix.so\n",
    }.items():
        world.write(f"pam.d/{name}", lines, 0o644)
    world.pam("sudo", arguments="prompt=push timeout=10s")
    world.pam("other", lines="auth required pam_deny.so\n")
    hashed = subprocess.run(
        ["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True, timeout=PATIENCE)
    shadow = [line.split(":") for line in pathlib.Path("/etc/shadow").read_text().splitlines()]
    for fields in shadow:
        if fields[0] == USER:
            fields[1] = hashed.stdout.strip()
    world.write("shadow", "".join(":".join(fields) + "\n" for fields in shadow))
    with contextlib.ExitStack() as mounted:
        for name, place in (("pam.d", "/etc/pam.d"), ("shadow", "/etc/shadow")):
            subprocess.run(["mount", "--bind", world.path(name), place], check=True, timeout=PATIENCE)
            mounted.callback(subprocess.run, ["umount", "--lazy", place], check=True, timeout=PATIENCE)
        yield


class Run:
    """One process from start to end."""

    def __init__(self, service, text_in=""):
        # A terminal, so that pamtester's word about the sign-in comes at once and not at its end.
        ours, theirs = os.openpty()
        began = time.monotonic()
        process = subprocess.Popen(
            ["pamtester", service, USER, "authenticate"], stdin=subprocess.PIPE, stdout=theirs, stderr=theirs)
        os.close(theirs)
        process.stdin.write(text_in.encode())
        process.stdin.close()
        shown = self._read(ours)
        # wait4 counts the process and all that it has reaped, the worker included.
        _, status, usage = os.wait4(process.pid, 0)
        self.ended = time.monotonic()
        process.returncode = status
        if status != 0:
            raise SystemExit(f"bench: pamtester {service} ended with {os.waitstatus_to_exitcode(status)}: {shown}\n"
                             f"hint: journalctl --lines=20 SYSLOG_FACILITY=10")
        self.wall = (self.ended - began) * 1_000
        self.until_success = (self.succeeded - began) * 1_000
        self.cpu = (usage.ru_utime + usage.ru_stime) * 1_000

    def _read(self, terminal):
        shown = b""
        while True:
            try:
                more = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
            if b"successfully authenticated" in shown and not hasattr(self, "succeeded"):
                self.succeeded = time.monotonic()
        os.close(terminal)
        return shown.decode(errors="replace").strip()


def measure(report, name, service, runs, text_in="", asked=(None, None), waiting=None, helper=None):
    """The runs. `asked` sets limits in ms of wall and processor time. `waiting` forks the workers,
    which are not the caller's children. The helper tells the service that the session has ended.
    """
    Run(service, text_in)
    standing = {}
    if waiting:
        standing["worker"] = [waiting.pid]
    if helper:
        standing["helper"] = helper.processes()
    before = {who: processor_time(processes) for who, processes in standing.items()}
    seen = [Run(service, text_in) for _ in range(runs)]
    wall, processor = asked
    if standing:
        # The last worker ends after its caller, and the last session later.
        time.sleep(1)
    shares = {who: (processor_time(processes) - before[who]) / runs for who, processes in standing.items()}
    report.add(f"{name}: to PAM_SUCCESS", [run.until_success for run in seen], "ms", wall)
    report.add(f"{name}: whole process", [run.wall for run in seen], "ms", wall)
    report.add(f"{name}: CPU, all processes", [run.cpu + sum(shares.values()) for run in seen], "ms", processor)
    for who, share in shares.items():
        report.add(f"{name}: of which the {who}, mean", [share], "ms")
    return seen


def processor_time(processes):
    """Processor time of them and of their reaped children, in ms. The kernel counts hundredths of a second."""
    fields = [pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split() for pid in processes]
    return sum(int(part) for each in fields for part in each[11:15]) * 1_000 / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def as_installed(world):
    """The background helper, and workers that wait; the process that forks these, and the helper."""
    with helper_of(world) as helper:
        waiting = world.wait_for_logins()
        try:
            yield waiting, helper
        finally:
            waiting.kill()
            waiting.wait()
            os.unlink(world.path("run", "worker"))


@contextlib.contextmanager
def helper_of(world):
    """The background helper for the world's configuration."""
    helper = Helper(world)
    try:
        deadline = time.monotonic() + PATIENCE
        while not os.path.exists(world.path("run", "helper.watching")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.2)
        yield helper
    finally:
        helper.stop()
        os.unlink(world.path("run", "helper.watching"))


def peak_of(pid):
    """VmHWM in KiB."""
    return int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
