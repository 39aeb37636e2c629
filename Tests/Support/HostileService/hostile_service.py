#!/usr/bin/python3
"""A scripted HTTPS service with named faults, for tests of its clients.

As a module: `with HostileService() as service: service.behaviour["/start"] = reply(200, b"{}")`, then look at
`service.requests`. As a command: starts one service for each name of SERVICES, prints their ports and the CA's file
as one line of JSON, and serves until its standard input ends. Every service does the fault NAME at `/fault/NAME` and
lists what it was asked at `/recorded`.
"""

import json
import pathlib
import socket
import ssl
import struct
import sys
import tempfile
import threading
import time
import warnings

if __name__ == "__main__":
    # In place of this folder, whose modules nobody imports by their names alone.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])

from Support.HostileService.held_service import HeldService
from Support.HostileService.hostile_certificates import LEAVES, Certificates
from Support.HostileService.hostile_replies import FAULTS, FRAMING, Hangup, reply
from Support.HostileService.http2_service import HTTP2Service, cut_short

# Old protocol versions are what some of these services are for.
warnings.simplefilter("ignore", DeprecationWarning)

# name: how the service differs from a good one
SERVICES = {
    "good": {},
    "plain": {"tls": None},
    "tls1_0": {"tls": ssl.TLSVersion.TLSv1},
    "tls1_1": {"tls": ssl.TLSVersion.TLSv1_1},
    "weak_ciphers": {"tls": ssl.TLSVersion.TLSv1_2, "ciphers": "eNULL:aNULL:@SECLEVEL=0"},
    **{name: {"certificate": name} for name in (*LEAVES, "self_signed") if name != "good"},
    # glibc sorts this address after the addresses that are nearer to 127.0.0.1 (RFC 6724).
    "elsewhere": {"certificate": "wrong_host", "address": "127.0.0.128"},
    "reset_at_accept": {"at_accept": "reset"},
    "close_at_accept": {"at_accept": "close"},
    "silent_at_accept": {"at_accept": "silent"},
    "http_on_tls_port": {"at_accept": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"},
    "garbage_hello": {"at_accept": b"\x16\x03\x03\xff\xff\x02" + b"\xa5" * 4000},
    "reset_after_hello": {"at_accept": "reset_after_hello"},
}


class Request:
    """What a client sent; `on_connection` counts from 1 on each connection."""

    def __init__(self, method, path, headers, body, on_connection):
        self.method, self.path, self.headers, self.body = method, path, headers, body
        self.on_connection = on_connection
        self.came = time.monotonic()

    def described(self):
        return {"method": self.method, "path": self.path, "headers": self.headers,
                "body": self.body.decode("latin-1"), "on_connection": self.on_connection}


class HostileService:
    """`behaviour` maps a path (without query) to a function of (stream, request), a fault's name, or a list of these
    used up one after the other, of which the last stays; "*" stands for all other paths."""

    _certificates = None
    _lock = threading.Lock()

    def __init__(self, certificate="good", tls="default", ciphers=None, at_accept=None, address="127.0.0.1", port=0):
        self.behaviour = {}
        self.requests = []
        self.connections = 0
        self._at_accept = at_accept
        self._open = set()
        self._listener = socket.create_server((address, port), backlog=64)
        self.address, self.port = self._listener.getsockname()[:2]
        self._context = self._make_context(certificate, tls, ciphers) if tls else None
        self.url = f"{'https' if tls else 'http'}://localhost:{self.port}"

    @classmethod
    def certificates(cls):
        with cls._lock:
            if cls._certificates is None:
                # Kept for the life of the process: it goes with the folder object.
                cls._folder = tempfile.TemporaryDirectory(prefix="hostile-service-")
                cls._certificates = Certificates(cls._folder.name)
            return cls._certificates

    @property
    def ca_file(self):
        return self.certificates().ca_file

    def start(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def stop(self):
        # Wakes the accepting thread, which a mere close would not.
        self._end([self._listener, *list(self._open)])
        self._listener.close()

    @staticmethod
    def _end(sockets):
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def become(self, certificate="good", tls="default", ciphers=None, at_accept=None):
        """Another kind of service at the same place; the connections that there are end."""
        self._context = self._make_context(certificate, tls, ciphers) if tls else None
        self._at_accept = at_accept
        self._end(list(self._open))

    __enter__ = start

    def __exit__(self, *_):
        self.stop()

    def _make_context(self, certificate, tls, ciphers):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if tls != "default":
            context.minimum_version = context.maximum_version = tls
            context.set_ciphers(ciphers or "ALL:@SECLEVEL=0")
        if certificate.startswith("weak"):
            context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(self.certificates().chain(certificate), self.certificates().key_of(certificate))
        return context

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        self._open.add(connection)
        stream = connection
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._at_accept is not None:
                return self._refuse(connection)
            if self._context:
                stream = self._context.wrap_socket(connection, server_side=True)
                self._open.add(stream)
            self._converse(stream)
        except (OSError, Hangup, ValueError):
            pass
        finally:
            self._open.discard(connection)
            self._open.discard(stream)
            stream.close()

    def _refuse(self, connection):
        kind = self._at_accept
        if isinstance(kind, bytes):
            connection.recv(65536)
            connection.sendall(kind)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(65536)
        elif kind == "silent":
            while connection.recv(65536):
                pass
        elif kind.startswith("reset"):
            if kind == "reset_after_hello":
                connection.recv(65536)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _converse(self, stream):
        reader = stream.makefile("rb")
        for number in range(1, 1_000_000):
            request = read_request(reader, number)
            if request is None:
                return
            if request.path == "/recorded":
                reply(200, json.dumps([known.described() for known in self.requests]).encode())(stream, request)
                continue
            self.requests.append(request)
            self._behaviour(request)(stream, request)

    def _behaviour(self, request):
        path = request.path.split("?")[0]
        chosen = self.behaviour.get(path, self.behaviour.get("*"))
        if isinstance(chosen, list):
            chosen = chosen.pop(0) if len(chosen) > 1 else chosen[0]
        if chosen is None and path.startswith("/fault/"):
            chosen = path.removeprefix("/fault/")
        if isinstance(chosen, str):
            chosen = FAULTS.get(chosen) or FRAMING.get(chosen)
        return chosen or reply(404, b"{}")


def read_request(reader, number):
    """The next request of a connection; None at its end, or where it is not HTTP: a TLS hello may have two spaces."""
    first = reader.readline().decode("latin-1").split()
    if len(first) != 3 or not first[2].startswith("HTTP/"):
        return None
    headers = []
    while (line := reader.readline().strip()):
        name, _, value = line.decode("latin-1").partition(":")
        headers.append([name, value.strip()])
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Request(first[0], first[1], headers, reader.read(length), number)


def main():
    services = {name: HostileService(**options).start() for name, options in SERVICES.items()}
    # 300 held requests are more than RLIMIT_NOFILE of the worker; eight connections of one stream are soon full.
    for name, streams, held in (("holds_300", 100, 300), ("holds_8", 1, 1000)):
        services[name] = HeldService(HostileService.certificates(), streams, held).start()
    services["cut_stream"] = HTTP2Service(HostileService.certificates(), [cut_short]).start()
    ports = {name: service.port for name, service in services.items()}
    print(json.dumps({"ca_file": services["good"].ca_file, "ports": ports}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
