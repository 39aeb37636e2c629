"""PgBouncer between the service and its PostgreSQL database."""

import subprocess
import unittest

from Support.Service.pgbouncer import PgBouncer
from Support.Service.postgresql import PostgreSQL
from Support.Service.server import CONFIG
from Support.Service.two_servers import TwoServers
from Support.Service.world import PATIENCE, make_certificate, program


def setUpModule():
    global world
    world = TwoServers()
    unittest.addModuleCleanup(world.close)
    world.key, world.certificate = make_certificate(world.folder)
    world.postgresql = PostgreSQL(world.folder)


class SessionMode(unittest.TestCase):
    def test_two_servers_work_and_wake_each_other(self):
        pooler = PgBouncer(world, world.postgresql, "session")
        world.serve_twice(database=world.postgresql, url=pooler.url)
        session = world.started("web-1")
        world.at(1)
        phone = world.phone("approve", "--once")
        try:
            world.becomes(world.elsewhere(session), "active")
        finally:
            phone.stop()
        # Both show themselves, and one of them does the housekeeping.
        locks = ("SELECT mode || ' ' || count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' "
                 "GROUP BY mode ORDER BY mode")
        self.assertEqual(world.postgresql.sql(locks), ["ExclusiveLock 1", "ShareLock 2"])


class TransactionMode(unittest.TestCase):
    def refused(self, pooler):
        tables = world.postgresql.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        serve = (
            "serve", "--listen", "127.0.0.1:0", "--tls-cert", world.certificate, "--tls-key", world.key)
        for words in (("application", "create", "shop"), serve):
            said = subprocess.run(
                [program("iampass-server"), *words, "--database", pooler.url], capture_output=True, text=True,
                timeout=PATIENCE)
            self.assertEqual(said.returncode, CONFIG, said.stderr)
            self.assertIn("is a pooler that shares sessions, in which locks and notifications do not hold", said.stderr)
            self.assertIn("hint: set pool_mode = session in PgBouncer", said.stderr)
        self.assertEqual(world.postgresql.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), tables)

    def test_it_is_refused_in_one_line(self):
        self.refused(PgBouncer(world, world.postgresql, "transaction"))

    def test_it_is_refused_also_if_sessions_are_taken_in_turn(self):
        self.refused(PgBouncer(world, world.postgresql, "transaction", server_round_robin=1))


if __name__ == "__main__":
    unittest.main()
