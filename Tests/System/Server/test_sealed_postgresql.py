"""The service's own keys, sealed in a PostgreSQL database."""

import os
import re
import subprocess
import unittest

from sealed_world import CLEAR, SealedWorld
from Support.Service import ports
from Support.Service.postgresql import AS_POSTGRES, PostgreSQL
from Support.Service.server import TEMPORARY, until
from Support.Service.world import PATIENCE, program


class InPostgreSQL(unittest.TestCase):
    def setUp(self):
        self.world = SealedWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone()
        self.world.server.stop()
        self.postgresql = PostgreSQL(self.world.folder)
        self.addCleanup(self.postgresql.stop, "immediate")
        url = self.postgresql.url
        moved = subprocess.run(
            [program("iampass-server"), "database", "move", "--from", self.world.path("data"), "--to", url],
            capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(moved.returncode, 0, moved.stderr)
        self.world.begin("--database", url)

    def dump(self):
        return subprocess.run(
            [AS_POSTGRES, self.world.folder, "pg_dump", "-d", self.postgresql.url], cwd=self.postgresql.folder,
            check=True, timeout=PATIENCE, capture_output=True).stdout

    def serve(self, *more):
        world = self.world
        server = world.start(
            program("iampass-server"), "serve", *world.where, "--listen", f"127.0.0.1:{ports.take()}", "--tls-cert",
            world.certificate, "--tls-key", world.key, *more)  # fmt: skip
        return server, re.search(r"https://[0-9.:]+", server.wait_for("listening on https")).group(0)

    def test_a_dump_has_nothing_in_clear_and_a_server_with_the_key_goes_on(self):
        world = self.world
        self.assertIn(CLEAR, self.dump())
        world.seal("--key-only")
        ready, ready_address = self.serve("--seal-key-file", world.file)
        ready.wait_for("secrets in the database are in clear")
        keyless, _ = self.serve()
        said = world.server_command("database", "seal", "--seal-key-file", world.file)
        self.assertEqual(said.returncode, TEMPORARY, said.stderr)
        self.assertIn("nothing was sealed: a server runs on this database without the key", said.stderr)
        self.assertIn(CLEAR, self.dump())
        # The lost connection of a server is not the end of it: it shows itself again.
        self.postgresql.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND objid = 0")
        shown = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND objid = 0"
        until(lambda: self.postgresql.sql(shown) == ["2"], "both servers")
        self.assertEqual(world.server_command("database", "seal", "--seal-key-file", world.file).returncode, TEMPORARY)
        keyless.stop()
        until(lambda: self.postgresql.sql(shown) == ["1"], "one server")
        self.assertRegex(world.seal(), "^sealed 3 secrets: ")
        dump = self.dump()
        self.assertNotIn(CLEAR, dump)
        self.assertNotIn(world.secret.encode(), dump)
        world.address = ready_address
        self.assertEqual(world.published(), [world.kid])
        # Back in a data directory, all of it is still sealed.
        back = world.path("back")
        ready.stop()
        moved = subprocess.run(
            [program("iampass-server"), "database", "move", "--from", self.postgresql.url, "--to", back],
            capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(moved.returncode, 0, moved.stderr)
        world.where = ("--data", back)
        self.assertIn(world.kid, world.does("signing-key", "list", "--seal-key-file", world.file))
        with open(os.path.join(back, "iampass.sqlite"), "rb") as file:
            self.assertNotIn(CLEAR, file.read())


if __name__ == "__main__":
    unittest.main()
