"""Runs jobs side by side: each once what it needs is done, and no more of a lane at once than the lane takes."""

import ctypes
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Callable

from Support.Runner.results import CANNOT_START, OUT_OF_TIME, Result, read_step

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)
#: Seconds between the polite end of a job and the other one: a booted host takes some to stop.
PATIENCE_AT_THE_END = 30
#: A job that has less time than this is not begun.
SHORTEST = 60


@dataclasses.dataclass
class Job:
    """A command with a log of its own."""

    name: str
    #: The row of the table that it counts in.
    suite: str
    words: Callable[[], list]
    #: Bound in seconds, generous: a job that reaches it has failed.
    seconds: int
    #: Each has to have a place free.
    lanes: tuple
    needs: tuple = ()
    read: Callable[[str, int, str], Result] = read_step
    #: How many places of each it takes: a file that starts dozens of processes at once takes two.
    weight: int = 1
    #: Whether it gives way to every job that does not: a build beside suites that have to keep their times.
    gives_way: bool = False
    #: The jobs that it gives way to until they have ended: more waits for them than for it.
    behind: tuple = ()
    #: Whether nothing runs beside it but what gives way: a machine in a real-time class.
    alone: bool = False
    #: The words that run these failed tests of it once more. Without it they have no second try.
    again: Callable[[set], Callable[[], list]] = None
    environment: dict = dataclasses.field(default_factory=dict)
    #: The files that it runs, if it is not named after the only one.
    files: tuple = ()

    state: str = "waiting"  # running, ending, done, failed, left out
    result: Result = dataclasses.field(default_factory=Result)
    began: float = 0
    ended: float = 0
    #: When it is killed, once it is ending.
    killed: float = 0
    #: Whether it was ended because the time of all was over, and not its own.
    cut: bool = False
    processor: float = 0
    process: subprocess.Popen = None


@dataclasses.dataclass
class Stage:
    """Jobs that begin once those of the stage before have ended."""

    jobs: list
    beside_noise: bool = False
    #: The part of the time left that it may take.
    share: float = 1


def before_exec(gives_way, behind):
    """A session of its own, which ends with us, however we end. `behind`: whether it gives way for a while only."""
    os.setsid()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # Left ignored they would be ignored by all that a test starts.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if gives_way:
        os.nice(19)
    if gives_way or behind:
        set_share("self", 19)


def set_share(process, niceness):
    """Sets a whole session's share of the processors, as niceness. The kernel may share out time by session before it looks
    at niceness: sched(7), autogroup. Unlike niceness it can be taken back for all processes at once."""
    try:
        pathlib.Path(f"/proc/{process}/autogroup").write_text(str(niceness))
    except OSError:
        pass


