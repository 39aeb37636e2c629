"""Lists of users that administrators' phones sign: what a broken service can and cannot do with them."""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import unittest

from control import NO_PERMISSION, PROTOCOL, ControlWorld
from Support.HostileService.signing_phone import SigningPhone
from Support.Service.server import until
from Support.Service.world import program, read, run

from Support.HostileService.broken_into_service import BrokenIntoService, administrators, code_with_fleet, fleet_digest, line

TEMPORARY = 75


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()


def fleet_of(credential):
    """The file that says whose phones sign for this credential, as HostState's Fleet names it."""
    return "administrators." + hashlib.sha256(credential.encode()).hexdigest()[:16]


class Broken(unittest.TestCase):
    """The real service behind a relay that has all its keys, and lies about users and administrators."""

    def setUp(self):
        self.service = BrokenIntoService(world)
        self.service.start()
        self.addCleanup(self.service.stop)
        self.folder = world.path(self.id().rsplit(".", 1)[1])
        os.makedirs(self.folder)
        self.addCleanup(shutil.rmtree, self.folder)
        self.settings = (f"run_dir = {self.folder}/run\nstate_dir = {self.folder}/state\n"
                         f"worker = {world.path('iampass-https')}\nworker_user = nobody\nusers_from_service = 1-59999\n")  # fmt: skip
        self.write("iampass.conf", self.settings)
        self.name = f"desk-{self.service.port}"
        self.bobs, self.other = SigningPhone("phone-of-bob"), SigningPhone("other-phone-of-bob")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def ctl(self, *words):
        return world.ctl(*words, "--config", os.path.join(self.folder, "iampass.conf"), configured=False)

    def new_code(self, digest=None):
        made = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate",
                   self.service.ca_file, "--data", world.path("data"))  # fmt: skip
        self.code = code_with_fleet(made.split()[-1], digest or fleet_digest(self.service.first))
        return self.code

    def join(self, *words, digest=None):
        if not hasattr(self, "code"):
            self.new_code(digest)
        return self.ctl("join", self.service.url, self.code, "--name", self.name, "--yes", *words)

    def fleets(self):
        """The files that say whose phones sign."""
        found = glob.glob(os.path.join(self.folder, "state/service/administrators*"))
        return sorted(os.path.basename(path) for path in found if not path.endswith(".lock"))

    def kept(self, name):
        name = self.fleets()[0] if name == "administrators" else name
        path = os.path.join(self.folder, "state/service", name)
        text = read(path) if os.path.exists(path) else ""
        return re.findall(r"^([^#\n].*)$", text, re.MULTILINE)

    def has(self, *lines):
        """The computer has these users with these phones, and no other."""
        self.assertEqual(self.kept("users"), [f"{one['name']}:{one['token']}" for one in lines])
        self.assertEqual(self.kept("phones"), [f"{one['name']}:{phone}" for one in lines for phone in one["phones"]])

    def refuses(self, page, reason):
        """It keeps what it has."""
        before = self.kept("users"), self.kept("phones"), self.kept("administrators")
        self.service.page = page
        done = self.join("--enable")
        self.assertEqual(done.code, TEMPORARY, done.text)
        self.assertIn("the users are not here yet: the service's list of users is not taken: " + reason, done.err)
        self.assertEqual((self.kept("users"), self.kept("phones"), self.kept("administrators")), before)

    def start_with(self, *lines, number=7):
        self.service.page = self.service.signed(list(lines), number)
        done = self.join()
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(self.kept("users") == [], not lines, done.text)
        self.has(*lines)
        return done

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

        helper = world.start(program("iampass-helper"), "--config", os.path.join(self.folder, "iampass.conf"))
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
        helper = world.start(program("iampass-helper"), "--config", os.path.join(self.folder, "iampass.conf"))
        self.addCleanup(helper.stop)
        helper.wait_for(r"users=1 version=1\.8 signed")
        self.has(line("bin"))

    def begin_again(self, *words):
        """Joins with another code, as another computer of the service."""
        self.other_name()
        return self.join("--again", *words)

    def other_name(self):
        """A name is one computer's."""
        self.new_code()
        self.name += "x"

    def credential(self):
        return re.search(r"^application_id = (\S+)$", read(os.path.join(self.folder, "credentials")), re.MULTILINE)[1]

    def believes_signed_lists_alone(self):
        """The credential in force takes what alice signs, and no other list."""
        eve = SigningPhone("phone-of-eve")
        for page in ({"version": 90, "since": 0, "more": False, "count": 1, "users": ["+bin:t"], "mark": {"epoch": 9, "counter": 9}},
                     self.service.signed([line("bin")], 90, phone=eve)):  # fmt: skip
            asked = len(self.service.asked)
            self.service.page = page
            self.ctl("join", self.service.url, self.code, "--name", self.name, "--yes", "--enable")
            self.assertGreater(len(self.service.asked), asked)
            self.assertTrue(all("signed=1" in path for path in self.service.asked[asked:]), self.service.asked[asked:])
            self.assertNotIn("bin:t", self.kept("users"))
            self.assertNotIn("bin:token-of-bin", self.kept("users"))

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

    #: What a service says of its users by its own word.
    UNSIGNED = {"version": 90, "since": 0, "more": False, "count": 1, "users": ["+bin:t"], "mark": {"epoch": 9, "counter": 9}}

    def plain_code(self):
        """A code of the first form, as a service that was broken into shows it."""
        made = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate",
                   self.service.ca_file, "--data", world.path("data"))  # fmt: skip
        self.name += "x"
        self.code = made.split()[-1]

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
        helper = world.start(program("iampass-helper"), "--config", os.path.join(self.folder, "iampass.conf"))
        self.addCleanup(helper.stop)
        helper.wait_for("is not taken: administrators signed the list for another credential")
        self.assertEqual((len(self.service.asked), self.kept("users")), (asked, []))
        self.assertIn("administrators signed the list for another credential", self.ctl("check").out)

    def tell(self, told):
        """The service tells these administrators from now on, and its code names them."""
        self.service.fleet = {"administrators": told, "application": "application-of-the-relay", "group": ""}
        self.name += "x"
        self.new_code(fleet_digest(told))

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
