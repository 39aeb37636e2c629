"""For tests of rough callers and long lives: a service that approves at once, and the PAM host in C."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import HostileService
from Support.HostileService.signing_phone import ServiceOfPhone, SigningPhone
from Support.Service import ends
from Support.Service.never import code_of_login
from Support.Service.world import ENROLLED, SUCCESS, World, read, run

HERE = os.path.dirname(os.path.abspath(__file__))
SECRET = "yNGfB51YbmwxAscRuzOl8G5U"
TOKEN = "token-of-the-user-0123456789"
START = f"/authentication/authenticate_user/application/{TOKEN}"
STATUS, LOGOUT = "/s", "/l"

# Longer than any run here on a very busy machine. A test that reaches it fails.
PATIENCE = 600


def status(word):
    return reply(200, json.dumps({"session_status": word, "authenticated": True}).encode())


def started(**changed):
    """The body of a start reply, with these changes."""
    return json.dumps({"authentication_status": {
        "authenticated": True, "session_status": "pending", "reason": None, "status_url": STATUS, "logout_url": LOGOUT,
        "session_token": "token-of-the-session", "session_secret": SECRET, **changed,
    }}).encode()  # fmt: skip


def approving_service(*words):
    """A service whose statuses are these words, one a question; the last stays."""
    service = HostileService()
    service.behaviour = {
        START: reply(202, started()),
        STATUS: [status(word) for word in words or ("active",)],
        LOGOUT: reply(200, b'{"status":true}'),
    }
    return service.start()


def signing_service(world):
    """A service behind which a phone signs that this world's computer trusts."""
    phone = SigningPhone()
    world.write("phones", phone.line(ENROLLED), 0o644)
    answers = ServiceOfPhone(phone, started)
    service = HostileService()
    service.behaviour = {
        START: answers.answer_start, STATUS: answers.answer_status, LOGOUT: reply(200, b'{"status":true}')}  # fmt: skip
    answers.url = service.url
    return service.start()


def asked(service, path):
    return sum(request.path.split("?")[0] == path for request in service.requests)


def given_up(service, report, since=None):
    """1 if the host went on for as long as the module needs to give an end up: after `since`, or after the last question
    for a status."""
    others = [request.came for request in list(service.requests) if request.path.split("?")[0] != LOGOUT]
    took = report.ended - (since or max(others, default=report.ended))
    return int(took >= (ends.END if SUCCESS in report.codes else ends.CANCELLATION))


def assert_ended(service, report, asked_for=1, since=None):
    """The service was told of `asked_for` ends, except for one that the module gave up."""
    ends.assert_ended(lambda: asked(service, LOGOUT), given_up(service, report, since), asked_for)


class CallerWorld(World):
    """A world with a service that approves, and the host's program."""

    def __init__(self):
        super().__init__()
        self.host = self.path("pam_host")
        self.compile("pam_host.c", "-lpam")
        self.write("credentials", f"application_id = application\napplication_secret = {SECRET}\n")
        self.write("users", f"{ENROLLED}:{TOKEN}\n")
        self.pam("sudo", "prompt=push timeout=60s")
        self.pam("login", "prompt=push timeout=60s")

    def compile(self, name, *more):
        """Compiles a C file of this folder; its program, or library, is in the world's."""
        made = self.path(name.removesuffix(".c"))
        run("gcc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", made, os.path.join(HERE, name), *more)
        return made

    def serve_by(self, service):
        self.write("ca.pem", read(service.ca_file), 0o644)
        self.settings = {"server": service.url, "ca_file": self.path("ca.pem")}
        self.configure()
        self.forget_attempts()
        return service

    def host_words(self, report, *options, service="sudo"):
        return [self.host, report, self.path("pam.d"), service, ENROLLED, *options]

    def log_in(self, *options, before=(), service="sudo", environment=None, check=True, patience=PATIENCE):
        """Runs the host, by `before` (as valgrind), and returns its report."""
        with tempfile.NamedTemporaryFile(dir=self.folder) as report:
            done = subprocess.run(
                [*before, *self.host_words(report.name, *options, service=service)], stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=patience, env=environment,
            )  # fmt: skip
            lived = Report(read(report.name), done)
        if check and not lived.has_ended:
            raise AssertionError(f"the host ended with {done.returncode}: {lived.text}{done.stdout}{done.stderr}")
        return lived


class ServedCase(unittest.TestCase):
    """A case of a module that has a world."""

    def serve(self, *statuses):
        service = sys.modules[type(self).__module__].world.serve_by(approving_service(*statuses))
        self.addCleanup(service.stop)
        return service


class Report:
    def __init__(self, text, done):
        self.text = text
        self.ended = time.monotonic()
        self.exit_status = done.returncode
        self.printed = done.stdout + done.stderr
        self.codes = [code_of_login(int(code)) for code in re.findall(r"^login (\d+)$", text, re.MULTILINE)]
        self.codes_of_child = [code_of_login(int(code)) for code in re.findall(r"^login-of-child (\d+)$", text, re.MULTILINE)]
        self.child = re.findall(r"^child (\w+) (\d+)$", text, re.MULTILINE)
        self.changed = re.findall(r"^changed (.*)$", text, re.MULTILINE)
        self.memory = {int(count): {name: int(size) for name, size in re.findall(r"(\w+)=(\d+)", sizes)}
                       for count, sizes in re.findall(r"^memory (\d+) (.*)$", text, re.MULTILINE)}  # fmt: skip
        self.has_ended = text.endswith("end\n")
