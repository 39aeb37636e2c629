"""What a sign-in asks before it rings the phone, on a terminal and over ssh, through libpam."""

import unittest

from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.world import ABORT, AUTHINFO_UNAVAIL, AUTH_ERR, ENROLLED, MAXTRIES, SESSION_ERR, SUCCESS, WITHOUT_TOKEN, read


def setUpModule():
    global world
    world = SignInCase.world = world_with_a_phone()


class Prompts(SignInCase):
    LINE = "Press Enter alone to approve on your phone"
    PROMPT = "Password: "

    def setUp(self):
        super().setUp()
        world.pam("sudo", "timeout=20s")

    def test_auto_rings_for_oneself_at_a_terminal(self):
        self.phone("approve")
        result = world.play()
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertEqual(result["texts"], ["Approve the sign-in on your phone"])

    def test_auto_asks_everyone_else_first(self):
        self.phone("approve")
        for items in ({"ruser": "games"}, {"tty": ""}, {"rhost": "192.0.2.1"}):
            with self.subTest(items=items):
                result = world.play(items=items, answers=[""])
                self.assertEqual(result["codes"], [SUCCESS])
                self.assertEqual(result["texts"][:2], [self.LINE, self.PROMPT])

    def test_a_password_goes_to_the_next_module_and_rings_no_phone(self):
        phone = self.phone("approve")
        world.write("keep", f"#!/bin/sh\ncat > {world.path('typed')}\n", 0o700)
        lines = f"auth required MODULE\nauth optional pam_exec.so expose_authtok quiet {world.path('keep')}\n"
        world.pam("sudo", "timeout=20s", lines=lines)
        result = world.play(items={"ruser": "games"}, answers=["hunter2"])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(read(world.path("typed")).strip("\0"), "hunter2")
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_an_answer_that_nobody_typed_rings_no_phone(self):
        phone = self.phone("approve")
        for answers in (["", ""], ["", "HANG UP"]):
            with self.subTest(answers=answers):
                result = world.play(items={"ruser": "games"}, answers=answers, reading_time=0)
                self.assertEqual(result["codes"], [ABORT if "HANG UP" in answers else AUTHINFO_UNAVAIL])
                self.assertEqual(result["texts"][:3], [self.LINE, self.PROMPT, self.PROMPT])
        self.assertEqual(phone.count("sign-in request"), 0)
        # A password comes as fast as it likes.
        result = world.play(items={"ruser": "games"}, answers=["", "hunter2"], reading_time=0)
        self.assertIn("password typed instead", result["log"][-1])

    def test_nothing_for_an_answer_aborts(self):
        for answer in (None, "HANG UP"):
            with self.subTest(answer=answer):
                self.assertEqual(world.play(items={"ruser": "games"}, answers=[answer])["codes"], [ABORT])

    def test_as_second_factor_text_is_refused(self):
        phone = self.phone("approve")
        # pam_unix asks, fails for this user, and leaves the password for us; without it we alone decide.
        world.pam("sudo", "timeout=20s", lines="auth optional pam_unix.so nodelay\nauth required MODULE\n")
        for typed, code, requests in (("anything", AUTH_ERR, 0), ("", SUCCESS, 1)):
            with self.subTest(typed=typed):
                result = world.play(items={"ruser": "games"}, answers=["first", typed])
                self.assertEqual(result["texts"][1], "Enter to approve on your phone: ")
                self.assertEqual(result["codes"], [code])
                self.assertEqual(phone.count("sign-in request"), requests)


class SecureShell(SignInCase):
    def setUp(self):
        super().setUp()
        world.pam("sshd", "timeout=20s")

    def play(self, **scene):
        return world.play(service="sshd", own=False, items={"rhost": "192.0.2.9", "tty": "ssh"}, **scene)

    def test_every_name_gets_the_same_prompt(self):
        for name in (ENROLLED, WITHOUT_TOKEN, "no-such-user", "a b"):
            with self.subTest(name=name):
                result = self.play(user=name, answers=["wrong"])
                self.assertEqual(result["texts"], [Prompts.LINE, Prompts.PROMPT])
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])

    def test_the_record_id_travels_in_the_pam_environment(self):
        self.phone("approve")
        result = self.play(answers=[""])
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertRegex(result["variables"][0], "^IAMPASS_SESSION=[0-9a-f]{32}$")

    def test_a_session_that_logind_does_not_know_is_refused_and_ended(self):
        self.phone("approve")
        result = self.play(answers=[""], calls=["authenticate", "open_session"])
        self.assertEqual(result["codes"], [SUCCESS, SESSION_ERR])
        self.assertEqual(result["variables"], [], "the user's shell would see it")
        self.assert_no_session_is_left(result)

    def test_a_denial_is_remembered_for_the_connection(self):
        # Each scene is a process of its own with the same parent, as sshd's tries on one connection are.
        phone = self.phone("deny")
        self.assertEqual(self.play(answers=[""])["codes"], [MAXTRIES])
        self.assertEqual(self.play(answers=[""])["codes"], [MAXTRIES])
        self.assertEqual(phone.count("sign-in request"), 1)


if __name__ == "__main__":
    unittest.main()
