"""Runs jobs side by side: each once what it needs is done, and no more of a lane at once than the lane takes."""

import ctypes
import dataclasses
import os
import signal
import subprocess
import sys
import time
from typing import Callable

from results import Result, read_step

PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None)
#: Seconds between the polite end of a job and the other one: a booted host takes some to stop.
PATIENCE_AT_THE_END = 30
#: The exit statuses of a shell and of timeout(1) for these.
CANNOT_START, OUT_OF_TIME = 127, 124


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
    #: Whether it gives way to every job that does not: a build beside suites that have to keep their times.
    gives_way: bool = False
    environment: dict = dataclasses.field(default_factory=dict)
    #: The files that it runs, if it is not named after the only one.
    files: tuple = ()

    state: str = "waiting"  # running, done, failed, left out
    result: Result = dataclasses.field(default_factory=Result)
    began: float = 0
    ended: float = 0
    processor: float = 0
    process: subprocess.Popen = None


def before_exec(gives_way):
    """A session of its own, which ends with us, however we end."""
    os.setsid()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # Left ignored they would be ignored by all that a test starts.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if gives_way:
        os.nice(19)
        try:
            # The kernel may share out time by session before it looks at niceness: sched(7), autogroup.
            with open("/proc/self/autogroup", "w") as file:
                file.write("19")
        except OSError:
            pass


class Schedule:
    def __init__(self, jobs, lanes, logs, end, say):
        self.jobs = jobs
        self.lanes = lanes
        self.logs = logs
        #: time.monotonic() at which everything has to be over.
        self.end = end
        self.say = say
        self.by_name = {job.name: job for job in jobs}

    def log(self, job):
        return self.logs / f"{job.name}.log"

    def run(self):
        try:
            while any(job.state in ("waiting", "running") for job in self.jobs):
                self.start_what_can()
                self.reap()
                time.sleep(0.05)
        finally:
            self.stop_all()

    def start_what_can(self):
        free = dict(self.lanes)
        for job in self.jobs:
            if job.state == "running":
                self.take(free, job)
        for job in self.jobs:
            if job.state != "waiting":
                continue
            needed = [self.by_name[name] for name in job.needs]
            bad = [one.name for one in needed if one.state in ("failed", "left out")]
            if bad:
                job.state = "left out"
                job.result.skipped.append(f"{job.name}: needs {', '.join(bad)}")
            elif all(free[lane] > 0 for lane in job.lanes) and all(one.state == "done" for one in needed):
                self.take(free, job)
                self.start(job)

    @staticmethod
    def take(free, job):
        for lane in job.lanes:
            free[lane] -= 1

    def start(self, job):
        path = self.log(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        job.state, job.began = "running", time.monotonic()
        with open(path, "wb") as log:
            try:
                job.process = subprocess.Popen(
                    job.words(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                    env={**os.environ, **job.environment}, preexec_fn=lambda: before_exec(job.gives_way))  # fmt: skip
            except OSError as error:
                log.write(f"{job.name} did not start: {error}\n".encode())
        if not job.process:
            self.finish(job, CANNOT_START)

    def reap(self):
        now = time.monotonic()
        for job in self.jobs:
            if job.state != "running":
                continue
            # Not Popen.poll, which would take away what the job has used.
            pid, status, used = os.wait4(job.process.pid, os.WNOHANG)
            if pid:
                job.process.returncode = os.waitstatus_to_exitcode(status)
                job.processor = used.ru_utime + used.ru_stime
                self.finish(job, job.process.returncode)
            elif now > min(job.began + job.seconds, self.end):
                with open(self.log(job), "a") as log:
                    log.write(f"\n{job.name} was ended: it had {now - job.began:.0f} s\n")
                self.stop(job)
                self.finish(job, OUT_OF_TIME)

    def finish(self, job, status):
        job.ended = time.monotonic()
        text = self.log(job).read_text(errors="replace")
        job.result = job.read(text, status, job.name)
        job.state = "failed" if job.result.failed else "done"
        self.say(job, text)

    def stop(self, job):
        """Ends a job with all of its session that listens, then what is left."""
        for number, patience in ((signal.SIGTERM, PATIENCE_AT_THE_END), (signal.SIGKILL, PATIENCE_AT_THE_END)):
            try:
                os.killpg(job.process.pid, number)
            except ProcessLookupError:
                pass
            try:
                job.process.wait(patience)
                return
            except subprocess.TimeoutExpired:
                continue

    def stop_all(self):
        running = [job for job in self.jobs if job.state == "running"]
        for job in running:
            try:
                os.killpg(job.process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        for job in running:
            self.stop(job)
            print(f"stopped {job.name}", file=sys.stderr)
