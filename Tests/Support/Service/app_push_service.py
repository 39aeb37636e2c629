"""A stand-in for Apple's and Google's notification services over HTTP/2. It holds what it gets against their published
formats, by other people's code: h2 and PyJWT."""

import hashlib
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse

from Support.Service import app_keys, pypi
from Support.Service.server import until

# Pinned: a test's judge must not change by itself.
PACKAGES = ("h2", "PyJWT")
#: Seconds; a client that is silent for longer is gone.
LONGEST = 60
#: Bytes, of both services.
GREATEST_BODY = 4096
SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
TOKEN_ADDRESS = "https://oauth2.googleapis.com/token"


def use_packages():
    pypi.use_packages("notification-venv", PACKAGES)


class Refused(Exception):
    """The reply that the real service would give: status, and the JSON body."""


def apple_refusal(status, reason, **more):
    return status, {"reason": reason, **more}, {}


def google_refusal(status, name, code=None):
    kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    details = [{"@type": kind, "errorCode": code}] if code else []
    return status, {"error": {"code": status, "message": "told", "status": name, "details": details}}, {}


class Message:
    def __init__(self, headers, body, connection, peer):
        self.headers, self.body, self.connection, self.peer = dict(headers), body, connection, peer
        self.is_doubled = len(self.headers) != len(headers)
        self.json = None
        #: The claims of the token that named the sender.
        self.claims = None


