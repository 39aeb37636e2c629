"""OpenID Connect's backchannel authentication (CIBA, poll mode) of the real service. A stranger's client, idpyoidc,
asks the phone; PyJWT verifies the token by the service's published keys."""

import base64
import json
import time
import unittest
import urllib.parse

from Support.Service import pypi
from Support.Service.never import assert_hidden
from Support.Service.server import DATA, ServerWorld

pypi.use_packages("ciba-venv", ("idpyoidc", "PyJWT"))

GRANT = "urn:openid:params:grant-type:ciba"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def made(name, shown):
    """The id, secret and issuer of a new client, as the command prints them."""
    done = world.command("openid-client", "create", "office", name, "--shown", shown, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def setUpModule():
    global world, client
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    world.enroll_alice()
    client = made("bank", "The bank")


def post(path, fields, by=None, secret=None, headers=None):
    """Status, headers and JSON of a form that a client posts by HTTP Basic (RFC 6749, section 2.3.1)."""
    by = by or client
    secret = urllib.parse.quote_plus(secret or by["client_secret"])
    basic = base64.b64encode(f"{by['client_id']}:{secret}".encode()).decode()
    body = fields if isinstance(fields, bytes) else urllib.parse.urlencode(fields).encode()
    told = {**FORM, "Authorization": "Basic " + basic} if headers is None else headers
    code, found, text = world.get(path, "POST", body, told)
    return code, found, json.loads(text)


def ask(**more):
    return post("/bc-authorize", {"scope": "openid", "login_hint": "alice", **more})


def poll(name, by=None):
    return post("/token", {"grant_type": GRANT, "auth_req_id": name}, by)


def verified(token, by):
    """The claims, by PyJWT and what the service publishes."""
    import jwt

    told = json.loads(world.get("/.well-known/openid-configuration")[2])
    path = told["jwks_uri"].removeprefix(world.address)
    keys = jwt.PyJWKSet.from_dict(json.loads(world.get(path)[2])).keys
    [key] = [one for one in keys if one.key_id == jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(
        token, key.key, algorithms=told["id_token_signing_alg_values_supported"], audience=by["client_id"],
        issuer=told["issuer"], options={"require": ["exp", "iat", "sub", "iss", "aud", "azp"]})  # fmt: skip


class Stranger:
    """idpyoidc as the client.

    It reads provider information as that of a provider with browsers: it refuses an empty `response_types_supported`, a
    missing `authorization_endpoint`, and a provider without RS256. CIBA needs none of these, and this service has none.
    So it is handed the service's provider information without that check.
    """

    def __init__(self, by):
        from idpyoidc.client.oidc import RP
        from idpyoidc.client.oidc.backchannel_authentication import BackChannelAuthentication
        from idpyoidc.client.service import Service
        from idpyoidc.message.oauth2 import ResponseMessage
        from idpyoidc.message.oidc import AccessTokenResponse
        from idpyoidc.message.oidc.backchannel_authentication import TokenRequest

        class Asking(BackChannelAuthentication):
            http_method = "POST"
            default_authn_method = "client_secret_basic"

        class Polling(Service):
            msg_type, response_cls, error_msg = TokenRequest, AccessTokenResponse, ResponseMessage
            endpoint_name, service_name, http_method = "token_endpoint", "ciba_token", "POST"
            default_authn_method, response_body_type, synchronous = "client_secret_basic", "json", True

            def gather_verify_arguments(self, response=None, behaviour_args=None):
                return {
                    "client_id": by["client_id"], "iss": self.upstream_get("context").issuer, "verify": True, "skew": 0,
                    "keyjar": self.upstream_get("attribute", "keyjar"), "allowed_sign_alg": "ES256",
                }  # fmt: skip

        told = json.loads(world.get("/.well-known/openid-configuration")[2])
        keys = world.get(told["jwks_uri"].removeprefix(world.address))[2]
        services = {"ask": {"class": Asking}, "poll": {"class": Polling}}
        config = {
            "client_id": by["client_id"], "client_secret": by["client_secret"], "issuer": told["issuer"],
            "redirect_uris": ["https://stranger.example/none"]}  # fmt: skip
        self.rp = RP(config=config, services=services, httpc_params={"verify": world.certificate, "timeout": 30})
        context = self.rp.get_context()
        context.issuer = told["issuer"]
        context.provider_info = told
        self.rp.get_attribute("keyjar").import_jwks(json.loads(keys), told["issuer"])
        for service in self.rp.get_services().values():
            service.endpoint = told[service.endpoint_name]

    def ask(self, **more):
        request = {"scope": ["openid"], "login_hint": "alice", **more}
        return self.rp.do_request("backchannel_authentication", request_args=request)

    def poll(self, name):
        return self.rp.do_request("ciba_token", request_args={"grant_type": GRANT, "auth_req_id": name})


class Case(unittest.TestCase):
    def tearDown(self):
        """No request may stand in the next test's way."""
        world.command("openid-client", "revoke", "office", "bank")
        client.update(made("bank", "The bank"))

    def phone(self, *words):
        phone = world.phone(*words)
        self.addCleanup(phone.stop)
        return phone

    def approved(self, **more):
        """The name of a request that alice's phone approved, and the phone."""
        phone = self.phone("approve", "--once")
        code, _, reply = ask(**more)
        self.assertEqual(code, 200, reply)
        phone.wait_for("^approved$")
        return reply["auth_req_id"], phone


class Asking(Case):
    def test_a_strangers_client_asks_the_phone_and_verifies_the_token(self):
        stranger = Stranger(client)
        phone = self.phone("approve", "--once")
        asked = stranger.ask(binding_message="pay 7 EUR to Bob")
        self.assertEqual(asked["interval"], 5, asked)
        phone.wait_for("^approved$")
        reply = stranger.poll(asked["auth_req_id"])
        self.assertNotIn("error", reply)
        claims = verified(reply["id_token"], client)
        self.assertEqual(reply["__verified_id_token"]["sub"], "alice")
        self.assertEqual((claims["sub"], claims["azp"]), ("alice", client["client_id"]))
        self.assertEqual(claims["approval_data"]["pairs"], {"host": "The bank", "message": "pay 7 EUR to Bob"})
        said = "\n".join(phone.lines)
        self.assertIn("The bank", said)
        self.assertIn("pay 7 EUR to Bob", said)

    def test_a_strangers_client_is_told_of_a_denial(self):
        stranger = Stranger(client)
        phone = self.phone("deny", "--once")
        asked = stranger.ask()
        phone.wait_for("^denied$")
        self.assertEqual(stranger.poll(asked["auth_req_id"])["error"], "access_denied")

    def test_polls_wait_and_are_slowed_down(self):
        name = ask()[2]["auth_req_id"]
        first, second = poll(name), poll(name)
        self.assertEqual((first[0], first[2]["error"]), (400, "authorization_pending"))
        self.assertEqual((second[0], second[2]["error"]), (400, "slow_down"))
        self.assertEqual(first[1]["Cache-Control"], "no-store")

    def test_an_approval_gives_its_token_once(self):
        name, _ = self.approved()
        code, headers, reply = poll(name)
        self.assertEqual((code, reply["token_type"], headers["Cache-Control"]), (200, "Bearer", "no-store"))
        self.assertEqual(poll(name)[2]["error"], "invalid_grant")

    def test_another_client_gets_nothing(self):
        other = made(f"other-{time.monotonic_ns()}", "Another")
        name, _ = self.approved()
        self.assertEqual(poll(name, other)[2]["error"], "invalid_grant")
        token = poll(name)[2]["id_token"]
        import jwt

        with self.assertRaises(jwt.InvalidAudienceError):
            verified(token, other)

    def test_the_addresses_begin_with_the_issuer(self):
        told = json.loads(world.get("/.well-known/openid-configuration")[2])
        self.assertEqual(told["issuer"], world.address)
        for name in ("jwks_uri", "token_endpoint", "backchannel_authentication_endpoint"):
            self.assertTrue(told[name].startswith(told["issuer"] + "/"), told)


class Bad(Case):
    def test_bad_questions_are_refused_and_ring_nobody(self):
        for more, error in (
            ({"scope": "profile"}, "invalid_scope"),
            ({"login_hint": "nobody"}, "unknown_user_id"),
            ({"login_hint": ""}, "invalid_request"),
            ({"login_hint": "a\0b"}, "unknown_user_id"),
            ({"id_token_hint": "x"}, "invalid_request"),
            ({"login_hint_token": "x"}, "invalid_request"),
            ({"request": "x"}, "invalid_request"),
            ({"requested_expiry": "-1"}, "invalid_request"),
            ({"binding_message": "m" * 201}, "invalid_binding_message"),
            ({"binding_message": "a\u202eb"}, "invalid_binding_message"),
        ):
            with self.subTest(more=more):
                code, _, reply = ask(**more)
                self.assertEqual((code, reply["error"]), (400, error))
                self.assertRegex(reply["error_description"], r"^[ !#-\[\]-~]+$")
        with world.database() as database:
            [(count,)] = database.execute("SELECT count(*) FROM session WHERE ended_at IS NULL")
        self.assertEqual(count, 0)

    def test_bad_forms_are_refused(self):
        for body in (b"scope=openid&login_hint=alice&login_hint=bob", b"scope=%zz", b"\xff", b"{}", b""):
            with self.subTest(body=body):
                self.assertEqual(post("/bc-authorize", body)[0], 400)

    def test_bad_questions_for_a_token_are_refused(self):
        for fields, error in (
            ({"grant_type": "password"}, "unsupported_grant_type"),
            ({}, "invalid_request"),
            ({"grant_type": GRANT}, "invalid_request"),
            ({"grant_type": GRANT, "auth_req_id": "x.y"}, "invalid_grant"),
        ):
            with self.subTest(fields=fields):
                code, _, reply = post("/token", fields)
                self.assertEqual((code, reply["error"]), (400, error))

    def test_a_wrong_secret_is_refused_and_slowed_down(self):
        other = made(f"slow-{time.monotonic_ns()}", "Slow")
        codes = [post("/token", {}, other, secret="wrong")[0] for _ in range(31)]
        self.assertEqual((codes[0], codes[-1]), (401, 429))
        self.assertEqual(post("/token", {}, other)[0], 400)


class Kinds(Case):
    def test_a_client_reaches_no_ordinary_route(self):
        # Signatures take secrets of 24 bytes.
        keys = (client["client_id"], client["client_secret"][:24])
        for method, path in (
            ("POST", f"/authentication/authenticate_user/{keys[0]}/alice"),
            ("POST", f"/management/add_users/{keys[0]}"),
            ("GET", f"/authentication/service_mark/{keys[0]}"),
        ):
            with self.subTest(path=path):
                self.assertEqual(world.ask(method, path, {"users": ["eve"]}, by=keys)[0], 404)

    def test_other_credentials_are_refused(self):
        made_host = world.command("host-credential", "create", "office", "desk", "--host", "desk", "--json")
        host = json.loads(made_host.stdout)
        for one in (host, world.application):
            with self.subTest(one=one["application_id"]):
                by = {"client_id": one["application_id"], "client_secret": one["application_secret"]}
                code, _, reply = post("/bc-authorize", {"scope": "openid", "login_hint": "alice"}, by)
                self.assertEqual((code, reply["error"]), (401, "invalid_client"))

    def test_clients_are_made_listed_and_revoked_by_a_command(self):
        name = f"shown-{time.monotonic_ns()}"
        new = made(name, "A till")
        listed = world.command("openid-client", "list", "office")
        self.assertRegex(listed.stdout, rf"(?m)^{name}  shown=A till  id={new['client_id']}  made=\S+Z$")
        self.assertNotIn(new["client_secret"], listed.stdout)
        self.assertNotIn(name, world.command("host-credential", "list", "office").stdout)
        self.assertNotEqual(world.command("host-credential", "revoke", "office", name).returncode, 0)
        self.assertEqual(world.command("openid-client", "revoke", "office", name).returncode, 0)
        self.assertEqual(post("/token", {}, new)[2]["error"], "invalid_client")
        again = world.command("openid-client", "revoke", "office", name)
        self.assertEqual(again.returncode, DATA, again.stderr)
        self.assertIn(f"office has no OpenID client {name} that could be revoked\nhint: ", again.stderr)

    def test_a_request_of_a_revoked_client_is_taken_from_the_phone(self):
        name = ask()[2]["auth_req_id"]
        world.command("openid-client", "revoke", "office", "bank")
        self.assertEqual(poll(name)[2]["error"], "invalid_client")
        with world.database() as database:
            found = database.execute("SELECT ending FROM session WHERE id = ?", (name.partition(".")[0],)).fetchall()
        self.assertEqual(found, [("CREDENTIAL_REVOKED",)])

    def test_secrets_are_neither_stored_nor_logged(self):
        name, _ = self.approved()
        poll(name)
        with world.database() as database:
            stored = "\n".join(database.iterdump())
        for secret in (client["client_secret"], name.partition(".")[2]):
            assert_hidden(secret, stored)
            assert_hidden(secret, "\n".join(world.server.lines))

    def test_the_audit_has_each_step(self):
        self.approved()
        world.command("openid-client", "revoke", "office", "bank")
        audit = world.command("audit").stdout
        for event in ("credential made", "credential revoked", "asked", "approved"):
            self.assertRegex(audit, rf'(?m)^\S+  {event}  .*host="The bank" .*credential=bank  by \S+$')


if __name__ == "__main__":
    unittest.main()
