"""A hostile service against the module: what its tests share."""

import concurrent.futures
import contextlib
import json
import os
import threading
import unittest

from Support.Service.ends import assert_ended, given_up
from Support.Service.world import ENROLLED, SUCCESS, World, read

from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import SERVICES, HostileService

SECRET = "yNGfB51YbmwxAscRuzOl8G5U"
TOKEN = "token-of-the-user-0123456789"
START = f"/authentication/authenticate_user/application/{TOKEN}"

# The slow ones hold the call until its time is up; these are tried with the shortest that the module takes.
TIMEOUT = 5
USUAL = f"prompt=push timeout={TIMEOUT}s"
#: The time of a sign-in that must succeed, on a busy machine too; as short as no test of a time-out may have it.
ENOUGH = 20
#: Seconds until a call has ended that has to end at once, or at the time-out above. Less than the 15 s that the module waits
#: for the service to take a request, if its own time is longer.
LATEST = 14
PATIENT = "prompt=push timeout=60s"


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

    @contextlib.contextmanager
    def enough_time(self, service):
        """The PAM file of this service with a longer time-out."""
        name = os.path.join("pam.d", service)
        text, mode = read(self.world.path(name)), os.stat(self.world.path(name)).st_mode & 0o777
        self.world.write(name, text.replace(f"timeout={TIMEOUT}s", f"timeout={ENOUGH}s"), mode)
        try:
            yield
        finally:
            self.world.write(name, text, mode)

    def play(self, code, seconds=None, told=None, service="sudo", **scene):
        with self.enough_time(service) if code == SUCCESS else contextlib.nullcontext():
            result = self.world.play(service, **scene)
        self.assertEqual(result["codes"], [code], result)
        self.assertLess(result["calls"][0]["seconds"], seconds or (2 * ENOUGH if code == SUCCESS else LATEST), result)
        if code != SUCCESS:
            self.assertTrue(result["texts"], "the user is told nothing")
            self.assertRegex(result["log"][-1], r"refused user=daemon service=sudo rhost=- (session=\S+ )?reason=")
        if told:
            self.assertIn(told, " ".join(result["texts"]))
        for text in [message["text"] for message in result["all"]] + result["log"] + result["not_ended"]:
            self.assertNotRegex(text, "[\x00-\x1f\x7f-\x9f\u2028\u202e]")
            self.assertLessEqual(len(text), 1200)
        return result

    def assert_told(self, service, result, waited=0):
        """The service was told of the session's end; `waited`: as for `given_up`."""
        assert_ended(lambda: len(self.asked(service, "/l")), given_up(result, waited))

    def asked(self, service, path):
        return [request for request in service.requests if request.path.split("?")[0] == path]
