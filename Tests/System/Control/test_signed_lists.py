"""Lists of users that administrators' phones sign: what a broken service can and cannot do with them."""

import os
import re
import unittest

from broken_into_case import TEMPORARY, BrokenIntoCase
from control import PROTOCOL, ControlWorld
from Support.HostileService.broken_into_service import administrators, line
from Support.HostileService.signing_phone import SigningPhone
from Support.Service.server import until
from Support.Service.world import program, read


def setUpModule():
    BrokenIntoCase.world = ControlWorld()
    unittest.addModuleCleanup(BrokenIntoCase.world.close)
    BrokenIntoCase.world.serve()


class Broken(BrokenIntoCase):
    def test_a_signed_list_comes_with_its_phones(self):
        done = self.start_with(line("bin"), line("daemon", self.bobs))
        self.assertIn("the list of users counts if alice signs it by phone\n", done.out)
        self.assertIn("the service lists 2 users\n", done.out)
        self.assertIn("approvals = verified\n", read(os.path.join(self.folder, "iampass.conf")))
        modes = [os.stat(os.path.join(self.folder, "state/service", name)).st_mode & 0o7777
                 for name in ("users", "phones", *self.fleets())]  # fmt: skip
        self.assertEqual(modes, [0o600, 0o600, 0o644])
        self.assertRegex(self.ctl("phone", "list").out, r"daemon +Scripted phone .* service\n")
        self.assertIn("counts if alice signs it (set 1); version 1.7 is kept", self.ctl("check").out)

    def test_a_power_cut_keeps_no_credential_without_whose_phones_sign(self):
        """The folders' flushes stand for it: they come before what relies on the files."""
        self.service.page = self.service.signed([line("daemon", self.bobs)], 7)
        trace = os.path.join(self.folder, "trace")
        done = self.world.ctl(
            "join", self.service.url, self.new_code(), "--name", self.name, "--yes", "--config",
            os.path.join(self.folder, "iampass.conf"), configured=False,
            before=("strace", "-y", "-qq", "-o", trace, "-e", "trace=rename,renameat,fsync"))  # fmt: skip
        self.assertEqual(done.code, 0, done.text)
        found = re.findall(r'rename(?:at)?\(.*"([^"]+)"\) += 0|fsync\(\d+<([^>]+)>\) += 0', read(trace))
        steps = [renamed or "flush " + flushed for renamed, flushed in found]
        # The note of the secret, before it is sent.
        noted = steps.index(self.folder + "/joining")
        self.assertEqual(steps[noted + 1 : noted + 3], ["flush " + self.folder, "flush " + os.path.dirname(self.folder)])
        state = self.folder + "/state"
        kept = steps.index(f"{state}/service/{self.fleets()[0]}")
        self.assertEqual(steps[kept + 1 : kept + 4], [f"flush {state}/service", f"flush {state}", f"flush {self.folder}"])
        self.assertLess(kept + 3, steps.index(self.folder + "/credentials"))

    def test_what_this_computers_administrator_has_decided_stays(self):
        self.write("iampass.conf", self.settings + "approvals = service\n")
        self.start_with(line("daemon", self.bobs))
        self.assertIn("approvals = service\n", read(os.path.join(self.folder, "iampass.conf")))
        self.assertIn("signs it (set 1), but sign-ins believe the service\n", self.ctl("check").out)

    def test_other_administrators_than_the_codes_are_refused(self):
        eve = SigningPhone("phone-of-eve")
        for lie in ({"administrators": administrators(1, "", eve=eve)}, {"application": "other"}, {"group": "lab"}):
            with self.subTest(lie=list(lie)):
                self.service.fleet = {"administrators": self.service.first, "application": "application-of-the-relay",
                                     "group": "", **lie}  # fmt: skip
                done = self.join()
                self.assertEqual(done.code, PROTOCOL, done.text)
                self.assertIn("the service tells other administrators, another application or another group", done.err)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "credentials")))
                self.assertEqual(self.fleets(), [])

    def test_a_removed_phones_key_reaches_no_computer(self):
        former = line("daemon", self.bobs, self.other)
        now = line("daemon", self.bobs)
        self.start_with(now, number=8)
        self.refuses(self.service.signed([now], 9, shown=[former]), "its users are not those that an administrator has signed")
        self.refuses(self.service.signed([former], 7), "its version is older than the one that this computer has")

    def test_lists_that_no_administrator_has_signed_are_refused(self):
        self.start_with(line("daemon", self.bobs))
        eve = SigningPhone("phone-of-eve")
        more = [line("bin", eve), line("daemon", self.bobs)]
        sign = self.service.signed
        unsigned = {**sign(more, 9)}
        del unsigned["head"], unsigned["proof"]
        for page, reason in (
            (unsigned, "it is not signed"),
            (sign(more, 9, phone=eve), "no administrator has signed it: this computer does not trust that phone"),
            (sign(more, 9, answer="deny"), "no administrator has signed it: the phone signed no approval"),
            (sign(more, 9, document=None), "no administrator has signed it: the phone signed another document"),
            (sign(more, 9, origin="https://other.example"), "no administrator has signed it: the phone signed for another"),
            (sign(more, 9, method="acceptance"), "no administrator has signed it: the phone used another method"),
            (sign(more, 9, application="other"), "it is signed for another application"),
            ({**sign(more, 9), "proof": sign(more, 8)["proof"]}, "no administrator has signed it: the phone signed another"),
        ):
            with self.subTest(reason=reason):
                self.refuses(page, reason)
        self.refuses(self.service.next_set(administrators(2, self.service.first, eve=eve), eve),
                     "no administrator has signed its set of administrators")  # fmt: skip

    def test_names_that_no_computer_takes_and_a_million_users_are_refused(self):
        self.start_with(line("daemon", self.bobs))
        for name in ("root", "-rf", "a b", "a:b", "a\nroot:x"):
            with self.subTest(name=name):
                self.service.page = self.service.signed([line(name)], 9)
                self.assertEqual(self.join("--enable").code, TEMPORARY)
                self.has(line("daemon", self.bobs))
        page = self.service.signed([line("bin")], 9)
        page["head"]["lists"][0]["count"] = 1_000_000
        self.service.page = page
        self.assertEqual(self.join("--enable").code, TEMPORARY)
        self.has(line("daemon", self.bobs))

    def test_a_damaged_file_of_administrators_takes_no_list(self):
        self.start_with(line("daemon", self.bobs))
        self.write("state/service/" + self.fleets()[0], "{}")
        asked = len(self.service.asked)
        done = self.join("--enable")
        self.assertEqual(done.code, TEMPORARY, done.text)
        self.assertRegex(done.err, r"administrators\.\w+ is damaged")
        self.assertEqual(len(self.service.asked), asked)
        self.assertRegex(self.ctl("check").out, r"administrators\.\w+ is damaged")

    def test_the_helper_follows_what_is_signed(self):
        self.service.page = self.service.nothing()
        done = self.join()
        self.assertIn("no administrator has signed the service's list of users yet\n", done.text)
        carol = SigningPhone("phone-of-carol")
        second = administrators(2, self.service.first, carol=carol)

        def page(request):
            if "administrators=1" in request.path:
                return self.service.next_set(second)
            return self.service.signed([line("daemon", self.bobs)], 3, phone=carol, under=second)

        helper = self.world.start(program("iampass-helper"), "--config", os.path.join(self.folder, "iampass.conf"))
        self.addCleanup(helper.stop)
        helper.wait_for("no administrator has signed it yet")
        self.service.page = page
        until(lambda: self.kept("users") == ["daemon:token-of-daemon"], lambda: f"{self.kept('users')} {helper.lines}", 30)
        helper.wait_for(r"administrators=2")
        self.service.page = self.service.signed([line("daemon", self.other)], 4, phone=carol, under=second)
        helper.wait_for(r"users=1 version=1\.4 signed removed_phones=daemon:phone-of-bob")
        self.has(line("daemon", self.other))
        # Alice was removed.
        self.service.page = self.service.signed([line("daemon", self.bobs)], 5, under=second)
        helper.wait_for(r"no administrator has signed it: this computer does not trust that phone; the last one stays")
        self.has(line("daemon", self.other))

    def test_a_list_of_an_earlier_set_counts_while_its_signer_is_there(self):
        carol, eve = SigningPhone("phone-of-carol"), SigningPhone("phone-of-eve")
        second = administrators(2, self.service.first, alice=self.service.alice, carol=carol)
        self.start_with(line("daemon", self.bobs))

        def page(made):
            return lambda request: self.service.next_set(second) if "administrators=1" in request.path else made

        sign, first = self.service.signed, self.service.first
        # The set of administrators is followed all the same.
        self.service.page = page(sign([line("bin")], 8, phone=carol, under=first, after=[first]))
        self.assertEqual(self.join("--enable").code, TEMPORARY)
        forged = administrators(1, "", alice=self.service.alice, eve=eve)
        for made, reason in (
            (sign([line("bin")], 8, under=first), "it names administrators who do not lead to those of now"),
            (sign([line("bin")], 8, under=forged, after=[forged]), "it names administrators who do not lead to those of now"),
            (sign([line("bin")], 8, phone=carol, under=first, after=[first]), "this computer does not trust that phone"),
        ):
            with self.subTest(reason=reason):
                self.refuses(made, "no administrator has signed it: " + reason)
        self.service.page = sign([line("bin")], 8, under=first, after=[first])
        helper = self.world.start(program("iampass-helper"), "--config", os.path.join(self.folder, "iampass.conf"))
        self.addCleanup(helper.stop)
        helper.wait_for(r"users=1 version=1\.8 signed")
        self.has(line("bin"))


if __name__ == "__main__":
    unittest.main()
