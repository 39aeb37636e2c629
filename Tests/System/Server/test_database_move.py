"""Everything moves to the other engine while the service runs, once, and the old place then takes no changes."""

import contextlib
import os
import re
import sqlite3
import subprocess
import threading
import unittest

from Support.Hosts import signed_requests
from Support.Service.postgresql import PostgreSQL
from Support.Service.server import CANNOT_CREATE, CONFIG, USAGE, ServerWorld, until
from Support.Service.world import PATIENCE, program

OWNER = 2  # Some user who is not root: `bin` of every Debian.


class MovingWorld(ServerWorld):
    def begin(self):
        self.serve_alone()
        self.enroll_alice()
        self.postgresql = PostgreSQL(self.folder)

    def close(self):
        self.postgresql.stop("immediate")
        super().close()

    def move(self, origin, target, **options):
        return subprocess.run(self.moving(origin, target), capture_output=True, text=True, timeout=PATIENCE, **options)

    def moving(self, origin, target):
        return [program("iampass-server"), "database", "move", "--from", origin, "--to", target]

    def serve_on_postgresql(self):
        """The service at the same address, as after a restart with another setting."""
        self.server.stop()
        listen = self.address.removeprefix("https://")
        self.server = self.start(
            program("iampass-server"), "serve", "--database", self.postgresql.url, "--listen", listen,
            "--tls-cert", self.certificate, "--tls-key", self.key)
        self.server.wait_for("listening on https")

    def schema(self, name):
        """The address of an empty place of its own in the database."""
        self.postgresql.sql(f"CREATE SCHEMA {name}")
        return f"{self.postgresql.url}&options=-csearch_path%3D{name}"

    def counts(self, data="data"):
        with contextlib.closing(sqlite3.connect(self.path(data, "iampass.sqlite"), timeout=30)) as database:
            return {
                name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
                for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            }


