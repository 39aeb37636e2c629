"""The database's file is damaged."""

import os
import re
import shutil
import unittest

from database_case import PAGE, DatabaseCase
from Support.Service import ports
from Support.Service.server import DATA
from Support.Service.world import PATIENCE


class Damaged(DatabaseCase):
    def checkpoint(self):
        """Everything is in the one file then."""
        with self.open_database() as database:
            self.assertEqual(database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone(), (0, 0, 0))

    def position(self, name):
        """Where a table's or index's first page begins."""
        with self.open_database() as database:
            self.assertEqual(database.execute("PRAGMA page_size").fetchone(), (PAGE,))
            root, = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name]).fetchone()
        return (root - 1) * PAGE

    def overwrite(self, position, new, data="data"):
        with open(self.world.path(data, "iampass.sqlite"), "r+b") as file:
            file.seek(position)
            file.write(new)

    def assert_nobody_is_told_active(self, session):
        # A write has every reader look at the file again.
        self.assertTrue(self.added("a"))
        for _ in range(5):
            self.assertFalse(self.is_done(self.world.ask_status(session)))
        self.assertTrue(self.added("b"))
        self.assertIsNone(self.world.server.process.poll())
        self.assert_said_once("the storage does not work")

    def test_a_damaged_page_fails_what_needs_it_and_nothing_else(self):
        session = self.world.approved("desk")
        self.checkpoint()
        self.overwrite(self.position("session"), bytes(PAGE))
        self.assert_nobody_is_told_active(session)

    def test_a_damaged_index_fails_what_needs_it_and_nothing_else(self):
        session = self.world.approved("desk")
        self.checkpoint()
        self.overwrite(self.position("sqlite_autoindex_session_1"), bytes(PAGE))
        self.assert_nobody_is_told_active(session)

    def test_a_damaged_row_does_not_end_the_service(self):
        session = self.world.approved("desk")
        self.checkpoint()
        start = self.position("session")
        with open(self.world.path("data/iampass.sqlite"), "rb") as file:
            file.seek(start)
            page = file.read(PAGE)
        # Before its values a row has their types: first those of four texts of 32 characters, of which the second
        # becomes a NULL, where the table allows none, and the next two have what it had: otherwise SQLite would notice.
        values = page.index(session["status_url"].rsplit("/", 1)[1].encode())
        types = page.rindex(b"\x4d\x4d\x4d\x4d", 0, values)
        self.overwrite(start + types + 1, b"\0\x7f\x5b")
        self.assert_nobody_is_told_active(session)

    def damage_unseen(self, position):
        """As a disk does by itself: the file's time stays."""
        file = self.world.path("data/iampass.sqlite")
        times = os.stat(file)
        self.overwrite(position, b"\xff" * PAGE)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def test_after_a_stop_in_order_it_is_found_while_the_service_works(self):
        world, mark = self.world, self.world.path("data/clean-stop")
        self.assertFalse(os.path.exists(mark))
        self.checkpoint()
        # No start reads this table.
        place = self.position("signing_key")
        world.server.stop()
        self.assertTrue(os.path.exists(mark))
        self.damage_unseen(place)
        world.start_server("--metrics-listen", f"127.0.0.1:{ports.take()}")
        self.assertFalse(os.path.exists(mark))
        metrics = re.search(r"http://[0-9.:]+", world.server.wait_for("metrics on")).group(0)
        world.server.wait_for("hint=.*the database is damaged, or cannot be read")
        self.assertEqual(world.get("/readyz", address=metrics)[::2], (503, "the database's file is damaged\n"))
        self.assertIn("\niampass_database_damaged 1\n", world.get("/metrics", address=metrics)[2])
        self.assertTrue(self.added("later"))
        # It leaves no mark, and the next start refuses the file.
        world.server.stop()
        self.assertEqual(world.serve_here().returncode, DATA)

    def test_after_a_crash_it_is_found_before_anybody_is_answered(self):
        self.checkpoint()
        place = self.position("signing_key")
        self.world.server.process.kill()
        self.world.server.process.wait(PATIENCE)
        self.assertFalse(os.path.exists(self.world.path("data/clean-stop")))
        self.damage_unseen(place)
        done = self.world.serve_here()
        self.assertEqual(done.returncode, DATA, done.stderr)
        self.assertRegex(done.stderr, r"iampass\.sqlite is damaged: .*\nhint: .*backup")

    def test_at_the_start_it_is_said_and_what_to_do(self):
        self.world.approved("desk")
        self.world.server.stop()
        self.checkpoint()
        page, size = self.position("session"), os.path.getsize(self.world.path("data/iampass.sqlite"))
        damages = {
            "page": lambda data: self.overwrite(page, b"\xff" * PAGE, data),
            "head": lambda data: self.overwrite(0, b"\xff" * PAGE, data),
            "end": lambda data: os.truncate(self.world.path(data, "iampass.sqlite"), size // 2),
        }
        for name, damage in damages.items():
            with self.subTest(name):
                shutil.copytree(self.world.path("data"), self.world.path(name))
                damage(name)
                done = self.world.serve_here(data=name)
                self.assertEqual(done.returncode, DATA, done.stderr)
                self.assertRegex(done.stderr, r"iampass\.sqlite is damaged: .*\nhint: .*backup")
        # The same, undamaged.
        self.world.restart_server()
        self.assertTrue(self.added("later"))


if __name__ == "__main__":
    unittest.main()
