"""What the tests of pinned phones share: a user at a terminal, and a service whose answers about phones are changed."""

import base64
import json
import re
import subprocess

from enroll_case import EnrollCase
from Support.Service import approvals
from Support.Service.world import program, run

LINK = r"https://[\w.]+:\d+/register/\w+(?:#pin=[\w-]+)?"


class PhoneCase(EnrollCase):
    """Each test with a user who is new to the service, and without pinned phones."""

    def setUp(self):
        super().setUp()
        self.world.write("phones", "", 0o644)

    def share_token_with(self, other):
        token = self.world.users()[self.name]
        self.world.write("users", f"{self.name}:{token}\n{other}:{token}\n")

    def pinned(self, user=None):
        """The pinned phones of the user, as `phone list` shows them."""
        done = self.world.ctl("phone", "list", "--json", user or self.name)
        self.assertEqual((done.code, done.err), (0, ""))
        return json.loads(done.out)

    def registered(self, state="phone.json"):
        """A phone that registers by a link without a secret."""
        self.register(json.loads(self.enroll("--json").out)["register_url"], state)
        return self.words(state)

    def words(self, state="phone.json"):
        status = run(program("iampass-phone"), "status", "--state", self.world.path(state), "--json")
        return json.loads(status)["words"]

    def offered(self, *words):
        """A command that waits for a phone, and the link that it shows."""
        child = self.world.terminal(*(words or ("enroll", self.name)), timeout=90)
        child.expect(rf"({LINK})\r?\n")
        link = child.match.group(1)
        child.expect_exact("waiting for ")
        return child, link

    def finish_without_trial(self, child):
        child.expect_exact("Try a sign-in on it now? [y/N] ")
        child.sendline("")
        self.assertEqual(self.world.finish(child), 0)
        return child.screen.getvalue()


def another_key():
    """The base64 of a SubjectPublicKeyInfo whose private key somebody else has."""
    key = subprocess.run(
        "openssl ecparam -name prime256v1 -genkey -noout | openssl ec -pubout -outform DER | base64 -w0", shell=True,
        capture_output=True, check=True)  # fmt: skip
    return key.stdout.decode()


def key_off_the_curve():
    """The same form, whose numbers are not those of a point."""
    key = bytearray(base64.b64decode(another_key()))
    key[-1] ^= 1
    return base64.b64encode(key).decode()


def pin_of(link):
    """The secret that a link has."""
    return approvals.from_base64url(re.search(r"#pin=([\w-]+)$", link).group(1))
