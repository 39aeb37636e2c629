"""Sign-ins that the service does not start: what the terminal says, and that the other ways go on."""

import time
import unittest

from Support.Service.world import AUTHINFO_UNAVAIL, MAXTRIES, PATIENCE, SUCCESS, World

NO_METHOD = (
    "IAMPASS: not asked: your phone does not support the required method. Use your password.")


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    # The context names a request's source.
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
            "IAMPASS: not asked: you reported on your phone that a request from here was not yours. Use your password."])
        self.assertEqual(phone.count("sign-in request"), 1)
        phone.stop()
        # The user's other ways in are not affected.
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


class Own(unittest.TestCase):
    WAITING = "Your phone has another request of yours; this one waits until that has ended"

    def setUp(self):
        world.forget_attempts()
        # Another source than the blocked one above.
        world.pam("su", "prompt=push timeout=60s")

    def test_a_second_sudo_waits_for_the_end_of_the_first(self):
        for answer, code in (("approve", SUCCESS), ("deny", MAXTRIES)):
            with self.subTest(answer=answer):
                phone = world.phone_with_keys("ask")
                self.addCleanup(phone.stop)
                phone.wait_for("waiting for sign-ins")
                with world.playing("su") as first:
                    phone.wait_for("sign-in request")
                    with world.playing("su") as second:
                        world.wait_for_text(self.WAITING)
                        self.assertEqual(phone.count("sign-in request"), 1)
                        phone.type("y" if answer == "approve" else "n")
                        wait_until(lambda: phone.count("sign-in request") == 2, "the second one did not ring")
                        phone.type("y")
                self.assertEqual((first[0]["codes"], second[0]["codes"]), ([code], [SUCCESS]))
                self.assertEqual(second[0]["texts"], [self.WAITING, "Approve the sign-in on your phone"])
                phone.stop()

    def test_a_second_ssh_connection_from_the_same_host_waits_too(self):
        world.pam("sshd", "prompt=push timeout=60s")
        scene = {"own": False, "items": {"rhost": "192.0.2.9", "tty": "ssh"}}
        phone = world.phone_with_keys("ask")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        with world.playing("sshd", **scene) as first:
            phone.wait_for("sign-in request")
            with world.playing("sshd", **scene) as second:
                world.wait_for_text(self.WAITING)
                self.assertEqual(phone.count("sign-in request"), 1)
                phone.type("y")
                wait_until(lambda: phone.count("sign-in request") == 2, "the second one did not ring")
                phone.type("y")
        self.assertEqual((first[0]["codes"], second[0]["codes"]), ([SUCCESS], [SUCCESS]))

    def test_it_gives_up_within_its_own_time_in_plain_words(self):
        phone = world.phone("ignore")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        with world.playing("su") as first:
            phone.wait_for("sign-in request")
            world.pam("su", "prompt=push timeout=5s")
            second = world.play("su")
            self.assertEqual(second["codes"], [AUTHINFO_UNAVAIL])
            self.assertEqual(second["texts"], [
                self.WAITING,
                "IAMPASS: not asked: your phone has another open request; answer that first. Use your password."])
            self.assertIn("REQUEST_PENDING", second["log"][-1])
            phone.stop()
            other = world.phone("deny")
            self.addCleanup(other.stop)
        self.assertEqual(first[0]["codes"], [MAXTRIES])


def wait_until(holds, claim):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(claim)
        time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
