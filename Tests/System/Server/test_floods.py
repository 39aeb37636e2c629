"""Strangers with very many connections, slow ones, and endless requests.

Whatever they send, they get a refusal or a closed connection, memory stays bounded, everybody else is served meanwhile,
and afterwards no connection is left.
"""

import concurrent.futures
import contextlib
import resource
import socket
import struct
import threading
import urllib.parse

from strangers import *

# Each is a descriptor here and one of the service's, and many systems allow a process no more than 4,096. What ten
# thousand cost is this for each of them.
HELD = 1_000
# Kilobytes; of a held connection, with its TLS, its tasks and what its request left behind.
GREATEST_HELD = 192
# The number of each kind of useless connection.
STUCK = 10
# Bytes; more than any kernel's buffers take, and less than would hurt.
FLOOD = 192 << 20
# Kilobytes by which all floods, or all stuck connections, together may have the service grow.
GREATEST_GROWTH = 48 * 1024
# Connections of the service's own: readers of the database that it opens as it needs them.
SPARE_DESCRIPTORS = 20
# As many as may read metrics at once.
METRICS_READERS = 32
REFUSALS = (b"400", b"408", b"413", b"431", b"503")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, CONTINUATION = 1, 4, 9
END_STREAM, END_HEADERS = 1, 4
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE = 3, 4


def setUpModule():
    global world
    world = FloodedWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_with_metrics()
    own, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    unittest.addModuleCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (own, most))


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


def frame(kind, flags, payload, stream=0):
    return struct.pack(">BHBBI", len(payload) >> 16, len(payload) & 0xFFFF, kind, flags, stream) + payload


def http2_request(path, stream):
    """HPACK without its tables' help: ":path" and ":authority" as literals (RFC 7541, §6.2.2)."""
    path = path.encode()
    head = b"\x82\x87\x04" + bytes([len(path)]) + path + b"\x01\x01x"
    return frame(HEADERS, END_STREAM | END_HEADERS, head, stream)


def hold(session):
    """A connection on which a session's client waits for its news."""
    path = session["status_url"].removeprefix(world.address)
    signing = signed_requests.headers(session["session_token"], session["session_secret"], session["status_url"])
    lines = [f"{name}: {value}" for name, value in signing.items()]
    return world.saying(request(f"GET {path}", "Prefer: wait=60", *lines, host=world.address.removeprefix("https://")))


class Crowd(unittest.TestCase):
    def test_held_requests_cost_little_and_keep_nobody_out(self):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < HELD + 100:
            self.skipTest("too few descriptors are allowed here")
        session = world.started("crowd")
        world.status(session)
        memory, descriptors = world.kilobytes("VmRSS"), world.descriptors()
        with contextlib.ExitStack() as connections:
            crowd = [connections.enter_context(hold(session)) for _ in range(HELD)]
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


