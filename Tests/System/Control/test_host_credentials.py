"""A host that has a credential of its own: what iampassctl says there, and what it still does with `--credentials`."""

import json
import os
import re
import subprocess
import unittest

from control import DATA, NO_PERMISSION, Answer, ControlWorld
from Support.Service.never import assert_hidden
from Support.Service.world import ENROLLED, PATIENCE, program, read


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()


def server(*words):
    return Answer(subprocess.run(
        [program("iampass-server"), *words, "--data", world.path("data")], capture_output=True, text=True, timeout=PATIENCE))


class Case(unittest.TestCase):
    """Each test on a host that was set up with a new credential of its own."""

    def setUp(self):
        self.name = f"laptop {id(self)}"
        self.made = server("host-credential", "create", "tests", self.name, "--host", "laptop-7")
        self.assertEqual(self.made.code, 0, self.made.err)
        if not os.path.exists(world.path("office")):
            os.rename(world.path("credentials"), world.path("office"))
        if os.path.exists(world.path("credentials")):
            os.unlink(world.path("credentials"))
        world.write("host", self.made.out)
        self.set_up = world.ctl("setup", "--server", world.address, "--secret-file", world.path("host"))
        self.assertEqual(self.set_up.code, 0, self.set_up.text)


class Setup(Case):
    def test_it_takes_the_credential_and_recommends_nothing_more(self):
        self.assertIn("the credential is this host's own", self.set_up.out)
        self.assertIn("signed_replies = required", self.set_up.out)
        self.assertNotIn("hint: make a host credential", self.set_up.text)
        own = "--credentials FILE"
        self.assertIn(f"next: iampassctl user add NAME {own}, iampassctl enroll NAME {own}, iampassctl enable --sshd --trial 10m\n", self.set_up.out)
        # A second token would be another user at the service.
        self.assertIn("by another computer: iampassctl user import FILE, in place of user add and enroll\n", self.set_up.out)
        # The configuration contains what the service must sign.
        kept = [line for line in self.made.out.splitlines(True) if re.match("application_|host = laptop-7$", line)]
        self.assertEqual(len(kept), 3)
        self.assertEqual(read(world.path("credentials")), "".join(kept))

    def test_a_secret_alone_leaves_the_host_as_it_is(self):
        settings = dict(line.split(" = ", 1) for line in self.made.out.splitlines())
        before = read(world.path("credentials"))
        world.write("alone", settings["application_secret"] + "\n")
        done = world.ctl("setup", "--application-id", settings["application_id"], "--secret-file", world.path("alone"))
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(read(world.path("credentials")), before)

    def test_a_host_that_an_earlier_version_left_out_is_added(self):
        before = read(world.path("credentials"))
        world.write("credentials", "".join(line for line in before.splitlines(True) if not line.startswith("host")))
        done = world.ctl("setup", "--secret-file", world.path("host"))
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(read(world.path("credentials")), before)

    def test_another_credential_takes_the_host_of_the_first_one_away(self):
        world.write("own", read(world.path("office")))
        self.assertEqual(world.ctl("setup", "--secret-file", world.path("own")).code, 0)
        self.assertNotIn("host =", read(world.path("credentials")))

    def test_with_the_applications_own_it_recommends_one(self):
        world.write("own", read(world.path("office")))
        done = world.ctl("setup", "--server", world.address, "--secret-file", world.path("own"))
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("hint: make a host credential at the service", done.text)
        self.assertIn("next: iampassctl user add NAME, iampassctl enroll NAME, iampassctl enable --sshd --trial 10m\n", done.out)

    def test_with_the_services_list_no_user_is_to_be_added(self):
        world.configure(users="service")
        self.addCleanup(world.configure, users=None)
        done = world.ctl("setup")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("next: iampassctl enable --sshd --trial 10m\n", done.out)

    def test_check_warns_of_the_applications_own_alone(self):
        warning = "this host holds the application's own credential"
        self.assertNotIn(warning, world.ctl("check").text)
        world.write("credentials", read(world.path("office")))
        self.assertIn(warning, world.ctl("check").text)


class Managing(Case):
    def assert_says_what_is_missing(self, done):
        self.assertEqual(done.code, NO_PERMISSION, done.text)
        self.assertEqual(
            done.err,
            f"iampassctl: the service does not let the credential of {world.path('credentials')} manage users and phones\n"
            "hint: give the application's own credential with --credentials FILE, or iampassctl check\n")

    def test_user_add_and_enroll_and_lost_device_say_what_is_missing(self):
        before = world.users()
        self.assert_says_what_is_missing(world.ctl("user", "add", "bin"))
        self.assertEqual(world.users(), before)
        self.assert_says_what_is_missing(world.ctl("enroll", ENROLLED))
        self.assert_says_what_is_missing(world.ctl("lost-device", ENROLLED))

    def test_they_work_with_the_applications_own(self):
        own = ("--credentials", world.path("office"))
        self.addCleanup(world.ctl, "user", "remove", "bin", *own)
        self.assertEqual(world.ctl("user", "add", "bin", *own).code, 0)
        self.assertIn("bin", world.users())
        self.assertIn("/register/", world.ctl("enroll", "bin", *own).out)
        self.assertIn("/register/", world.ctl("lost-device", "bin", *own).out)


class Listing(Case):
    def test_the_list_has_no_secret(self):
        secret = re.search(r"application_secret = (\S+)", self.made.out).group(1)
        listed = server("host-credential", "list", "tests")
        self.assertRegex(listed.out, rf"(?m)^{self.name}  host=laptop-7  id=[0-9a-f]{{32}}  made=\S+Z")
        assert_hidden(secret, listed.text)
        assert_hidden(secret, server("host-credential", "list", "tests", "--json").text)

    def test_the_last_use_is_listed(self):
        lines = server("host-credential", "list", "tests", "--json").out.splitlines()
        mine = next(entry for entry in map(json.loads, lines) if entry["name"] == self.name)
        self.assertGreaterEqual(mine["used"], mine["made"])
        self.assertIsNone(mine["revoked"])

    def test_a_revoked_credential_is_refused_and_check_says_so(self):
        self.assertEqual(server("host-credential", "revoke", "tests", self.name).code, 0)
        done = world.ctl("check")
        self.assertIn("the service does not accept the signature", done.text)
        again = server("host-credential", "revoke", "tests", self.name)
        self.assertEqual(again.code, DATA)
        self.assertIn("no host credential", again.err)

    def test_an_unknown_application_is_said(self):
        for words in (("create", "nobody", "x", "--host", "x"), ("list", "nobody"), ("revoke", "nobody", "x")):
            done = server("host-credential", *words)
            self.assertEqual(done.code, DATA, words)
            self.assertIn("there is no application nobody", done.err)


if __name__ == "__main__":
    unittest.main()
