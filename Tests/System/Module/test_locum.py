"""An administrator's phone that answers once for a user who has none at hand: the helpdesk names both, and the computer
trusts that phone with this role."""

import contextlib
import json
import sqlite3
import subprocess
import unittest

from sign_in_case import world_with_codes
from Support.Service.world import ENROLLED, MAXTRIES, SUCCESS, program, read, run

OWN, ADMINISTRATOR = "phone.json", "administrator.json"


def setUpModule():
    global world
    world = world_with_codes()
    # Any user of this system will do as the administrator.
    run(program("iampassctl"), "user", "add", "bin", "--config", world.path("iampass.conf"))
    link = json.loads(ctl("enroll", "bin", "--json").stdout)["register_url"]
    run(program("iampass-phone"), "register", link, "--state", world.path(ADMINISTRATOR), "--ca", world.certificate)


def ctl(*words):
    return subprocess.run(
        [program("iampassctl"), *words, "--config", world.path("iampass.conf")], capture_output=True, text=True)


def forget_help():
    """Has the service take its help for older than it is: a user is helped three times a day."""
    with contextlib.closing(sqlite3.connect(world.path("data", "iampass.sqlite"), timeout=30)) as database, database:
        database.execute("UPDATE audit SET noted_at = noted_at - 90000000 WHERE event = 'locum allowed'")


def token(user):
    return dict(line.split(":", 1) for line in read(world.path("users")).splitlines())[user]


def words(state):
    return json.loads(run(program("iampass-phone"), "status", "--state", world.path(state), "--json"))["words"]


class Locums(unittest.TestCase):
    def setUp(self):
        world.write("phones", "", 0o644)
        self.trust(ENROLLED, OWN)
        world.configure(approvals="verified")
        world.pam("sudo")
        world.forget_attempts()
        forget_help()

    def trust(self, user, state, *more):
        done = ctl("phone", "trust", user, "--words", words(state), *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def help(self):
        return run(
            program("iampass-server"), "helpdesk", "approve", "tests", token(ENROLLED), "--by", token("bin"),
            "--data", world.path("data"))

    def phone(self, state, answer="approve"):
        phone = world.phone_with_keys(answer, state=state)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def test_it_signs_in_once_and_all_sides_name_it(self):
        told = self.trust("bin", ADMINISTRATOR, "--locum")
        self.assertIn("bin's phone may answer for users of this computer", told)
        self.assertIn("the phone of bin may answer the next sign-in", self.help())
        phone = self.phone(ADMINISTRATOR)
        with world.playing() as results:
            code = world.code_on_the_screen()
            phone.wait_for(f"locum +for {ENROLLED}, who has no phone at hand")
            phone.type(code)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertRegex(results[0]["log"][-1], r"approved .* method=acceptance locum=bin$")
        self.assertIn("IAMPASS: approved for you by bin", results[0]["texts"])
        shown = run(program("iampass-phone"), "status", "--state", world.path(OWN))
        self.assertIn("approved for you by bin: ", shown)
        audit = run(program("iampass-server"), "audit", "--data", world.path("data"), "--json-lines")
        events = [(line["event"], line.get("reason")) for line in map(json.loads, audit.splitlines())]
        self.assertEqual(
            [one for one in events if one[0].startswith("locum")][-2:], [("locum allowed", "bin"), ("locum approved", "bin")])
        # Once is over.
        world.pam("sudo", "prompt=push timeout=5s")
        with world.playing() as results:
            world.code_on_the_screen()
        self.assertNotEqual(results[0]["codes"], [SUCCESS])
        self.assertEqual(phone.count("sign-in request"), 1)

    def test_a_denial_ends_the_sign_in(self):
        self.trust("bin", ADMINISTRATOR, "--locum")
        self.help()
        phone = self.phone(ADMINISTRATOR, "deny")
        self.assertEqual(world.play()["codes"], [MAXTRIES])
        phone.wait_for("^denied$")

    def test_a_computer_that_does_not_trust_it_with_the_role_refuses(self):
        for roles in ("", f"@locum-root:{self.line()}\n"):
            with self.subTest(roles=roles[:12]):
                world.forget_attempts()
                world.write("phones", f"{ENROLLED}:{self.own()}\n{roles}", 0o644)
                self.help()
                phone = self.phone(ADMINISTRATOR)
                with world.playing() as results:
                    phone.type(world.code_on_the_screen())
                self.assertNotEqual(results[0]["codes"], [SUCCESS])
                self.assertIn("does not trust that phone", " ".join(results[0]["texts"]))
                phone.stop()

    def line(self):
        self.trust("bin", ADMINISTRATOR, "--locum")
        return self.fields("@locum")

    def own(self):
        return self.fields(ENROLLED)

    def fields(self, name):
        return dict(line.split(":", 1) for line in read(world.path("phones")).splitlines())[name]


if __name__ == "__main__":
    unittest.main()
