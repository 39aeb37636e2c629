"""packaging/openapi.json against the running service: schemathesis makes requests of each operation, and judges the
replies. Half of the requests are signed as they must be, so that not only refusals are looked at."""

import base64
import json
import pathlib
import re
import secrets
import time
import unittest
import warnings

from Support.Hosts import signed_requests
from Support.Service import pypi
from Support.Service.server import ServerWorld

pypi.use_packages("schemathesis", ["schemathesis", "cryptography"])
import hypothesis  # noqa: E402
import requests  # noqa: E402
import schemathesis  # noqa: E402
from cryptography.hazmat.primitives import hashes, serialization  # noqa: E402
from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi import checks as openapi_checks  # noqa: E402

PROJECT = pathlib.Path(__file__).resolve().parents[3]
FILE = PROJECT / "packaging" / "openapi.json"
#: Requests of each operation.
EXAMPLES = 30
CHECKS = [
    not_a_server_error, openapi_checks.status_code_conformance, openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]  # fmt: skip
#: Operations that no made-up request can have done; Browser, Server and the unit tests have them done.
REFUSED = {f"/device/v1/{name}" for name in ("answer", "credential", "document", "end", "events", "push", "register", "unregister")} | {
    "/register/{code}", "/management/send_registration_sms/{application}/{user}", "/token", "/join",
    "/authentication/code_use/{application}/{user}", "/authentication/user_change/{application}"}


class Phone:
    """A phone that signs whatever it is given."""

    def __init__(self, link):
        self.key = ec.generate_private_key(ec.SECP256R1())
        public = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        body = {"code": link.rpartition("/")[2], "public_key": base64.b64encode(public).decode()}
        reply = requests.post(
            world.address + "/device/v1/register", json=body, verify=world.certificate, timeout=30).json()
        self.device = reply["device"]

    def signed(self, statement):
        canonical = json.dumps(statement, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()
        r, s = utils.decode_dss_signature(self.key.sign(canonical, ec.ECDSA(hashes.SHA256())))
        raw = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return {"statement": statement, "signature": base64.b64encode(raw).decode()}

    def asking(self, asked_for, **more):
        return self.signed({
            "origin": world.address, "device": self.device, "purpose": asked_for, "timestamp": int(time.time()),
            "nonce": secrets.token_hex(16), "known": [], **more})  # fmt: skip


class Signing(requests.auth.AuthBase):
    """Signs what goes out."""

    def __init__(self, client, secret):
        self.keys = (client, secret)

    def __call__(self, request):
        request.headers.update(signed_requests.headers(*self.keys, request.url))
        return request


def new_phone(user):
    world.add_users(user)
    path = f"/management/lost_user_mobile_device/{world.application['application_id']}/{user}?display_name=U"
    return Phone(world.signed("GET", path)["register_url"])


def setUpModule():
    global world, document, client, host
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    document = json.loads(FILE.read_text())
    made = world.command("openid-client", "create", "office", "client", "--shown", "A client", "--json")
    client = json.loads(made.stdout)
    host = json.loads(world.command("host-credential", "create", "office", "desk", "--host", "desk", "--json").stdout)
    # Otherwise an offer of the method facial is refused.
    assert world.command("application", "set", "office", "--faces", "apps").returncode == 0


class Routes(unittest.TestCase):
    def test_the_file_has_each_route_of_the_service(self):
        source = (PROJECT / "Sources/Service/IAMPASSServer/Exchange/Route.swift").read_text()
        names = {name for name in re.findall(r'(?:case |\(|== )"([a-z-]+(?:_[a-z_]+)?)"', source)}
        documented = {part for path in document["paths"] for part in path.split("/")}
        # The console and the phone's page are for browsers.
        self.assertEqual(names - documented - {"console", "phone", "management"}, set())


class Operations(unittest.TestCase):
    def try_operation(self, operation):
        """The statuses that were seen."""
        phone = new_phone("phone") if operation.path.startswith("/device/") else None
        application = world.application["application_id"]
        world.add_users("user")
        session = None
        if operation.path.startswith(("/authentication/", "/bc-authorize")):
            new_phone("user")
        if "{session}" in operation.path:
            path = f"/authentication/authenticate_user/{application}/user"
            session = world.signed("POST", path, {"context": {"host": "web-1"}})["authentication_status"]

        seen = set()

        @hypothesis.settings(
            max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(case=operation.as_strategy(), is_right=hypothesis.strategies.booleans())
        def judge(case, is_right):
            more = {}
            if is_right:
                known = {"application": application, "user": "user", "session": session and session["session_name"]}
                for name in set(known) & set(case.path_parameters or {}):
                    case.path_parameters[name] = known[name]
                keys = (world.application["application_id"], world.application["application_secret"])
                if operation.path.startswith("/authentication/audit/"):
                    keys = (host["application_id"], host["application_secret"])
                    case.path_parameters["application"] = host["application_id"]
                if session:
                    keys = (session["session_token"], session["session_secret"])
                if operation.definition.raw["security"]:
                    more["auth"] = Signing(*keys)
                # Made up, they do not fit the rest.
                for name in {"nonce", "body_sha256", "keep_sessions"} & set(case.query or {}):
                    del case.query[name]
                name = operation.path.rpartition("/")[2]
                if name == "bc-authorize":
                    secret = {each: client[each] for each in ("client_id", "client_secret")}
                    case.body = {"scope": "openid", "login_hint": "user", **secret}
                # A phone that has unregistered would be refused from then on, and a stream stays open.
                if phone and name not in ("register", "unregister", "events"):
                    made_up = case.body.get("statement") if isinstance(case.body, dict) else None
                    purpose = "return" if name == "presence" else name
                    case.body = phone.asking(purpose, **made_up) if isinstance(made_up, dict) else phone.asking(purpose)
            # A held reply only takes time.
            (case.headers or {}).pop("Prefer", None)
            response = case.call(base_url=world.address, verify=world.certificate, timeout=30, **more)
            case.validate_response(response, checks=CHECKS)
            seen.add(response.status_code)

        judge()
        return seen

    def test_replies_are_as_the_file_says(self):
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_dict(document)
        operations = [result.ok() for result in schema.get_all_operations()]
        self.assertEqual(len(operations), sum(len(path) for path in document["paths"].values()))
        for operation in operations:
            with self.subTest(operation.path):
                seen = self.try_operation(operation)
                # Otherwise nothing but refusals would have been looked at.
                self.assertTrue(operation.path in REFUSED or any(code < 300 for code in seen), seen)

    def test_another_document_is_refused(self):
        """The judge can fail: this document promises another status."""
        spoiled = json.loads(FILE.read_text())
        answers = spoiled["paths"]["/healthz"]["get"]["responses"]
        answers["201"] = answers.pop("200")
        schema = schemathesis.openapi.from_dict(spoiled)
        [operation] = [each.ok() for each in schema.get_all_operations() if each.ok().path == "/healthz"]
        with self.assertRaises(BaseException) as failure:
            self.try_operation(operation)
        self.assertIn("Undocumented", str(failure.exception))


if __name__ == "__main__":
    unittest.main()
