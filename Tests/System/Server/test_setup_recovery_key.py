"""`iampass-server setup` of one administrator makes a key for the day when the only phone that signs is lost."""

import contextlib
import os
import sqlite3
import unittest

from setup_world import SetupCase
from Support.Service.server import CANNOT_CREATE
from Support.Service.world import run


class RecoveryKey(SetupCase):
    def with_a_phone(self):
        """Set up with one administrator, who has registered a phone since."""
        done = self.set_up(*self.world.usual, "--administrator", "alice")
        self.assertIn("administrator start-signing --recovery-key --data", done.stdout)
        self.world.serve()
        self.world.register(done.stdout, "phone.json")

    def test_one_administrators_lost_phone_is_replaced_by_the_recovery_key(self):
        self.with_a_phone()
        done = self.set_up("--administrator", "alice")
        path = self.world.path("recovery-key")
        self.assertIn(f"A recovery key, for root alone, is in the file:\n  {path}\n", done.stdout)
        self.assertIn("\nThe recovery key counts from now on.\n", done.stdout)
        self.assertEqual(run("stat", "--format=%U %G %a", path), "root root 600\n")
        key = self.world.read("recovery-key")
        self.assertRegex(key, rb"\AIRK1\S+\n\Z")
        for said in (done.stdout + done.stderr, self.world.server("audit"), self.world.server("administrator", "list")):
            self.assertNotIn("IRK1", said)
        self.assertNotIn("ecovery key", self.set_up("--administrator", "alice").stdout)
        self.assertEqual(self.world.read("recovery-key"), key)
        self.world.register(self.world.server("administrator", "link", "alice", "--lost"), "new.json")
        self.assertIn("number 2", self.world.server("administrator", "sign", "--recovery-key", path, "--yes"))

    def test_another_file_stays_and_no_key_counts(self):
        self.with_a_phone()
        with open(os.open(self.world.path("recovery-key"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write("somebody's\n")
        done = self.world.setup("--administrator", "alice")
        self.assert_refused(done, CANNOT_CREATE, r".*recovery-key is there, and is not a recovery key\n")
        self.assertEqual(self.world.read("recovery-key"), b"somebody's\n")
        self.assertNotIn("number", self.world.server("administrator", "list"))

    def test_broken_off_before_its_key_counts_it_goes_on_with_the_same_one(self):
        self.with_a_phone()
        self.set_up("--administrator", "alice")
        key = self.world.read("recovery-key")
        with contextlib.closing(sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=30)) as database, database:
            database.execute("DELETE FROM administrator_set")
        self.assertIn("The recovery key counts from now on.", self.set_up("--administrator", "alice").stdout)
        self.assertEqual(self.world.read("recovery-key"), key)

    def test_two_phones_that_sign_need_no_recovery_key(self):
        done = self.set_up(*self.world.usual, "--administrator", "alice", "--administrator", "bob")
        self.world.serve()
        for name, told in zip(("alice", "bob"), done.stdout.split("administrator bob:"), strict=True):
            self.world.register(told, name)
        done = self.set_up("--administrator", "alice")
        self.assertIn("A key on paper, if they get lost:\n  iampass-server administrator recovery-key --data", done.stdout)
        self.assertFalse(os.path.exists(self.world.path("recovery-key")))


if __name__ == "__main__":
    unittest.main()
