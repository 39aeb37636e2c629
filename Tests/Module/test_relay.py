"""A sign-in whose requests somebody carries who knows another session, between the module and the real service."""

import json
import os
import ssl
import sys
import unittest
import urllib.request

from hostile_case import HostileService, reply
from hostile_replies import Hangup
from world import *

sys.path.insert(0, os.path.join(HERE, "../../packaging/test-host"))
import signed_requests  # noqa: E402


class Relay(HostileService):
    """Carries everything to the service, but no logout, and reads along. Where the module asks about another session
    than the first, it asks about the first, with that question's nonce, and gives the module the answer."""

    def __init__(self):
        super().__init__()
        self.sessions = []
        self.passed_on = []
        self.behaviour["*"] = self.carry

    def carry(self, stream, request):
        if self.sessions and request.path == self.path_of(self.sessions[-1], "logout_url"):
            raise Hangup
        if len(self.sessions) > 1 and request.path == self.path_of(self.sessions[-1], "status_url"):
            return self.pass_on(stream, request)
        status, headers, body = self.ask(request.method, request.path, request.headers, request.body)
        if request.path.startswith("/authentication/authenticate_user/"):
            self.sessions.append(json.loads(body)["authentication_status"])
        reply(status, body, headers)(stream, request)

    def pass_on(self, stream, request):
        known, asked = self.sessions[0], dict(request.headers)
        own = signed_requests.headers(
            known["session_token"], known["session_secret"], known["status_url"], asked["Authentication"].split(":")[1])
        path = self.path_of(known, "status_url")
        status, headers, body = self.ask("GET", path, [("Host", asked["Host"]), *own.items()])
        self.passed_on.append((status, json.loads(body)["session_status"], [name for name, _ in headers]))
        reply(status, body, headers)(stream, request)

    def path_of(self, session, key):
        return session[key].removeprefix(self.url)

    def ask(self, method, path, headers, body=b""):
        """The service's answer: its status, the headers of ours, and its body."""
        sent = {name: value for name, value in headers if name.lower() != "content-length"}
        request = urllib.request.Request(world.address + path, method=method, headers=sent, data=body or None)
        context = ssl.create_default_context(cafile=world.certificate)
        with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as answer:
            ours = [(name, value) for name, value in answer.headers.items() if name.lower().startswith("x-iampass")]
            return answer.status, ours, answer.read()


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.register_phone()


class RelayedSignIn(unittest.TestCase):
    def test_a_signed_approval_of_another_session_signs_nobody_in(self):
        relay = Relay().start()
        self.addCleanup(relay.stop)
        world.configure(server=relay.url, ca_file=relay.ca_file, signed_replies="required")
        world.pam("sudo")
        phone = world.phone("approve", "--once")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        self.assertEqual(world.play()["codes"], [SUCCESS])
        phone.process.wait(PATIENCE)

        # Nobody answers this one.
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
        self.assertIn("answer is for another session", result["texts"][-1])
        self.assertEqual(relay.passed_on[0], (200, "active", ["X-IAMPASS-Reply-Signature"]))


if __name__ == "__main__":
    unittest.main()
