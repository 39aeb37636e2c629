"""Recovery codes at sshd, which asks for names that may not be there."""

import glob
import json
import os
import unittest

from recovery_case import NOT_TAKEN, OFFER, WRONG, Recovery, open_world
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, SUCCESS, WITHOUT_TOKEN


def setUpModule():
    global world
    world = open_world()


class SecureShell(Recovery):
    def setUp(self):
        super().setUp()
        world.pam("sshd", "timeout=20s")

    def play(self, **scene):
        return world.play(service="sshd", own=False, items={"rhost": "192.0.2.9", "tty": "ssh"}, **scene)

    def test_every_name_sees_the_same(self):
        seen = set()
        for name in (ENROLLED, WITHOUT_TOKEN, "no-such-user", "a b"):
            result = self.play(user=name, answers=["", *WRONG])
            seen.add(json.dumps([result["texts"], result["codes"]]))
        self.assertEqual(len(seen), 1, seen)
        self.assertEqual(seen.pop().count(NOT_TAKEN), 5)

    def test_every_name_sees_the_same_if_the_service_answers(self):
        world.configure(server=world.address)
        for name in (WITHOUT_TOKEN, "no-such-user"):
            with self.subTest(name=name):
                self.assertNotIn(OFFER, self.play(user=name, answers=["", ""])["texts"])

    def test_an_open_outage_lets_nobody_through_without_a_token(self):
        lines = "auth required MODULE\nauth required pam_permit.so\n"
        world.pam("sshd", "timeout=20s fail=open", lines=lines)
        for name, code in ((ENROLLED, SUCCESS), (WITHOUT_TOKEN, AUTHINFO_UNAVAIL), ("no-such-user", AUTHINFO_UNAVAIL)):
            with self.subTest(name=name):
                result = self.play(user=name, calls=["authenticate"] * 2, answers=["", ""] * 2)
                self.assertEqual(result["codes"][0], code)
                if code != SUCCESS:
                    self.assertEqual(result["codes"][1], code)

    def test_a_fault_of_the_codes_is_only_logged(self):
        os.chmod(self.set_file(), 0o644)
        result = self.play(answers=["", self.codes[0], *WRONG[1:]])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"].count(NOT_TAKEN), 5)
        self.assertIn("readable by group or others", result["log"][-1])

    def test_a_code_signs_in(self):
        result = self.play(answers=["", self.codes[0]])
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertRegex(result["variables"][0], "^IAMPASS_SESSION=[0-9a-f]{32}$")
        for path in glob.glob(world.path("run", "sessions", "*")):
            os.unlink(path)


if __name__ == "__main__":
    unittest.main()
