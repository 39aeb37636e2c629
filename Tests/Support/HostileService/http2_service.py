"""An HTTP/2 service that breaks its own protocol: frames by hand (RFC 9113), since Python has no HTTP/2 of its own."""

import contextlib
import socket
import ssl
import struct
import threading
import time

from Support.HostileService.held_service import (
    ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, STATUS_200)

PUSH_PROMISE, WINDOW_UPDATE, CONTINUATION = 5, 8, 9
REFUSED_STREAM, ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED, INTERNAL_ERROR = 7, 11, 13, 2
#: ":status: 202", a literal with the static table's name 8 (RFC 7541, §6.2.2).
STATUS_202 = b"\x08\x03202"
#: Seconds; a test that lasts longer has failed anyway.
LONGEST = 60
#: Frames of a flood in one write.
FLOOD = 1000


class Hangup(Exception):
    """The connection is to be closed now."""


class Exchange:
    """One request, as far as anybody needs it: its stream's number, and how frames are sent."""

    def __init__(self, stream, number):
        self._stream, self.number = stream, number

    def frame(self, kind, flags=0, payload=b"", number=None):
        self.raw(packed(kind, flags, self.number if number is None else number, payload))

    def raw(self, data):
        self._stream.sendall(data)

    def flood(self, data):
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            self.raw(data * FLOOD)


def packed(kind, flags, number, payload):
    return struct.pack(">BHBBI", len(payload) >> 16, len(payload) & 0xFFFF, kind, flags, number) + payload


def answer(status, body):
    def send(exchange):
        exchange.frame(HEADERS, END_HEADERS, status)
        exchange.frame(DATA, END_STREAM, body)

    return send


def frames(*all_frames, then=None):
    """Frames (kind, flags, payload, stream's number or None for the request's own), then perhaps the connection's end."""

    def send(exchange):
        for kind, flags, payload, number in all_frames:
            exchange.frame(kind, flags, payload, number)
        if then:
            raise then

    return send


def reset(code):
    return frames((RST_STREAM, 0, struct.pack(">I", code), None))


def slow_body(exchange):
    exchange.frame(HEADERS, END_HEADERS, STATUS_200)
    for _ in range(LONGEST):
        exchange.frame(DATA, 0, b" ")
        time.sleep(1)


def growing_headers(exchange):
    """One entry of 4 kB in the dynamic table, then four thousand references to it."""
    entry = b"\x40\x01x" + b"\x7f\xe1\x1e" + b"a" * 4000
    exchange.frame(HEADERS, END_HEADERS | END_STREAM, STATUS_200 + entry + b"\xbe" * 4000)


def cut_short(exchange):
    """A whole text on a stream that is taken back, with an error's code of "no error", before it ended."""
    exchange.frame(HEADERS, END_HEADERS, STATUS_200)
    exchange.frame(DATA, 0, b'{"session_status":"active","authenticated":true}')
    exchange.frame(RST_STREAM, 0, struct.pack(">I", 0))


