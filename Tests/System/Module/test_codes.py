"""The match code: shown by the terminal, typed on the phone, through libpam and against the real service."""

import json
import re
import ssl
import subprocess
import unittest
import urllib.request

from sign_in_case import world_with_codes
from Support.Service.world import ABORT, AUTH_ERR, ENROLLED, MAXTRIES, PATIENCE, SUCCESS, program, read

from Support.Hosts import signed_requests

PUSH = "prompt=push timeout=20s"
TEXT, PROMPT = 4, 1


def setUpModule():
    global world
    world = world_with_codes()


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

    def test_a_phone_that_takes_its_time_has_the_code_shown_again(self):
        phone = self.phone("approve")
        with world.playing() as results:
            code = world.code_on_the_screen()
            world.wait_for_text(f"Your phone has the request: code {code}")
            phone.type(code)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        asked = f"Approve the sign-in on your phone: code {code}"
        self.assertEqual(
            [message["text"] for message in results[0]["all"]], [asked, f"Your phone has the request: code {code}"])
        self.assertEqual(results[0]["texts"], [asked])

    def test_one_wrong_code_denies_and_nothing_is_asked_again(self):
        phone = self.phone("approve")
        with world.playing(calls=["authenticate"] * 3) as results:
            phone.type(other_than(world.code_on_the_screen()))
        self.assertEqual(results[0]["codes"], [MAXTRIES, ABORT, ABORT])
        self.assertEqual(results[0]["texts"][-1], "IAMPASS: wrong digits were typed on your phone; try again")
        self.assertIn("reason=wrong digits were typed on the phone", results[0]["log"][0])
        phone.wait_for("denied: the terminal shows another code")
        self.assertEqual(phone.count("sign-in request"), 1)

    def test_a_slip_of_the_finger_does_not_count_as_a_wrong_code(self):
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

    def stranger(self, **more):
        """An open request of another computer; its status."""
        settings = dict(line.split(" = ") for line in read(world.path("credentials")).splitlines())
        keys = (settings["application_id"], settings["application_secret"])
        user = re.search(rf"^{ENROLLED}:(.*)$", read(world.path("users")), re.MULTILINE)[1]
        path = f"/authentication/authenticate_user/{keys[0]}/{user}"
        started = self.ask("POST", path, keys, **more)["authentication_status"]
        self.addCleanup(self.ask, "POST", started["logout_url"], (started["session_token"], started["session_secret"]))
        return lambda: self.ask(
            "GET", started["status_url"], (started["session_token"], started["session_secret"]))["session_status"]

    def ask(self, method, path, keys, **body):
        address = path if path.startswith("https:") else world.address + path
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(
            address, method=method, data=data, headers=signed_requests.headers(*keys, address))
        context = ssl.create_default_context(cafile=world.certificate)
        with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as reply:
            return json.loads(reply.read())

    def test_the_code_as_an_option_approves_its_own_request_and_no_other(self):
        without_code = self.stranger()
        with_another = self.stranger(context={"host": "web-9", "remote_host": "192.0.2.1"})
        with world.playing() as results:
            phone = world.phone("approve", "--code", world.code_on_the_screen())
            self.addCleanup(phone.stop)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertEqual(phone.process.wait(PATIENCE), 0)
        self.assertEqual((without_code(), with_another()), ("identifying", "identifying"))

    def test_a_code_that_no_open_request_has_approves_nothing(self):
        without_code = self.stranger()
        with world.playing() as results:
            phone = world.phone("approve", "--once", "--code", other_than(world.code_on_the_screen()))
            self.addCleanup(phone.stop)
        self.assertEqual(results[0]["codes"], [MAXTRIES])
        self.assertEqual(phone.process.wait(PATIENCE), 65)
        phone.wait_for("no open request has this code: nothing is approved")
        self.assertNotIn(without_code(), ("active", "walkaway"))

    def test_nobody_at_the_phone_approves_nothing(self):
        world.pam("sudo", "prompt=push timeout=5s")
        phone = world.phone("approve")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        result = world.play()
        self.assertEqual(result["codes"], [AUTH_ERR])
        phone.wait_for("nobody can be asked")

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
