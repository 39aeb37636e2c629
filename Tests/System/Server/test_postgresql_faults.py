"""What goes wrong at a PostgreSQL server while two servers of the service work on it."""

import contextlib
import os
import re
import subprocess
import threading
import time
import unittest

from faulty_world import GREATEST_WAIT, FaultyWorld
from Support.Hosts import signed_requests
from Support.Service.server import until
from Support.Service.world import PATIENCE, program, run

#: A wall clock that is an hour ahead.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *found) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, found);
  if (id == CLOCK_REALTIME) found->tv_sec += 3600;
  return result;
}
int gettimeofday(struct timeval *found, void *zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  found->tv_sec = now.tv_sec;
  found->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found) *found = now.tv_sec;
  return now.tv_sec;
}
"""


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = FaultyWorld()
        cls.addClassCleanup(cls.world.close)
        cls.world.serve_twice()

    def test_a_lock_that_is_held_for_long_costs_a_bounded_wait_and_then_all_goes_on(self):
        world = self.world
        session = world.approved("web-1")
        with world.sql_goes_on("LOCK TABLE write_turn IN ACCESS EXCLUSIVE MODE"):
            codes, longest = [], []

            def add(number):
                begun = time.monotonic()
                codes.append(world.adds(f"locked-{number}", number % 2))
                longest.append(time.monotonic() - begun)

            # More than the servers have connections: nobody waits for the waits of the others.
            threads = [threading.Thread(target=add, args=(number,)) for number in range(24)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            self.assertEqual(codes, [503] * 24)
            self.assertLess(max(longest), GREATEST_WAIT)
            # Whoever writes nothing but a nonce is not kept waiting.
            self.assertEqual(world.status(session), "active")
        self.assertEqual(world.adds("unlocked"), 201)
        self.assertFalse({name for name in world.users() if name.startswith("locked-")})

    def ready(self):
        return self.world.get("/readyz", address=self.world.metrics)[0]

    def test_writes_that_wait_keep_no_read_and_no_health_check_waiting(self):
        world = self.world
        world.at(0)
        session = world.approved("web-8")
        path = f"/management/add_users/{world.application['application_id']}"
        replies, stopped = [], threading.Event()

        def add(number):
            while not stopped.is_set():
                replies.append(world.ask("POST", path, {"users": [f"behind-{number}"]}))

        def waiting():
            """The writes that wait at the database, and since when."""
            return sql("SELECT pid, waitstart FROM pg_locks WHERE NOT granted ORDER BY pid")

        def is_alone(ask):
            """Whether it was answered while the same writes waited, before and after. A write waits for three seconds: on a
            slow machine one often ends meanwhile. If `ask` waited for a write's turn, one would end each time."""
            before = waiting()
            ask()
            return len(before) >= 3 and before == waiting()

        with world.sql_goes_on("LOCK TABLE write_turn IN ACCESS EXCLUSIVE MODE") as sql:
            threads = [threading.Thread(target=add, args=(number,)) for number in range(10)]
            for thread in threads:
                thread.start()
            try:
                # From the first refusal on, writes have filled all their places.
                until(lambda: replies, "a write that was refused")
                for ask in (
                    lambda: self.assertEqual(world.status(session), "active"),
                    lambda: self.assertEqual(self.ready(), 200),
                ):
                    alone = []
                    while alone.count(True) < 4:
                        alone.append(is_alone(ask))
                        self.assertLess(len(alone), 20, alone)
            finally:
                stopped.set()
                for thread in threads:
                    thread.join(PATIENCE)
        self.assertEqual({(code, headers["Retry-After"]) for code, headers, _ in replies}, {(503, "2")})
        self.assertFalse({name for name in world.users() if name.startswith("behind-")})

    def test_a_crowd_that_waits_at_both_servers_keeps_nobody_out_and_is_told(self):
        world = self.world
        session = world.approved("web-5")
        keys = (session["session_token"], session["session_secret"])
        path = re.sub(r"^https://[^/]+", "", session["status_url"])
        told = []

        def wait(number):
            address, code, text = world.servers[number % 2][1], 200, '"active"'
            # For some seconds a reply is repeated, in case the last one was lost. What had no turn in time is asked again.
            while '"active"' in text or code == 503:
                headers = {**signed_requests.headers(*keys, address + path), "Prefer": "wait=60"}
                code, _, text = world.get(path, headers=headers, address=address)
            told.append((code, text))

        waiters = [threading.Thread(target=wait, args=(number,)) for number in range(120)]
        for waiter in waiters:
            waiter.start()
        until(lambda: world.held(0) + world.held(1) >= len(waiters), "all of them waiting")
        begun = time.monotonic()
        world.approved("web-6")
        self.assertLess(time.monotonic() - begun, 45)
        self.assertEqual(told, [])
        self.assertEqual(world.ask("POST", session["logout_url"].removeprefix(world.address), by=keys)[0], 200)
        for waiter in waiters:
            waiter.join(PATIENCE)
        self.assertEqual({code for code, _ in told}, {200})
        self.assertTrue(all('"closed"' in text for _, text in told))

    def test_a_restart_costs_nobody_a_session(self):
        world = self.world
        session = world.approved("web-2")
        world.postgresql.stop("fast")
        world.postgresql.start()
        for number in (0, 1):
            world.at(number)
            until(lambda: world.ask_status(world.elsewhere(session))[0] == 200, "an answer after the restart")
            self.assertEqual(world.status(world.elsewhere(session)), "active")
        world.at(0)

    def test_a_server_whose_clock_is_an_hour_off_says_what_the_others_say(self):
        world = self.world
        world.write("clock.c", CLOCK)
        run("gcc", "-shared", "-fPIC", "-o", world.path("clock.so"), world.path("clock.c"), "-ldl")
        ahead = world.start(
            program("iampass-server"), "serve", "--database", world.url, "--listen", "127.0.0.1:0", "--tls-cert",
            world.certificate, "--tls-key", world.key, env={**os.environ, "LD_PRELOAD": world.path("clock.so")})
        line = ahead.wait_for("listening on https")
        world.servers.append((ahead, re.search(r"https://[0-9.:]+", line).group(0), None))
        shown = subprocess.run(
            ["date", "+%s"], env={**os.environ, "LD_PRELOAD": world.path("clock.so")}, capture_output=True, text=True)
        self.assertGreater(int(shown.stdout), time.time() + 3000)
        before = world.approved("web-3")
        world.at(2)
        # It takes the stamps of right clocks, ends nothing early, and what it starts lasts as long.
        self.assertEqual(world.status(world.elsewhere(before)), "active")
        after = world.approved("web-4")
        world.at(0)
        self.assertEqual(world.status(world.elsewhere(after)), "active")
        times = world.postgresql.sql("SELECT max(started_at) - min(started_at) FROM session WHERE ended_at IS NULL")
        self.assertLess(int(times[0]), 600_000)
        world.servers.pop()
        ahead.stop()

    def test_sql_in_what_a_phone_and_a_program_say_stays_a_text(self):
        world = self.world
        text = "e'); DELETE FROM phone; -- \" \\ $1"
        made = world.command("host-credential", "create", "office", text, "--host", text, "--json")
        self.assertEqual(made.returncode, 0, made.stderr)
        made = world.command("openid-client", "create", "office", text + "2", "--shown", text, "--json")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(world.command("application", "create", text, "--json").returncode, 0)
        for name, found in (("application", "name"), ("host_credential", "host")):
            self.assertIn(text, world.postgresql.sql(f"SELECT {found} FROM {name}"))
        self.assertNotEqual(world.postgresql.sql("SELECT count(*) FROM phone"), ["0"])


