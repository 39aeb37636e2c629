"""The service, an administrator's phone that signs its list of users, and a computer that believes that phone alone."""

import json
import os
import re
import shutil
import unittest

from signed_case import SignedWorld
from Support.HostileService.signing_phone import SigningPhone
from Support.Service.approvals import canonical
from Support.Service.world import ENROLLED, SUCCESS, USER_UNKNOWN, read


def setUpModule():
    global world
    world = SignedWorld()


class Signed(unittest.TestCase):
    def setUp(self):
        listed = re.findall(r"^(\S+)", world.command("user", "list", "tests"), re.MULTILINE)
        if listed:
            world.command("user", "remove", "tests", *listed)
            world.sign()
        world.known([])
        world.forget_attempts()

    def enroll(self):
        """The user has a phone, and the computer knows it."""
        world.register(world.command("user", "add", "tests", ENROLLED), "listed.json")
        world.sign()
        world.known([ENROLLED], [ENROLLED])
        world.pam("sudo")

    def test_the_join_believes_the_administrators_phone(self):
        self.assertEqual(world.joined.code, 0, world.joined.text)
        self.assertTrue(world.code.startswith("IJ2"))
        self.assertIn("the list of users counts if ada signs it by phone\n", world.joined.out)
        self.assertIn("approvals = verified\n", read(world.path("iampass.conf")))

    def test_a_user_arrives_with_the_phone_and_signs_in(self):
        self.enroll()
        self.assertFalse(os.path.exists(world.path("phones")))
        with world.playing("sudo") as results:
            phone = world.phone("approve", "--code", world.code_on_the_screen(), "--once", state="listed.json")
            self.addCleanup(phone.stop)
        self.assertEqual(results[0]["codes"], [SUCCESS], results)
        self.assertIn("signs it (set 1); version", world.ctl("check").out)
        world.command("user", "remove", "tests", ENROLLED)
        world.sign()
        world.known([])
        self.assertEqual(world.play("sudo")["codes"], [USER_UNKNOWN])

    def test_what_nobody_has_signed_does_not_arrive(self):
        world.command("user", "add", "tests", "bin", "--no-link")
        world.command("user", "add", "tests", ENROLLED, "--no-link")
        world.sign()
        world.known(["bin", ENROLLED])
        world.command("user", "remove", "tests", "bin")
        world.command("user", "add", "tests", "games", "--no-link")
        self.assertEqual(world.kept("users"), ["bin", ENROLLED])
        self.assertRegex(world.ctl("check").out, r"version \d+\.\d+, came \d+ min ago\n.*the service has 2 changes of users "
                         r"that no administrator has signed; the first is \d+ min old; this computer keeps the list in force")
        world.sign()
        world.known([ENROLLED, "games"])
        self.assertNotIn("that no administrator has signed", world.ctl("check").out)

    def test_what_was_put_into_the_database_reaches_no_computer(self):
        self.enroll()
        line = world.sql("SELECT line FROM signed_line WHERE name = ? AND last_serial IS NULL", ENROLLED)[0][0]
        theirs, eves = json.loads(line), SigningPhone("phone-of-eve").line("x").strip().partition(":")[2]
        changed = canonical({**theirs, "phones": sorted([*theirs["phones"], eves])}).decode()
        world.helper.stop()
        os.unlink(world.path("state/service/users"))
        self.put(changed)
        self.addCleanup(world.start_helper)
        self.addCleanup(lambda: world.helper.stop())
        self.addCleanup(self.put, line)
        world.start_helper("the service's list of users is not taken: its users are not those that an administrator has signed")
        self.assertNotIn(eves, read(world.path("state/service/phones")))
        self.assertEqual(world.kept("users"), [])
        # A list that is as new as it says, by a head that nobody signed.
        world.helper.stop()
        world.sql("UPDATE signed_list SET head = json_set(head, '$.number', json_extract(head, '$.number') + 100)")
        self.addCleanup(world.sql, "UPDATE signed_list SET head = json_set(head, '$.number', json_extract(head, '$.number') - 100)")
        world.start_helper("no administrator has signed it: the phone signed another request")
        self.assertEqual(world.kept("users"), [])

    def put(self, line):
        world.sql("UPDATE signed_line SET line = ? WHERE name = ? AND last_serial IS NULL", line, ENROLLED)

    def test_a_database_that_was_put_back_brings_no_phone_back(self):
        self.enroll()
        self.copy_data("backup")
        world.command("user", "remove", "tests", ENROLLED)
        world.sign()
        world.known([])
        self.copy_data("newest")
        # After a refusal it waits for a minute.
        self.addCleanup(world.start_helper)
        self.addCleanup(lambda: world.helper.stop())
        self.addCleanup(self.put_back, "newest")
        self.put_back("backup")
        world.helper.wait_for("the service's list of users is not taken: its version is older")
        self.assertEqual(world.kept("users"), [])
        self.assertEqual(world.play("sudo")["codes"], [USER_UNKNOWN])

    def copy_data(self, name):
        world.server.stop()
        shutil.copytree(world.path("data"), world.path(name))
        self.addCleanup(shutil.rmtree, world.path(name))
        world.restart_server()

    @staticmethod
    def put_back(name):
        world.server.stop()
        shutil.rmtree(world.path("data"))
        shutil.copytree(world.path(name), world.path("data"))
        world.restart_server()
