"""What tests of signed lists share: the real service behind a relay that has all its keys, and lies."""

import glob
import hashlib
import os
import re
import shutil
import unittest

from Support.HostileService.broken_into_service import BrokenIntoService, code_with_fleet, fleet_digest, line
from Support.HostileService.signing_phone import SigningPhone
from Support.Service.world import program, read, run

TEMPORARY = 75


def fleet_of(credential):
    """The file that says whose phones sign for this credential, as HostState's Fleet names it."""
    return "administrators." + hashlib.sha256(credential.encode()).hexdigest()[:16]


class BrokenIntoCase(unittest.TestCase):
    """The real service behind a relay that has all its keys, and lies about users and administrators."""

    def setUp(self):
        self.service = BrokenIntoService(self.world)
        self.service.start()
        self.addCleanup(self.service.stop)
        self.folder = self.world.path(self.id().rsplit(".", 1)[1])
        os.makedirs(self.folder)
        self.addCleanup(shutil.rmtree, self.folder)
        self.settings = (f"run_dir = {self.folder}/run\nstate_dir = {self.folder}/state\n"
                         f"worker = {self.world.path('iampass-https')}\nworker_user = nobody\nusers_from_service = 1-59999\n")  # fmt: skip
        self.write("iampass.conf", self.settings)
        self.name = f"desk-{self.service.port}"
        self.bobs, self.other = SigningPhone("phone-of-bob"), SigningPhone("other-phone-of-bob")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def ctl(self, *words):
        return self.world.ctl(*words, "--config", os.path.join(self.folder, "iampass.conf"), configured=False)

    def new_code(self, digest=None):
        made = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate",
                   self.service.ca_file, "--data", self.world.path("data"))  # fmt: skip
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

    def plain_code(self):
        """A code of the first form, as a service that was broken into shows it."""
        made = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate",
                   self.service.ca_file, "--data", self.world.path("data"))  # fmt: skip
        self.name += "x"
        self.code = made.split()[-1]

    def tell(self, told):
        """The service tells these administrators from now on, and its code names them."""
        self.service.fleet = {"administrators": told, "application": "application-of-the-relay", "group": ""}
        self.name += "x"
        self.new_code(fleet_digest(told))
