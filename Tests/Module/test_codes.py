"""The match code: shown by the terminal, typed on the phone, through libpam and against the real service."""

import unittest

from world import *

PUSH = "prompt=push timeout=20s"
TEXT, PROMPT = 4, 1


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve(match_code="on")
    world.configure(send_context="yes")
    world.register_phone()


def other_than(code):
    return "00" if code != "00" else "01"


class Codes(unittest.TestCase):
    def setUp(self):
        world.pam("sudo", PUSH)
        world.forget_attempts()

    def phone(self, answer, *words):
        phone = world.phone_with_keys(answer, *words)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def test_in_sudo_a_line_shows_the_code_and_typing_it_signs_in(self):
        phone = self.phone("approve")
        with world.playing() as results:
            code = world.code_on_the_screen()
            phone.type(code)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertEqual(
            [(message["style"], message["text"]) for message in results[0]["shown"]],
            [(TEXT, f"Approve the sign-in on your phone: code {code}")])
        phone.wait_for("^code on the terminal: approved$|^approved$")

    def test_in_ssh_the_code_stands_in_the_prompt_that_enter_ends(self):
        world.pam("sshd", PUSH)
        phone = self.phone("approve")
        with world.playing("sshd", own=False, answers=[""]) as results:
            code = world.code_on_the_screen()
            phone.type(code)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertEqual(
            [(message["style"], message["text"]) for message in results[0]["shown"]],
            [(PROMPT, f"Code {code}: approve on your phone, then press Enter: ")])

    def test_one_wrong_code_denies_and_nothing_is_asked_again(self):
        phone = self.phone("approve")
        with world.playing(calls=["authenticate"] * 3) as results:
            phone.type(other_than(world.code_on_the_screen()))
        self.assertEqual(results[0]["codes"], [MAXTRIES, ABORT, ABORT])
        self.assertEqual(results[0]["texts"][-1], "IAMPASS: denied on your phone")
        phone.wait_for("denied: the terminal shows another code")
        self.assertEqual(phone.count("sign-in request"), 1)

    def test_a_slip_of_the_finger_is_no_wrong_code(self):
        phone = self.phone("ask")
        with world.playing() as results:
            code = world.code_on_the_screen()
            for text in ("yes", code[0], "x", code):
                phone.type(text)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertEqual(phone.count("the code has two digits"), 2)

    def test_the_code_may_be_given_as_an_option(self):
        with world.playing() as results:
            phone = world.phone("approve", "--once", "--code", world.code_on_the_screen())
            self.addCleanup(phone.stop)
        self.assertEqual(results[0]["codes"], [SUCCESS])

    def test_nobody_at_the_phone_approves_nothing(self):
        world.pam("sudo", "prompt=push timeout=5s")
        phone = world.phone("approve")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        result = world.play()
        self.assertEqual(result["codes"], [AUTH_ERR])
        phone.wait_for("nobody there to ask")

    def test_the_phone_says_that_the_terminal_shows_a_code(self):
        phone = self.phone("deny")
        world.play()
        phone.wait_for(r"^  code +the terminal shows one$")

    def test_the_option_takes_two_digits_only(self):
        for digits in ("4", "470", "4x", ""):
            done = subprocess.run(
                [program("iampass-phone"), "watch", "--state", world.path("phone.json"), "--answer", "approve", "--code", digits],
                capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("--code takes two digits", done.stderr)


class Setting(unittest.TestCase):
    def set(self, name, setting):
        return subprocess.run(
            [program("iampass-server"), "application", "set", name, "--data", world.path("data"), "--match-code", setting],
            capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip

    def test_switched_off_while_the_service_runs_no_code_is_shown(self):
        self.assertEqual(self.set("tests", "off").stdout, "match codes of tests are off\n")
        self.addCleanup(self.set, "tests", "on")
        world.pam("sudo", PUSH)
        world.forget_attempts()
        phone = world.phone("approve")
        self.addCleanup(phone.stop)
        result = world.play()
        self.assertEqual((result["codes"], result["texts"]), ([SUCCESS], ["Approve the sign-in on your phone"]))

    def test_an_unknown_application_or_setting_is_refused(self):
        refused = self.set("nobody", "on")
        self.assertEqual((refused.returncode, refused.stdout), (65, ""))
        self.assertIn("there is no application nobody", refused.stderr)
        self.assertEqual(self.set("tests", "maybe").returncode, 64)


if __name__ == "__main__":
    unittest.main()
