"""How busy the machine was, and how much of it others had: a test that waits for real programs may fail for it."""

import pathlib
import time


class Load:
    """Counts from when it is made."""

    def __init__(self):
        self.began = time.monotonic()
        self.ticks, self.waited = ticks(), waited()

    def since(self):
        """A line for people. `steal` is what a neighbour of this virtual machine had, `waited` the part of the time in which
        something waited for a processor: proc_stat(5), the kernel's accounting/psi."""
        total = sum(ticks()) - sum(self.ticks)
        steal = (ticks()[7] - self.ticks[7]) / total if total else 0
        share = (waited() - self.waited) / 1e6 / (time.monotonic() - self.began)
        return f"the machine: {steal:.1%} steal, something waited for a processor {share:.0%} of the time"


def ticks():
    """user, nice, system, idle, iowait, irq, softirq, steal."""
    return [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]


def waited():
    """Microseconds; 0 where the kernel does not count them."""
    try:
        return int(pathlib.Path("/proc/pressure/cpu").read_text().split("total=")[1].split()[0])
    except OSError:
        return 0
