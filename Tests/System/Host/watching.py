"""Sees whether anybody touches a folder of the host, or connects to a port of its network."""

import ctypes
import os
import struct
import subprocess

libc = ctypes.CDLL(None, use_errno=True)

# All that can be done to a folder and to what is in it (inotify(7)): access, modify, attributes, close, open, moves,
# creating, deleting.
ANYTHING = 0xFFF
HEAD = "iIII"

LISTENER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    connection.settimeout(5)
    try:
        print(repr(connection.recv(64)), flush=True)
    except OSError as error:
        print(error, flush=True)
    connection.close()
"""


class FolderWatch:
    """Whatever happens in a folder from now on, whoever does it."""

    def __init__(self, path):
        self.descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0 or libc.inotify_add_watch(self.descriptor, os.fsencode(path), ANYTHING) < 0:
            raise OSError(ctypes.get_errno(), f"inotify of {path}")

    def seen(self):
        """The names that something happened to since the last call; the folder itself is `.`."""
        names = set()
        while True:
            try:
                events = os.read(self.descriptor, 65536)
            except BlockingIOError:
                return names
            while events:
                length = struct.unpack_from(HEAD, events)[3]
                head = struct.calcsize(HEAD)
                names.add(events[head:head + length].rstrip(b"\0").decode() or ".")
                events = events[head + length:]

    def close(self):
        os.close(self.descriptor)


class PortWatch:
    """A port on the host's loopback, and who came."""

    #: What the test itself sends, after everybody else.
    OURS = "it is us"

    def __init__(self, leader):
        self.process = subprocess.Popen(
            ["nsenter", f"--target={leader}", "--net", "/usr/bin/python3", "-c", LISTENER], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def strangers(self):
        """What those sent who came before the test itself."""
        sent = []
        for line in self.process.stdout:
            if self.OURS in line:
                return sent
            sent.append(line)
        raise AssertionError(f"the listener has ended: {sent}")

    def close(self):
        self.process.terminate()
        self.process.communicate(timeout=30)
