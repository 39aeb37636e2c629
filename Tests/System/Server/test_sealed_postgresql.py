"""The service's own keys, sealed in a PostgreSQL database."""

import contextlib
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
        self.assertRegex(world.seal(), "^sealed 4 secrets: ")
        dump = self.dump()
        self.assertNotIn(CLEAR, dump)
        self.assertNotIn(world.secret.encode(), dump)
        self.assertNotIn(world.application["application_secret"].encode(), dump)
        world.address = ready_address
        self.assertEqual(world.published(), [world.kid])
        world.add_users("bob")
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

    @contextlib.contextmanager
    def administrator(self, *statements):
        """A session of the database's administrator, with these statements done: a function that does more there."""
        with subprocess.Popen(
            ["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", self.postgresql.url], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True) as session:  # fmt: skip

            def do(*statements):
                session.stdin.write("".join(f"{text};\n" for text in (*statements, "SELECT 'done'")))
                session.stdin.flush()
                for line in session.stdout:
                    if line == "done\n":
                        return
                raise AssertionError("the session has ended")

            do(*statements)
            yield do
            session.stdin.close()

    def test_a_server_that_starts_as_the_seal_is_committed_is_told(self):
        world = self.world
        words = [program("iampass-server"), "database", "seal", *world.where, "--seal-key-file", world.file]
        with self.administrator("BEGIN", "LOCK TABLE write_turn IN EXCLUSIVE MODE") as do:
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as sealing:
                waits = "SELECT count(*) FROM pg_locks WHERE relation = 'write_turn'::regclass AND NOT granted"
                until(lambda: self.postgresql.sql(waits) == ["1"], "a seal that has looked at the servers")
                do("SELECT pg_advisory_lock_shared(hashtext('iampass_server_' || current_schema()), 0)", "COMMIT")
                said, complaint = sealing.communicate(timeout=PATIENCE)
            self.assertEqual(sealing.returncode, TEMPORARY, complaint)
            self.assertIn("the database is sealed, but a server has started meanwhile, without the key", complaint)
            self.assertRegex(complaint, "\nhint: restart each server with a copy of ")
        self.assertRegex(said, "^sealed [0-9]+ secrets: ")
        self.assertNotIn(CLEAR, self.dump())
        self.assertTrue(world.file_says_sealed())
        self.assertRegex(world.seal(), "^everything was sealed before: ")

    def test_a_server_that_commands_cannot_see_says_so(self):
        with self.administrator("SELECT pg_advisory_lock(hashtext('iampass_server_' || current_schema()), 0)"):
            server, _ = self.serve()
            line = server.wait_for("commands do not see that this server runs")
            self.assertIn("look at the PostgreSQL server's log before", line)
        shown = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND objid = 0"
        until(lambda: self.postgresql.sql(shown) == ["1"], "the server, which tries again")


if __name__ == "__main__":
    unittest.main()
