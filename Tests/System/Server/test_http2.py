"""One request on a stream of HTTP/2: what it may send, what comes back, and what is left when its client goes."""

import contextlib
import json
import re
import socket
import struct
import subprocess
import tempfile
import unittest

from flooded_world import END_HEADERS, END_STREAM, HEADERS, PREFACE, SETTINGS, FloodedWorld, frame
from Support.Hosts import signed_requests
from Support.Service.server import until
from Support.Service.world import PATIENCE

#: Bytes of a body that are taken.
GREATEST_BODY = 65_536
#: RFC 9113, §6 and §7.
DATA, RST_STREAM, GOAWAY, CANCEL, INITIAL_WINDOW_SIZE = 0, 3, 7, 8, 4
#: Seconds in which a client must take something of its reply.
GREATEST_TAKING = 30


def setUpModule():
    global world
    world = FloodedWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_with_metrics()


def literal(name, value):
    """A header as it is (RFC 7541, §6.2.2): lengths below 127 have one byte."""
    value = value.encode()
    length = bytes([len(value)]) if len(value) < 127 else b"\x7f" + bytes([len(value) - 127])
    return b"\x00" + bytes([len(name)]) + name.encode() + length + value


class Exchange(unittest.TestCase):
    def asked(self, *options, text_in=b""):
        """Version, status, headers by their names in small letters, and body, as curl has them."""
        done = subprocess.run(
            ["curl", "--http2", "--silent", "--show-error", "--include", "--max-time", str(PATIENCE), "--cacert",
             world.certificate, *options], input=text_in, capture_output=True, timeout=PATIENCE + 5, check=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        version, status = first.split()[:2]
        return version, int(status), dict(line.split(": ", 1) for line in lines), body

    def posted(self, size, *options):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"x" * size)
            file.flush()
            return self.asked("--data-binary", f"@{file.name}", *options, world.address + "/device/v1/status")

    def test_a_reply_says_its_length_and_date_and_keeps_the_connection_open(self):
        version, status, headers, body = self.asked(world.address + "/healthz", "--next", "--http2", "--cacert",
                                                    world.certificate, "--silent", world.address + "/healthz")
        self.assertEqual((version, status), ("HTTP/2", 200))
        first = int(headers["content-length"])
        self.assertGreaterEqual(len(body), 2 * first)
        self.assertRegex(headers["date"], r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")
        self.assertNotIn("connection", headers)

    def test_a_body_of_the_greatest_length_is_read_and_a_longer_one_is_not(self):
        for size, status, reason in ((GREATEST_BODY, 400, None), (GREATEST_BODY + 1, 413, "BODY_TOO_LARGE")):
            # Chunks have no length on HTTP/2.
            for options in ((), ("--header", "Content-Length:")):
                with self.subTest(size=size, options=options):
                    _, code, _, body = self.posted(size, *options)
                    self.assertEqual(code, status)
                    if reason:
                        self.assertEqual(json.loads(body)["reason"], reason)

    def test_a_body_without_an_end_is_answered_after_a_while(self):
        fields = {":method": "POST", ":scheme": "https", ":authority": "x", ":path": "/device/v1/status"}
        with self.saying(fields, 0) as connection:
            connection.sendall(frame(DATA, 0, b"{", 1))
            received = b""
            while b"REQUEST_TOO_SLOW" not in received:
                received += (piece := connection.recv(65536))
                self.assertTrue(piece, "the connection ended without a reply")

    def test_a_client_that_takes_nothing_of_its_reply_loses_the_stream(self):
        fields = {":method": "GET", ":scheme": "https", ":authority": "x", ":path": "/healthz"}
        block = b"".join(literal(name, value) for name, value in fields.items())
        settings = struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)
        with world.saying(
            PREFACE + frame(SETTINGS, 0, settings) + frame(HEADERS, END_STREAM | END_HEADERS, block, 1), "h2") as connection:
            connection.settimeout(GREATEST_TAKING + PATIENCE)
            received = b""
            while frame(RST_STREAM, 0, b"", 1)[3:] not in received:
                received += (piece := connection.recv(65536))
                self.assertTrue(piece, "the connection ended")
            self.assertNotIn(b'"status"', received)

    def test_a_held_request_ends_with_its_stream_and_with_its_connection(self):
        session = world.started("desk")
        for way in ("stream", "connection"):
            with self.subTest(way):
                connection = self.holding(session)
                until(lambda: world.held() == 1, "a held request")
                if way == "stream":
                    connection.sendall(frame(RST_STREAM, 0, struct.pack(">I", CANCEL), 1))
                else:
                    connection.shutdown(socket.SHUT_WR)
                until(lambda: world.held() == 0, "nothing held")
                connection.close()
        self.assertEqual(world.status(session), "pending")

    def test_a_browser_that_resets_the_stream_of_each_reply_keeps_its_connection(self):
        with self.resetting() as (connection, pairs):
            stream = connection.makefile("rb")
            for number, pair in enumerate(pairs[:300]):
                connection.sendall(pair[0])
                self.assertTrue(self.is_answered(stream, 2 * number + 1), f"no reply to request {number}")
                connection.sendall(pair[1])

    def test_a_flood_of_resets_ends_the_connection(self):
        with self.resetting() as (connection, pairs):
            # It may be over before all is sent.
            with contextlib.suppress(OSError):
                for start in range(0, len(pairs), 50):
                    connection.sendall(b"".join(map(b"".join, pairs[start : start + 50])))
            with contextlib.suppress(OSError):
                self.assertFalse(self.is_answered(connection.makefile("rb"), None))

    @contextlib.contextmanager
    def resetting(self):
        """A connection, and 3,000 requests for it, each with the frame that resets its stream."""
        fields = {":method": "GET", ":scheme": "https", ":authority": "x", ":path": "/healthz"}
        block = b"".join(literal(name, value) for name, value in fields.items())
        with world.saying(PREFACE + frame(SETTINGS, 0, b""), "h2") as connection:
            connection.settimeout(PATIENCE)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield connection, [
                (frame(HEADERS, END_STREAM | END_HEADERS, block, number),
                 frame(RST_STREAM, 0, struct.pack(">I", CANCEL), number)) for number in range(1, 6_000, 2)]  # fmt: skip

    @staticmethod
    def is_answered(stream, number):
        """Whether the stream's last frame comes before the connection ends, or is told to."""
        while len(head := stream.read(9)) == 9:
            high, low, kind, flags, where = struct.unpack(">BHBBI", head)
            stream.read(high << 16 | low)
            if kind == GOAWAY:
                return False
            if where == number and kind in (HEADERS, DATA) and flags & END_STREAM:
                return True
        return False

    def test_a_reply_to_head_has_no_body_and_leaves_the_connection_whole(self):
        done = subprocess.run(
            ["curl", "--http2", "--silent", "--show-error", "--head", "--max-time", str(PATIENCE), "--cacert", world.certificate,
             "--write-out", "%{num_connects} %{http_version}\n", world.address + "/healthz", world.address + "/nothing"],
            capture_output=True, text=True, timeout=PATIENCE + 5, check=True)
        self.assertEqual(re.findall(r"(?m)^HTTP/2 (\d+)|^(\d) 2$", done.stdout), [("405", ""), ("", "1"), ("404", ""), ("", "0")])

    def holding(self, session):
        """A connection with a request for the session's next status on stream 1."""
        path = session["status_url"].removeprefix(world.address)
        signed = signed_requests.headers(session["session_token"], session["session_secret"], session["status_url"])
        fields = {":method": "GET", ":scheme": "https", ":authority": world.address.removeprefix("https://"), ":path": path,
                  "prefer": "wait=60", **{name.lower(): value for name, value in signed.items()}}
        return self.saying(fields, END_STREAM)

    def saying(self, fields, flags):
        """A connection with these headers on stream 1."""
        block = b"".join(literal(name, value) for name, value in fields.items())
        return world.saying(
            PREFACE + frame(SETTINGS, 0, b"") + frame(HEADERS, flags | END_HEADERS, block, 1), "h2")


if __name__ == "__main__":
    unittest.main()
