"""Who brings a database up to date: the service and `database migrate`. Other commands leave it as it is, and say so."""

import contextlib
import os
import sqlite3
import unittest

from Support.Service.server import CONFIG, ServerWorld
from Support.Service.two_servers import TwoServers
from Support.Service.world import PATIENCE

NO_INPUT = 66
#: Tables of the database's own, as a mistyped address would leave them behind.
TABLES = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"


class OnPostgreSQL(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = TwoServers()
        cls.addClassCleanup(cls.world.close)
        cls.world.serve_twice()

    def refused(self, code, message, *words, url=None):
        said = self.world.command(*words, url=url)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        self.assertIn(message, said.stderr)
        self.assertEqual(said.stderr.count("\n"), 2, said.stderr)
        self.assertEqual(said.stdout, "")

    def empty(self, name):
        """The address of a database without tables."""
        self.world.postgresql.sql(f"CREATE DATABASE {name}")
        return self.world.postgresql.url.replace("/postgres?", f"/{name}?")

    def asked(self, url, text):
        with self.at(url):
            return self.world.postgresql.sql(text)

    @contextlib.contextmanager
    def at(self, url):
        """The administrator asks this database."""
        usual, self.world.postgresql.url = self.world.postgresql.url, url
        try:
            yield
        finally:
            self.world.postgresql.url = usual

    def test_a_mistyped_address_gets_no_tables(self):
        url = self.empty("mistyped")
        for words in (("audit",), ("application", "create", "shop"), ("console-link",), ("database", "check")):
            self.refused(NO_INPUT, "/mistyped?", *words, url=url)
            self.refused(NO_INPUT, "has no tables of iampass-server\nhint: look at the address", *words, url=url)
        self.assertEqual(self.asked(url, TABLES), ["0"])

    def test_migrate_makes_the_tables_and_says_what_was_missing(self):
        url = self.empty("fresh")
        said = self.world.command("database", "migrate", url=url)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, r"^brought up to date by \d+ changes:\n  tables\n")
        said = self.world.command("database", "migrate", url=url)
        self.assertEqual((said.returncode, said.stdout), (0, "the database is up to date\n"))
        self.assertEqual(self.world.command("application", "create", "shop", url=url).returncode, 0)

    def test_an_older_database_is_refused_until_it_is_migrated(self):
        url = self.empty("older")
        self.world.command("database", "migrate", url=url).check_returncode()
        change = "indices of sessions"
        self.asked(url, "DROP INDEX overdue_session, live_session_of_application, live_session_by_approval, heard_phone, "
                        "code_use_age, link_age, source_block_age")  # fmt: skip
        self.asked(url, f"DELETE FROM schema_migration WHERE name = '{change}'")
        for words in (("audit",), ("application", "create", "shop"), ("database", "check")):
            self.refused(CONFIG, "is of an older version\nhint: start the service of this version, or run "
                                 "iampass-server database migrate\n", *words, url=url)  # fmt: skip
        self.assertEqual(self.asked(url, f"SELECT 1 FROM schema_migration WHERE name = '{change}'"), [])
        self.assertEqual(self.asked(url, "SELECT 1 FROM application"), [])
        said = self.world.command("database", "migrate", url=url)
        self.assertEqual((said.returncode, said.stdout), (0, f"brought up to date by 1 change:\n  {change}\n"))
        self.assertEqual(self.world.command("audit", url=url).returncode, 0)

    def test_servers_that_are_too_old_for_a_change_stop_and_say_so(self):
        world = self.world
        world.postgresql.sql("INSERT INTO schema_migration (name, least) VALUES ('added', 1)")
        session = world.approved("web-1")
        world.postgresql.sql("INSERT INTO schema_migration (name, least) VALUES ('later', 99)")
        try:
            for number, (server, *_) in enumerate(world.servers):
                with self.subTest(server=number):
                    self.assertEqual(server.process.wait(PATIENCE), CONFIG)
                    line = server.wait_for("stopping: a newer version has changed the database: later")
                    self.assertIn("update iampass-server", line)
            for words in (("audit",), ("database", "migrate"), ("database", "check")):
                self.refused(CONFIG, "has changed the database: later\nhint: update iampass-server", *words)
            refused = world.command(
                "serve", "--listen", "127.0.0.1:0", "--tls-cert", world.certificate, "--tls-key", world.key)
            self.assertEqual(refused.returncode, CONFIG, refused.stderr)
            self.assertIn("update iampass-server", refused.stderr)
        finally:
            world.postgresql.sql("DELETE FROM schema_migration WHERE name = 'later'")
        world.servers = [world.served() for _ in world.servers]
        world.at(0)
        self.assertEqual(world.status(world.elsewhere(session)), "active")