class Move(unittest.TestCase):
    def setUp(self):
        self.world = MovingWorld()
        self.addCleanup(self.world.close)
        self.world.begin()

    def test_a_running_service_is_moved_and_its_sessions_go_on_there_and_back(self):
        world, url = self.world, self.world.postgresql.url
        session = world.approved("web-1")
        asked = f"/management/has_registered_mobile_device/{world.application['application_id']}/alice"
        spent = signed_requests.headers(
            world.application["application_id"], world.application["application_secret"], world.address + asked)
        self.assertEqual(world.get(asked, headers=spent)[0], 200)
        mark = world.database().execute("SELECT epoch, counter FROM service_mark").fetchone()
        data = world.path("data")

        said = world.move(data, url)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, r"(?s)^moved \d+ rows, each of which was read back:\n.*  app_user: 1\n.*"
                                      r"nobody could write for [0-9.]+ s\nnext: start the service on postgresql://")  # fmt: skip
        # The old service says nothing from a database that may be out of date.
        code, _, reply = world.ask_status(session)
        self.assertEqual((code, reply["reason"]), (503, "STORAGE_UNAVAILABLE"))
        world.server.wait_for("start the service on the new database")
        refused = world.serve_here()
        self.assertEqual(refused.returncode, CONFIG, refused.stderr)
        self.assertIn(f"{data} was moved to {url}", refused.stderr)
        self.assertEqual(world.move(data, url).returncode, 0)

        world.serve_on_postgresql()
        self.assertEqual(world.status(session), "active")
        code, _, text = world.get(asked, headers=spent)
        self.assertEqual(code, 401, text)
        self.assertIn("NONCE_REPLAYED", text)
        epoch, counter = world.postgresql.sql("SELECT epoch, counter FROM service_mark")[0].split("|")
        self.assertEqual(int(epoch), mark[0])
        self.assertGreaterEqual(int(counter), mark[1])
        world.approved("web-2")

        back = world.path("back")
        os.mkdir(back, 0o700)
        os.chown(back, OWNER, OWNER)
        said = world.move(url, back)
        self.assertEqual(said.returncode, 0, said.stderr)
        for name in os.listdir(back):
            self.assertEqual(os.stat(os.path.join(back, name)).st_uid, OWNER, name)
            self.assertEqual(os.stat(os.path.join(back, name)).st_mode & 0o777, 0o600, name)
        self.assertEqual(world.ask_status(session)[0], 503)
        world.server.stop()
        world.server = world.start(
            program("iampass-server"), "serve", "--data", back, "--listen", world.address.removeprefix("https://"),
            "--tls-cert", world.certificate, "--tls-key", world.key)
        world.server.wait_for("listening on https")
        self.assertEqual(world.status(session), "active")
        refused = subprocess.run(
            [program("iampass-server"), "database", "check", "--database", url], capture_output=True, text=True,
            timeout=PATIENCE)
        self.assertEqual(refused.returncode, CONFIG, refused.stderr)
        self.assertIn(f"was moved to {back}", refused.stderr)

    def test_who_signs_in_meanwhile_is_not_lost(self):
        """Each session that was said to be there is there afterwards."""
        world, url = self.world, self.world.postgresql.url
        for number in range(0, 2000, 500):
            world.add_users(*(f"user-{number + more}" for more in range(500)))
        path = f"/management/add_users/{world.application['application_id']}"
        said, over = [], threading.Event()

        def add():
            while not over.is_set():
                name = f"new-{len(said)}"
                if world.ask("POST", path, {"users": [name]})[0] == 201:
                    said.append(name)
                else:
                    return

        adding = threading.Thread(target=add)
        adding.start()
        until(lambda: len(said) > 3, "some users")
        begun = len(said)
        done = world.move(world.path("data"), url)
        over.set()
        adding.join(PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        there = set(world.postgresql.sql("SELECT name FROM app_user"))
        self.assertEqual({name for name in said if name not in there}, set())
        self.assertGreater(len(said), begun)
        self.assertEqual(len(there), world.counts()["user"])

    def test_a_move_that_is_killed_anywhere_is_completed_by_the_next_one(self):
        world = self.world
        for number in range(0, 2000, 500):
            world.add_users(*(f"user-{number + more}" for more in range(500)))
        world.server.stop()
        before = world.counts()
        self.assertEqual(world.move(world.path("data"), world.schema("whole")).returncode, 0)
        # From PostgreSQL to a directory, and killed later each time, until one comes to its end.
        origin = f"{world.postgresql.url}&options=-csearch_path%3Dwhole"
        target, kills, delay, code = world.path("again"), 0, 0.005, None
        while code is None:
            self.assertLess(delay, PATIENCE)
            moving = subprocess.Popen(
                world.moving(origin, target), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                code = moving.wait(delay)
            except subprocess.TimeoutExpired:
                moving.kill()
                moving.wait(PATIENCE)
                kills += 1
                delay *= 1.25
        self.assertEqual(code, 0)
        self.assertGreater(kills, 3)
        said = world.move(origin, target)
        self.assertEqual(said.returncode, 0, said.stderr)
        after = world.counts("again")
        # Two moves, each of which is in the audit once, however often it was begun.
        before["audit"] += 2
        for table in ("user", "phone", "audit", "session", "link", "spent_nonce", "answer"):
            self.assertEqual(after[table], before[table], table)
        world.command("audit", data="again").check_returncode()

    def test_what_cannot_be_moved_is_left_alone_and_said(self):
        world, url = self.world, self.world.postgresql.url
        data = world.path("data")
        for origin, target, code, message in (
            (data, world.path("other"), USAGE, "from a data directory to a PostgreSQL database, or back"),
            (world.path("nowhere"), url, 66, "there is no database"),
            (data, "postgresql://u:geheim@127.0.0.1/x", USAGE, "has a password"),
            (data, "postgresql:///x?host=/nonexistent", 69, "cannot be used"),
        ):
            said = world.move(origin, target)
            self.assertEqual(said.returncode, code, said.stderr)
            self.assertIn(message, said.stderr)
            self.assertNotIn("geheim", said.stdout + said.stderr)
        full, newer = world.schema("filled"), world.schema("newer")
        for place in (full, newer):
            subprocess.run(
                [program("iampass-server"), "database", "migrate", "--database", place], check=True, timeout=PATIENCE,
                capture_output=True)
        made = subprocess.run(
            [program("iampass-server"), "application", "create", "there", "--database", full], capture_output=True,
            text=True, timeout=PATIENCE)
        self.assertEqual(made.returncode, 0, made.stderr)
        said = world.move(data, full)
        self.assertEqual(said.returncode, CANNOT_CREATE, said.stderr)
        self.assertIn("is not empty", said.stderr)
        world.postgresql.sql("INSERT INTO newer.schema_migration (name, least) VALUES ('later', 99)")
        said = world.move(data, newer)
        self.assertEqual(said.returncode, CONFIG, said.stderr)
        self.assertIn("update iampass-server", said.stderr)
        # The service goes on where it is.
        self.assertRegex(world.approved("web-3")["status_url"], re.escape(world.address))

    def test_one_of_two_moves_at_once_wins(self):
        world = self.world
        targets = [world.schema("one"), world.schema("two")]
        moves = [
            subprocess.Popen(world.moving(world.path("data"), target), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) for target in targets]  # fmt: skip
        said = [move.communicate(timeout=PATIENCE) for move in moves]
        codes = [move.returncode for move in moves]
        self.assertEqual(codes.count(0), 1, said)
        loser = codes.index(0) ^ 1
        self.assertIn(f"everything was moved to {targets[loser ^ 1]} before", said[loser][1])
        self.assertEqual(world.postgresql.sql(f"SELECT count(*) FROM {('one', 'two')[loser]}.application"), ["0"])


if __name__ == "__main__":
    unittest.main()
