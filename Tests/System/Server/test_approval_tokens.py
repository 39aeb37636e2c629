"""Approval tokens of the real service, verified by PyJWT and Authlib, which know only its published keys."""

import json
import unittest

from Support.Service import approvals, pypi
from Support.Service.server import NO_INPUT, ServerWorld, until

PACKAGES = ("PyJWT", "Authlib")
TEMPORARY_FAILURE = 75
CONTEXT = {"service": "pay", "amount": "7 €", "to": "Bob ‹ é"}


def setUpModule():
    global world
    pypi.use_packages("token-venv", PACKAGES)
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    world.enroll_alice()


def keys():
    code, _, text = world.get("/.well-known/jwks.json")
    assert code == 200, text
    return json.loads(text)


def keys_are(kids):
    """Waits until these keys are published: the service reads them once a second."""
    until(lambda: [key["kid"] for key in keys()["keys"]] == kids, f"the keys {kids} to be published")


def judged_by_pyjwt(token, key_set):
    import jwt

    header = jwt.get_unverified_header(token)
    [key] = [one for one in jwt.PyJWKSet.from_dict(key_set).keys if one.key_id == header["kid"]]
    return jwt.decode(
        token, key.key, algorithms=["ES256"], audience=world.application["application_id"], issuer=world.address,
        options={"require": ["exp", "iat", "sub", "iss", "aud"]})  # fmt: skip


def judged_by_authlib(token, key_set, **options):
    from authlib.jose import JsonWebKey, JsonWebToken

    claims = JsonWebToken(["ES256"]).decode(token, JsonWebKey.import_key_set(key_set), claims_options=options)
    claims.validate()
    return dict(claims)


class Tokens(unittest.TestCase):
    def approved(self, query, **phone):
        """The final status of a request that alice's phone approved."""
        phone = world.phone("approve", "--once")
        self.addCleanup(phone.stop)
        path = f"/authentication/authenticate_user/{world.application['application_id']}/alice{query}"
        session = world.signed("POST", path, {"context": CONTEXT})["authentication_status"]
        world.becomes(session, "active")
        keys = (session["session_token"], session["session_secret"])
        self.addCleanup(world.signed, "POST", session["logout_url"].removeprefix(world.address), by=keys)
        return world.ask_status(session)[2]

    def test_two_strangers_libraries_verify_what_was_approved(self):
        token = self.approved("?id_token=1&nonce=n-7")["id_token"]
        for judge in (judged_by_pyjwt, judged_by_authlib):
            with self.subTest(judge=judge.__name__):
                claims = judge(token, keys())
                self.assertEqual((claims["sub"], claims["nonce"], claims["amr"]), ("alice", "n-7", ["pop", "user"]))
                self.assertEqual(claims["aud"], world.application["application_id"])
                self.assertEqual(claims["approval_data"], {"digest": approvals.digest(CONTEXT), "pairs": CONTEXT})
                self.assertEqual(claims["exp"] - claims["iat"], 3600)

    def test_a_token_that_was_changed_is_refused(self):
        import jwt

        head, claims, signature = self.approved("?id_token=1")["id_token"].split(".")
        changed = ".".join([head, claims[:-2] + ("AA" if claims[-2:] != "AA" else "BB"), signature])
        with self.assertRaises(jwt.InvalidTokenError):
            judged_by_pyjwt(changed, keys())

    def test_only_who_asks_gets_one(self):
        self.assertNotIn("id_token", self.approved(""))

    def test_a_new_key_is_published_before_it_signs(self):
        world.command("signing-key", "rotate", "--now")
        old = self.approved("?id_token=1")["id_token"]
        listed = world.command("signing-key", "list")
        rotated = world.command("signing-key", "rotate")
        self.assertEqual((listed.returncode, rotated.returncode), (0, 0), listed.stderr + rotated.stderr)
        self.assertRegex(listed.stdout, r"^[\w-]{43}  made=\S+Z  signs\n$")
        new, before = rotated.stdout.splitlines()
        self.assertRegex(new, r"^[\w-]{43}  made=\S+Z  signs from \S+Z$")
        self.assertEqual(before + "\n", listed.stdout)
        keys_are([new.split()[0], before.split()[0]])
        published = keys()
        for token in (old, self.approved("?id_token=1")["id_token"]):
            self.assertEqual(judged_by_pyjwt(token, {"keys": published["keys"][1:]})["sub"], "alice")
        again = world.command("signing-key", "rotate")
        self.assertEqual((again.returncode, again.stdout), (TEMPORARY_FAILURE, ""))
        self.assertIn("does not sign yet", again.stderr)
        self.assertEqual(keys(), published)

    def test_an_urgent_key_replaces_all_others_at_once(self):
        old = self.approved("?id_token=1")["id_token"]
        rotated = world.command("signing-key", "rotate", "--now")
        self.assertRegex(rotated.stdout, r"^[\w-]{43}  made=\S+Z  signs\n$")
        keys_are([rotated.stdout.split()[0]])
        with self.assertRaises(ValueError):
            judged_by_pyjwt(old, keys())
        self.assertEqual(judged_by_pyjwt(self.approved("?id_token=1")["id_token"], keys())["sub"], "alice")
        log = world.command("audit").stdout
        self.assertIn("signing key made", log)
        self.assertIn("signing key removed", log)
        self.assertNotIn("PRIVATE", log)

    def test_a_folder_without_a_service_has_no_keys(self):
        done = world.command("signing-key", "list", data="nowhere")
        self.assertEqual(done.returncode, NO_INPUT, done.stderr)


if __name__ == "__main__":
    unittest.main()
