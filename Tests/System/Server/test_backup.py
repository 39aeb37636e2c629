"""Backups that can be restored."""

import os
import shutil
import stat
import threading
import unittest

from Support.Service.server import CANNOT_CREATE, NO_INPUT, ServerWorld
from Support.Service.world import PATIENCE, read


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_with_metrics()


class Backup(unittest.TestCase):
    def backup(self, name, **options):
        return world.command("backup", world.path(name), **options)

    def test_the_copy_is_put_back_and_works(self):
        session = world.approved("before")
        done = self.backup("copy")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertRegex(world.command("audit").stdout.splitlines()[-1], r"Z  backup made  by cli:[0-9]+")
        world.add_users("later")
        world.server.stop()
        os.rename(world.path("data"), world.path("old"))
        self.addCleanup(shutil.rmtree, world.path("old"))
        os.mkdir(world.path("data"), 0o700)
        shutil.copy2(world.path("copy"), world.path("data", "iampass.sqlite"))
        world.restart_server("--metrics-listen", world.metrics.removeprefix("http://"))
        self.assertEqual(world.status(session), "active")
        self.assertEqual(world.phone_status()["user"], "Alice")
        with world.database() as database:
            self.assertEqual(database.execute("SELECT name FROM user").fetchall(), [("alice",)])

    def test_the_copy_is_the_owners_alone(self):
        previous = os.umask(0)
        try:
            self.assertEqual(self.backup("private").returncode, 0)
        finally:
            os.umask(previous)
        self.assertEqual(stat.S_IMODE(os.stat(world.path("private")).st_mode), 0o600)

    def test_nothing_is_overwritten_and_nothing_left_behind(self):
        world.write("there", "precious")
        before = world.command("audit").stdout
        done = self.backup("there")
        self.assertEqual(done.returncode, CANNOT_CREATE)
        self.assertEqual(world.command("audit").stdout, before)
        self.assertIn("is there already", done.stderr)
        self.assertEqual(read(world.path("there")), "precious")
        self.assertEqual([name for name in os.listdir(world.folder) if "partial" in name], [])

    def test_a_folder_that_is_not_there_is_said(self):
        done = self.backup("nowhere/copy")
        self.assertEqual(done.returncode, CANNOT_CREATE)
        self.assertIn("cannot be written: No such file", done.stderr)

    def test_a_directory_without_a_service_is_said_and_not_made(self):
        done = self.backup("copy2", data="nothing")
        self.assertEqual(done.returncode, NO_INPUT)
        self.assertIn("there is no database", done.stderr)
        self.assertFalse(os.path.exists(world.path("nothing")))

    def test_it_works_while_the_service_is_written_to(self):
        running = True

        def write():
            number = 0
            while running:
                number += 1
                world.add_users(f"u{number}")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(5):
                done = self.backup(f"busy{number}")
                self.assertEqual(done.returncode, 0, done.stderr)
                with world.database(f"busy{number}") as database:
                    self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        finally:
            running = False
            writer.join(PATIENCE)
            world.signed(
                "POST", "/management/delete_users/" + world.application["application_id"], {"users": users_but_alice()})


def users_but_alice():
    with world.database() as database:
        return [name for name, in database.execute("SELECT name FROM user WHERE name != 'alice'")] or ["nobody"]


if __name__ == "__main__":
    unittest.main()
