"""The phone without a network, asked by sshd: what strangers learn, and how often they may try."""

import glob
import hashlib
import json
import os
import re
import unittest

from offline_case import NOT_TAKEN, TRIED, WRONG, OfflineCase, setUpModule  # noqa: F401: what its tests need
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, SUCCESS, WITHOUT_TOKEN, read


class SecureShell(OfflineCase):
    def setUp(self):
        super().setUp()
        self.world.pam("sshd", "timeout=20s")
        self.scene = {"service": "sshd", "own": False, "items": {"rhost": "192.0.2.9", "tty": "ssh"}}

    def test_the_digits_sign_in(self):
        result = self.signed_in([""], **self.scene)
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertRegex(result["variables"][0], "^IAMPASS_SESSION=[0-9a-f]{32}$")
        for path in glob.glob(self.world.path("run", "sessions", "*")):
            os.unlink(path)

    def test_every_name_sees_the_same(self):
        seen = set()
        for name in (ENROLLED, WITHOUT_TOKEN, "no-such-user"):
            result = self.world.play(user=name, answers=["", *WRONG], **self.scene)
            texts = [re.sub(r"#offline=.*", "", text) for text in result["texts"]]
            seen.add(json.dumps([texts, result["codes"]]))
        self.assertEqual(len(seen), 1, seen)
        self.assertEqual(seen.pop().count(NOT_TAKEN), 5)

    def test_a_stranger_with_many_addresses_has_fifty_tries_an_hour(self):
        for name, known in ((ENROLLED, "every"), ("no-such-user", "every-unknown")):
            with self.subTest(name=name):
                scene = {**self.scene, "items": {"rhost": "192.0.2.20", "tty": "ssh"}}
                self.world.play(user=name, answers=["", *WRONG], **scene)
                path = self.world.path("run", "attempts", known, hashlib.sha256(f"{name}\0".encode()).hexdigest())
                times = read(path).split()
                self.assertEqual(len(times), 5)
                # As of other addresses.
                with open(path, "w") as file:
                    file.write("".join(f"{times[0]}\n" for _ in range(48)))
                scene["items"]["rhost"] = "198.51.100.7"
                result = self.world.play(user=name, answers=["", *WRONG], **scene)
                self.assertEqual(result["texts"].count(NOT_TAKEN), 2)
                self.assertRegex("\n".join(result["texts"]), TRIED)
        # The owner's own at the computer are counted apart.
        self.assertEqual(self.signed_in()["codes"], [SUCCESS])

    def test_another_name_does_not_get_in_by_the_owners_digits(self):
        result = self.signed_in(["", ""][:1], user=WITHOUT_TOKEN, **self.scene)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])


if __name__ == "__main__":
    unittest.main()