FAULTS = {
    "cut_short": cut_short,
    "refused_stream": reset(REFUSED_STREAM),
    "reset_stream": reset(INTERNAL_ERROR),
    "asked_to_be_calm": reset(ENHANCE_YOUR_CALM),
    "sent_to_http_1_1": reset(HTTP_1_1_REQUIRED),
    "goaway_before_the_request": frames((GOAWAY, 0, struct.pack(">II", 0, 0), 0), then=Hangup),
    "goaway_and_silence": frames((GOAWAY, 0, struct.pack(">II", 1 << 20, ENHANCE_YOUR_CALM), 0)),
    "reset_in_the_body": frames(
        (HEADERS, END_HEADERS, STATUS_200, None), (DATA, 0, b'{"session', None),
        (RST_STREAM, 0, struct.pack(">I", INTERNAL_ERROR), None)),
    "end_in_the_body": frames((HEADERS, END_HEADERS, STATUS_200, None), (DATA, 0, b'{"session', None), then=Hangup),
    "slow_body": slow_body,
    "settings_flood": lambda exchange: exchange.flood(packed(SETTINGS, 0, 0, b"")),
    "ping_flood": lambda exchange: exchange.flood(packed(PING, 0, 0, bytes(8))),
    "empty_data_flood": lambda exchange: (
        exchange.frame(HEADERS, END_HEADERS, STATUS_200), exchange.flood(packed(DATA, 0, exchange.number, b""))),
    "continuation_flood": lambda exchange: (
        exchange.frame(HEADERS, 0, STATUS_200), exchange.flood(packed(CONTINUATION, 0, exchange.number, b"\x00\x01a\x01b"))),
    "interim_flood": lambda exchange: exchange.flood(packed(HEADERS, END_HEADERS, exchange.number, b"\x08\x03103")),
    "endless_body": lambda exchange: (
        exchange.frame(HEADERS, END_HEADERS, STATUS_200), exchange.flood(packed(DATA, 0, exchange.number, b" " * 16))),
    "growing_headers": growing_headers,
    "frame_larger_than_allowed": frames((HEADERS, END_HEADERS, STATUS_200, None), (DATA, 0, bytes(1 << 20), None)),
    "data_before_headers": frames((DATA, END_STREAM, b"{}", None)),
    "no_status": frames((HEADERS, END_HEADERS | END_STREAM, b"\x00\x01a\x01b", None)),
    "headers_that_are_no_headers": frames((HEADERS, END_HEADERS | END_STREAM, b"\xff\xff\xff\xff\xff\xff", None)),
    "push": frames((PUSH_PROMISE, END_HEADERS, struct.pack(">I", 2) + b"\x82\x87\x84", None)),
    "window_overflow": frames((WINDOW_UPDATE, 0, b"\x7f\xff\xff\xff", 0), (WINDOW_UPDATE, 0, b"\x7f\xff\xff\xff", 0)),
    "other_stream": frames((HEADERS, END_HEADERS | END_STREAM, STATUS_200, 101)),
    "http_1_1_after_all": lambda exchange: exchange.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
    "silence": lambda exchange: None,
}  # fmt: skip


class HTTP2Service:
    """Answers the first request by the first of `answers`, and so on over all connections; the last one stays."""

    def __init__(self, certificates, answers):
        self.requests = self.connections = 0
        self.broken, self._open = [], set()
        self._answers, self._lock = list(answers), threading.Lock()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.chain("good"), certificates.key)
        self._context.set_alpn_protocols(["h2"])
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.url = f"https://localhost:{self.port}"

    def start(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def stop(self):
        # Wakes the accepting thread, which a mere close would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def answer_by(self, answers):
        """From now on; connections that are there stay."""
        with self._lock:
            self._answers = list(answers)

    def hang_up(self):
        """On all connections that are there; a fault that would go on ends with its own."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    # SSLSocket's own would have a thread that is sending go on without TLS.
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            connection.settimeout(LONGEST)
            with connection, self._context.wrap_socket(connection, server_side=True) as stream, self._counted(stream):
                with stream.makefile("rb") as reader:
                    self._converse(stream, reader)
        except (OSError, struct.error, Hangup):
            pass
        except Exception as error:  # a fault of ours, not the fault that was asked for
            self.broken.append(repr(error))

    @contextlib.contextmanager
    def _counted(self, stream):
        with self._lock:
            self._open.add(stream)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(stream)

    def _converse(self, stream, reader):
        if reader.read(len(PREFACE)) != PREFACE:
            return
        stream.sendall(packed(SETTINGS, 0, 0, b""))
        while True:
            high, low, kind, flags, number = struct.unpack(">BHBBI", reader.read(9))
            payload = reader.read(high << 16 | low)
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                self._answer()(Exchange(stream, number))
            elif kind in (SETTINGS, PING) and not flags & ACK:
                stream.sendall(packed(kind, ACK, 0, payload if kind == PING else b""))

    def _answer(self):
        with self._lock:
            self.requests += 1
            return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
