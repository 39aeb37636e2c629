"""Thousands of phones and of waiting clients for packaging/bench, all in one process: no thread for each."""

import asyncio
import base64
import contextlib
import json
import random
import secrets
import ssl
import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from Support.Hosts.signed_requests import headers

#: Longer than any one reply here, and than the longest that the service holds one.
PATIENCE = 90


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


class Service:
    """The service's address and certificates."""

    def __init__(self, world):
        self.origin = world.address
        self.host, port = world.address.removeprefix("https://").rsplit(":", 1)
        self.port = int(port)
        self.application = world.application["application_id"]
        self.secret = world.application["application_secret"]
        self._tls = {}
        for protocol in ("http/1.1", "h2"):
            self._tls[protocol] = ssl.create_default_context(cafile=world.certificate)
            self._tls[protocol].set_alpn_protocols([protocol])

    async def connected(self, protocol):
        return await asyncio.open_connection(self.host, self.port, ssl=self._tls[protocol])

    def signed(self, path):
        return headers(self.application, self.secret, self.origin + path)


class Connection:
    """HTTP/1.1, one request after the other."""

    def __init__(self, service):
        self.service = service

    async def __aenter__(self):
        self.reader, self.writer = await self.service.connected("http/1.1")
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    async def ask_until_answered(self, method, path, fields=(), body=b""):
        """Like ask(), again after each 503, as iampassctl join does."""
        end = time.monotonic() + PATIENCE
        while True:
            status, reply = await self.exchange(method, path, fields, body)
            if status == 503 and time.monotonic() < end:
                await asyncio.sleep(2 + 2 * random.random())
            else:
                return self.accepted(method, path, status, reply)

    async def ask(self, method, path, fields=(), body=b""):
        return self.accepted(method, path, *await self.exchange(method, path, fields, body))

    @staticmethod
    def accepted(method, path, status, reply):
        if status >= 300:
            raise SystemExit(f"bench: {method} {path.split('?')[0][:40]} was answered {status}: {reply[:200]}")
        return json.loads(reply)

    async def exchange(self, method, path, fields, body):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.service.host}:{self.service.port}",
                 f"Content-Length: {len(body)}", *(f"{name}: {value}" for name, value in dict(fields).items())]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        head = (await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode().lower()
        length = int(head.split("content-length:", 1)[1].split("\r\n", 1)[0])
        reply = await self.reader.readexactly(length)
        return int(head.split(" ", 2)[1]), reply

    async def ask_signed(self, method, path, body=None):
        data = json.dumps(body).encode() if body else b""
        return await self.ask(method, path, self.service.signed(path), data)


class Phone:
    """One user's phone, with one session that it has approved."""

    def __init__(self, service, number, name="user"):
        self.service = service
        self.user = f"{name}-{number}"
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.session = None

    async def sign_in(self, connection):
        """Registers by a link, is asked and approves; the client fetches that."""
        await self.register(connection)
        await self.sign_in_again(connection)

    async def register(self, connection):
        application = self.service.application
        link = await connection.ask_signed(
            "GET", f"/management/device_registration_link/{application}/{self.user}?display_name={self.user}")
        public = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        registered = await connection.ask("POST", "/device/v1/register", body=json.dumps({
            "code": link["register_url"].rsplit("/", 1)[1], "public_key": base64.b64encode(public).decode()}).encode())
        self.device = registered["device"]

    async def start(self, connection):
        """The user is asked."""
        started = await connection.ask_signed(
            "POST", f"/authentication/authenticate_user/{self.service.application}/{self.user}?duration_seconds=43200",
            {"context": {"host": "desk", "service": "sshd", "user": self.user, "remote_host": "192.0.2.7"}})
        self.session = started["authentication_status"]

    async def sign_in_again(self, connection):
        """Is asked and approves; the client fetches that."""
        await self.start(connection)
        await self._approve(connection)
        status = await connection.ask("GET", self.path, self.signed_fields())
        if status["session_status"] != "active":
            raise SystemExit(f"bench: an approved session is {status['session_status']}")

    async def _approve(self, connection):
        listed = await connection.ask("POST", "/device/v1/requests", body=self.asking("requests"))
        request = listed["requests"][0]
        digest = hashes.Hash(hashes.SHA256())
        digest.update(canonical(request["context"]))
        await connection.ask("POST", "/device/v1/answer", body=self._signed({
            "origin": self.service.origin, "device": self.device, "session": request["session"], "answer": "approve",
            "context_hash": digest.finalize().hex(), "nonce": request["nonce"], "expires": request["expires"],
            "method": request["method"], "code": "", "purpose": "answer"}))

    def asking(self, purpose):
        """The body of what the phone asks in its own name."""
        return self._signed({
            "origin": self.service.origin, "device": self.device, "purpose": purpose, "timestamp": int(time.time()),
            "nonce": secrets.token_hex(16), "known": []})

    def _signed(self, statement):
        r, s = utils.decode_dss_signature(self.key.sign(canonical(statement), ec.ECDSA(hashes.SHA256())))
        signature = base64.b64encode(r.to_bytes(32, "big") + s.to_bytes(32, "big")).decode()
        return json.dumps({"statement": statement, "signature": signature}).encode()

    @property
    def path(self):
        """The session's status."""
        return self.session["status_url"].removeprefix(self.service.origin)

    def signed_fields(self):
        return headers(self.session["session_token"], self.session["session_secret"], self.session["status_url"])


class Streams:
    """One HTTP/2 connection with requests whose replies are held."""

    def __init__(self, service):
        self.service = service
        self.http = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self._replies = {}
        self._bodies = {}
        self.refused = []

    async def open(self):
        self.reader, self.writer = await self.service.connected("h2")
        self.http.initiate_connection()
        self._flush()
        self._task = asyncio.create_task(self._read())
        return self

    def request(self, method, path, fields, body=b""):
        """A future of when the reply was whole, and its text."""
        stream = self.http.get_next_available_stream_id()
        names = [(":method", method), (":scheme", "https"), (":path", path),
                 (":authority", f"{self.service.host}:{self.service.port}"),
                 *((name.lower(), value) for name, value in fields.items())]
        self.http.send_headers(stream, names, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self._flush()
        self._replies[stream] = asyncio.get_running_loop().create_future()
        self._bodies[stream] = b""
        return self._replies[stream]

    async def _read(self):
        # A request on a lost connection is missing from the count of held requests.
        with contextlib.suppress(OSError, h2.exceptions.ProtocolError):
            while data := await self.reader.read(65536):
                for event in self.http.receive_data(data):
                    self._take(event)
                self._flush()

    def _take(self, event):
        if isinstance(event, h2.events.ResponseReceived):
            status = dict(event.headers)[":status"]
            if status != "200":
                self.refused.append(status)
        elif isinstance(event, h2.events.DataReceived):
            self._bodies[event.stream_id] += event.data
            self.http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, (h2.events.StreamEnded, h2.events.StreamReset)):
            reply = self._replies.pop(event.stream_id)
            if not reply.done():
                reply.set_result((time.monotonic(), self._bodies.pop(event.stream_id)))

    def _flush(self):
        self.writer.write(self.http.data_to_send())

    async def close(self):
        self._task.cancel()
        self.writer.close()
