"""The helper and phones that it looks for, with a scripted probe, a scripted logind, and BlueZ's files."""

import hashlib
import json
import os
import signal
import sys
import unittest

from helper_world import ServedCase, until
from Support.Service.never import assert_nobody_ended
from Support.Service.scripted_probe import ScriptedProbe
from Support.Service.world import program, read, run

ADAPTER, PHONE = "00:AA:01:00:00:00", "A4:C3:F0:11:22:33"
KEY = "00112233445566778899AABBCCDDEEFF"
DIGEST = hashlib.sha256(bytes.fromhex(KEY)).hexdigest()
NEAR, SILENT, GARBAGE = "{phone} near 41", "{phone} silent 5100", "nonsense"
#: A probe of some other user's, which answers that every phone is near.
STRANGER = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
os.setresgid(1, 1, 1)
os.setresuid(1, 1, 1)
listening.bind(sys.argv[1])
listening.listen(8)
print("listens", flush=True)
while True:
    asker, _ = listening.accept()
    if question := asker.recv(200):
        print("asked", flush=True)
        asker.send(question.split()[1] + b" near 41")
"""


class PresenceCase(ServedCase):
    def setUp(self):
        super().setUp()
        self.world.configure(
            presence="bluetooth", presence_interval="5s", presence_grace="0s", presence_unknown_grace="10s")
        self.pair(KEY)
        self.world.write("presence", f"daemon {ADAPTER} {PHONE} {DIGEST}\n")
        self.world.sit("1")
        self.world.sit("2", seat="", remote=1, kind="tty")

    def pair(self, key):
        os.makedirs(self.world.path("bonds", ADAPTER, PHONE), 0o700, exist_ok=True)
        self.world.write(f"bonds/{ADAPTER}/{PHONE}/info", f"[LinkKey]\nKey={key}\nType=8\nPINLength=0\n")

    def probe(self, answer):
        probe = ScriptedProbe(self.world.path("probe", "socket"), [answer])
        self.addCleanup(probe.close)
        return probe

    def state(self):
        try:
            return [user["state"] for user in json.loads(read(self.world.path("run", "presence")))["users"]]
        except FileNotFoundError:
            return None

    def armed(self):
        probe = self.probe(NEAR)
        self.world.start_helper()
        self.await_state("armed")
        return probe

    def await_state(self, state):
        until(lambda: self.state() == [state], lambda: f"{self.state()}: {self.world.helper.lines}")

    def listed(self):
        return run(program("iampassctl"), "session", "list", "--config", self.world.path("iampass.conf"))

    def orders(self):
        return [order for order in self.world.bus.orders if "Session" in order[0]]


class Leaving(PresenceCase):
    def test_a_phone_that_goes_locks_the_seat_and_one_that_comes_back_unlocks_nothing(self):
        probe = self.armed()
        assert_nobody_ended(self.orders())
        probe.answers[:] = [SILENT]
        self.await_state("left")
        self.assertEqual(self.orders(), [("LockSession", "1")])
        self.world.helper.wait_for("^<5>locked user=daemon logind_session=1 cause=presence, by logind's hint$")
        probe.answers[:] = [NEAR]
        self.await_state("armed")
        self.assertEqual(self.orders(), [("LockSession", "1")])
        self.assertEqual(self.world.helper.count("presence user=daemon: left"), 1)
        # Others may read the file, and it is in a folder of root's alone.
        self.assertEqual(os.stat(self.world.path("run", "presence")).st_mode & 0o777, 0o644)
        self.assertRegex(self.listed(), r"(?m)^no sessions\n\nUSER    PHONE  SINCE\ndaemon  near   \d+s$")
        # The service was told nothing.
        self.assertEqual(len(self.service.requests), 0)

    def test_logout_ends_the_session_at_the_seat_and_leaves_ssh(self):
        self.world.configure(on_presence_left="logout")
        probe = self.armed()
        probe.answers[:] = [SILENT]
        self.world.helper.wait_for("^<5>logged out user=daemon service=seat .*cause=presence logind_session=1$", 60)
        self.assertEqual(self.orders(), [("TerminateSession", "1")])

    def test_a_helper_that_is_killed_in_doubt_is_followed_by_one_that_locks(self):
        probe = self.armed()
        probe.answers[:] = [SILENT]
        self.await_state("doubtful")
        self.world.helper.process.send_signal(signal.SIGKILL)
        self.world.helper.process.wait()
        assert_nobody_ended(self.orders())
        self.world.start_helper()
        self.await_state("left")
        self.assertEqual(self.orders(), [("LockSession", "1")])


class Ignorance(PresenceCase):
    def test_a_probe_that_answers_garbage_ends_in_blindness(self):
        probe = self.armed()
        probe.answers[:] = [GARBAGE]
        self.await_state("blind")
        self.assertEqual(self.orders(), [("LockSession", "1")])
        self.world.helper.wait_for(r"^<4>presence user=daemon: blind, the last look found: unknown \(bad-answer\)$")

    def test_another_key_is_said_once_and_is_not_an_absence(self):
        probe = self.armed()
        self.pair("F" * 32)
        self.world.helper.wait_for(f"^<4>presence user=daemon: nothing is known of {PHONE}: it was paired again")
        asked = len(probe.asked)
        probe.answers[:] = [SILENT]
        self.await_state("blind")
        self.assertEqual(len(probe.asked), asked)
        self.assertEqual(self.world.helper.count("it was paired again"), 1)
        self.assertEqual(self.world.helper.count("presence user=daemon: left"), 0)

    def test_a_socket_that_somebody_else_has_made_is_not_asked(self):
        self.armed().close()
        os.unlink(self.world.path("probe", "socket"))
        os.chmod(self.world.folder, 0o711)
        os.chown(self.world.path("probe"), 1, 1)
        stranger = self.world.start(sys.executable, "-c", STRANGER, self.world.path("probe", "socket"))
        stranger.wait_for("listens")
        os.chown(self.world.path("probe"), 0, 0)
        self.await_state("blind")
        self.world.helper.wait_for(r"presence user=daemon: blind, the last look found: unknown \(foreign-socket\)$")
        self.assertEqual(stranger.count("asked"), 0)


if __name__ == "__main__":
    unittest.main()