class FullDisk(unittest.TestCase):
    #: Bytes. PostgreSQL's own tables take about forty million.
    SIZE = 80_000_000

    def test_a_full_disk_is_said_and_once_there_is_room_all_goes_on(self):
        world = FaultyWorld()
        self.addCleanup(world.close)
        world.serve_twice()
        database = world.postgresql
        # What its tables are on becomes full, and not its log, which would end it.
        disk = world.path("postgresql", "disk")
        os.mkdir(disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.SIZE}", "tmpfs", disk], check=True, timeout=PATIENCE)
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], timeout=PATIENCE)
        database.own(disk)
        database.sql(f"CREATE TABLESPACE small LOCATION '{disk}'")
        for table in database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
            database.sql(f'ALTER TABLE "{table}" SET TABLESPACE small')
        with open(os.path.join(disk, "ballast"), "wb") as ballast:
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(65536))
                    ballast.flush()
        said = {}
        for number in range(4000):
            said[f"user-{number}"] = code = world.adds(f"user-{number}", number % 2)
            if code == 503:
                break
        self.assertEqual(code, 503)
        world.servers[number % 2][0].wait_for("make room on the disk")
        os.unlink(os.path.join(disk, "ballast"))
        until(lambda: world.adds("after") in (200, 201), "room")
        users = world.users()
        self.assertEqual({name for name, code in said.items() if code == 201} - users, set())
        self.assertNotIn(f"user-{number}", users)


class NotThere(unittest.TestCase):
    def test_a_service_does_not_begin_without_its_database_and_says_so(self):
        world = FaultyWorld()
        self.addCleanup(world.close)
        world.serve_twice()
        world.postgresql.stop("immediate")
        try:
            said = world.command(
                "serve", "--listen", "127.0.0.1:0", "--tls-cert", world.certificate, "--tls-key", world.key)
            self.assertEqual(said.returncode, 69, said.stderr)
            self.assertIn("cannot be used", said.stderr)
            self.assertIn("hint: look at the PostgreSQL server", said.stderr)
        finally:
            world.postgresql.start()


if __name__ == "__main__":
    unittest.main()
