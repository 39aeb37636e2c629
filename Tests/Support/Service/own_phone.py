"""A phone of somebody's own: it speaks the phone's protocol by python3-cryptography alone, as an app would."""

import base64
import json
import os
import time

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from Support.Service import approvals


class OwnPhone:
    def __init__(self, world):
        self.world = world
        self.key = ec.generate_private_key(ec.SECP256R1())
        spki = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.public_key = base64.b64encode(spki).decode()
        self.device = None

    def post(self, path, body, headers=None):
        """Status and JSON."""
        headers = {"Content-Type": "application/json", **(headers or {})}
        code, _, text = self.world.get("/device/v1/" + path, "POST", json.dumps(body).encode(), headers)
        return code, json.loads(text)

    def register(self, link, **members):
        """The reply to a registration by this link."""
        code, reply = self.post(
            "register", {"code": link.rpartition("/")[2], "public_key": self.public_key, **members})
        self.device = reply.get("device", self.device)
        return code, reply

    def signed(self, statement):
        r, s = utils.decode_dss_signature(self.key.sign(approvals.canonical(statement), ec.ECDSA(hashes.SHA256())))
        raw = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return {"statement": statement, "signature": base64.b64encode(raw).decode()}

    def ask(self, purpose, headers=None, **members):
        """The reply to an ask for this purpose, with further members of its statement."""
        statement = {
            "origin": self.world.address, "device": self.device, "purpose": purpose, "timestamp": int(time.time()),
            "nonce": os.urandom(16).hex(), "known": [], **members,
        }  # fmt: skip
        return self.post(purpose, self.signed(statement), headers)

    def requests(self):
        code, reply = self.ask("requests")
        if code != 200:
            raise AssertionError(f"{code} {reply}")
        return reply["requests"]

    def answer(self, request, answer, **members):
        statement = {
            "origin": self.world.address, "device": self.device, "purpose": "answer", "session": request["session"],
            "answer": answer, "context_hash": approvals.digest(request["context"]), "nonce": request["nonce"],
            "expires": request["expires"], "method": request["method"], "code": "", **members,
        }  # fmt: skip
        return self.post("answer", self.signed(statement))