class AppPushService:
    def __init__(self, keys, certificate, key):
        """`keys`: app_keys.AppKeys, whose owner may send."""
        self.keys = keys
        self.messages, self.grants, self.connections = [], [], 0
        # Before its own judgement counts: replies as `apple_refusal` gives them; None is silence until `release`.
        self.replies, self.grant_replies = [], []
        self.released = threading.Event()
        self.open = set()
        self.use(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = f"https://localhost:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def use(self, certificate, key, protocols=("h2",)):
        """From the next connection on."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(list(protocols))
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(self.keys.file("apple.pem"))
        self.context = context

    def forget(self):
        self.messages, self.replies, self.grant_replies = [], [], []

    def message(self, number=1):
        until(lambda: len(self.messages) >= number, f"message {number} at the notification service")
        return self.messages[number - 1]

    def hang_up(self):
        for stream in list(self.open):
            try:
                socket.socket.shutdown(stream, socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.released.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.hang_up()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            connection.settimeout(LONGEST)
            with connection, self.context.wrap_socket(connection, server_side=True) as stream:
                self.connections += 1
                self.open.add(stream)
                try:
                    self.converse(stream, self.connections)
                finally:
                    self.open.discard(stream)
        except OSError:
            pass

    def converse(self, stream, number):
        from h2.config import H2Configuration
        from h2.connection import H2Connection
        from h2.events import DataReceived, RequestReceived, StreamEnded

        peer = stream.getpeercert(binary_form=True)
        wire = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        wire.initiate_connection()
        stream.sendall(wire.data_to_send())
        headers, bodies = {}, {}
        while data := stream.recv(65_536):
            for event in wire.receive_data(data):
                if isinstance(event, RequestReceived):
                    headers[event.stream_id], bodies[event.stream_id] = event.headers, b""
                elif isinstance(event, DataReceived):
                    bodies[event.stream_id] += event.data
                    wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, StreamEnded):
                    message = Message(headers[event.stream_id], bodies[event.stream_id], number, peer)
                    status, body, more = self.answer(message)
                    text = json.dumps(body).encode() if body is not None else b""
                    fields = [(":status", str(status)), *((name.lower(), value) for name, value in more.items())]
                    wire.send_headers(event.stream_id, fields, end_stream=not text)
                    if text:
                        wire.send_data(event.stream_id, text, end_stream=True)
            stream.sendall(wire.data_to_send())

    def answer(self, message):
        path = message.headers[":path"]
        try:
            self.hold(message.headers[":method"] == "POST" and message.headers[":scheme"] == "https", 405, "method")
            self.hold(not message.is_doubled, 400, "DuplicateHeaders")
            self.hold(len(message.body) <= GREATEST_BODY, 413, "PayloadTooLarge")
            if path == "/token":
                return self.grant(message)
            self.messages.append(message)
            judged = self.judge_apple(message) if path.startswith("/3/") else self.judge_google(message)
        except Refused as refused:
            return refused.args
        if self.replies:
            reply = self.replies.pop(0)
            if reply is not None:
                return reply
            self.released.wait(LONGEST)
        return judged

    @staticmethod
    def hold(claim, status, reason, refusal=apple_refusal):
        if not claim:
            raise Refused(*refusal(status, reason))

    # --- APNs: "Sending notification requests to APNs" ---

    def judge_apple(self, message):
        headers = message.headers
        self.hold(re.fullmatch(r"/3/device/[0-9a-fA-F]{2,}", headers[":path"]), 404, "BadPath")
        self.hold(headers.get("apns-topic") == app_keys.TOPIC, 400, "MissingTopic")
        self.hold(headers.get("apns-push-type") == "alert", 400, "InvalidPushType")
        self.hold(headers.get("apns-priority") in ("1", "5", "10"), 400, "BadPriority")
        self.hold(re.fullmatch(r"\d+", headers.get("apns-expiration", "")), 400, "BadExpirationDate")
        self.hold(len(headers.get("apns-collapse-id", "").encode()) <= 64, 400, "BadCollapseId")
        try:
            message.json = json.loads(message.body)
        except ValueError:
            raise Refused(*apple_refusal(400, "PayloadEmpty")) from None
        self.hold(isinstance(message.json.get("aps"), dict), 400, "PayloadEmpty")
        if message.peer is None:
            self.judge_provider_token(message)
        else:
            # "authorization: Required for token-based authentication", and ignored with a certificate.
            self.hold("authorization" not in headers, 403, "InvalidProviderToken")
        return 200, None, {"apns-id": "EC1BF194-B3B2-424A-89A9-5A918A6E6B5B"}

    def judge_provider_token(self, message):
        import jwt

        found = re.fullmatch(r"bearer (\S+)", message.headers.get("authorization", ""))
        self.hold(found, 403, "MissingProviderToken")
        try:
            self.hold(jwt.get_unverified_header(found[1])["kid"] == app_keys.KEY_ID, 403, "InvalidProviderToken")
            message.claims = jwt.decode(
                found[1], self.keys.public("AuthKey.p8"), algorithms=["ES256"], options={"verify_iat": False})
        except (jwt.InvalidTokenError, KeyError):
            raise Refused(*apple_refusal(403, "InvalidProviderToken")) from None
        age = time.time() - message.claims.get("iat", 0)
        self.hold(message.claims.get("iss") == app_keys.TEAM_ID and age > -60, 403, "InvalidProviderToken")
        self.hold(age < 3600, 403, "ExpiredProviderToken")

    # --- FCM: projects.messages.send ---

    def judge_google(self, message):
        def hold(claim, status=400, name="INVALID_ARGUMENT"):
            self.hold(claim, status, name, google_refusal)

        headers = message.headers
        hold(headers[":path"] == f"/v1/projects/{app_keys.PROJECT}/messages:send", 404, "NOT_FOUND")
        granted = headers.get("authorization", "").removeprefix("Bearer ")
        hold(any(granted == token and time.time() < end for token, end in self.grants), 401, "UNAUTHENTICATED")
        hold(headers.get("content-type", "").partition(";")[0] == "application/json")
        message.json = json.loads(message.body)
        hold(set(message.json) <= {"message", "validate_only"})
        told = message.json["message"]
        hold(set(told) <= {"token", "data", "notification", "android", "apns", "webpush", "fcm_options"} and told.get("token"))
        hold(all(isinstance(value, str) for value in told.get("data", {}).values()))
        hold(not any(name in ("from", "message_type") or name.startswith(("google", "gcm")) for name in told.get("data", {})))
        android = told.get("android", {})
        hold(android.get("priority") in (None, "HIGH", "NORMAL") and re.fullmatch(r"\d+(\.\d+)?s", android.get("ttl", "0s")))
        return 200, {"name": f"projects/{app_keys.PROJECT}/messages/0:1"}, {}

    # --- "Using OAuth 2.0 for Server to Server Applications" ---

    def grant(self, message):
        import jwt

        if self.grant_replies:
            return self.grant_replies.pop(0)
        form = urllib.parse.parse_qs(message.body.decode())
        try:
            assert message.headers.get("content-type") == "application/x-www-form-urlencoded"
            assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
            [assertion] = form["assertion"]
            claims = jwt.decode(
                assertion, self.keys.public("rsa.pem"), algorithms=["RS256"], audience=TOKEN_ADDRESS,
                options={"require": ["iss", "scope", "aud", "exp", "iat"]})
            assert claims["iss"] == app_keys.ACCOUNT and claims["scope"] == SCOPE
            assert claims["exp"] - claims["iat"] <= 3600
            assert jwt.get_unverified_header(assertion)["kid"] == app_keys.ACCOUNT_KEY
        except (AssertionError, KeyError, ValueError, jwt.InvalidTokenError) as error:
            return 400, {"error": "invalid_grant", "error_description": repr(error)}, {}
        token = "ya29." + hashlib.sha256(f"{assertion} {len(self.grants)}".encode()).hexdigest()
        self.grants.append((token, time.time() + 3599))
        return 200, {"access_token": token, "expires_in": 3599, "token_type": "Bearer"}, {}
