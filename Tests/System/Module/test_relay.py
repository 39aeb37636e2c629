"""Requests through an intermediary who wants to change them, between this computer and the real service."""

import json
import subprocess
import unittest

from Support.HostileService.hostile_case import reply
from Support.HostileService.hostile_replies import Hangup
from Support.HostileService.relay import Relay
from Support.Service.world import AUTHINFO_UNAVAIL, PATIENCE, SUCCESS, World, program, read, run

from Support.Hosts import signed_requests


# Another user that every Debian has.
ANOTHER = "bin"
TARGET_SIGNATURE = "X-IAMPASS-Reply-Target-Signature"


class KnowingRelay(Relay):
    """Carries no logout. If the module asks about another session than the first, it asks about the first, with that
    question's nonce, and gives the module the answer, without the headers that it drops."""

    def __init__(self, dropped):
        super().__init__(world)
        self.dropped = dropped
        self.sessions = []
        self.passed_on = []

    def carry(self, stream, request):
        if self.sessions and request.path == self.path_of(self.sessions[-1], "logout_url"):
            raise Hangup
        if len(self.sessions) > 1 and request.path == self.path_of(self.sessions[-1], "status_url"):
            return self.pass_on(stream, request)
        status, headers, body = self.ask(request.method, request.path, request.headers, request.body)
        headers = [(name, value) for name, value in headers if name not in self.dropped]
        if request.path.startswith("/authentication/authenticate_user/"):
            self.sessions.append(json.loads(body)["authentication_status"])
        reply(status, body, headers)(stream, request)

    def pass_on(self, stream, request):
        known, asked = self.sessions[0], dict(request.headers)
        own = signed_requests.headers(
            known["session_token"], known["session_secret"], known["status_url"], asked["Authentication"].split(":")[1])
        path = self.path_of(known, "status_url")
        status, headers, body = self.ask("GET", path, [("Host", asked["Host"]), *own.items()])
        headers = [(name, value) for name, value in headers if name not in self.dropped]
        self.passed_on.append((status, json.loads(body)["session_status"], [name for name, _ in headers]))
        reply(status, body, headers)(stream, request)

    def path_of(self, session, key):
        return session[key].removeprefix(self.url)

    def end_sessions(self):
        """The next sign-in is not held back by what is still open."""
        for known in self.sessions:
            own = signed_requests.headers(known["session_token"], known["session_secret"], known["logout_url"])
            host = self.url.removeprefix("https://")
            self.ask("POST", self.path_of(known, "logout_url"), [("Host", host), *own.items()])


class AddressExchangingRelay(Relay):
    """Asks the phone of another user in the place of the one that the module asks for, by what the published clients
    leave out of the signed text."""

    def __init__(self, token):
        super().__init__(world)
        self.token = token

    def changed(self, request):
        parts = request.path.split("/")
        if parts[1:3] != ["authentication", "authenticate_user"]:
            return request.path, request.body
        authority = self.url.removeprefix("https://")
        return "/".join([*parts[:4], self.token]) + f"?x=://{authority}{request.path}", request.body


class BodyExchangingRelay(Relay):
    """Adds a user of its own in the place of the administrator's."""

    def changed(self, request):
        if "/add_users/" not in request.path:
            return request.path, request.body
        return request.path, json.dumps({"users": ["user-of-the-relay"]}).encode()


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.register_phone()


class Case(unittest.TestCase):
    def through(self, relay, **settings):
        """From now on everything goes through this relay."""
        relay.start()
        self.addCleanup(relay.stop)
        world.forget_attempts()
        world.pam("sudo")
        world.configure(
            **{"server": relay.url, "ca_file": relay.ca_file, "signing": None, "signed_replies": None,
               "signed_targets": None, **settings})  # fmt: skip
        return relay

    def add_directly(self, user):
        world.configure(
            server=world.address, ca_file=world.certificate, signing=None, signed_replies=None, signed_targets=None)
        done = self.ctl("user", "add", user)
        self.assertEqual(done.returncode, 0, done.stderr)

    def ctl(self, *words):
        return subprocess.run(
            [program("iampassctl"), *words, "--config", world.path("iampass.conf")], capture_output=True, text=True,
            timeout=PATIENCE, stdin=subprocess.DEVNULL)  # fmt: skip


