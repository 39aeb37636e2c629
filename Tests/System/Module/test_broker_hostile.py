"""A thousand tries to unlock by somebody hostile, and what the owner's prompt and password do meanwhile and afterwards."""

import collections
import contextlib
import multiprocessing
import os
import pwd
import signal
import socket
import time
import unittest

from broker_case import AGREED, APPROVED, ASIDE, BUSY, FOLLOWS, LINE, PROMPT, RINGING, UID, WithBroker, request_for
from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED

HOSTILE = pwd.getpwnam("bin").pw_uid
TRIES = 1_000
#: `max_requests` by default.
GREATEST_COUNT = 5
#: As if Enter had been pressed.
ASK = request_for(ENROLLED, flags=FOLLOWS | AGREED)
PATIENCE = 300
#: The pause while the broker is busy, in seconds.
BUSY_PAUSE = 0.005


def setUpModule():
    global world
    world = world_with_a_phone()
    Hostile.world = world


class Hostile(WithBroker, SignInCase):
    def setUp(self):
        super().setUp()
        world.configure(services="swaylock polkit-1", unlock_timeout="20s")
        self.set_up_broker("timeout=20s")

    @contextlib.contextmanager
    def tries(self, uid):
        """A process of this user's that asks again and again, meanwhile, and leaves once it hears something; then each
        answer, with how often it came."""
        ours, theirs = multiprocessing.Pipe(duplex=False)
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(uid, uid, uid)
                theirs.send(self.heard())
            finally:
                os._exit(0)
        theirs.close()
        answers = collections.Counter()
        try:
            yield answers
            self.assertTrue(ours.poll(PATIENCE), "the tries take too long")
            answers.update(ours.recv())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            ours.close()

    @staticmethod
    def heard():
        answers = collections.Counter()
        for _ in range(TRIES):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
                caller.settimeout(PATIENCE)
                caller.connect(world.path("run-broker", "socket"))
                # A broker that is busy says so and closes at once.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    caller.sendall(ASK)
                with contextlib.suppress(ConnectionResetError):
                    answer = caller.recv(4096)
                    answers[answer] += 1
                    # While the request before is taken back.
                    if answer == BUSY:
                        time.sleep(BUSY_PAUSE)
        return answers

    def assert_the_owner_is_served(self):
        self.assert_the_password_is_taken()
        self.assertTrue(self.unlocked())

    def assert_the_password_is_taken(self):
        typed = self.lock("the-password")
        self.assertEqual((typed["codes"], typed["texts"]), ([AUTHINFO_UNAVAIL], [LINE, PROMPT]))

    def answers_while_the_owner_is_served(self, uid):
        phone = self.phone("approve")
        with self.tries(uid) as answers:
            self.assert_the_owner_is_served()
        self.assert_the_owner_is_served()
        # One for each time that the owner pressed Enter.
        self.assertEqual(phone.count("sign-in request"), 2)
        return answers

    def test_a_user_at_this_computer_costs_another_nothing(self):
        self.logind_says(uid=HOSTILE, name="4")
        self.addCleanup(os.unlink, world.path("logind", "4"))
        self.assertLessEqual(self.answers_while_the_owner_is_served(HOSTILE).keys(), {ASIDE, BUSY})

    def test_a_user_without_a_session_here_costs_another_nothing(self):
        self.assertEqual(self.answers_while_the_owner_is_served(HOSTILE).keys(), {ASIDE})

    def test_a_program_of_the_owners_own_rings_no_more_than_is_allowed(self):
        with self.tries(UID) as answers:
            pass
        rung = sum(count for answer, count in answers.items() if RINGING.encode() in answer)
        self.assertEqual(rung, GREATEST_COUNT, answers)
        self.assertFalse([answer for answer in answers if APPROVED in answer])
        self.assert_the_password_is_taken()


if __name__ == "__main__":
    unittest.main()
