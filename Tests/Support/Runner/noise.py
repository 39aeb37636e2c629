"""A busy machine, on purpose: what a test must stand before its mend lands."""

import contextlib
import os
import signal
import subprocess

#: Four that always want a processor, and one that takes one from everybody else for moments.
SPINS = "while :; do :; done"
BURSTS = "while :; do n=0; while [ $n -lt 100000 ]; do n=$((n + 1)); done; sleep 0.3; done"


@contextlib.contextmanager
def noise():
    words = [["sh", "-c", SPINS]] * 4 + [["chrt", "--rr", "1", "sh", "-c", BURSTS]]
    made = [subprocess.Popen(one, stdin=subprocess.DEVNULL, start_new_session=True) for one in words]
    try:
        yield
    finally:
        for process in made:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
