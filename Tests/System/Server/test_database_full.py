"""The database's disk is full."""

import contextlib
import os
import subprocess
import unittest

from database_case import PAGE, DatabaseCase
from Support.Service import ports
from Support.Service.server import IO, until
from Support.Service.world import program, run


class Full(DatabaseCase):
    def prepare_disk(self):
        folder = self.world.path("data")
        os.mkdir(folder, 0o700)
        words = ("mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", folder)
        if (done := subprocess.run(words, capture_output=True, text=True)).returncode != 0:
            self.skipTest("no small disk can be mounted here: " + done.stderr.strip())
        self.addCleanup(run, "umount", "--lazy", folder)

    def fill(self):
        """Leaves no page free."""
        with open(self.world.path("data/filler"), "ab", buffering=0) as filler, contextlib.suppress(OSError):
            while filler.write(bytes(PAGE)):
                pass

    def make_room(self):
        os.remove(self.world.path("data/filler"))

    def test_nothing_said_is_lost_and_it_recovers_by_itself(self):
        world = self.world
        session = world.started("desk-7")
        phone = world.phone("approve", "--after", "15")
        phone.wait_for("desk-7")
        self.fill()
        said = []
        while self.added(f"early {len(said)}"):
            said.append(f"early {len(said)}")
        # The phone answers while there is no room for it.
        phone.wait_for("the service is unavailable")
        for _ in range(20):
            self.is_done(world.ask_status(session))
        self.assertEqual(world.get("/healthz")[0], 200)
        with self.open_database() as database:
            self.assertEqual(database.execute("SELECT approved_at FROM session").fetchall(), [(None,)])
        self.make_room()
        until(lambda: self.added("later"), "a user added once there is room")
        world.becomes(session, "active")
        self.assert_only_what_was_approved_is_active()
        self.assert_users_are_there([*said, "later"])
        self.assert_said_once("the storage does not work", "the storage works again")

    def test_a_server_that_commands_cannot_see_says_so_once(self):
        world = self.world
        self.fill()
        # The database's files are there already, of the one that runs.
        second = world.start(
            program("iampass-server"), "serve", "--data", world.path("data"), "--listen", f"127.0.0.1:{ports.take()}",
            "--tls-cert", world.certificate, "--tls-key", world.key)  # fmt: skip
        said = "commands do not see that this server runs"
        self.assertIn("No space left on device", second.wait_for(said))
        second.wait_for("listening on https")
        self.assertEqual(second.count(said), 1)
        self.assertEqual(world.server.count(said), 0)
        self.assertEqual([name for name in os.listdir(world.path("data")) if name.endswith(".new")], [])

    def test_a_start_without_room_says_so(self):
        self.world.server.stop()
        # The last to close the database deletes the files that it would need again.
        with self.open_database() as database:
            database.execute("SELECT count(*) FROM user").fetchone()
        self.fill()
        done = self.world.serve_here()
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertRegex(done.stderr, r"iampass\.sqlite cannot be opened: .*\nhint: .*space")
        self.make_room()
        self.world.restart_server()
        self.assertTrue(self.added("later"))


if __name__ == "__main__":
    unittest.main()
