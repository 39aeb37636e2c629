"""FAULT H85: the user interrupts while a request starts, so that its name is not known yet."""

import glob
import json
import os
import signal
import unittest

from Support.HostileService.hostile_case import DONE, START, TIMEOUT, Case, hostile_world, session
from Support.HostileService.hostile_replies import close, reply, silent
from Support.Service.ends import given_up
from Support.Service.world import ABORT, MAXTRIES, SUCCESS, read

CANCELLED = ["IAMPASS: cancelled"]


def setUpModule():
    hostile_world()


class InterruptedStart(Case):
    def setUp(self):
        self.notes = self.world.path("run", "requests", "*", "*")
        for path in glob.glob(self.notes):
            os.unlink(path)

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

    def test_one_that_cannot_be_taken_back_is_left_to_the_next_sign_in(self):
        self.world.pam("sudo", f"prompt=push timeout={TIMEOUT}s")
        service, scene = self.serve_interrupted(session())
        service.behaviour["/l"] = reply(503, b"{}")
        result = self.play(ABORT, **scene)
        left = glob.glob(self.notes)
        if not given_up(result):
            self.assertEqual(len(left), 1)
        service.behaviour.update({START: session(), "/l": DONE})
        log = "\n".join(self.play(SUCCESS)["log"])
        if left:
            self.assertRegex(log, "withdrew user=daemon session=[0-9a-f]{32}: ")
        self.assertEqual(glob.glob(self.notes), [])

    def test_a_start_that_is_not_answered_ends_as_interrupted(self):
        service, scene = self.serve_interrupted(silent)
        result = self.play(ABORT, **scene)
        self.assertEqual(result["texts"], CANCELLED)
        self.assertEqual(self.asked(service, "/l"), [])

    def test_a_start_that_is_not_answered_is_cancelled_by_its_name(self):
        # The reply to the start is waited for a second, or its connection is lost.
        for answer, waited in ((silent, 1), (close, 0)):
            with self.subTest(answer=answer.__name__):
                service, scene = self.serve_interrupted(answer)
                service.behaviour["*"] = DONE
                # Only our own service is told a name. The next service of these tests has other settings.
                self.world.configure(send_context="yes")
                result = self.play(ABORT, **scene)
                if given_up(result, waited=waited):
                    continue
                starts = [request for request in service.requests if request.path.startswith(START)]
                names = [json.loads(request.body)["start"] for request in starts]
                self.assertEqual(len(names), 1)
                self.assertEqual(len(self.asked(service, f"/authentication/cancel_start/application/{names[0]}")), 1)


if __name__ == "__main__":
    unittest.main()
