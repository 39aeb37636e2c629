"""Ports of 127.0.0.1 that stay a test's own, also while nothing listens there: a service is killed and comes back.

The kernel gives the ports of its own range (ip(7), ip_local_port_range) to whoever asks for any, and to each connection.
These are below that range, and each is one process's, by a lock that ends with the process.
"""

import fcntl
import os
import random
import socket

FOLDER = "/run/iampass-test-ports"
FIRST, LAST = 20000, 32000
#: The locks of this process.
_kept = []


def take():
    """A port that nobody has."""
    os.makedirs(FOLDER, exist_ok=True)
    for port in random.sample(range(FIRST, LAST), LAST - FIRST):
        lock = open(f"{FOLDER}/{port}", "w", encoding="ascii")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        _kept.append(lock)
        return port
    raise AssertionError(f"no port of {FIRST} to {LAST} is free")
