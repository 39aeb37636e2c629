"""`iampassctl join`: codes that are good, used, late, revoked, another's; and two computers of one name."""

import contextlib
import os
import re
import sqlite3
import subprocess
import time

from control import CONFIG, NO_PERMISSION, USAGE
from join_case import JoinCase, command, new_code, open_world, sql
from Support.Service.world import program, read, run

TEMPORARY = 75


def setUpModule():
    global world
    world = open_world()


class Joins(JoinCase):
    def test_one_line_is_all_that_a_computer_needs(self):
        code, _ = new_code("--unattended")
        done = self.join(code)
        self.assertEqual(done.code, 0, done.text)
        settings = dict(re.findall(r"^(\w+) = (.*)$", read(world.path("iampass.conf")), re.MULTILINE))
        self.assertEqual(settings["server"], world.address)
        self.assertEqual(settings["ca_file"], world.path("service-ca.pem"))
        self.assertEqual((settings["signed_replies"], settings["signed_targets"]), ("required", "required"))
        self.assertEqual(os.stat(world.path("credentials")).st_mode & 0o7777, 0o600)
        self.assertIn(f"host = {self.name()}\n", read(world.path("credentials")))
        self.assertFalse(os.path.exists(world.path("joining")))
        self.assertRegex(command("list"), rf"{self.name()}  joined  digits=\d{{6}}")

    def test_a_computer_that_has_joined_changes_nothing(self):
        code, _ = new_code("--unattended")
        self.join(code)
        before = world.snapshot()
        done = self.join(code)
        self.assertEqual((done.code, world.snapshot()), (0, before), done.text)
        self.assertIn("has joined", done.out)

    def test_the_code_is_read_from_standard_input(self):
        code, _ = new_code("--unattended")
        words = [program("iampassctl"), "join", "--yes", "--name", self.name(), "--config", world.path("iampass.conf"),
                 "--", world.address, "-"]  # fmt: skip
        done = subprocess.run(words, input=code + "\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run(words, input="", capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.split("\n")[0]), (USAGE, "iampassctl: this is not a whole join code"))

    def test_without_users_nothing_is_switched_on(self):
        code, _ = new_code("--unattended")
        run(program("iampass-server"), "user", "add", "tests", "alice", "--no-link", "--data", world.path("data"))
        sql("UPDATE listed_user SET name = 'a b'")
        self.addCleanup(sql, "DELETE FROM listed_user")
        for _ in range(2):
            done = self.join(code, "--enable")
            self.assertEqual(done.code, TEMPORARY, done.text)
            self.assertIn("sign-in by phone is not switched on: the users are not here yet", done.err)
        self.assertTrue(os.path.exists(world.path("credentials")))

    def test_another_service_is_given_up_only_when_asked(self):
        code, _ = new_code("--unattended")
        world.write("credentials", "application_id = a\napplication_secret = b\n")
        world.write("iampass.conf", self.settings + "server = https://other.example\n", 0o644)
        done = self.join(code)
        self.assertEqual(done.code, CONFIG, done.text)
        self.assertIn("https://other.example already\nhint: iampassctl join --again", done.err)
        self.assertEqual(self.join(code, "--again").code, 0)
        self.assertIn(f"server = {world.address}\n", read(world.path("iampass.conf")))

    def test_it_waits_for_an_administrator(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(rf"approves this computer: {self.name()}, digits (\d+)")
        self.assertIn(f"{self.name()}  waiting  digits={child.match[1]}", command("list"))
        self.assertFalse(os.path.exists(world.path("credentials")))
        digits = child.match[1]
        command("approve", self.name(), str((int(digits) + 1) % 1_000_000).zfill(6), check=False)
        self.assertIn(f"{self.name()}  waiting", command("list"))
        command("approve", self.name(), digits)
        child.expect("joined tests as " + self.name())
        child.expect_exact("next: iampassctl enable --sshd --trial 10m")
        world.finish(child)
        self.assertTrue(os.path.exists(world.path("credentials")))

    def test_an_administrators_phone_lets_it_join(self):
        def administrator(*words):
            return run(program("iampass-server"), "administrator", *words, "--data", world.path("data"))

        link = administrator("add", "ada", "--role", "admin").split()[-1]
        self.addCleanup(administrator, "remove", "ada")
        state = world.path("ada.json")
        run(program("iampass-phone"), "register", link, "--state", state, "--ca", world.certificate)
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(r"phone asks for the last two digits: (\d\d)")
        phone = ["watch", "--state", state, "--answer", "approve", "--once", "--code", child.match[1]]
        shown = run(program("iampass-phone"), *phone)
        self.assertIn(self.name(), shown)
        child.expect("joined tests as " + self.name())
        world.finish(child)

    def test_a_refused_computer_is_told(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect("digits")
        command("refuse", self.name())
        child.expect("an administrator refused this computer")
        self.assertEqual(world.finish(child), NO_PERMISSION)
        self.assertFalse(os.path.exists(world.path("joining")))

    def test_a_wait_that_is_over_goes_on_later(self):
        code, _ = new_code()
        start = time.monotonic()
        done = self.join(code, "--wait", "1s")
        # The service would hold the request for 20 s.
        self.assertLess(time.monotonic() - start, 15)
        self.assertEqual(done.code, TEMPORARY, done.text)
        self.assertRegex(done.err, r"no administrator has approved .* yet \(digits \d{6}\)")
        command("approve", self.name())
        self.assertEqual(self.join(code).code, 0)


class Codes(JoinCase):
    def test_a_code_that_was_used_is_refused(self):
        code, _ = new_code("--unattended")
        self.assertEqual(self.join(code, name="first-used").code, 0)
        self.setUp()
        self.refused(code, NO_PERMISSION, "used by as many computers as it is for\nhint: .*join-code create")

    def test_a_late_code_is_refused(self):
        code, identity = new_code("--unattended")
        sql("UPDATE join_code SET expires_at = created_at - 1 WHERE id = ?", identity)
        self.refused(code, NO_PERMISSION, "the join code has expired")

    def test_a_revoked_code_is_refused(self):
        code, identity = new_code("--unattended")
        command("revoke", identity)
        self.refused(code, NO_PERMISSION, "the join code was revoked")

    def test_a_code_of_another_service_with_the_same_certificate_is_refused(self):
        made = subprocess.run(
            [program("iampass-server"), "application", "create", "tests", "--data", world.path("other")],
            capture_output=True, text=True, check=True)  # fmt: skip
        self.assertIn("application_id", made.stdout)
        other = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--data", world.path("other"),
                    "--certificate", world.certificate, "--url", world.address)  # fmt: skip
        # A stranger's code takes no turn to write: the service answers while somebody else writes.
        with contextlib.closing(sqlite3.connect(world.path("data/iampass.sqlite"), isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            self.refused(other.split()[-1], NO_PERMISSION, "does not know this join code")

    def test_a_mistyped_code_is_told_before_anything_is_asked(self):
        code, _ = new_code("--unattended")
        self.refused(code[:-1], USAGE, "not a whole join code", address="https://127.0.0.1:1")

    def test_two_computers_of_one_name_are_told_apart(self):
        code, _ = new_code("--unattended", "--uses", "2")
        self.assertEqual(self.join(code).code, 0)
        self.setUp()
        self.refused(code, NO_PERMISSION, "another computer of this name.*\nhint: .*host-credential revoke frees")
        run(program("iampass-server"), "host-credential", "revoke", "tests", self.name(), "--data", world.path("data"))
        self.assertEqual(self.join(code).code, 0)