class RelayedSignIn(Case):
    def sign_in_twice(self, told, **settings):
        """The first sign-in is approved, the second never answered; its end must be told so."""
        dropped = settings.pop("dropped", ())
        relay = self.through(KnowingRelay(dropped), **settings)
        phone = world.phone("approve", "--once")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        self.assertEqual(world.play()["codes"], [SUCCESS])
        phone.process.wait(PATIENCE)

        # Nobody answers this one.
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
        self.assertIn(told, result["texts"][-1])
        self.assertEqual(relay.passed_on[0][:2], (200, "active"))
        relay.end_sessions()
        return relay

    def test_a_signed_approval_of_another_session_signs_nobody_in(self):
        # In an older service's form.
        relay = self.sign_in_twice(
            "answer is for another session", dropped=[TARGET_SIGNATURE], signed_replies="required")
        self.assertEqual(relay.passed_on[0][2], ["X-IAMPASS-Reply-Signature"])

    def test_an_approval_that_was_signed_for_another_question_signs_nobody_in(self):
        for settings in ({"signed_replies": "required"}, {"signed_targets": "required"}):
            with self.subTest(settings=settings):
                relay = self.sign_in_twice("answer is not signed", **settings)
                self.assertIn(TARGET_SIGNATURE, relay.passed_on[0][2])

    def test_nobody_on_the_way_takes_the_second_signature_off(self):
        relay = self.through(KnowingRelay([TARGET_SIGNATURE]), signed_targets="required")
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
        self.assertIn("answer is signed, but not for this request", result["texts"][-1])
        self.assertEqual(len(relay.sessions), 1)
        relay.end_sessions()

    def test_a_module_that_recorded_less_is_served(self):
        """With the second signature it is taken as before, and without, as an older service has it."""
        for dropped in ((), [TARGET_SIGNATURE]):
            with self.subTest(dropped=dropped):
                relay = self.through(KnowingRelay(dropped), signed_replies="required")
                phone = world.phone("approve", "--once")
                self.addCleanup(phone.stop)
                phone.wait_for("waiting for sign-ins")
                self.assertEqual(world.play()["codes"], [SUCCESS])
                phone.process.wait(PATIENCE)
                relay.end_sessions()

    def test_another_persons_phone_signs_nobody_in(self):
        self.enroll_another()
        token = dict(line.split(":") for line in read(world.path("users")).split())[ANOTHER]
        for settings in ({"signed_replies": "required"}, {"signed_targets": "required"}, {}):
            with self.subTest(settings=settings):
                relay = self.through(AddressExchangingRelay(token), signing="client", **settings)
                phone = world.phone("approve", "--once", state="another.json")
                self.addCleanup(phone.stop)
                phone.wait_for("waiting for sign-ins")
                result = world.play()
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
                self.assertIn("unexpected answer 400", result["texts"][-1])
                self.assertEqual([status for _, status, _ in relay.carried], [400])
                phone.stop()

    def enroll_another(self):
        self.add_directly(ANOTHER)
        link = json.loads(self.ctl("enroll", ANOTHER, "--json").stdout)["register_url"]
        run(program("iampass-phone"), "register", link, "--state", world.path("another.json"), "--ca", world.certificate)


class RelayedManagement(Case):
    def test_users_that_were_exchanged_on_the_way_are_not_added(self):
        relay = self.through(BodyExchangingRelay(world), signed_replies="required")
        done = self.ctl("user", "add", "games")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("unexpected answer 400", done.stderr)
        added = [json.loads(answer).get("reason") for path, _, answer in relay.carried if "/add_users/" in path]
        self.assertEqual(added, ["WRONG_BODY"])
        self.assertNotIn("games", read(world.path("users")))

    def test_who_carries_a_link_cannot_read_it(self):
        self.add_directly("sys")
        for settings in ({"signed_replies": "required"}, {"signed_targets": "required"}):
            relay = self.through(Relay(world), **settings)
            for words in (("lost-device", "sys"), ("enroll", "sys")):
                with self.subTest(settings=settings, words=words):
                    link = json.loads(self.ctl(*words, "--json").stdout)["register_url"]
                    self.assertIn("/register/", link)
                    for path, _, answer in relay.carried:
                        self.assertNotIn(b"/register/", answer)
                        self.assertNotIn(link.rsplit("/", 1)[1].encode(), answer)
                    self.assertTrue(any("sealed=1" in path for path, _, _ in relay.carried))


if __name__ == "__main__":
    unittest.main()
