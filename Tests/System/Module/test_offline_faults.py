"""The phone without a network: disks, keys and clocks that are not as they should be, and a phone that is trusted no more."""

import json
import os
import time
import unittest

from offline_case import NOWHERE, OfflineCase, links, setUpModule  # noqa: F401: what its tests need
from Support.Service.world import AUTHINFO_UNAVAIL, SUCCESS, program, read, run


class Faults(OfflineCase):
    def refused(self, words, **scene):
        result = self.signed_in(**scene)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(
            result["texts"][-1], f"IAMPASS: your phone cannot approve without the network: {words}. Use your password.")
        return result

    def test_a_full_disk_refuses(self):
        with self.state_on_a_disk("full", "offline", "uses"):
            self.refused("the disk is full")

    def test_a_disk_that_cannot_be_written_refuses(self):
        with self.state_on_a_disk("ro", "offline", "uses"):
            self.refused("the disk cannot be written")

    def change_key(self, change):
        path = self.world.path("state", "offline", "key")
        before = read(path)
        self.addCleanup(self.world.write, os.path.relpath(path, self.world.folder), before)
        self.world.write(os.path.relpath(path, self.world.folder), change(before))
        result = self.world.play(answers=["00000000"])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(links(" ".join(result["texts"])), [])
        return result["texts"][-1] + result["log"][-1]

    def test_a_copied_disk_is_refused(self):
        told = self.change_key(lambda text: json.dumps({**json.loads(text), "computer": "0" * 64}))
        self.assertIn("this computer's key was made for another computer. Use your password.", told)

    def test_a_cut_key_is_refused(self):
        self.assertIn("this computer's key is damaged. Use your password.", self.change_key(lambda text: text[:50]))

    def test_a_phone_that_was_not_seen_for_long_is_refused(self):
        path = self.met_file()
        before = read(path)
        self.addCleanup(self.world.write, os.path.relpath(path, self.world.folder), before)
        for seen, words in (
            (time.time() - 31 * 86_400, "it has not signed in here with it for 30 days"),
            (time.time() + 3_600, "this computer's clock was set back"),
        ):
            with self.subTest(words):
                self.world.write(os.path.relpath(path, self.world.folder), json.dumps({**json.loads(before), "seen": int(seen)}))
                result = self.world.play(answers=["00000000"])
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                self.assertEqual(links(" ".join(result["texts"])), [])
                self.assertEqual(
                    result["texts"][-1], f"IAMPASS: your phone cannot approve without the network: {words}. Use your password.")

    def test_a_user_whom_the_service_knows_no_phone_of_has_none_here(self):
        path = self.met_file()
        run(program("iampass-phone"), "unregister", "--state", self.world.path("phone.json"))
        self.addCleanup(self.register_again)
        self.world.configure(server=self.world.address)
        self.assertEqual(self.world.play()["codes"], [AUTHINFO_UNAVAIL])
        self.assertTrue(os.path.exists(path), "nobody has signed that")
        self.world.configure(signed_replies="required")
        result = self.world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("the user's phone approves no more without the service", "\n".join(result["log"]))
        self.assertFalse(os.path.exists(path))
        self.world.configure(server=NOWHERE)
        self.assertEqual(links(" ".join(self.world.play(answers=["00000000"])["texts"])), [])

    def register_again(self):
        self.world.configure(server=self.world.address, signed_replies=None)
        self.world.register_phone()
        self.pin()
        self.meet()

    def test_a_copied_disk_gets_a_key_of_its_own(self):
        path = self.world.path("state", "offline", "key")
        before = json.loads(read(path))
        self.world.write(os.path.relpath(path, self.world.folder), json.dumps({**before, "computer": "0" * 64}))
        self.meet()
        after = json.loads(read(path))
        self.assertEqual(after["computer"], before["computer"])
        self.assertNotEqual(after["public"], before["public"])
        self.world.configure(server=NOWHERE)
        self.assertEqual(self.signed_in()["codes"], [SUCCESS])

    def test_the_files_are_roots_alone(self):
        for folder, _, names in os.walk(self.world.path("state", "offline")):
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
            for name in names:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()
