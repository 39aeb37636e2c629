"""The database fails under the running service: full, locked, damaged, or put back as it was before.

Whatever happens, a request is answered with 503 or waits within a bound, what was answered with success is there
afterwards, and a session is active only where an approval is stored.
"""

import contextlib
import sqlite3
import unittest

from Support.Service.server import ServerWorld

PAGE = 4096


class DatabaseCase(unittest.TestCase):
    def setUp(self):
        self.world = ServerWorld()
        self.addCleanup(self.world.close)
        self.prepare_disk()
        self.world.serve_alone()
        self.world.enroll_alice()

    def prepare_disk(self):
        """For what needs one of its own."""

    def open_database(self):
        """As another program does, for reading and writing."""
        return contextlib.closing(sqlite3.connect(self.world.path("data/iampass.sqlite"), isolation_level=None, timeout=30))

    def added(self, name):
        """Whether a user was added; else it was refused as it should be."""
        path = "/management/add_users/" + self.world.application["application_id"]
        return self.is_done(self.world.ask("POST", path, {"users": [name]}))

    def is_done(self, reply):
        code, headers, body = reply
        if code < 300:
            return True
        self.assertEqual((code, body["reason"]), (503, "STORAGE_UNAVAILABLE"))
        self.assertIn("Retry-After", headers)
        return False

    def assert_only_what_was_approved_is_active(self):
        with self.open_database() as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            unproven = database.execute("""
                SELECT count(*) FROM session LEFT JOIN answer ON answer.session = session.id
                WHERE session.status = 'active' AND (session.approved_at IS NULL OR answer.signature IS NULL)
                """).fetchone()
        self.assertEqual(unproven, (0,))

    def assert_users_are_there(self, names):
        with self.open_database() as database:
            there = {name for name, in database.execute("SELECT name FROM user")}
        self.assertEqual(set(names) - there, set())

    def assert_said_once(self, *lines):
        for line in lines:
            self.world.server.wait_for(line)
            self.assertEqual(self.world.server.count(line), 1, line)
