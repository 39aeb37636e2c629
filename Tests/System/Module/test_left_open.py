"""Enter at a locker that shows nothing, and again: one request, which is taken up by that very locker alone."""

import contextlib
import os
import time
import unittest

from broker_case import LINE, PROMPT, RINGING, UID, BrokerCase
from sign_in_case import world_with_codes
from Support.Service.world import AUTH_ERR, AUTHINFO_UNAVAIL, MAXTRIES, PATIENCE, SUCCESS, read

LATE = "IAMPASS: not answered in time. Use your password."
TWICE = ("authenticate",) * 2


def setUpModule():
    BrokerCase.world = world_with_codes()


class LeftOpen(BrokerCase):
    def setUp(self):
        super().setUp()
        self.world.configure(send_context="yes", unlock_timeout="6s")

    def left(self):
        folder = self.world.path("run", "left")
        return os.listdir(folder) if os.path.isdir(folder) else []

    def person(self):
        """A phone that asks a person."""
        phone = self.world.phone_with_keys("ask")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def wait_for(self, phone, word, count):
        self.wait_until(lambda: phone.count(word) >= count, phone.lines)

    def wait_until(self, check, claim):
        end = time.monotonic() + PATIENCE
        while not check():
            self.assertLess(time.monotonic(), end, claim)
            time.sleep(0.05)

    def assert_rings_in_vain(self):
        """Enter, which nobody answers in time."""
        result = self.lock("")
        self.assertEqual(result["codes"], [AUTH_ERR], result["texts"])

    def end_what_is_left(self):
        """The next test's phone would see it."""
        self.phone("deny").wait_for("denied")

    def enter_again(self, act):
        """A locker at which nobody answers the first Enter in time. Once it asks again `act` acts, and Enter is pressed."""
        folder = self.world.path("pressed")
        os.makedirs(folder, exist_ok=True)
        # The locker removes what it has read there.
        os.chown(folder, UID, UID)
        answers = ["", {"file": os.path.join(folder, "again")}]
        screen = os.path.join(folder, "screen")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(screen)
        scene = {"uid": UID, "own": False, "answers": answers, "calls": TWICE, "screen": screen}
        with self.world.playing("swaylock", **scene) as results:
            self.broker.wait_for("reason=not answered")
            self.assertEqual(len(self.left()), 1)
            # No broker that comes now ends it.
            self.assertEqual(self.asked(), [])
            # The question comes from the broker, too, which `act` may end.
            self.wait_until(lambda: read(screen).count(PROMPT) == 2, "it does not ask again")
            act()
            self.world.answer("pressed/again", mode=0o644)
        return results[0]


class Taken(LeftOpen):
    def test_an_approval_that_came_meanwhile_unlocks_at_the_next_enter(self):
        phone = self.person()

        def approve():
            phone.type("y")
            phone.wait_for("approved")

        result = self.enter_again(approve)
        self.assertEqual(result["codes"], [AUTH_ERR, SUCCESS], result["texts"])
        self.assertEqual(result["texts"], [LINE, PROMPT, RINGING, LATE, LINE, PROMPT, RINGING])
        self.assertEqual(phone.count("sign-in request"), 1)
        self.assertEqual(self.left(), [])
        self.assert_nothing_is_left()

    def test_a_request_that_is_still_open_is_waited_for_without_a_second_ring(self):
        phone = self.person()
        result = self.enter_again(lambda: self.world.configure(unlock_timeout="20s") or phone.type("y"))
        self.assertEqual(result["codes"], [AUTH_ERR, SUCCESS], result["texts"])
        self.assertEqual(phone.count("sign-in request"), 1)

    def test_a_denial_meanwhile_rings_nobody_again(self):
        phone = self.person()

        def deny():
            phone.type("n")
            phone.wait_for("denied")

        result = self.enter_again(deny)
        self.assertEqual(result["codes"], [AUTH_ERR, MAXTRIES], result["texts"])
        self.assertEqual(phone.count("sign-in request"), 1)
        self.assertEqual(self.left(), [])
        self.assertEqual(self.asked(), [])

    def test_a_broker_that_was_started_meanwhile_goes_on_with_it(self):
        phone = self.person()

        def start_again():
            self.broker.stop()
            self.broker = self.start_broker()
            self.world.configure(unlock_timeout="20s")
            phone.type("y")

        result = self.enter_again(start_again)
        self.assertEqual(result["codes"], [AUTH_ERR, SUCCESS], result["texts"])
        self.assertEqual(phone.count("sign-in request"), 1)


class NotTaken(LeftOpen):
    def test_the_password_rings_nobody_and_no_other_locker_takes_the_request(self):
        phone = self.person()
        result = self.lock("", "the-password", calls=TWICE)
        self.assertEqual(result["codes"], [AUTH_ERR, AUTHINFO_UNAVAIL], result["texts"])
        self.assertEqual(len(self.left()), 1)
        # The screen is locked again: what was left for the one before is taken back, and the phone rings for this one.
        phone.type("y")
        phone.wait_for("approved")
        self.assert_rings_in_vain()
        self.wait_for(phone, "sign-in request", 2)
        self.end_what_is_left()

    def test_a_program_with_digits_leaves_nothing(self):
        # Tests before this one have left requests at a locker.
        before = sorted(self.left())
        self.phone("ignore")
        self.world.pam("polkit-1", "timeout=5s")
        result = self.world.play("polkit-1", own=False, answers=[""])
        self.assertEqual(result["codes"], [AUTH_ERR])
        self.assertEqual(sorted(self.left()), before)

    def test_requests_that_are_left_count(self):
        self.world.configure(max_requests="1")
        phone = self.phone("ignore")
        self.assert_rings_in_vain()
        result = self.lock("")
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("too many requests", result["texts"][-1])
        self.assertEqual(phone.count("sign-in request"), 1)

    def test_what_cannot_be_taken_back_stays_until_it_can(self):
        phone = self.phone("ignore")
        self.assert_rings_in_vain()
        port = self.world.address.rpartition(":")[2]
        self.world.server.stop()
        try:
            self.assertEqual(self.lock("")["codes"], [AUTHINFO_UNAVAIL])
        finally:
            self.world.start_server(port=port)
        self.assertEqual(len(self.left()), 1)
        self.assert_rings_in_vain()
        self.wait_for(phone, "sign-in request", 2)
        self.end_what_is_left()

    def test_a_file_that_is_damaged_lets_nobody_in_and_the_phone_can_end_the_request(self):
        phone = self.person()

        def damage():
            for name in self.left():
                self.world.write("run/left/" + name, "nonsense", 0o600)

        result = self.enter_again(damage)
        self.assertNotIn(SUCCESS, result["codes"])
        self.assertEqual(phone.count("sign-in request"), 1)
        self.assertIn("another open request", result["texts"][-1])
        phone.type("n")
        phone.wait_for("denied")
        self.assert_rings_in_vain()
        self.wait_for(phone, "sign-in request", 2)
        self.end_what_is_left()


if __name__ == "__main__":
    unittest.main()
