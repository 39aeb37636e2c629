"""Very many held requests: what they cost, and whom they keep out."""

import contextlib
import resource
import struct
import unittest

from flooded_world import MAX_CONCURRENT_STREAMS, PREFACE, SETTINGS, SPARE_DESCRIPTORS, frame, open_world
from server import PATIENCE, until

# Each is a descriptor here and one of the service's, and many systems allow a process no more than 4,096. What ten
# thousand cost is this for each of them.
HELD = 1_000
# Kilobytes; of a held connection, with its TLS, its tasks and what its request left behind.
GREATEST_HELD = 192


def setUpModule():
    global world
    world = open_world()


class Crowd(unittest.TestCase):
    def test_held_requests_cost_little_and_keep_nobody_out(self):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < HELD + 100:
            self.skipTest("too few descriptors are allowed here")
        session = world.started("crowd")
        world.status(session)
        memory, descriptors = world.kilobytes("VmRSS"), world.descriptors()
        with contextlib.ExitStack() as connections:
            crowd = [connections.enter_context(world.hold(session)) for _ in range(HELD)]
            until(lambda: world.held() == HELD, f"{HELD} held requests")
            self.assertLess(world.kilobytes("VmHWM") - memory, HELD * GREATEST_HELD)
            self.assertEqual(world.status(session), "pending")
            world.add_users("while the crowd waits")
            # Half of them go away, the others are answered.
            for connection in crowd[::2]:
                connection.close()
            until(lambda: world.held() == HELD // 2, "the places of those who went away")
            phone = world.phone("approve", "--once")
            self.addCleanup(phone.stop)
            for connection in crowd[1::2]:
                head, _, _ = connection.recv(4096).partition(b"\r\n")
                self.assertEqual(head, b"HTTP/1.1 200 OK")
            world.becomes(session, "active")
        until(lambda: world.descriptors() <= descriptors + SPARE_DESCRIPTORS, "the descriptors given back")


class Streams(unittest.TestCase):
    def settings(self, connection):
        """Those that the service sends on a connection of HTTP/2, as they come."""
        stream = connection.makefile("rb")
        while True:
            high, low, kind, _, _ = struct.unpack(">BHBBI", stream.read(9))
            payload = stream.read(high << 16 | low)
            if kind == SETTINGS:
                yield from struct.iter_unpack(">HI", payload)

    def test_one_connection_carries_what_a_computer_with_hundreds_of_sessions_holds(self):
        with world.saying(PREFACE + frame(SETTINGS, 0, b""), "h2") as connection:
            connection.settimeout(PATIENCE)
            self.assertIn((MAX_CONCURRENT_STREAMS, 256), self.settings(connection))


if __name__ == "__main__":
    unittest.main()
