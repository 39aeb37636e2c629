"""FAULT H85: the user interrupts while a request starts, so that its name is not known yet."""

import os
import signal
import unittest

from Support.HostileService.hostile_case import TIMEOUT, Case, hostile_world, session
from Support.HostileService.hostile_replies import silent
from Support.Service.world import ABORT, MAXTRIES, read

CANCELLED = ["IAMPASS: cancelled"]


def setUpModule():
    hostile_world()


class InterruptedStart(Case):
    def serve_interrupted(self, answer):
        """A service that gets the start before Ctrl-C, and answers it afterwards; and the scene for it."""
        pid = self.world.path("pid")

        def start(stream, request):
            os.kill(int(read(pid)), signal.SIGINT)
            answer(stream, request)

        # As sudo does while PAM runs.
        return self.serve(start=start), {"pid_file": pid, "block_interrupts": True}

    def test_the_request_is_taken_back_as_soon_as_its_name_is_known(self):
        for pam_service, code in (("sudo", ABORT), ("sshd", MAXTRIES)):
            with self.subTest(service=pam_service):
                self.world.pam(pam_service, f"prompt=push timeout={TIMEOUT}s")
                service, scene = self.serve_interrupted(session(match_code="12"))
                result = self.world.play(pam_service, **scene)
                self.assertEqual(result["codes"], [code], result)
                # No code is shown for what is taken back.
                self.assertEqual(result["texts"], CANCELLED)
                self.assertEqual(self.asked(service, "/s"), [])
                self.assert_told(service, result)

    def test_a_start_that_is_not_answered_ends_as_interrupted(self):
        service, scene = self.serve_interrupted(silent)
        result = self.play(ABORT, **scene)
        self.assertEqual(result["texts"], CANCELLED)
        self.assertEqual(self.asked(service, "/l"), [])


if __name__ == "__main__":
    unittest.main()
