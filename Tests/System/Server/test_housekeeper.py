"""Two servers on one PostgreSQL database, of which one does the housekeeping, and is stopped."""

import re
import signal
import unittest

from Support.Service.server import until
from Support.Service.two_servers import TwoServers


def setUpModule():
    global world
    world = TwoServers()
    unittest.addModuleCleanup(world.close)
    world.serve_twice()


class Stopped(unittest.TestCase):
    def keeps_house(self, number):
        text = world.get("/metrics", address=world.servers[number][2])[2]
        return re.search(r"(?m)^iampass_keeps_house ([01])$", text).group(1) == "1"

    def keeper(self):
        """The number of the one server that does it."""
        until(lambda: sum(self.keeps_house(number) for number in (0, 1)) == 1, "a housekeeper")
        return 0 if self.keeps_house(0) else 1

    def sql(self, text):
        return "".join(world.postgresql.sql(text))

    def test_a_housekeeper_that_is_stopped_is_replaced_and_both_agree_when_it_goes_on(self):
        stopped = self.keeper()
        other = 1 - stopped
        process = world.servers[stopped][0].process
        name = self.sql("SELECT server FROM housekeeper")
        process.send_signal(signal.SIGSTOP)
        try:
            # It keeps its connections: nothing but the row's age says that it does nothing.
            self.sql("UPDATE housekeeper SET renewed_at = renewed_at - 55000")
            self.assertFalse(self.keeps_house(other))
            until(lambda: self.keeps_house(other), "another housekeeper")
            self.assertNotEqual(self.sql("SELECT server FROM housekeeper"), name)
            # What is old goes away at the other server's next round.
            self.sql("INSERT INTO spent_nonce (client, nonce, forget_at, spent_at) VALUES ('web', 'old', 1000, 1000)")
            until(lambda: self.sql("SELECT count(*) FROM spent_nonce WHERE nonce = 'old'") == "0", "a round")
        finally:
            process.send_signal(signal.SIGCONT)
        self.keeper()
        for number in (0, 1):
            world.at(number)
            self.assertEqual(world.status(world.elsewhere(world.approved("web-1"))), "active")


if __name__ == "__main__":
    unittest.main()
