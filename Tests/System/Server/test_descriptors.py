"""Strangers and known clients beyond the service's descriptors."""

import concurrent.futures
import contextlib
import resource
import socket
import ssl
import threading
import unittest
import urllib.parse

from flooded_world import SPARE_DESCRIPTORS, open_world
from strangers import request
from Support.Service.server import PATIENCE, until

# As many as may read metrics at once.
METRICS_READERS = 32
# Seconds after which the service closes such a connection on which nothing comes (MetricsServer.swift).
METRICS_IDLE = 10


def setUpModule():
    global world
    world = open_world()


class Descriptors(unittest.TestCase):
    def allow(self, more):
        """Gives the service `more` descriptors beside those that it has; returns these, and all that it may have."""
        world.add_users("before")
        pid, open_now = world.server.process.pid, world.settled_descriptors()
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now + more, usual[1]))
        self.addCleanup(resource.prlimit, pid, resource.RLIMIT_NOFILE, usual)
        return open_now, open_now + more

    def keep_busy(self, number):
        """Keeps `number` connections with a request on each, again and again. One that is closed is made again."""
        crowd = [None] * number
        while not self.over.wait(0.5):
            for place, connection in enumerate(crowd):
                try:
                    if connection is None:
                        connection = crowd[place] = world.connection(patience=5)
                    connection.setblocking(False)
                    with contextlib.suppress(ssl.SSLWantReadError):
                        if not connection.recv(65536):
                            raise OSError
                    connection.settimeout(5)
                    connection.sendall(request("GET /healthz"))
                except OSError:
                    if connection is not None:
                        connection.close()
                    crowd[place] = None
        for connection in filter(None, crowd):
            connection.close()

    def test_who_keeps_connections_busy_shuts_nobody_out(self):
        open_now, most = self.allow(200)
        self.over = threading.Event()
        # Fewer at once than may come between a client's connection and its proof.
        with concurrent.futures.ThreadPoolExecutor(12) as crowd:
            try:
                busy = [crowd.submit(self.keep_busy, 12) for _ in range(12)]
                until(lambda: world.descriptors() >= open_now + most // 4 - SPARE_DESCRIPTORS, "strangers")
                for number in range(20):
                    world.add_users(f"beside strangers {number}")
                self.assertLess(world.descriptors(), open_now + most // 4 + SPARE_DESCRIPTORS)
            finally:
                self.over.set()
            for one in busy:
                one.result(PATIENCE)

    def test_strangers_end_nobodys_wait(self):
        session = world.started("crowded")
        world.status(session)
        open_now, most = self.allow(400)
        # More than strangers may have.
        known = most // 4 + 30
        with contextlib.ExitStack() as connections:
            crowd = [connections.enter_context(world.hold(session)) for _ in range(known)]
            until(lambda: world.held() == known, f"{known} held requests")
            for _ in range(150):
                connections.enter_context(world.connection())
            until(lambda: world.descriptors() <= most // 2 + open_now, "strangers who made way")
            phone = world.phone("approve", "--once")
            self.addCleanup(phone.stop)
            for connection in crowd:
                self.assertEqual(connection.recv(4096).partition(b"\r\n")[0], b"HTTP/1.1 200 OK")

    def test_silent_readers_of_metrics_shut_nobody_out(self):
        open_now, _ = self.allow(200)
        place = urllib.parse.urlsplit(world.metrics)
        with contextlib.ExitStack() as connections:
            for number in range(300):
                connection = connections.enter_context(socket.create_connection((place.hostname, place.port), PATIENCE))
                connection.sendall(b"GET /metrics HTTP/1.1\r\nX: " if number % 2 else b"")
            world.add_users("beside readers")
            self.assertIn("iampass_users", world.get("/metrics", address=world.metrics)[2])
            # Sooner than they would be closed for saying nothing.
            until(
                lambda: world.descriptors() <= open_now + METRICS_READERS + SPARE_DESCRIPTORS, "the limit of readers",
                METRICS_IDLE - 1)
            until(lambda: world.descriptors() <= open_now + SPARE_DESCRIPTORS, "the end of silent readers")

    def test_known_clients_leave_descriptors_to_spare(self):
        session = world.started("many")
        world.status(session)
        open_now, most = self.allow(200)
        with contextlib.ExitStack() as connections:
            # The last ones are closed: those before them are known, too.
            for _ in range(most):
                with contextlib.suppress(OSError):
                    connections.enter_context(world.hold(session))
            until(lambda: world.held() > 50, "held requests")
            # What a service needs beside them.
            until(lambda: world.descriptors() <= open_now + most // 2 + SPARE_DESCRIPTORS, "descriptors to spare")
        until(lambda: world.descriptors() <= open_now + SPARE_DESCRIPTORS, "the descriptors given back")
        world.add_users("after")


if __name__ == "__main__":
    unittest.main()