class Stuck(unittest.TestCase):
    """Connections that go nowhere."""

    PAGE = "/phone/phone-icon-512.png"

    def unfinished_handshake(self):
        hello = ssl.MemoryBIO()
        client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="x")
        with contextlib.suppress(ssl.SSLWantReadError):
            client.do_handshake()
        return hello.read()

    def reading_nothing(self):
        # Little fits into the kernel then. Otherwise there would be megabytes.
        raw = socket.socket()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(world.place)
        connection = ssl.create_default_context(cafile=world.certificate).wrap_socket(raw, server_hostname=world.place[0])
        connection.sendall(request("GET " + self.PAGE) * 1_000)
        return connection

    def raw(self, text=b""):
        connection = socket.create_connection(world.place, PATIENCE)
        connection.sendall(text)
        return connection

    def kinds(self):
        hello = self.unfinished_handshake()
        settings = PREFACE + frame(SETTINGS, 0, b"")
        no_window = PREFACE + frame(SETTINGS, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 0))
        return {
            "silent": self.raw,
            "half a hello": lambda: self.raw(hello[: len(hello) // 2]),
            "hello and no more": lambda: self.raw(hello),
            "silent within TLS": world.connection,
            "headers without an end": lambda: world.saying(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: "),
            "second request without an end": lambda: world.saying(request("GET /healthz") + b"GET /healthz HTTP/1.1\r\nX: "),
            "body without an end": lambda: world.saying(request("POST /device/register", "Content-Length: 99") + b"{"),
            "chunk without an end": lambda: world.saying(request("POST /x", "Transfer-Encoding: chunked") + b"63\r\n{"),
            "HTTP/2 and silent": lambda: world.saying(settings, "h2"),
            "HTTP/2 headers without an end": lambda: world.saying(settings + frame(HEADERS, 0, b"\x82", 1), "h2"),
            "reads nothing": self.reading_nothing,
            "HTTP/2 and reads nothing": lambda: world.saying(
                no_window + b"".join(http2_request(self.PAGE, number) for number in range(1, 200, 2)), "h2"),
        }  # fmt: skip

    def drip(self, connections):
        """Another byte of a header or a body each second, to whoever still takes it."""
        while not self.over.wait(1):
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.send(b"a")

    def test_all_are_closed_and_others_are_served_meanwhile(self):
        session = world.started("stuck")
        world.status(session)
        descriptors = world.settled_descriptors()
        world.forget_peak()
        memory = world.kilobytes("VmHWM")
        self.over = threading.Event()
        self.addCleanup(self.over.set)
        with contextlib.ExitStack() as all_connections:
            dripping = []
            kinds = self.kinds()
            for name, opened in kinds.items():
                connections = [all_connections.enter_context(opened()) for _ in range(STUCK)]
                if "without an end" in name and "HTTP/2" not in name:
                    dripping += connections[::2]
                # Those after it have shaken hands. On a slow machine the first are closed before the last are made. More
                # than are spared at the end, so that their closing can be seen.
                if name == "hello and no more":
                    until(lambda: world.descriptors() > descriptors + SPARE_DESCRIPTORS, "their connections taken")
            threading.Thread(target=self.drip, args=(dripping,), daemon=True).start()

            def all_are_closed():
                self.assertIn(world.status(session), ("pending", "timeout"))
                return world.descriptors() <= descriptors + SPARE_DESCRIPTORS

            until(all_are_closed, "the end of connections that go nowhere")
            self.over.set()
        self.assertLess(world.kilobytes("VmHWM") - memory, GREATEST_GROWTH)


class Floods(unittest.TestCase):
    def flood(self, begin, piece, protocol="http/1.1"):
        """Sends until the connection breaks, or a lot is sent, whatever comes back meanwhile; all that came back."""
        connection = world.saying(begin, protocol)
        piece *= (1 << 16) // len(piece)
        received = b""
        with connection, contextlib.suppress(OSError):
            for _ in range(FLOOD // len(piece)):
                connection.setblocking(False)
                with contextlib.suppress(ssl.SSLWantReadError):
                    received += connection.recv(65536)
                connection.settimeout(PATIENCE)
                connection.sendall(piece)
            received += replies(connection)
        return received

    def assert_refused(self, received):
        """In words, or by an end."""
        if received:
            version, status = received.split(b" ")[:2]
            self.assertEqual(version, b"HTTP/1.1")
            self.assertIn(status, REFUSALS)
            self.assertEqual(received.count(b"HTTP/1.1 "), 1)

    def test_what_has_no_end_is_refused(self):
        session = world.started("flooded")
        descriptors = world.descriptors()
        begin = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
        chunked = request("POST /device/register", "Transfer-Encoding: chunked")
        floods = {
            "target": (b"GET /", b"a"),
            "headers": (begin, b"X-A: b\r\n"),
            "header": (begin + b"X-A: ", b"a"),
            "name": (begin, b"a"),
            "announced body": (request("POST /device/register", f"Content-Length: {1 << 30}"), b"a"),
            "chunks": (chunked, b"1000\r\n" + b"a" * 0x1000 + b"\r\n"),
            "chunks of one byte": (chunked, b"1\r\na\r\n"),
            "chunk's extension": (chunked + b"1;", b"a"),
            "trailers": (chunked + b"0\r\n", b"X-A: b\r\n"),
            "after an upgrade": (request("GET /healthz", "Connection: upgrade", "Upgrade: websocket"), b"a"),
            "after a tunnel": (request("CONNECT x:1"), b"a"),
        }
        world.forget_peak()
        memory = world.kilobytes("VmHWM")
        with concurrent.futures.ThreadPoolExecutor(len(floods)) as crowd:
            received = {name: crowd.submit(self.flood, *flood) for name, flood in floods.items()}
            while concurrent.futures.wait(received.values(), 1).not_done:
                self.assertIn(world.status(session), ("pending", "timeout"))
        for name, reply in received.items():
            with self.subTest(name):
                self.assert_refused(reply.result())
        self.assertLess(world.kilobytes("VmHWM") - memory, GREATEST_GROWTH)
        until(lambda: world.descriptors() <= descriptors + SPARE_DESCRIPTORS, "the descriptors given back")

    def test_headers_of_http_2_without_an_end_are_refused(self):
        world.forget_peak()
        memory = world.kilobytes("VmHWM")
        begin = PREFACE + frame(SETTINGS, 0, b"") + frame(HEADERS, 0, b"\x82\x87\x84\x01\x01x", 1)
        self.flood(begin, frame(CONTINUATION, 0, b"\x00\x01a\x01b" * 100, 1), "h2")
        self.assertLess(world.kilobytes("VmHWM") - memory, GREATEST_GROWTH)
        world.add_users("after the flood")

    def test_one_request_with_very_large_headers_is_refused(self):
        for name, header in {"many": "X: a\r\n" * 1_000, "one": "X: " + "a" * (1 << 20) + "\r\n"}.items():
            with self.subTest(name), world.saying(b"") as connection, contextlib.suppress(OSError):
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + header.encode() + b"\r\n")
                self.assert_refused(replies(connection))


class Descriptors(unittest.TestCase):
    def allow(self, more):
        """Gives the service so many descriptors beside those that it has; returns these, and all that it may have."""
        world.add_users("before")
        pid, open_now = world.server.process.pid, world.settled_descriptors()
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now + more, usual[1]))
        self.addCleanup(resource.prlimit, pid, resource.RLIMIT_NOFILE, usual)
        return open_now, open_now + more

    def keep_busy(self, number):
        """So many connections with a request on each, again and again; whose is closed comes again."""
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
            crowd = [connections.enter_context(hold(session)) for _ in range(known)]
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
            self.assertLessEqual(world.descriptors(), open_now + METRICS_READERS + SPARE_DESCRIPTORS)
            until(lambda: world.descriptors() <= open_now + SPARE_DESCRIPTORS, "the end of silent readers")

    def test_known_clients_leave_descriptors_to_spare(self):
        session = world.started("many")
        world.status(session)
        open_now, most = self.allow(200)
        with contextlib.ExitStack() as connections:
            # The last ones are closed: those before them are known, too.
            for _ in range(most):
                with contextlib.suppress(OSError):
                    connections.enter_context(hold(session))
            until(lambda: world.held() > 50, "held requests")
            # What a service needs beside them.
            until(lambda: world.descriptors() <= open_now + most // 2 + SPARE_DESCRIPTORS, "descriptors to spare")
        until(lambda: world.descriptors() <= open_now + SPARE_DESCRIPTORS, "the descriptors given back")
        world.add_users("after")


if __name__ == "__main__":
    unittest.main()
