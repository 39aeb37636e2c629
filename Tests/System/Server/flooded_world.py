"""The service among strangers with very many connections: its memory, its descriptors, and the requests it holds."""

import os
import re
import resource
import struct
import unittest

from strangers import StrangersWorld, request
from Support.Hosts import signed_requests
from Support.Service.server import until
from Support.Service.world import read

# Kilobytes by which all floods, or all stuck connections, together may have the service grow: three times what a service
# needs that has not served anybody before, and much less than one of them sends.
GREATEST_GROWTH = 72 * 1024
# Connections of the service's own: readers of the database that it opens as it needs them.
SPARE_DESCRIPTORS = 20

# HTTP/2 (RFC 9113).
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, CONTINUATION = 1, 4, 9
END_STREAM, END_HEADERS = 1, 4
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 3, 4


def open_world():
    """A service with its metrics, and all descriptors that the tests may have, until those of the calling file end."""
    world = FloodedWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_with_metrics()
    own, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    unittest.addModuleCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (own, most))
    return world


class FloodedWorld(StrangersWorld):
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def settled_descriptors(self):
        """Once no connection of a test before is left that the service has yet to close: as many for a second."""
        seen = []

        def settled():
            seen.append(self.descriptors())
            return len(seen) >= 20 and len(set(seen[-20:])) == 1

        until(settled, "a number of descriptors that stays")
        return seen[-1]

    def kilobytes(self, name):
        """The service's memory: VmRSS now, VmHWM at most so far."""
        return int(re.search(rf"(?m)^{name}:\s+(\d+) kB$", read(f"/proc/{self.server.process.pid}/status"))[1])

    def forget_peak(self):
        """Resets VmHWM."""
        with open(f"/proc/{self.server.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def held(self):
        return int(re.search(r"(?m)^iampass_requests_held (\d+)$", self.get("/metrics", address=self.metrics)[2])[1])

    def hold(self, session):
        """A connection on which a session's client waits for its news."""
        path = session["status_url"].removeprefix(self.address)
        signing = signed_requests.headers(session["session_token"], session["session_secret"], session["status_url"])
        lines = [f"{name}: {value}" for name, value in signing.items()]
        host = self.address.removeprefix("https://")
        return self.saying(request(f"GET {path}", "Prefer: wait=60", *lines, host=host))


def frame(kind, flags, payload, stream=0):
    return struct.pack(">BHBBI", len(payload) >> 16, len(payload) & 0xFFFF, kind, flags, stream) + payload
