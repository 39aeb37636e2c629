"""Sign-ins that the service does not start: what the terminal says, and that the other ways go on."""

import unittest

from world import *

NO_METHOD = (
    "IAMPASS: not asked: your phone cannot answer in the way that is wanted here (METHOD_NOT_AVAILABLE). Use your password.")


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    # The source of a request is what its context says.
    world.configure(send_context="yes")
    world.register_phone()


class NotStarted(unittest.TestCase):
    def setUp(self):
        world.forget_attempts()

    def phone(self, answer):
        phone = world.phone(answer)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def test_a_source_that_was_not_me_is_blocked_and_the_terminal_says_so(self):
        world.pam("sudo")
        phone = self.phone("not-me")
        self.assertEqual(world.play()["codes"], [MAXTRIES])
        phone.wait_for("denied, and its source is blocked for 15 min")
        blocked = world.play()
        self.assertEqual(blocked["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(blocked["texts"], [
            "IAMPASS: not asked: you said on your phone that a request from here was not yours (SOURCE_BLOCKED). "
            "Use your password."])
        self.assertEqual(phone.count("sign-in request"), 1)
        phone.stop()
        # The user's other ways in are not taken.
        world.pam("login")
        self.phone("approve")
        self.assertEqual(world.play("login")["codes"], [SUCCESS])

    def test_a_phone_that_cannot_be_unlocked_is_not_rung_for_it(self):
        world.pam("login", "prompt=push timeout=20s methods=device")
        phone = self.phone("approve")
        result = world.play("login")
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"], [NO_METHOD])
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_a_face_is_asked_of_nobody(self):
        world.pam("login", "prompt=push timeout=20s methods=facial")
        self.assertEqual(world.play("login")["texts"], [NO_METHOD])


if __name__ == "__main__":
    unittest.main()
