"""Lockers that show nothing, with match codes on as they are at first: the phone asks them for no digits, and nobody else."""

import os
import unittest

from broker_case import AGREED, FOLLOWS, LINE, PROMPT, RINGING, UID, BrokerCase, request_for
from sign_in_case import world_with_codes
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, MAXTRIES, SUCCESS, program, run

WITHOUT = "  code          none: the program shows no text"
WITH = "  code          the terminal shows one"


def setUpModule():
    global world
    world = world_with_codes()
    BrokerCase.world = world


class CodeCase(BrokerCase):
    def setUp(self):
        super().setUp()
        world.configure(services="swaylock gtklock i3lock-color polkit-1 sudo", send_context="yes")
        for service in ("gtklock", "i3lock-color"):
            world.pam(service, "timeout=20s")
            os.chmod(world.path("pam.d", service), 0o644)

    def codes_asked_for(self, phone):
        """The phone's lines of what is asked for, once a request was there."""
        phone.wait_for("^  session ")
        return [line for line in phone.lines if line.startswith("  code ")]

    def assert_asks_for_digits(self, play):
        """`play()`: a program's result whose user is asked; its user denies."""
        phone = self.phone("deny")
        result = play()
        self.assertEqual(result["codes"], [MAXTRIES], result["texts"])
        self.assertRegex("\n".join(result["texts"]), r"on your phone: code \d\d")
        self.assertEqual(self.codes_asked_for(phone), [WITH])


class Lockers(CodeCase):
    def test_a_locker_that_shows_nothing_is_unlocked_without_digits(self):
        phone = self.phone("approve")
        result = self.lock("")
        self.assertEqual((result["codes"], result["texts"]), ([SUCCESS], [LINE, PROMPT, RINGING]))
        self.assertEqual(self.codes_asked_for(phone), [WITHOUT])
        # The phone shows who asks, and by what.
        for line in (f"  user          {ENROLLED}", "  service       swaylock (says the user's own program)"):
            self.assertIn(line, phone.lines)

    def test_a_locker_of_an_administrators_file_is_unlocked_without_digits(self):
        folder = world.path("services.d")
        os.makedirs(folder, 0o755, exist_ok=True)
        self.addCleanup(os.rmdir, folder)
        world.write("services.d/i3lock-color.conf", "kind = locker\nshows = nothing\n", 0o644)
        self.addCleanup(os.unlink, world.path("services.d/i3lock-color.conf"))
        phone = self.phone("approve")
        result = world.play("i3lock-color", own=False, uid=UID, answers=[""], screen=None)
        self.assertEqual(result["codes"], [SUCCESS], result["texts"])
        self.assertEqual(self.codes_asked_for(phone), [WITHOUT])

    def test_a_locker_that_shows_text_has_digits(self):
        self.assert_asks_for_digits(lambda: world.play("gtklock", own=False, uid=UID, answers=[""], screen=None))


class Others(CodeCase):
    """Programs that somebody else may have begun."""

    def test_root_under_a_lockers_name_has_digits(self):
        self.assert_asks_for_digits(lambda: world.play("swaylock", own=False, answers=[""]))

    def test_polkit_has_digits(self):
        self.assert_asks_for_digits(lambda: world.play("polkit-1", own=False, answers=[""]))

    def test_sudo_has_digits(self):
        self.assert_asks_for_digits(world.play)

    def test_root_that_asks_the_broker_under_a_lockers_name_has_digits(self):
        phone = self.phone("ignore")
        caller = self.connected(uid=0)
        caller.sendall(request_for(ENROLLED, flags=FOLLOWS | AGREED))
        self.assertEqual(self.codes_asked_for(phone), [WITH])
        self.assertRegex(caller.recv(4096)[3:].decode(), r"on your phone: code \d\d")
        caller.close()


class Required(CodeCase):
    """An administrator who requires digits gets no request without."""

    def setUp(self):
        super().setUp()
        self.require("required")
        self.addCleanup(self.require, "on")

    @staticmethod
    def require(setting):
        run(program("iampass-server"), "application", "set", "tests", "--data", world.path("data"), "--match-code", setting)

    def test_the_phone_is_not_asked_and_the_locker_takes_the_password(self):
        phone = self.phone("approve")
        result = self.lock("", "the-password", calls=("authenticate",) * 2)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL] * 2)
        said = "IAMPASS: not asked: the server requires digits, which this program cannot show. Use your password."
        self.assertEqual(result["texts"], [LINE, PROMPT, said, LINE, PROMPT])
        self.broker.wait_for("reason=.*CODE_REQUIRED")
        self.assertEqual(phone.count("sign-in request"), 0)


if __name__ == "__main__":
    unittest.main()
