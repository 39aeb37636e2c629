"""Another program has locked the database."""

import concurrent.futures
import time
import unittest

from database_case import DatabaseCase

CROWD = 30
# Longer than the service waits for the database; see Storage.
LOCKED_SECONDS = 10


class Locked(DatabaseCase):
    def test_requests_wait_within_a_bound_and_it_recovers_by_itself(self):
        world = self.world
        session = world.started("desk")
        with self.open_database() as other, concurrent.futures.ThreadPoolExecutor(CROWD) as crowd:
            other.execute("BEGIN EXCLUSIVE")
            try:
                began = time.monotonic()
                phone = world.phone("approve")
                names = [f"user {number}" for number in range(CROWD)]
                replies = [crowd.submit(self.added, name) for name in names]
                status = crowd.submit(world.ask_status, session)
                # One after the other, each with its whole time, they would wait for minutes.
                waiting = concurrent.futures.wait([*replies, status], timeout=60).not_done
                self.assertEqual(world.get("/healthz")[0], 200)
                phone.wait_for("the service is unavailable")
                time.sleep(max(0, began + LOCKED_SECONDS - time.monotonic()))
            finally:
                other.execute("COMMIT")
        self.assertEqual(len(waiting), 0)
        self.assertEqual([reply.result() for reply in replies], [False] * CROWD)
        self.assertFalse(self.is_done(status.result()))
        world.becomes(session, "active")
        self.assertTrue(self.added("later"))
        self.assert_only_what_was_approved_is_active()
        self.assert_said_once("the storage does not work", "the storage works again")


if __name__ == "__main__":
    unittest.main()
