"""Signed lists of users after a computer joins again: whose signatures it believes then."""

import os
import subprocess
import unittest

from broken_into_case import BrokenIntoCase, fleet_of
from control import NO_PERMISSION, PROTOCOL, ControlWorld
from Support.HostileService.broken_into_service import administrators, line
from Support.HostileService.signing_phone import SigningPhone
from Support.Service.world import program, read


def setUpModule():
    BrokenIntoCase.world = ControlWorld()
    unittest.addModuleCleanup(BrokenIntoCase.world.close)
    BrokenIntoCase.world.serve()


class JoinedAgain(BrokenIntoCase):
    #: What a service says of its users by its own word.
    UNSIGNED = {"version": 90, "since": 0, "more": False, "count": 1, "users": ["+bin:t"], "mark": {"epoch": 9, "counter": 9}}

    def test_joining_again_leaves_the_old_signed_or_the_new_signed(self):
        self.start_with(line("daemon", self.bobs))
        former, fleets = self.credential(), self.fleets()
        # The join ends where it would write the new credential.
        obstacle = os.path.join(self.folder, "credentials.pending")
        os.mkdir(obstacle)
        done = self.begin_again()
        self.assertNotEqual(done.code, 0, done.text)
        self.assertEqual(self.credential(), former)
        self.assertEqual(len(self.fleets()), 2)
        self.believes_signed_lists_alone()
        self.has(line("daemon", self.bobs))
        os.rmdir(obstacle)
        # It ends before the new credential has a list.
        self.service.page = self.service.nothing()
        self.assertEqual(self.begin_again().code, 0)
        self.assertNotEqual(self.credential(), former)
        # The former one stays until the next join: a helper that was not told yet asks for the former credential's list.
        self.assertEqual((len(self.fleets()), set(fleets) <= set(self.fleets())), (2, True))
        self.believes_signed_lists_alone()
        self.service.page = self.service.signed([line("daemon", self.bobs)], 8)
        self.assertEqual(self.begin_again().code, 0)
        self.has(line("daemon", self.bobs))
        self.assertEqual((len(self.fleets()), set(fleets) & set(self.fleets())), (2, set()))

    def test_killed_while_it_joins_again_it_believes_signed_lists_alone(self):
        self.start_with(line("daemon", self.bobs))
        for delay in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6):
            before = self.credential()
            self.other_name()
            self.service.page = self.service.signed([line("daemon", self.bobs)], 8)
            child = subprocess.Popen(
                [program("iampassctl"), "join", self.service.url, self.code, "--name", self.name, "--yes", "--again",
                 "--config", os.path.join(self.folder, "iampass.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                child.wait(delay)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            with self.subTest(delay=delay, joined=self.credential() != before):
                self.believes_signed_lists_alone()
        # On a slow machine it is still the first one: no join came through in its time.
        before = self.credential()
        self.assertEqual(self.begin_again().code, 0)
        self.assertNotEqual(self.credential(), before)
        self.assertEqual(self.fleets(), sorted(map(fleet_of, (before, self.credential()))))

    def test_a_code_without_administrators_takes_their_place_only_if_root_says_so(self):
        self.start_with(line("daemon", self.bobs))
        before = self.credential(), self.fleets()
        self.plain_code()
        self.service.page = self.UNSIGNED
        credentials = os.path.join(self.folder, "credentials")
        kept = read(credentials)
        for words in (["--again"], []):
            if not words:
                # As after whoever wants to begin again has removed it.
                os.unlink(credentials)
            with self.subTest(words=words):
                done = self.join(*words)
                self.assertEqual(done.code, NO_PERMISSION, done.text)
                self.assertIn("the list of users counts here if alice signs it by phone, and this code names no", done.err)
                self.assertIn("hint: make a code where administrators sign; with --give-up-administrators the service", done.err)
        self.assertFalse(os.path.exists(credentials))
        with open(os.open(credentials, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(kept)
        self.assertEqual((self.credential(), self.fleets()), before)
        self.has(line("daemon", self.bobs))
        done = self.join("--again", "--give-up-administrators")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("given up: the list of users counted here if alice signed it by phone\n", done.out)
        self.assertIn("from now on the service alone says who the users are: so does whoever breaks into it\n", done.out)
        self.assertIn("approvals = verified stays", done.out)
        self.assertEqual(self.kept("users"), ["bin:t"])
        # It was said once: the next join needs no more.
        self.plain_code()
        self.assertEqual(self.join("--again").code, 0)
        self.assertNotIn(before[1][0], self.fleets())

    def test_another_credential_takes_no_unsigned_list(self):
        """Whoever wrote it, and however: the helper holds to the administrators."""
        self.start_with(line("daemon", self.bobs))
        fleet = os.path.join(self.folder, "state/service", self.fleets()[0])
        self.plain_code()
        self.assertEqual(self.join("--again", "--give-up-administrators").code, 0)
        os.unlink(os.path.join(self.folder, "state/service", fleet_of(self.credential())))
        for name in ("users", "phones"):
            os.unlink(os.path.join(self.folder, "state/service", name))
        self.assertTrue(os.path.exists(fleet))
        self.service.page = self.UNSIGNED
        asked = len(self.service.asked)
        helper = self.world.start(program("iampass-helper"), "--config", os.path.join(self.folder, "iampass.conf"))
        self.addCleanup(helper.stop)
        helper.wait_for("is not taken: administrators signed the list for another credential")
        self.assertEqual((len(self.service.asked), self.kept("users")), (asked, []))
        self.assertIn("administrators signed the list for another credential", self.ctl("check").out)

    def test_a_codes_other_administrators_are_believed_only_if_root_says_so(self):
        self.start_with(line("daemon", self.bobs))
        before = self.credential(), self.fleets()
        eve = SigningPhone("phone-of-eve")
        self.tell(administrators(1, "", eve=eve))
        done = self.join("--again")
        self.assertEqual(done.code, PROTOCOL, done.text)
        self.assertIn("the code's administrators (eve) do not follow from these\nhint: ask them", done.err)
        self.assertEqual((self.credential(), self.fleets()), before)
        self.service.page = self.service.signed([line("bin")], 9, phone=eve, under=self.service.fleet["administrators"])
        done = self.join("--again", "--give-up-administrators")
        self.assertEqual(done.code, 0, "the same code goes on: " + done.text)
        self.assertIn("the list of users counts if eve signs it by phone\n", done.out)
        self.has(line("bin"))

    def test_later_administrators_of_a_code_have_to_prove_that_they_follow(self):
        self.start_with(line("daemon", self.bobs))
        eve, carol = SigningPhone("phone-of-eve"), SigningPhone("phone-of-carol")
        forged = administrators(2, administrators(1, "", eve=eve), eve=eve)
        self.tell(forged)
        self.service.page = lambda request: (self.service.next_set(forged, eve) if "administrators=1" in request.path
                                             else self.service.signed([line("bin")], 9, phone=eve, under=forged))  # fmt: skip
        done = self.join("--again")
        self.assertIn("the list of users counts if alice signs it by phone\n", done.out)
        self.assertIn("is not taken: no administrator has signed its set of administrators", done.err)
        self.assertIn("hint: ask the administrators; if they began again: iampassctl join --again --give-up", done.err)
        second = administrators(2, self.service.first, carol=carol)
        self.tell(second)
        self.service.page = lambda request: (self.service.next_set(second) if "administrators=1" in request.path
                                             else self.service.signed([line("bin")], 9, phone=carol, under=second))  # fmt: skip
        self.assertEqual(self.join("--again").code, 0)
        self.has(line("bin"))


if __name__ == "__main__":
    unittest.main()
