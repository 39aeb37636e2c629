"""What systemd is told of the service: that it is ready, that it is alive, and that it stops."""

import os
import signal
import socket
import unittest

from Support.Service import ports
from Support.Service.server import ServerWorld
from Support.Service.two_servers import TwoServers
from Support.Service.world import PATIENCE, make_certificate, program


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.key, world.certificate = make_certificate(world.folder)


class Listener:
    """systemd's end: a socket that datagrams come to."""

    def __init__(self, test, place):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        test.addCleanup(self.socket.close)
        self.socket.bind(place)
        self.socket.settimeout(PATIENCE)
        self.place = place.replace("\0", "@")

    def environment(self, **more):
        return {**os.environ, "NOTIFY_SOCKET": self.place, **more}

    def lines(self):
        """The next datagram's."""
        return self.socket.recv(4096).decode().split("\n")

    def wait_for(self, line):
        """The first datagram that has the line."""
        while line not in (lines := self.lines()):
            pass
        return lines

    def says_nothing(self):
        self.socket.setblocking(False)
        try:
            return self.socket.recv(4096).decode()
        except BlockingIOError:
            return ""
        finally:
            self.socket.settimeout(PATIENCE)


class Told(unittest.TestCase):
    def served(self, listener, *more, **variables):
        port = ports.take()
        server = world.start(
            program("iampass-server"), "serve", "--data", world.path("data"), "--listen", f"127.0.0.1:{port}",
            "--tls-cert", world.certificate, "--tls-key", world.key, *more, env=listener.environment(**variables))
        self.addCleanup(server.stop)
        return server, f"https://127.0.0.1:{port}"

    def test_it_is_ready_once_it_listens_and_says_when_it_stops(self):
        for place in (world.path("notify"), f"\0iampass-notify-{os.getpid()}"):
            with self.subTest(place=place):
                listener = Listener(self, place)
                server, address = self.served(listener, "--drain-delay", "60")
                self.assertEqual(listener.lines(), ["READY=1", f"STATUS=Serves on {address}"])
                self.assertEqual(world.get("/healthz", address=address)[0], 200)
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(listener.lines(), ["STOPPING=1", "STATUS=Stops in 60 seconds"])
                server.process.send_signal(signal.SIGTERM)
                self.assertEqual(server.process.wait(PATIENCE), 0)
                # Nobody has asked for signs of life.
                self.assertEqual(listener.says_nothing(), "")

    def test_a_service_that_cannot_listen_is_never_ready(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listener = Listener(self, world.path("notify-never"))
            server = world.start(
                program("iampass-server"), "serve", "--data", world.path("data"), "--listen",
                f"127.0.0.1:{taken.getsockname()[1]}", "--tls-cert", world.certificate, "--tls-key", world.key,
                env=listener.environment())  # fmt: skip
            self.assertEqual(server.process.wait(PATIENCE), 69)
            self.assertEqual(listener.says_nothing(), "")

    def test_it_shows_that_it_lives_until_its_process_is_stopped(self):
        listener = Listener(self, world.path("notify-life"))
        server, _ = self.served(listener, WATCHDOG_USEC="300000")
        for _ in range(3):
            listener.wait_for("WATCHDOG=1")
        server.process.send_signal(signal.SIGSTOP)
        # Only now: what it had said before is read.
        os.waitid(os.P_PID, server.process.pid, os.WSTOPPED | os.WNOWAIT)
        while listener.says_nothing():
            pass
        listener.socket.settimeout(2)
        self.assertRaises(TimeoutError, listener.lines)
        listener.socket.settimeout(PATIENCE)
        server.process.send_signal(signal.SIGCONT)
        listener.wait_for("WATCHDOG=1")

    def test_a_stop_does_not_wait_for_a_systemd_that_reads_nothing(self):
        listener = Listener(self, world.path("notify-full"))
        server, _ = self.served(listener)
        self.assertIn("READY=1", listener.lines())
        self.fill(listener.place)
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(PATIENCE), 0)
        # The stop went its whole way.
        self.assertTrue(os.path.exists(world.path("data/clean-stop")))

    def fill(self, place):
        """Sends until not even a fresh socket can: each one's own buffer is bounded, too."""
        sent = 1
        while sent:
            filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.addCleanup(filler.close)
            filler.setblocking(False)
            sent = 0
            try:
                while True:
                    filler.sendto(b"full", place)
                    sent += 1
            except BlockingIOError:
                pass

    def test_another_processes_watchdog_is_not_its_own(self):
        listener = Listener(self, world.path("notify-other"))
        server, address = self.served(listener, WATCHDOG_USEC="300000", WATCHDOG_PID="1")
        self.assertIn("READY=1", listener.lines())
        server.process.send_signal(signal.SIGTERM)
        self.assertIn("STOPPING=1", listener.lines())

    def test_it_lives_while_its_database_is_gone(self):
        database = TwoServers()
        self.addCleanup(database.close)
        database.serve_twice(servers=1)
        listener = Listener(self, world.path("notify-database"))
        server = world.start(
            program("iampass-server"), "serve", "--database", database.url, "--listen", f"127.0.0.1:{ports.take()}",
            "--tls-cert", world.certificate, "--tls-key", world.key,
            env=listener.environment(WATCHDOG_USEC="300000"))  # fmt: skip
        self.addCleanup(server.stop)
        listener.wait_for("WATCHDOG=1")
        database.postgresql.stop("immediate")
        server.wait_for("the storage does not work")
        while listener.says_nothing():
            pass
        for _ in range(5):
            listener.wait_for("WATCHDOG=1")


if __name__ == "__main__":
    unittest.main()
