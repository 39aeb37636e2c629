"""A PostgreSQL server whose standby takes its place in the middle of commits, or hangs."""

import contextlib
import os
import signal
import threading
import time
import unittest

from faulty_world import GREATEST_WAIT, FaultyWorld
from Support.Service.server import until
from Support.Service.world import PATIENCE, run


class InTheMiddle(unittest.TestCase):
    def setUp(self):
        self.world = FaultyWorld()
        self.addCleanup(self.world.close)
        self.world.serve_twice(standby=True)

    def test_a_failover_in_the_middle_of_commits_loses_nothing_that_was_said(self):
        """What was said to have happened is there, and nothing is there twice."""
        world = self.world
        said, over = {}, threading.Event()

        def add(number):
            count = 0
            while not over.is_set():
                name = f"user-{number}-{count}"
                count += 1
                said[name] = world.adds(name, number % 2)
                if said[name] != 201:
                    time.sleep(0.05)

        threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        until(lambda: list(said.values()).count(201) > 30, "some users")
        world.postgresql.stop("immediate")
        world.standby.promote()
        before = list(said.values()).count(201)
        until(lambda: list(said.values()).count(201) > before + 30, "users after the failover")
        over.set()
        for thread in threads:
            thread.join(PATIENCE)
        world.postgresql, world.standby = world.standby, world.postgresql
        users = world.users()
        self.assertEqual({name for name, code in said.items() if code == 201} - users, set())
        # A request that got no success may have added its user, once.
        added = world.postgresql.sql("SELECT count(*) FROM audit WHERE event = 'user added'")
        self.assertEqual(int(added[0]), len(users))

    @contextlib.contextmanager
    def hanging_standby(self):
        with open(os.path.join(self.world.standby.data, "postmaster.pid"), encoding="utf-8") as file:
            standby = file.readline().strip()
        group = [standby, *run("pgrep", "-P", standby).split()]

        def send(number):
            for process in group:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), number)

        send(signal.SIGSTOP)
        try:
            yield
        finally:
            send(signal.SIGCONT)

    def test_while_a_standby_hangs_what_is_old_is_forgotten_and_statuses_are_answered(self):
        world = self.world
        session = world.approved("web-1")
        codes = []

        def is_forgotten():
            for number in (0, 1):
                world.at(number)
                codes.append(world.ask_status(world.elsewhere(session))[0])
            return not world.postgresql.sql("SELECT 1 FROM spent_nonce WHERE client = 'old' LIMIT 1")

        with self.hanging_standby():
            # The administrator's own commit does not wait, either.
            world.postgresql.sql(
                "SET synchronous_commit = off; INSERT INTO spent_nonce (client, nonce, forget_at, spent_at) "
                "SELECT 'old', number::text, 1000 * number, 1000 * number FROM generate_series(1, 2500) AS number")
            until(is_forgotten, "housekeeping that has forgotten them", 120)
            is_forgotten()
        self.assertEqual(set(codes), {200})
        world.at(0)

    def test_a_standby_that_hangs_costs_a_bounded_wait_and_then_all_goes_on(self):
        world = self.world
        with self.hanging_standby():
            begun = time.monotonic()
            self.assertEqual(world.adds("slow"), 503)
            self.assertLess(time.monotonic() - begun, GREATEST_WAIT)
        until(lambda: world.adds("after") in (200, 201), "the standby's answers")
        self.assertIn("after", world.users())


if __name__ == "__main__":
    unittest.main()
