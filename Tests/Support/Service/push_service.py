"""A stand-in for a push service, and a browser's subscription to it: what it gets is opened by other people's code."""

import base64
import contextlib
import http.server
import json
import os
import socket
import socketserver
import ssl
import threading

from Support.Service import pypi
from Support.Service.server import until

# Pinned: a test's judge must not change by itself.
PACKAGES = ("http-ece", "py-vapid", "websocket-client")


def use_packages():
    pypi.use_packages("browser-venv", PACKAGES)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Subscription:
    """A browser's keys, and the address at which the push service knows it."""

    def __init__(self, service, name="browser"):
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        self.key = ec.generate_private_key(ec.SECP256R1())
        point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        self.secret = os.urandom(16)
        self.endpoint = f"{service.address}/wp/{name}?token=a-capability"
        self.keys = {"p256dh": base64url(point), "auth": base64url(self.secret)}

    def open(self, body):
        import http_ece

        return json.loads(http_ece.decrypt(body, private_key=self.key, auth_secret=self.secret, version="aes128gcm"))


class PushService:
    """Takes messages over TLS, and answers as it is told."""

    def __init__(self, authority):
        self.messages = []
        self.status = 201
        # Before `status` counts: the next replies' statuses, and the headers of each.
        self.replies = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            # Seconds that a client may be silent, in the handshake too.
            timeout = 10

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                service.messages.append((self.path, self.headers, body))
                status, headers = service.replies.pop(0) if service.replies else (service.status, {})
                self.send_response(status)
                for name, value in {"Content-Length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(authority.certificate, authority.key)
        # Each connection makes its handshake in its own thread: a slow one must not keep the others waiting.
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.address = f"https://localhost:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def message(self, number=1):
        """The message of this number, once it has come."""
        until(lambda: len(self.messages) >= number, f"message {number} at the push service")
        return self.messages[number - 1]


class ConnectProxy:
    """A proxy that opens tunnels (`CONNECT`), or answers with `status`. `heads`: what it was asked."""

    def __init__(self):
        self.heads, self.status = [], 200
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                self.request.settimeout(10)
                head = b""
                while b"\r\n\r\n" not in head and (more := self.request.recv(4_096)):
                    head += more
                proxy.heads.append(head.decode())
                if proxy.status != 200:
                    self.request.sendall(b"HTTP/1.1 %d Refused\r\nContent-Length: 2\r\n\r\nno" % proxy.status)
                    return
                host, _, port = proxy.heads[-1].split()[1].rpartition(":")
                with socket.create_connection((host, int(port)), timeout=10) as service:
                    self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    back = threading.Thread(target=self.pump, args=(service, self.request), daemon=True)
                    back.start()
                    self.pump(self.request, service)
                    back.join(10)

            def pump(self, source, target):
                with contextlib.suppress(OSError):
                    while data := source.recv(65_536):
                        target.sendall(data)
                    target.shutdown(socket.SHUT_WR)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
