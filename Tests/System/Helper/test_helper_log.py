"""What the helper writes to the journal at the usual level: one line a sign-in, and its end."""

import signal
import unittest

from helper_world import ServedCase, until
from Support.HostileService.hostile_replies import reply

CLOSED = reply(200, b'{"session_status":"closed"}')


class Lines(ServedCase):
    def lines(self, name):
        """All lines of a session but those at level debug, which the journal does not show at the usual level."""
        identity = self.world.records[name]
        return [line for line in self.world.helper.lines if f"session={identity}" in line]

    def asked(self, path):
        return sum(request.path == path for request in list(self.service.requests))

    def watch_and_ask(self, name):
        self.world.watch(name)
        self.world.start_helper()
        until(lambda: self.world.is_well(name), "not watched")
        asked = self.asked(f"/s/{name}")
        until(lambda: self.asked(f"/s/{name}") > asked + 2, "not asked on")

    def test_a_sign_in_has_no_line_at_the_usual_level(self):
        self.watch_and_ask("a")
        self.assertEqual(len(self.lines("a")), 1, self.lines("a"))
        self.assertRegex(self.lines("a")[0], r"^<7>watching user=daemon ")

    def test_a_reload_says_nothing_of_a_sign_in_from_before(self):
        self.watch_and_ask("a")
        asked = self.asked("/s/a")
        self.world.helper.process.send_signal(signal.SIGHUP)
        until(lambda: self.asked("/s/a") > asked + 2, "not asked on")
        self.assertEqual(len(self.lines("a")), 1, self.lines("a"))

    def test_a_session_that_ends_here_is_one_line_more(self):
        self.watch_and_ask("a")
        self.world.leader.kill()
        self.world.leader.wait()
        until(lambda: not self.world.watched(), "the record stays")
        self.assertEqual(len(self.lines("a")), 2, self.lines("a"))
        self.assertRegex(self.lines("a")[1], r"^<7>over user=daemon .*: its leader is gone$")

    def test_a_session_that_the_service_ends_is_logged_out_in_one_line(self):
        self.watch_and_ask("a")
        self.service.behaviour["/s/a"] = CLOSED
        until(lambda: self.world.bus.orders, "not logged out")
        until(lambda: len(self.lines("a")) > 1, "not said")
        self.assertEqual(len(self.lines("a")), 2, self.lines("a"))
        self.assertRegex(self.lines("a")[1], r"^<5>logged out user=daemon .*cause=ended")


if __name__ == "__main__":
    unittest.main()
