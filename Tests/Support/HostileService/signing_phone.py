"""A phone and its screen lock, in software by python3-cryptography: it signs what a test tells it to sign."""

import base64
import hashlib
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from Support.HostileService.hostile_replies import reply
from Support.Service import approvals

TOUCHED, VERIFIED = 1, 4


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    def __init__(self):
        self._key = ec.generate_private_key(ec.SECP256R1())
        spki = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.text = base64.b64encode(spki).decode()

    def exported(self):
        """As a phone's state file has it: the base64 of RFC 5915."""
        return base64.b64encode(self._key.private_bytes(
            serialization.Encoding.DER, serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption())).decode()  # fmt: skip

    def der(self, message):
        return self._key.sign(message, ec.ECDSA(hashes.SHA256()))

    def raw(self, message):
        r, s = utils.decode_dss_signature(self.der(message))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class SigningPhone:
    def __init__(self, name="phone-1"):
        self.name = name
        self.key, self.lock = Key(), Key()

    def line(self, user, lock=True, since=1_700_000_000):
        """Its line in /etc/iampass/phones."""
        credential = ("AQID", self.lock.text) if lock else ("", "")
        return ":".join([user, self.name, self.key.text, *credential, str(since), "Scripted phone"]) + "\n"

    def statement(self, of, named, start, **changed):
        """What an honest phone signs for a start of this body, at this origin and for the session of this name, with
        these changes; None takes a member out."""
        made = {
            "purpose": "answer", "origin": of, "device": self.name, "session": named, "answer": "approve",
            "context_hash": approvals.digest(start["context"]), "nonce": "n", "expires": 1, "method": "device",
            "code": start.get("match_code", ""), "challenge": start.get("challenge"), **changed,
        }  # fmt: skip
        return {name: value for name, value in made.items() if value is not None}

    def approval(self, statement, **assertion):
        """The statement, signed, with the word of the screen lock."""
        signature = base64.b64encode(self.key.raw(approvals.canonical(statement))).decode()
        made = {"phone": self.name, "statement": statement, "signature": signature}
        if statement.get("method") == "device":
            made["assertion"] = self.assertion(statement, **assertion)
        return made

    def assertion(
        self, statement, origin=None, type="webauthn.get", challenge=None, cross=False, party=None,
        flags=TOUCHED | VERIFIED, key=None, junk=b"",
    ):  # fmt: skip
        origin = origin or statement["origin"]
        party = party or origin.split("//")[1].partition(":")[0]
        challenge = challenge or hashlib.sha256(approvals.canonical(statement)).digest()
        client = json.dumps(
            {"type": type, "challenge": base64url(challenge), "origin": origin, "crossOrigin": cross}).encode()
        data = hashlib.sha256(party.encode()).digest() + bytes([flags]) + bytes(4)
        signature = (key or self.lock).der(data + hashlib.sha256(client).digest()) + junk
        return {
            "authenticator_data": base64url(data), "client_data": base64url(client), "signature": base64url(signature)}  # fmt: skip


class ServiceOfPhone:
    """What a service behind which this phone signs answers to a start and to a question for the status."""

    SESSION = "session-1"

    def __init__(self, phone, started):
        """`started`: makes the start reply's body with these members changed."""
        self.phone, self._started = phone, started
        self.url = self.start = None
        #: What it says otherwise than usual, see `SigningPhone.statement`.
        self.changed = {}

    def answer_start(self, stream, request):
        self.start = json.loads(request.body)
        repeated = {name: self.start.get(name) for name in ("challenge", "match_code")}
        reply(202, self._started(session_name=self.SESSION, **repeated))(stream, request)

    def answer_status(self, stream, request):
        body = {"session_status": "active", "authenticated": True, "session_name": self.SESSION}
        approval = self.phone.approval(self.phone.statement(self.url, self.SESSION, self.start, **self.changed))
        reply(200, json.dumps({**body, "approval": approval}).encode())(stream, request)
