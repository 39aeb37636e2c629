"""A network between a server and its PostgreSQL: a relay that hands on after a while whatever comes, each way.

    slow_line.py TARGET OWN MILLISECONDS

TARGET and OWN are Unix sockets. It runs until a signal ends it.
"""

import collections
import ctypes
import select
import socket
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)


class Waited(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


class Span(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def readable(fds, nanoseconds):
    """Those that can be read, after this time at most; None: without end.

    Python's own waits take whole milliseconds, as long as the whole way takes here.
    """
    waited = (Waited * len(fds))(*((fd, select.POLLIN, 0) for fd in fds))
    span = None if nanoseconds is None else ctypes.byref(Span(*divmod(max(nanoseconds, 0), 1_000_000_000)))
    if LIBC.ppoll(waited, ctypes.c_ulong(len(fds)), span, None) < 0:
        raise OSError(ctypes.get_errno(), "ppoll")
    return [one.fd for one in waited if one.revents]


class Line:
    """Each piece in order, after its delay: pieces do not wait for each other."""

    def __init__(self, target, own, milliseconds):
        self.target = target
        self.delay = round(float(milliseconds) * 1_000_000)
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(own)
        self.door.listen(128)
        #: Each end's other end.
        self.other = {}
        #: When what came to which end is handed on. All have the same delay, so the first is due first.
        self.waiting = collections.deque()
        #: Ends that have said all.
        self.ended = set()

    def run(self):
        print("ready", flush=True)
        while True:
            self.hand_on()
            fds = {one.fileno(): one for one in [self.door, *(self.other.keys() - self.ended)]}
            due = self.waiting[0][0] - time.monotonic_ns() if self.waiting else None
            for fd in readable(list(fds), due):
                self.take(fds[fd])

    def take(self, end):
        if end is self.door:
            near, far = self.door.accept()[0], socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            self.other |= {near: far, far: near}
            return
        try:
            data = end.recv(65536)
        except ConnectionError:
            data = b""  # The other side is told of the end as of any other.
        if not data:
            self.ended.add(end)
        self.waiting.append((time.monotonic_ns() + self.delay, end, data))

    def hand_on(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic_ns():
            _, end, data = self.waiting.popleft()
            other = self.other[end]
            try:
                other.sendall(data) if data else other.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # It has closed: its own end comes.
            if not data and {end, other} <= self.ended and not any(one in (end, other) for _, one, _ in self.waiting):
                self.close(end, other)

    def close(self, *ends):
        for one in ends:
            del self.other[one]
            self.ended.discard(one)
            one.close()


if __name__ == "__main__":
    Line(*sys.argv[1:]).run()
