"""A service of packaging/bench whose database is filled with copies of a session, on SQLite and on PostgreSQL."""

import contextlib
import sqlite3

from bench_phones import Service
from Support.Service.server import ServerWorld
from Support.Service.two_servers import TwoServers

#: What a copy has of its own, and what it has of the session.
OF_ITS_OWN = "id, token, started_at, approved_at, collected_at, delivered_at, duration"
OF_THE_SESSION = "secret, application, source, context, answer_nonce, status, delivered, reply_secret, method"
#: What a copy has of its own that has ended, and what it has of the session.
OF_ITS_OWN_END = f"{OF_ITS_OWN}, status, delivered, ending, ended_at, credential"
OF_THE_ENDED_SESSION = "secret, application, source, context, answer_nonce, reply_secret, method"
#: Seconds that an ended copy was allowed to last.
DURATION = 60
#: Milliseconds of a day.
DAY = 86_400_000
#: Copies of one statement.
PORTION = 200_000


class Filled:
    #: How the names of the users begin that are added, and that have the copies.
    USERS = "u"

    @staticmethod
    def id(number):
        return f"a{number:031x}"

    @staticmethod
    def token(number):
        return f"b{number:031x}"

    def close(self):
        self.world.close()

    def copy_session(self, name, count, approved_at, duration):
        """Copies an active session, in turn for each of the added users."""
        self.change(f"""
            {self._numbers(0, count)}
            INSERT INTO session ({OF_ITS_OWN}, {self.user_column}, {OF_THE_SESSION})
            SELECT 'a' || {self.hex('i')}, 'b' || {self.hex('i')}, {approved_at}, {approved_at}, {approved_at}, {approved_at},
              {duration}, owner, {OF_THE_SESSION}
            FROM n CROSS JOIN owners JOIN owner ON place = i % many CROSS JOIN session WHERE session.id = '{name}'
            """, "ANALYZE")

    def add_computers(self, application, count, now):
        """With a credential each, which was just made and used."""
        self.change(f"""
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {count - 1})
            INSERT INTO host_credential (id, application, name, host, secret, created_at, last_used_at, used_day)
            SELECT 'c' || {self.hex('i')}, id, 'pc-' || i, 'pc-' || i, secret, {now}, {now}, {now // DAY}
            FROM n CROSS JOIN application WHERE id = '{application}'
            """)

    def copy_ended(self, name, count, last, apart, computers):
        """Copies a session for each of the added users and of the computers in turn. The copies ended `apart` milliseconds
        from each other, the last one at `last`."""
        at = f"{last} - i * {apart}"
        for first in range(0, count, PORTION):
            self.change(f"""
                {self._numbers(first, min(first + PORTION, count))}
                INSERT INTO session ({OF_ITS_OWN_END}, {self.user_column}, {OF_THE_ENDED_SESSION})
                SELECT 'a' || {self.hex('i')}, 'b' || {self.hex('i')}, {at}, {at}, {at}, {at}, {DURATION}, 'closed', 'closed',
                  'LOGGED_OUT', {at}, 'c' || {self.hex(f'i % {computers}')}, owner, {OF_THE_ENDED_SESSION}
                FROM n CROSS JOIN owners JOIN owner ON place = i % many CROSS JOIN session WHERE session.id = '{name}'
                """)
        self.change(*self.known_after)

    def _numbers(self, first, end):
        return f"""
            WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {end - 1}),
              owner (owner, place) AS (
                SELECT id, row_number() OVER (ORDER BY id) - 1 FROM {self.user_table} WHERE name LIKE '{self.USERS}%-%'),
              owners (many) AS (SELECT count(*) FROM owner)"""

    def set_ends(self, first, moments, duration):
        """Has the copies from this number on end at these moments."""
        self.change(*(
            f"UPDATE session SET approved_at = {moment - duration * 1_000} WHERE id = '{self.id(number)}'"
            for number, moment in enumerate(moments, start=first)))

    def forget_others(self, name):
        self.change(f"DELETE FROM session WHERE id <> '{name}'")

    def has_live_copy(self):
        return bool(self.ask(
            f"SELECT 1 FROM session WHERE ended_at IS NULL AND id BETWEEN '{self.id(0)}' AND '{self.id(16**7)}' LIMIT 1"))


class OnSQLite(Filled):
    name, elsewhere = "SQLite", ""
    user_table, user_column = "user", "user"
    #: Nobody analyzes the file of a service.
    known_after = ()

    def __init__(self):
        self.world = ServerWorld()
        self.world.serve_alone("--log-level", "notice")

    @property
    def place(self):
        return ("--data", self.world.path("data"))

    @staticmethod
    def hex(number):
        return f"printf('%031x', {number})"

    def services(self):
        return [Service(self.world)]

    def stop(self):
        self.world.server.stop()

    def begin(self):
        self.world.restart_server("--log-level", "notice")
        return Service(self.world)

    def change(self, *statements):
        with self._database() as database, database:
            for statement in statements:
                database.execute(statement)

    def ask(self, question):
        with self._database() as database:
            return database.execute(question).fetchall()

    def _database(self):
        return contextlib.closing(sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=60))


class OnPostgreSQL(Filled):
    """By two servers, of which one is asked to add what the other one starts beside."""

    name, elsewhere = "PostgreSQL at a socket", ", at another server"
    user_table, user_column = "app_user", "user_id"
    #: As autovacuum does.
    known_after = ("ANALYZE",)

    def __init__(self):
        self.world = TwoServers()
        self.world.serve_twice(servers=2)

    @property
    def place(self):
        return ("--database", self.world.url)

    @staticmethod
    def hex(number):
        return f"lpad(to_hex({number}), 31, '0')"

    def services(self):
        return [self._service(number) for number in (0, 1)]

    def _service(self, number):
        self.world.at(number)
        return Service(self.world)

    def stop(self):
        for server, _, _ in self.world.servers:
            server.stop()

    def begin(self):
        self.world.servers = [self.world.served()]
        return self._service(0)

    def change(self, *statements):
        # What the triggers write of each row takes longer than all else.
        self.world.postgresql.sql("; ".join(("SET session_replication_role = replica", *statements)))

    def ask(self, question):
        return self.world.postgresql.sql(question)


ENGINES = (OnSQLite, OnPostgreSQL)
