"""A user with two phones, through libpam and against the real service: both are asked, the first answer counts."""

import json
import re
import ssl
import subprocess
import unittest
import urllib.request

from Support.Hosts import signed_requests

from sign_in_case import world_with_codes
from Support.Service.world import ENROLLED, MAXTRIES, PATIENCE, SUCCESS, program, read, run

PIXEL, WORK = "phone.json", "work.json"


def setUpModule():
    global world
    world = world_with_codes()
    run(program("iampass-server"), "application", "set", "tests", "--phones", "2", "--data", world.path("data"))
    run(program("iampass-phone"), "register", link(), "--state", world.path(WORK), "--name", "Work phone",
        "--ca", world.certificate)


def link():
    return json.loads(ctl("enroll", ENROLLED, "--json").stdout)["register_url"]


def ctl(*words):
    return subprocess.run(
        [program("iampassctl"), *words, "--config", world.path("iampass.conf")], capture_output=True, text=True)


def status(state):
    return json.loads(run(program("iampass-phone"), "status", "--state", world.path(state), "--json"))


class TwoPhones(unittest.TestCase):
    def setUp(self):
        world.settings.pop("approvals", None)
        world.configure()
        world.pam("sudo")
        world.forget_attempts()

    def phone(self, state, answer="approve"):
        phone = world.phone_with_keys(answer, state=state)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def signed_in(self, state, other):
        """A sign-in that the phone with this state approves; the other one is asked, too."""
        phone, other = self.phone(state), self.phone(other)
        with world.playing() as results:
            code = world.code_on_the_screen()
            other.wait_for("code on the terminal|sudo")
            phone.type(code)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        return results[0], other

    def lasting(self, state):
        """A session at the service that the phone with this state approved; a PAM host ends its own as it ends."""
        settings = dict(line.split(" = ") for line in read(world.path("credentials")).splitlines())
        client, secret = settings["application_id"], settings["application_secret"]
        token = re.search(rf"^{ENROLLED}:(\S+)", read(world.path("users")), re.MULTILINE).group(1)
        url = f"{world.address}/authentication/authenticate_user/{client}/{token}"
        phone = self.phone(state)
        request = urllib.request.Request(
            url, method="POST", data=json.dumps({"context": {"host": "web"}}).encode(),
            headers=signed_requests.headers(client, secret, url))
        with urllib.request.urlopen(
            request, timeout=PATIENCE, context=ssl.create_default_context(cafile=world.certificate)) as reply:
            session = json.loads(reply.read())["authentication_status"]
        phone.type(session["match_code"])
        phone.wait_for("^code on the terminal: approved$|^approved$")
        phone.stop()
        return session["status_url"].rpartition("/")[2]

    def test_either_phone_signs_in_and_the_other_one_says_which(self):
        for state, other, told in ((WORK, PIXEL, "Work phone"), (PIXEL, WORK, "phone")):
            with self.subTest(answered=told):
                _, other = self.signed_in(state, other)
                # Its question is still open: it is answered, and then says who was first.
                other.type("00")
                other.wait_for("the request has already been answered")
                other.wait_for(f"^approved on {told}: ")

    def test_a_denial_by_either_phone_ends_the_sign_in(self):
        for state, other in ((WORK, PIXEL), (PIXEL, WORK)):
            with self.subTest(denied=state):
                world.forget_attempts()
                approving = self.phone(other)
                with world.playing() as results:
                    code = world.code_on_the_screen()
                    approving.wait_for("sudo")
                    denying = self.phone(state, "deny")
                    denying.wait_for("^denied$")
                    approving.type(code)
                self.assertEqual(results[0]["codes"], [MAXTRIES])
                approving.wait_for("already been answered|has ended")
                denying.stop()
                approving.stop()

    def test_a_wrong_code_on_one_phone_is_a_denial_for_both(self):
        phone, other = self.phone(WORK), self.phone(PIXEL)
        with world.playing() as results:
            code = world.code_on_the_screen()
            phone.type("00" if code != "00" else "01")
            phone.wait_for("denied: the terminal shows another code")
            other.type(code)
        self.assertEqual(results[0]["codes"], [MAXTRIES])
        other.wait_for("already been answered")

    def test_what_leaves_with_a_phone_is_what_it_approved(self):
        session = self.lasting(WORK)
        told = [one["approved_on"] for one in status(PIXEL)["sessions"] if one["session"] == session]
        self.assertEqual(told, ["Work phone"])

        def word_after(act, state):
            run(program("iampass-phone"), act, "--state", world.path(state))
            return [one["session_status"] for one in status(PIXEL)["sessions"] if one["session"] == session]

        self.assertEqual(word_after("leave", PIXEL), ["active"])
        self.assertEqual(word_after("return", PIXEL), ["active"])
        self.assertEqual(word_after("leave", WORK), ["walkaway"])
        self.assertEqual(word_after("return", PIXEL), ["walkaway"])
        self.assertEqual(word_after("return", WORK), ["active"])

    def test_each_pinned_phone_signs_in_and_the_log_says_which(self):
        world.write("phones", "", 0o644)
        ids = {}
        for state in (PIXEL, WORK):
            done = ctl("phone", "trust", ENROLLED, "--words", status(state)["words"])
            self.assertEqual(done.returncode, 0, done.stderr)
            ids[state] = json.loads(open(world.path(state)).read())["device"]
        # The service alone says that there are two.
        self.assertRegex(done.stderr, rf"^warning: still trusted for {ENROLLED}: ")
        world.configure(approvals="verified")
        self.addCleanup(world.configure, approvals=None)
        for state, other in ((WORK, PIXEL), (PIXEL, WORK)):
            result, _ = self.signed_in(state, other)
            self.assertRegex(result["log"][-1], rf"approved .* phone={ids[state]} method=acceptance$")

    def test_a_phone_that_is_not_pinned_signs_nobody_in_beside_one_that_is(self):
        world.write("phones", "", 0o644)
        ctl("phone", "trust", ENROLLED, "--words", status(PIXEL)["words"])
        world.configure(approvals="verified")
        self.addCleanup(world.configure, approvals=None)
        phone = self.phone(WORK)
        with world.playing() as results:
            phone.type(world.code_on_the_screen())
        self.assertNotEqual(results[0]["codes"], [SUCCESS])
        self.assertIn("does not trust that phone", " ".join(results[0]["texts"]))

    def test_zz_a_lost_phone_is_named_and_the_other_one_goes_on(self):
        asked = ctl("lost-device", ENROLLED)
        self.assertEqual(asked.returncode, 64, asked.stderr)
        self.assertRegex(asked.stderr, "has 2 phones: .*Work phone")
        self.assertIn(f"hint: iampassctl lost-device {ENROLLED} --phone NAME, or --all-phones", asked.stderr)
        wrong = ctl("lost-device", ENROLLED, "--phone", "Play phone")
        self.assertEqual(wrong.returncode, 65, wrong.stderr)
        kept = self.lasting(PIXEL)
        done = ctl("lost-device", ENROLLED, "--phone", "Work phone")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{ENROLLED}'s phone Work phone is cut off; the other one goes on\n", done.stdout)
        self.assertIn(kept, [one["session"] for one in status(PIXEL)["sessions"]])
        lost = world.phone("approve", state=WORK)
        self.addCleanup(lost.stop)
        lost.wait_for("no longer registered")
        phone = self.phone(PIXEL)
        with world.playing() as results:
            phone.type(world.code_on_the_screen())
        self.assertEqual(results[0]["codes"], [SUCCESS])
        # The link that was shown is for a phone in the place of the lost one.
        new = re.search(r"https://\S+/register/\w+", done.stdout).group(0)
        run(program("iampass-phone"), "register", new, "--state", world.path("new.json"), "--ca", world.certificate)
        self.assertEqual(len(status(PIXEL)["phones"]), 2)


if __name__ == "__main__":
    unittest.main()