class Schedule:
    def __init__(self, jobs, lanes, logs, end, say, before=()):
        """`before`: jobs of an earlier schedule, which has ended; what they made may be needed."""
        self.jobs = jobs
        self.lanes = lanes
        self.logs = logs
        #: time.monotonic() at which everything has to be over.
        self.end = end
        self.say = say
        self.by_name = {job.name: job for job in (*before, *jobs)}

    def log(self, job):
        return self.logs / f"{job.name}.log"

    def run(self):
        try:
            while any(job.state in ("waiting", "running", "ending") for job in self.jobs):
                self.start_what_can()
                self.reap()
                time.sleep(0.05)
        finally:
            self.stop_all()

    def start_what_can(self):
        free, running = dict(self.lanes), []
        for job in self.jobs:
            if job.state in ("running", "ending"):
                self.take(free, job)
                running += [] if job.gives_way else [job]
        quiet = any(job.alone for job in running)
        for job in [job for job in self.jobs if job.state == "waiting"]:
            needed = [self.by_name[name] for name in job.needs]
            bad = [one.name for one in needed if one.state in ("failed", "left out")]
            if bad:
                self.leave_out(job, f"needs {', '.join(bad)}")
            elif time.monotonic() > self.end - SHORTEST:
                self.leave_out(job, "no time left")
            elif any(one.state != "done" for one in needed) or (quiet and not job.gives_way):
                continue
            elif job.alone and (running or self.others_wait(job)):
                # It comes last. If the others waited for it, the processors would be idle until it can begin.
                continue
            elif full := [lane for lane in job.lanes if free[lane] < min(job.weight, self.lanes[lane])]:
                # It is the first to have what gets free: lighter ones would take one place after the other, and it would
                # begin last. It keeps nothing in a lane where it fits: those places would be idle until the others are free.
                for lane in () if job.gives_way else full:
                    free[lane] -= job.weight
            else:
                self.take(free, job)
                running += [] if job.gives_way else [job]
                quiet = quiet or job.alone
                self.start(job)

    def others_wait(self, job):
        return any(one.state == "waiting" and not one.gives_way and not one.alone and job.name not in one.needs for one in self.jobs)

    @staticmethod
    def leave_out(job, why):
        job.state = "left out"
        job.result.skipped.append(f"{job.name}: {why}")

    @staticmethod
    def take(free, job):
        for lane in job.lanes:
            free[lane] -= job.weight

    def start(self, job):
        path = self.log(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        job.state, job.began = "running", time.monotonic()
        with open(path, "wb") as log:
            try:
                job.process = subprocess.Popen(
                    job.words(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                    env={**os.environ, **job.environment},
                    preexec_fn=lambda: before_exec(job.gives_way, self.is_behind(job)))  # fmt: skip
            except OSError as error:
                log.write(f"{job.name} did not start: {error}\n".encode())
        if not job.process:
            self.finish(job, CANNOT_START)

    def is_behind(self, job):
        return any(self.by_name[name].state in ("waiting", "running", "ending") for name in job.behind if name in self.by_name)

    def reap(self):
        now = time.monotonic()
        for job in self.jobs:
            if job.state not in ("running", "ending"):
                continue
            # Not Popen.poll, which would take away what the job has used.
            pid, status, used = os.wait4(job.process.pid, os.WNOHANG)
            if pid:
                job.process.returncode = os.waitstatus_to_exitcode(status)
                job.processor = used.ru_utime + used.ru_stime
                if job.state == "ending":
                    self.kill_session(job)
                self.finish(job, OUT_OF_TIME if job.state == "ending" else job.process.returncode)
            elif job.state == "running" and now > min(job.began + job.seconds, self.end):
                with open(self.log(job), "a") as log:
                    log.write(f"\n{job.name} was ended: it had {now - job.began:.0f} s\n")
                job.state, job.killed, job.cut = "ending", now + PATIENCE_AT_THE_END, now <= job.began + job.seconds
                self.signal(job, signal.SIGTERM)
            elif job.state == "ending" and now > job.killed:
                self.signal(job, signal.SIGKILL)
                job.killed = now + PATIENCE_AT_THE_END

    @staticmethod
    def signal(job, number):
        """To all of the job's session that is in its group."""
        try:
            os.killpg(job.process.pid, number)
        except ProcessLookupError:
            pass

    @staticmethod
    def kill_session(job):
        """What is left of a job that has ended, whatever its group: swift build gives each compiler one of its own."""
        for place in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                # After the name, which may have anything in it: state, parent, group, session.
                if int(place.read_text().rpartition(")")[2].split()[3]) == job.process.pid:
                    os.kill(int(place.parent.name), signal.SIGKILL)
            except (FileNotFoundError, ProcessLookupError):
                pass

    def finish(self, job, status):
        job.ended = time.monotonic()
        text = self.log(job).read_text(errors="replace")
        job.result = job.read(text, status, job.name)
        if job.cut:
            # Its tests that have ended count. Whether the others would have failed is not known.
            job.result.failed -= {job.name, f"{job.name} (exit {OUT_OF_TIME})"}
            job.result.skipped.append(f"{job.name}: no time left after {job.ended - job.began:.0f} s")
        job.state = "failed" if job.result.failed else "left out" if job.cut else "done"
        for other in self.jobs:
            if job.name in other.behind and other.state == "running" and not self.is_behind(other):
                set_share(other.process.pid, 0)
        self.say(job, text)

    def stop_all(self):
        """Ends what still runs: this program was interrupted."""
        running = [job for job in self.jobs if job.state in ("running", "ending") and job.process]
        for number, patience in ((signal.SIGTERM, PATIENCE_AT_THE_END), (signal.SIGKILL, PATIENCE_AT_THE_END)):
            for job in running:
                self.signal(job, number)
            end = time.monotonic() + patience
            for job in list(running):
                try:
                    job.process.wait(max(0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    continue
                self.kill_session(job)
                running.remove(job)
                print(f"stopped {job.name}", file=sys.stderr)
