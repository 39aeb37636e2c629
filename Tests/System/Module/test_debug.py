"""The argument `debug`: each decision is logged once, and no secret with it."""

import re
import unittest

from sign_in_case import world_with_codes
from Support.Service.ends import assert_ended
from Support.Service.world import AUTH_ERR, AUTHINFO_UNAVAIL, ENROLLED, MAXTRIES, SUCCESS, WITHOUT_TOKEN, read

DEBUG = "prompt=push timeout=20s debug"


def setUpModule():
    global world
    world = world_with_codes()


def steps(result):
    """The lines about steps, without what libpam writes before them, and their number."""
    return [line.partition("): ")[2] for line in result["log"] if re.search(r"\): step \d: ", line)]


class Debug(unittest.TestCase):
    def setUp(self):
        world.pam("sudo", DEBUG)
        world.forget_attempts()

    def phone(self, answer):
        phone = world.phone_with_keys(answer)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def approved(self):
        """An approved sign-in, and the code that the terminal showed."""
        phone = self.phone("approve")
        with world.playing() as results:
            code = world.code_on_the_screen()
            phone.type(code)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        return results[0], code

    def test_each_step_of_an_approved_sign_in_is_logged_in_order(self):
        result, _ = self.approved()
        told = steps(result)
        waited = [line for line in told if line.startswith("step 4: the status is ")]
        self.assertEqual([line for line in told if line not in waited][:-1], [
            "step 1: the system knows the user", "step 2: the user has a token", "step 3: the request is within its limits",
            "step 3: the service asks the phone, with a code", "step 5: the status is active: the phone approved"])
        self.assertRegex(told[-1], "^step 6: the session is recorded as [0-9a-f]{32}$")
        self.assertIn("the answer to PAM is code 0", result["log"][-1])

    def test_no_line_has_the_code_the_token_or_an_address(self):
        result, code = self.approved()
        told = "\n".join(steps(result))
        token = re.search(rf"^{ENROLLED}:(\S+)$", read(world.path("users")), re.MULTILINE)[1]
        self.assertNotIn(token, told)
        self.assertNotIn("http", told)
        self.assertNotRegex(told, rf"\b{code}\b")

    def test_a_denial_is_logged_at_the_step_that_heard_it(self):
        self.phone("deny")
        result = world.play()
        self.assertEqual(result["codes"], [MAXTRIES])
        self.assertIn("step 4: the request ended: cancelled", " ".join(steps(result)))
        self.assertIn(f"the answer to PAM is code {MAXTRIES}", result["log"][-1])

    def test_a_request_that_nobody_answers_is_logged_as_taken_back(self):
        world.pam("sudo", "prompt=push timeout=5s debug")
        self.phone("ignore")
        result = world.play()
        self.assertEqual(result["codes"], [AUTH_ERR])
        told = steps(result)
        # Within its second, or it says why not.
        missed = told[-1].startswith("step 4: the request was not taken back: ")
        assert_ended(lambda: told[-1] == "step 4: the request was taken back", missed)
        # However often the status was asked for.
        self.assertEqual(len(told), len(set(told)), told)

    def test_a_user_without_a_token_ends_at_step_2(self):
        self.assertEqual(steps(world.play(user=WITHOUT_TOKEN))[-1], "step 2: the user has no token")

    def test_an_outage_is_logged_at_step_3(self):
        world.configure(server="https://127.0.0.1:9")
        self.addCleanup(world.configure, server=world.address)
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertRegex(steps(result)[-1], "^step 3: the request failed: ")

    def test_without_the_argument_no_step_is_logged(self):
        world.pam("sudo", "prompt=push timeout=5s")
        self.phone("ignore")
        result = world.play()
        self.assertEqual(steps(result), [])
        self.assertEqual(len(result["log"]), 1, result["log"])


if __name__ == "__main__":
    unittest.main()
