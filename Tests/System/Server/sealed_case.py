"""A test in a world whose service keeps its own keys sealed."""

import glob
import sqlite3
import unittest

from sealed_world import SealedWorld
from Support.Service.never import assert_hidden


class SealedCase(unittest.TestCase):
    def setUp(self):
        self.world = SealedWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone()
        self.world.begin()

    def files(self):
        """The bytes of all files of the data directory."""
        found = b""
        for name in glob.glob(self.world.path("data", "*")):
            with open(name, "rb") as file:
                found += file.read()
        return found

    def refused(self, code, said, *words, **options):
        done = self.world.server_command(*words, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(said, done.stderr)
        self.assertIn("hint: ", done.stderr)
        for line in self.world.lines_of_keys():
            assert_hidden(line.split()[-1], done.stdout + done.stderr)
        assert_hidden(self.world.secret, done.stdout + done.stderr)

    def serve_words(self):
        return ("serve", "--listen", "127.0.0.1:0", "--tls-cert", self.world.certificate, "--tls-key", self.world.key)

    def change(self, sql, *values):
        with sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=30) as database:
            database.execute(sql, values)

    def ask(self, sql):
        with sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=30) as database:
            return database.execute(sql).fetchall()
