"""Very many held requests, connections that go nowhere, and endless requests.

Whatever they send, they get a refusal or a closed connection, memory stays bounded, everybody else is served meanwhile,
and afterwards no connection is left.
"""

import concurrent.futures
import contextlib
import resource
import socket
import ssl
import struct
import threading
import time
import unittest

from flooded_world import (
    CONTINUATION, END_HEADERS, END_STREAM, GREATEST_GROWTH, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS,
    PREFACE, SETTINGS, SPARE_DESCRIPTORS, frame, open_world,
)  # fmt: skip
from strangers import replies, request
from Support.Service.server import PATIENCE, until

# Each is a descriptor here and one of the service's, and many systems allow a process no more than 4,096. What ten
# thousand cost is this for each of them.
HELD = 1_000
# On a busy machine as many as are made in half a minute, in seconds: each is held for a minute. But no fewer than this.
CROWDING, FEWEST_HELD = 30, 200
# Kilobytes; of a held connection, with its TLS, its tasks and what its request left behind: three times what one takes.
GREATEST_HELD = 192
# Kilobytes that a service takes once, for its first connections.
ONCE = 24 * 1024
# The number of each kind of useless connection.
STUCK = 10
# Bytes; more than any kernel's buffers take, and less than would hurt.
FLOOD = 192 << 20
REFUSALS = (b"400", b"408", b"413", b"431", b"503")


def setUpModule():
    global world
    world = open_world()


def http2_request(path, stream):
    """HPACK without its tables' help: ":path" and ":authority" as literals (RFC 7541, §6.2.2)."""
    path = path.encode()
    head = b"\x82\x87\x04" + bytes([len(path)]) + path + b"\x01\x01x"
    return frame(HEADERS, END_STREAM | END_HEADERS, head, stream)


class Crowd(unittest.TestCase):
    def test_held_requests_cost_little_and_keep_nobody_out(self):
        if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < HELD + 100:
            self.skipTest("too few descriptors are allowed here")
        world.set_answer_time(300)
        session = world.started("crowd")
        world.status(session)
        memory, descriptors = world.kilobytes("VmRSS"), world.descriptors()
        with contextlib.ExitStack() as connections:
            crowd, end = [], time.monotonic() + CROWDING
            while len(crowd) < HELD and time.monotonic() < end:
                crowd.append(connections.enter_context(world.hold(session)))
            self.assertGreaterEqual(len(crowd), FEWEST_HELD)
            until(lambda: world.held() == len(crowd), f"{len(crowd)} held requests")
            self.assertLess(world.kilobytes("VmHWM") - memory, ONCE + len(crowd) * GREATEST_HELD)
            self.assertEqual(world.status(session), "pending")
            world.add_users("while the crowd waits")
            # Half of them go away, the others are answered.
            for connection in crowd[::2]:
                connection.close()
            until(lambda: world.held() == len(crowd) // 2, "the places of those who went away")
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


if __name__ == "__main__":
    unittest.main()
