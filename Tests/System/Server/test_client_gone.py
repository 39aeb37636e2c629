"""A computer that breaks off a start while the database is busy."""

import contextlib
import http.client
import json
import sqlite3
import ssl
import time
import unittest
import urllib.parse

from Support.Hosts import signed_requests
from Support.Service.server import ServerWorld, until
from Support.Service.world import PATIENCE


class Gone(unittest.TestCase):
    def setUp(self):
        self.world = ServerWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone()
        self.world.enroll_alice()
        self.path = f"/authentication/authenticate_user/{self.world.application['application_id']}/alice"

    def count(self, table):
        with contextlib.closing(self.world.database()) as database:
            return database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]

    @contextlib.contextmanager
    def busy(self):
        """Keeps the database from being changed by others meanwhile."""
        with contextlib.closing(sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=30)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield
            database.rollback()

    def begin(self):
        """A connection on which a start was sent, and its reply is not there yet."""
        address = urllib.parse.urlsplit(self.world.address)
        connection = http.client.HTTPSConnection(
            address.hostname, address.port, timeout=PATIENCE, context=ssl.create_default_context(cafile=self.world.certificate))
        client, secret = self.world.application["application_id"], self.world.application["application_secret"]
        headers = signed_requests.headers(client, secret, self.world.address + self.path)
        connection.request("POST", self.path, json.dumps({"context": {"host": "desk"}}), headers)
        return connection

    def test_a_start_is_not_made_for_a_computer_that_has_gone(self):
        nonces = self.count("spent_nonce")
        with self.busy():
            self.begin().close()
            time.sleep(0.3)
        until(lambda: self.count("spent_nonce") == nonces + 1, "the start's turn at the database")
        # Too short a time would only pass over a session that comes late.
        time.sleep(1)
        self.assertEqual(self.count("session"), 0)
        self.world.started("desk")

    def test_it_is_made_for_one_that_waits(self):
        with self.busy():
            connection = self.begin()
            time.sleep(0.3)
        with contextlib.closing(connection):
            reply = connection.getresponse()
            self.assertEqual(reply.status, 202)
            self.assertIn("session_token", json.loads(reply.read())["authentication_status"])


if __name__ == "__main__":
    unittest.main()
