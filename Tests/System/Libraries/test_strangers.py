"""Programs of other people: a package outside of this one, built on the exported products, with the real service."""

import pathlib
import subprocess
import unittest

from Support.Service.server import ServerWorld
from Support.Service.world import make_certificate

STRANGERS = pathlib.Path(__file__).with_name("Strangers")
PROJECT = pathlib.Path(__file__).resolve().parents[3]
#: The folder in which this package's own tests are built: what it exports is not compiled again.
SCRATCH = PROJECT / ".build-tests"
#: Seconds for a build from nothing.
PATIENCE = 1500


def setUpModule():
    global world
    words = [PROJECT / "packaging/swift-build", SCRATCH, "--package-path", STRANGERS]
    built = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    if built.returncode != 0:
        raise AssertionError(built.stdout[-4000:] + built.stderr[-4000:])
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


class Strangers(unittest.TestCase):
    def start(self, name, *words):
        started = world.start(str(SCRATCH / "debug" / name), *words, stdin=subprocess.PIPE)
        self.addCleanup(started.stop)
        return started

    def party(self, user, secret=None):
        known = world.application
        return self.start(
            "relying-party", world.address, world.certificate, known["application_id"],
            secret or known["application_secret"], user)

    def test_a_phone_and_a_relying_party_sign_a_user_in_and_out(self):
        party = self.party("alice")
        link = party.wait_for("^link ").removeprefix("link ")
        phone = self.start("stranger-phone", link, world.certificate)
        phone.wait_for("^registered 1$")
        party.type("")
        for line in ("^created 1$", "^phone true$", "^approved$", "^logged out: closed$"):
            party.wait_for(line)
        for line in ("^for Alice$", "^asked by stranger on web-1$", "^answered$", "^unregistered 0$"):
            phone.wait_for(line)

    def test_a_wrong_secret_is_refused(self):
        party = self.party("bob", "x" * 24)
        party.wait_for("^failed: .*notAccepted")
        self.assertEqual(party.count("^created"), 0)

    def test_a_certificate_of_another_authority_is_refused(self):
        link = world.address + "/register/" + "0" * 32
        _, other = make_certificate(world.folder, "other")
        phone = self.start("stranger-phone", link, other)
        phone.wait_for("^failed: .*certificateUntrusted")

    def test_a_service_that_is_not_there_is_named(self):
        phone = self.start("stranger-phone", "https://127.0.0.1:1/register/" + "0" * 32, world.certificate)
        phone.wait_for("^failed: .*connectionRefused")


if __name__ == "__main__":
    unittest.main()
