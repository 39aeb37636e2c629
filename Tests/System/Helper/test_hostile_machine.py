"""A machine that does not help: no bus, very many sessions, a stop in the middle of something."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

from helper_world import ServedCase, until
from scripted_bus import ScriptedBus
from Support.HostileService.hostile_replies import reply
from Support.Service.never import assert_nobody_ended
from Support.Service.world import PATIENCE, read

#: The number of sessions. The helper asks about all of them every five seconds.
MANY = 500
#: The share of one processor for helper and worker together. They take 0.07 of it, mostly for TLS; a loop that spins takes all
#: that there is. packaging/bench has the exact figures.
GREATEST_SHARE = 0.5
#: Three times what it takes.
GREATEST_KILOBYTES = 72 * 1024
#: In seconds: less than the 15 s after which a silent question ends by itself, less a moment between question and stop.
LONGEST_STOP = 13
#: In seconds: the time over which a share is measured.
LOOK = 15


class Case(ServedCase):
    def asked(self, path):
        return sum(request.path == path for request in list(self.service.requests))

    def log(self, pattern):
        return [line for line in self.world.helper.lines if re.search(pattern, line)]


class Bus(Case):
    def test_without_a_bus_sessions_are_watched_and_the_log_says_it_once_a_minute(self):
        self.world.bus.stop()
        self.world.watch("a")
        self.world.start_helper()
        until(lambda: self.world.is_well("a"), "not watched")
        began = time.monotonic()
        before = self.asked("/s/a")
        until(lambda: self.asked("/s/a") > before + 2, "not asked on")
        complaints = self.log("no logind, so nobody can be logged out")
        self.assertTrue(complaints)
        self.assertLessEqual(len(complaints), 2 + (time.monotonic() - began) / 60)

    def test_a_bus_that_dies_and_comes_back_ends_nothing_and_is_used_again(self):
        self.world.watch("a")
        self.world.start_helper()
        until(lambda: self.world.is_well("a"), "not watched")
        self.world.bus.stop()
        until(lambda: self.log("no logind"), "the loss is not said")
        self.world.bus = ScriptedBus(self.world.path("bus"))
        self.assertEqual(self.world.watched(), {"a"})
        self.service.behaviour["/s/a"] = reply(200, b'{"session_status":"closed"}')
        until(lambda: self.world.bus.orders, "the new bus is not used")
        self.assertEqual(self.world.bus.orders[0], ("TerminateSession", "1"))


class Crowd(Case):
    def test_five_hundred_sessions_take_little_memory_and_time(self):
        for number in range(MANY):
            self.world.watch(str(number))
        self.world.start_helper()
        until(lambda: all(map(self.world.is_well, self.world.records)), "not all are watched")
        before, began = self.world.seconds_of_cpu(), time.monotonic()
        time.sleep(LOOK)
        share = (self.world.seconds_of_cpu() - before) / (time.monotonic() - began)
        self.assertLess(share, GREATEST_SHARE)
        self.assertLess(self.world.peak_kilobytes(), GREATEST_KILOBYTES)
        assert_nobody_ended(self.world.bus.orders)

    def test_records_that_come_and_go_are_all_told_of(self):
        """Sign-ins whose session is over at once, as many as come."""
        self.world.watch("stays")
        self.world.start_helper()
        until(lambda: self.world.is_well("stays"), "not watched")
        leader = self.world.leader
        for burst in range(10):
            self.world.leader = subprocess.Popen(["sleep", "100000"])
            for number in range(10):
                self.world.watch(f"{burst}-{number}")
            self.world.leader.kill()
            self.world.leader.wait()
        self.world.leader = leader
        until(lambda: self.world.watched() == {"stays"}, lambda: f"{len(self.world.watched())} records stay")
        # Once each, or again after a late reply.
        self.assertGreaterEqual(self.asked("/l"), 100)
        until(lambda: self.world.is_well("stays"), "it is not asked on")


class Doors(Case):
    def test_the_helper_listens_nowhere(self):
        self.world.watch("a")
        self.world.start_helper()
        until(lambda: self.world.is_well("a"), "not watched")
        inodes = {match[1] for pid in self.world.processes() for match in self.sockets(pid)}
        self.assertTrue(inodes, "no sockets are seen")
        listening = subprocess.run(["ss", "-Hlnxtue"], capture_output=True, text=True, check=True).stdout
        # This test's bus and service also listen.
        self.assertIn(self.world.path("bus"), listening)
        found = set(re.findall(r"ino:(\d+)", listening)) | set(re.findall(r" (\d+) +\* ", listening))
        self.assertEqual(inodes & found, set())

    @staticmethod
    def sockets(pid):
        links = []
        for entry in os.scandir(f"/proc/{pid}/fd"):
            try:
                links.append(os.readlink(entry.path))
            except FileNotFoundError:
                continue
        return filter(None, (re.match(r"socket:\[(\d+)\]", link) for link in links))


class Stop(Case):
    def test_it_stops_at_once_in_the_middle_of_an_outage(self):
        self.world.watch("a")
        self.world.start_helper()
        until(lambda: self.world.is_well("a"), "not watched")
        self.service.behaviour["/s/a"] = "silent"
        asked = self.asked("/s/a")
        until(lambda: self.asked("/s/a") > asked, "not asked")
        workers = self.world.processes()[1:]
        began = time.monotonic()
        self.world.helper.process.send_signal(signal.SIGTERM)
        # The silent question would take 15 s; nothing else would end it.
        self.assertEqual(self.world.helper.process.wait(PATIENCE), 0)
        self.assertLess(time.monotonic() - began, LONGEST_STOP)
        until(lambda: not any(os.path.exists(f"/proc/{worker}") for worker in workers), "a worker stays")
        self.assertEqual(self.world.watched(), {"a"})


class EarlierModule(Case):
    """A module of the version before is still loaded in a program. It changes the record's file itself, and may write that
    file back after the helper has removed it."""

    def put(self, record):
        self.world.write("run/" + record["id"], json.dumps(record))
        os.rename(self.world.path("run", record["id"]), self.world.path("run/sessions", record["id"]))

    def removed(self):
        """A record that was watched and released, once the helper has removed it."""
        self.world.watch("a")
        record = json.loads(read(self.world.path("run/sessions", self.world.records["a"])))
        self.world.start_helper()
        until(lambda: self.world.is_well("a"), "not watched")
        self.put({**record, "released": True})
        until(lambda: not self.world.watched() and self.asked("/l"), "the service is not told")
        return record

    def test_a_released_record_that_comes_back_goes_again(self):
        record = self.removed()
        # An end may be told again after a late reply.
        told = self.asked("/l")
        self.put({**record, "released": True})
        until(lambda: not self.world.watched() and self.asked("/l") > told, "it stays")
        assert_nobody_ended(self.world.bus.orders)

    def test_an_open_record_that_comes_back_ends_by_the_services_word(self):
        record = self.removed()
        self.service.behaviour["/s/a"] = reply(200, b'{"session_status":"closed"}')
        self.put(record)
        until(lambda: self.world.bus.orders, "its session goes on")
        self.assertEqual(self.world.bus.orders[0], ("TerminateSession", "1"))


class NextStart(Case):
    """The computer goes down: `/run` is empty afterwards, and the kernel has another boot id."""

    def kept(self):
        folder = self.world.path("state", "open")
        return set(os.listdir(folder)) if os.path.isdir(folder) else set()

    def test_what_was_open_is_ended_at_the_service_after_the_next_start(self):
        self.world.watch("a")
        identity = self.world.records["a"]
        self.world.start_helper()
        until(lambda: self.world.is_well("a"), "not watched")
        self.assertEqual(self.kept(), {identity})
        path = self.world.path("state", "open", identity)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.world.helper.process.kill()
        self.world.helper.process.wait()
        kept = json.loads(read(path))
        # From this computer, and from an earlier boot.
        self.world.write("state/open/" + identity, json.dumps({**kept, "boot": "0" * 32}))
        os.remove(self.world.path("run", "sessions", identity))
        self.assertEqual(self.asked("/l"), 0)
        self.world.start_helper()
        until(lambda: self.asked("/l") and not self.kept(), "the service is not told")
        assert_nobody_ended(self.world.bus.orders)


if __name__ == "__main__":
    unittest.main()
