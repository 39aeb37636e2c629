"""The module with workers that wait: what a login finds there, and what it leaves behind."""

import json
import signal
import subprocess
import time
import unittest

from Support.HostileService.hostile_case import ACTIVE, Case, hostile_world, status
from Support.HostileService.hostile_replies import FAULTS
from Support.Service.world import AUTHINFO_UNAVAIL, AUTH_ERR, MAXTRIES, PAM_CALL, PATIENCE, SUCCESS, read


def setUpModule():
    global world
    world = hostile_world()


class Waiting(Case):
    def setUp(self):
        self.service = self.serve()
        self.standby = world.wait_for_logins()
        self.addCleanup(self.end)
        self.assert_left()

    def end(self):
        self.standby.kill()
        self.standby.wait()

    def served(self):
        """The workers that it has now."""
        return read(f"/proc/{self.standby.pid}/task/{self.standby.pid}/children").split()

    def assert_left(self):
        """No worker is left: they end with their login."""
        end = time.monotonic() + 20
        while self.served():
            self.assertLess(time.monotonic(), end, "a worker is left")
            time.sleep(0.02)

    def play_with_one(self, code, reply):
        """A login that is answered so, and has one of those workers while it asks."""
        seen = []

        def answer(stream, request):
            seen.append(self.served())
            reply(stream, request)

        self.service.behaviour["/s"] = answer
        # On a busy machine a login may lose its patience and start its own.
        for _ in range(10):
            world.forget_attempts()
            self.play(code)
            self.assert_left()
            if seen[-1]:
                break
        self.assertEqual(len(seen[-1]), 1)

    def test_an_approval_signs_in(self):
        self.play_with_one(SUCCESS, ACTIVE)

    def test_a_denial_refuses(self):
        self.play_with_one(MAXTRIES, status('{"session_status":"cancelled","authenticated":false}'))

    def test_a_silent_service_ends_at_the_modules_time(self):
        self.play_with_one(AUTH_ERR, FAULTS["silent"])

    def test_what_does_not_answer_holds_nobody_up(self):
        self.standby.send_signal(signal.SIGSTOP)
        self.play(SUCCESS)

    def test_a_caller_in_a_network_of_its_own_stays_there(self):
        """The service cannot be reached from there; a worker outside could reach it."""
        done = subprocess.run(
            ["unshare", "--net", "/usr/bin/python3", PAM_CALL],
            input=json.dumps(world.scene()), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(json.loads(done.stdout)["codes"], [AUTHINFO_UNAVAIL], done.stderr)
        self.assertEqual(self.service.requests, [])
        self.assert_left()


if __name__ == "__main__":
    unittest.main()
