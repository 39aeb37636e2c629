"""A service that was broken into: the real one behind a relay that has the computers' secrets, and says what it likes of
administrators and users. The administrators' phones are not broken."""

import base64
import hashlib
import hmac
import json
import tempfile

from Support.HostileService.hostile_replies import reply
from Support.HostileService.relay import Relay
from Support.HostileService.signing_phone import SigningPhone
from Support.Service import approvals
from Support.Service.world import read

APPLICATION = "application-of-the-relay"


def base64url_bytes(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def fields(phone):
    """A phone as it stands in what administrators sign."""
    return phone.line("x").strip().partition(":")[2]


def line(name, *phones):
    return {"name": name, "phones": sorted(fields(phone) for phone in phones), "token": "token-of-" + name}


def fleet_digest(administrators, group=""):
    return approvals.digest({
        "purpose": "iampass-join/2", "administrators": approvals.digest(administrators), "application": APPLICATION,
        "group": group})  # fmt: skip


def code_with_fleet(code, digest):
    """A code of the first form as one of the second."""
    whole = base64url_bytes(code[3:])
    inner = whole[:33] + bytes.fromhex(digest) + whole[33:-2]
    return "IJ2" + base64.urlsafe_b64encode(inner + hashlib.sha256(inner).digest()[:2]).decode().rstrip("=")


def administrators(number, previous, **phones):
    """A set: each phone under its administrator's name."""
    return {
        "purpose": "iampass-administrators/1", "number": number, "previous": previous and approvals.digest(previous),
        "keys": [{"name": name, "kind": "phone", "phone": fields(phone)} for name, phone in sorted(phones.items())],
    }  # fmt: skip


class BrokenIntoService(Relay):
    def __init__(self, world):
        super().__init__(world)
        self.alice = SigningPhone("phone-of-alice")
        self.first = administrators(1, "", alice=self.alice)
        #: What it tells a computer that joins.
        self.fleet = {"administrators": self.first, "application": APPLICATION, "group": ""}
        #: What it answers to a question for the list: a body without the credential.
        self.page = self.nothing()
        self.asked = []
        self._secrets = {}

    def _make_context(self, certificate, tls, ciphers):
        """It shows the authority, too, which a join code names."""
        context = super()._make_context(certificate, tls, ciphers)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as chain:
            chain.write(read(self.certificates().chain(certificate)) + read(self.ca_file))
            chain.flush()
            context.load_cert_chain(chain.name, self.certificates().key_of(certificate))
        return context

    def carry(self, stream, request):
        path = request.path.split("?")[0]
        if path == "/join":
            return self._join(stream, request)
        if path.startswith("/authentication/user_list/"):
            return self._list(stream, request, path.rsplit("/", 1)[1])
        return super().carry(stream, request)

    def _join(self, stream, request):
        status, headers, body = self.ask(request.method, request.path, request.headers, request.body)
        joined = json.loads(body)
        if "application_id" in joined:
            self._secrets[joined["application_id"]] = json.loads(request.body)["secret"]
            body = json.dumps({**joined, "fleet": self.fleet}).encode()
        reply(status, body, headers)(stream, request)

    def _list(self, stream, request, credential):
        self.asked.append(request.path)
        page = self.page(request) if callable(self.page) else self.page
        body = json.dumps({"status": True, "for": credential, **page}).encode()
        reply(200, body, self._signatures(request, self._secrets[credential].encode(), body))(stream, request)

    def _signatures(self, request, secret, body):
        """As the real service signs."""
        nonce = next(value for name, value in request.headers if name.lower() == "authentication").split(":")[1]

        def signature(purpose, text):
            made = hmac.digest(hashlib.sha256(purpose + secret).digest(), text + body, "sha256")
            return base64.b64encode(made).decode()

        target = f"{nonce}\n{request.method}\n{self.url}{request.path}\n200\n".encode()
        return [("X-IAMPASS-Reply-Signature", signature(b"reply", nonce.encode() + b"200")),
                ("X-IAMPASS-Reply-Target-Signature", signature(b"reply to target", target))]  # fmt: skip

    # What administrators' phones sign.

    def proof(self, document, text, phone=None, /, **changed):
        """`text`: what the phone shows as the command."""
        kind = "administrators" if "keys" in document else "users"
        digest = approvals.digest(document)
        start = {"context": {"host": kind, "service": "iampass-document", "command": text},
                 "challenge": base64.b64encode(bytes.fromhex(digest)).decode(), "match_code": ""}  # fmt: skip
        phone = phone or self.alice
        return phone.approval(phone.statement(self.url, "session-1", start, **{"document": digest, **changed}))

    @staticmethod
    def nothing():
        return {"epoch": 0, "version": 0, "since": 0, "more": False, "users": []}

    def head(self, lines, number, epoch=1, application=APPLICATION, under=None):
        digest = hashlib.sha256(b"".join(approvals.canonical(one) + b"\n" for one in lines)).hexdigest()
        return {"purpose": "iampass-user-list/1", "application": application, "epoch": epoch, "number": number,
                "administrators": approvals.digest(under or self.first), "previous": "",
                "lists": [{"group": "", "count": len(lines), "digest": digest}]}  # fmt: skip

    def signed(self, lines, number, epoch=1, phone=None, shown=None, application=APPLICATION, under=None, after=(), **changed):
        """A whole list.

        `shown`: the lines that are sent instead. `under`: the set that it names; `after`: the sets from that one on."""
        head = self.head(lines, number, epoch, application, under)
        proof = self.proof(head, f"users of {application}, version {epoch}.{number}", phone, **changed)
        sent = lines if shown is None else shown
        return {"epoch": epoch, "version": number, "since": 0, "more": False, "head": head, "proof": proof,
                "former_sets": list(after),
                "users": ["+" + approvals.canonical(one).decode() for one in sent]}  # fmt: skip

    def next_set(self, next_one, phone=None):
        text = f"administrators of this service, number {next_one['number']}"
        return {**self.nothing(), "administrators": [{"set": next_one, "proof": self.proof(next_one, text, phone)}]}
