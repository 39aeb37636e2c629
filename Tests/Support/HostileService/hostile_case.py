"""A hostile service against the module: what its tests share."""

import concurrent.futures
import json
import threading
import unittest

from world import ENROLLED, SUCCESS, World, read

from hostile_replies import reply
from hostile_service import SERVICES, HostileService

SECRET = "yNGfB51YbmwxAscRuzOl8G5U"
TOKEN = "token-of-the-user-0123456789"
START = f"/authentication/authenticate_user/application/{TOKEN}"

# The slow ones hold the call until its time is up; these are tried with the shortest that the module takes.
TIMEOUT = 5
USUAL = f"prompt=push timeout={TIMEOUT}s"


# Cases that mostly wait, each in a world of its own.
AT_ONCE = 2
LOCAL = threading.local()


def hostile_world():
    """For a module's setUpModule; each case has it as `world`."""
    LOCAL.world = made_world()
    unittest.addModuleCleanup(LOCAL.world.close)
    return LOCAL.world


def made_world():
    world = World()
    world.write("credentials", f"application_id = application\napplication_secret = {SECRET}\n")
    world.write("users", f"{ENROLLED}:{TOKEN}\n")
    world.pam("sudo", USUAL)
    return world


def session(**changed):
    """The start reply of a service that means well, with these changes."""
    return reply(202, started(**changed))


def started(**changed):
    status = {
        "authenticated": True, "session_status": "pending", "reason": None, "status_url": "/s", "logout_url": "/l",
        "session_token": "token-of-the-session", "session_secret": SECRET, **changed,
    }  # fmt: skip
    return json.dumps({"authentication_status": status}).encode()


def status(text, code=200, headers=()):
    return reply(code, text if isinstance(text, bytes) else text.encode(), headers)


ACTIVE = status('{"session_status":"active","authenticated":true}')
DONE = reply(200, b'{"status":true}')


class Case(unittest.TestCase):
    @property
    def world(self):
        return LOCAL.world

    def for_each(self, names, check):
        """`check(name)` for all names as sub-tests, some at once: in it `self.world` is the thread's own."""
        names = list(names)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE, initializer=self.enter_world) as pool:
            ends = [pool.submit(check, name) for name in names]
        for name, end in zip(names, ends):
            with self.subTest(name=name):
                end.result()

    def enter_world(self):
        LOCAL.world = made_world()
        self.addCleanup(LOCAL.world.close)

    def serve(self, name="good", **behaviour):
        service = HostileService(**SERVICES[name])
        service.start()
        self.addCleanup(service.stop)
        paths = {"start": START, "status": "/s", "logout": "/l"}
        good = {"start": session(), "status": ACTIVE, "logout": DONE}
        service.behaviour = {paths[key]: value for key, value in {**good, **behaviour}.items()}
        self.world.settings = {"server": service.url, "ca_file": self.world.path("ca.pem")}
        self.world.write("ca.pem", read(service.ca_file), 0o644)
        self.world.configure()
        self.world.forget_attempts()
        return service

    def play(self, code, seconds=TIMEOUT + 4, told=None, **scene):
        result = self.world.play(**scene)
        self.assertEqual(result["codes"], [code], result)
        self.assertLess(result["calls"][0]["seconds"], seconds, result)
        if code != SUCCESS:
            self.assertTrue(result["texts"], "the user is told nothing")
            self.assertRegex(result["log"][-1], r"refused user=daemon service=sudo rhost=- (session=\S+ )?reason=")
        if told:
            self.assertIn(told, " ".join(result["texts"]))
        for text in result["texts"] + result["log"]:
            self.assertNotRegex(text, "[\x00-\x1f\x7f-\x9f\u2028\u202e]")
            self.assertLessEqual(len(text), 1200)
        return result

    def asked(self, service, path):
        return [request for request in service.requests if request.path.split("?")[0] == path]