class InADirectory(unittest.TestCase):
    def setUp(self):
        self.world = ServerWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone()
        self.world.server.stop()

    def do(self, text):
        with contextlib.closing(sqlite3.connect(self.world.path("data/iampass.sqlite"), isolation_level=None)) as database:
            return database.execute(text).fetchall()

    def refused(self, code, message, *words, data="data"):
        said = self.world.command(*words, data=data)
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        self.assertIn(message, said.stderr)
        self.assertEqual(said.stdout, "")

    def commands(self):
        """Some of those that work on a database."""
        return ("audit",), ("application", "create", "shop"), ("database", "check"), ("backup", self.world.path("copy"))

    def test_an_older_program_leaves_a_newer_directory_alone(self):
        self.do("INSERT INTO grdb_migrations VALUES ('later')")
        before = self.do("SELECT * FROM service_clock"), self.do("SELECT count(*) FROM audit")
        for words in (*self.commands(), ("database", "migrate")):
            self.refused(CONFIG, "has changed the database: later\nhint: update iampass-server", *words)
        refused = self.world.serve_here()
        self.assertEqual(refused.returncode, CONFIG, refused.stderr)
        self.assertIn("has changed the database: later\nhint: update iampass-server", refused.stderr)
        self.assertEqual((self.do("SELECT * FROM service_clock"), self.do("SELECT count(*) FROM audit")), before)
        self.assertFalse(os.path.exists(self.world.path("copy")))

    def test_an_older_directory_is_refused_until_it_is_migrated(self):
        made = "overdue_session", "live_session_of_application", "live_session_by_approval", "session_user", \
            "phone_user", "heard_phone", "code_use_age", "link_age", "source_block_age"  # fmt: skip
        for name in made:
            self.do(f"DROP INDEX {name}")
        self.do("DELETE FROM grdb_migrations WHERE identifier = 'indices of sessions'")
        before = self.do("SELECT count(*) FROM sqlite_master")
        for words in self.commands():
            self.refused(CONFIG, "is of an older version\nhint: start the service", *words)
        self.assertEqual(self.do("SELECT count(*) FROM sqlite_master"), before)
        said = self.world.command("database", "migrate")
        self.assertEqual((said.returncode, said.stdout), (0, "brought up to date by 1 change:\n  indices of sessions\n"))
        for words in self.commands():
            said = self.world.command(*words)
            self.assertEqual(said.returncode, 0, said.stderr)

    def test_what_another_program_keeps_gets_no_tables(self):
        os.mkdir(self.world.path("other"), 0o700)
        place = self.world.path("other/iampass.sqlite")
        with contextlib.closing(sqlite3.connect(place)) as database, database:
            database.execute("CREATE TABLE other (id TEXT)")
        for words in self.commands():
            self.refused(NO_INPUT, "has no tables of iampass-server", *words, data="other")
        self.refused(NO_INPUT, "there is no database", "database", "migrate", data="nowhere")
        with contextlib.closing(sqlite3.connect(place)) as database:
            self.assertEqual(database.execute("SELECT name FROM sqlite_master").fetchall(), [("other",)])


if __name__ == "__main__":
    unittest.main()
