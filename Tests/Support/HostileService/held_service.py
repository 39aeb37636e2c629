"""An HTTP/2 service that holds every reply: frames by hand (RFC 9113), since Python has no HTTP/2 of its own."""

import socket
import ssl
import struct
import threading

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM = ACK = 1
END_HEADERS = 4
MAX_CONCURRENT_STREAMS = 3
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#: ":status: 200" of HPACK's static table (RFC 7541, appendix A).
STATUS_200 = b"\x88"


class HeldService:
    """Takes as many requests at once on a connection as `streams`. Replies to what is held when one more than `held` is
    asked; before that it is silent."""

    def __init__(self, certificates, streams, held):
        self._streams, self._held = streams, held
        self._lock = threading.Lock()
        self._waiting = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates.chain("good"), certificates.key)
        self._context.set_alpn_protocols(["h2"])
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]

    def start(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def _accept(self):
        while True:
            threading.Thread(target=self._serve, args=(self._listener.accept()[0],), daemon=True).start()

    def _serve(self, connection):
        try:
            with self._context.wrap_socket(connection, server_side=True) as stream:
                self._converse(stream, stream.makefile("rb"))
        except (OSError, struct.error):
            pass

    def _converse(self, stream, reader):
        if reader.read(len(PREFACE)) != PREFACE:
            return
        self._send(stream, SETTINGS, 0, 0, struct.pack(">HI", MAX_CONCURRENT_STREAMS, self._streams))
        while True:
            high, low, kind, flags, number = struct.unpack(">BHBBI", reader.read(9))
            payload = reader.read(high << 16 | low)
            if kind == HEADERS:
                self._hold(stream, number)
            elif kind == RST_STREAM:
                self._forget(stream, number)
            elif kind in (SETTINGS, PING) and not flags & ACK:
                self._send(stream, kind, ACK, 0, payload if kind == PING else b"")

    def _hold(self, stream, number):
        with self._lock:
            self._waiting.append((stream, number))
            if len(self._waiting) <= self._held:
                return
            waiting, self._waiting = self._waiting, []
            for held, stream_number in waiting:
                self._send(held, HEADERS, END_HEADERS | END_STREAM, stream_number, STATUS_200)

    def _forget(self, stream, number):
        with self._lock:
            self._waiting = [one for one in self._waiting if one != (stream, number)]

    @staticmethod
    def _send(stream, kind, flags, number, payload):
        stream.sendall(struct.pack(">BHBBI", 0, len(payload), kind, flags, number) + payload)
