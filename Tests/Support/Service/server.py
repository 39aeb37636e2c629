"""A private world for the service's tests: the real service with its data, a phone, and signed requests."""

import contextlib
import json
import os
import re
import sqlite3
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from Support.Hosts import signed_requests
from Support.Service import ports
from Support.Service.world import PATIENCE, World, make_certificate, program, run

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGING = os.path.join(HERE, "..", "..", "..", "packaging")

# sysexits.h
USAGE, DATA, NO_INPUT, UNAVAILABLE, CANNOT_CREATE, IO, TEMPORARY, CONFIG = 64, 65, 66, 69, 73, 74, 75, 78


def until(claim, what, seconds=PATIENCE):
    """Waits until `claim()` is true, and returns what it said."""
    end = time.monotonic() + seconds
    while not (said := claim()):
        if time.monotonic() > end:
            raise AssertionError(f"never seen: {what}")
        time.sleep(0.05)
    return said


class ServerWorld(World):
    def serve_alone(self, *more):
        """The service and an application, without a host."""
        self.key, self.certificate = make_certificate(self.folder)
        made = self.command("application", "create", "office", "--json", "--match-code", "off")
        assert made.returncode == 0, made.stderr
        self.application = json.loads(made.stdout)
        self.start_server(*more)

    def serve_with_metrics(self):
        """The same, with Alice and her phone, and `metrics`, the address of its numbers."""
        self.serve_alone("--metrics-listen", f"127.0.0.1:{ports.take()}")
        self.metrics = re.search(r"http://[0-9.:]+", self.server.wait_for("metrics on")).group(0)
        self.enroll_alice()

    def command(self, *words, data="data", **options):
        return subprocess.run(
            [program("iampass-server"), *words, "--data", self.path(data)], capture_output=True, text=True,
            timeout=PATIENCE, **options)

    def get(self, path, method="GET", body=None, headers=None, address=None):
        """Status, headers and text of an unsigned request."""
        request = urllib.request.Request((address or self.address) + path, method=method, data=body, headers=headers or {})
        context = ssl.create_default_context(cafile=self.certificate)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as reply:
                return reply.status, reply.headers, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()

    def ask(self, method, path, body=None, by=None, headers=None):
        """Status, headers and JSON of a signed request: the application's own, or a session's, by its token and secret."""
        client, secret = by or (self.application["application_id"], self.application["application_secret"])
        data = json.dumps(body or {}).encode() if method == "POST" else None
        signing = signed_requests.headers(client, secret, self.address + path)
        code, found, text = self.get(path, method, data, {**signing, **(headers or {})})
        return code, found, json.loads(text)

    def signed(self, *words, **more):
        """The JSON of a signed request that is done."""
        code, _, reply = self.ask(*words, **more)
        if code >= 300:
            raise AssertionError(f"{words}: {code} {reply}")
        return reply

    def add_users(self, *names):
        return self.signed("POST", "/management/add_users/" + self.application["application_id"], {"users": names})

    def enroll_alice(self):
        self.add_users("alice")
        path = f"/management/device_registration_link/{self.application['application_id']}/alice?display_name=Alice"
        self.phone_registered(self.signed("GET", path)["register_url"])

    def started(self, host, context=None):
        """A sign-in of alice's that waits for her answer."""
        path = f"/authentication/authenticate_user/{self.application['application_id']}/alice"
        return self.signed("POST", path, {"context": {"host": host, **(context or {})}})["authentication_status"]

    def approved(self, host):
        """A live session."""
        phone = self.phone("approve", "--once")
        try:
            session = self.started(host)
            self.becomes(session, "active")
        finally:
            phone.stop()
        return session

    def denied(self, host, context=None):
        """The lines of a phone that denies this sign-in."""
        phone = self.phone("deny", "--once")
        try:
            self.started(host, context)
            phone.wait_for("^denied$")
        finally:
            phone.stop()
        return phone.lines

    def ask_status(self, session, headers=None):
        """As ``ask``, of the session's status."""
        keys = (session["session_token"], session["session_secret"])
        return self.ask("GET", session["status_url"].removeprefix(self.address), by=keys, headers=headers)

    def status(self, session, headers=None):
        code, _, reply = self.ask_status(session, headers)
        if code != 200:
            raise AssertionError(f"{code} {reply}")
        return reply["session_status"]

    def becomes(self, session, word):
        until(lambda: self.status(session) == word, f"{word}, of the session")

    def serve_here(self, data="data"):
        """`serve` as a command that is expected to end."""
        return self.command(
            "serve", "--listen", "127.0.0.1:0", "--tls-cert", self.certificate, "--tls-key", self.key, data=data)

    def phone_registered(self, link, state="phone.json"):
        run(program("iampass-phone"), "register", link, "--state", self.path(state), "--ca", self.certificate)

    def set_answer_time(self, seconds):
        """Sets how long further requests wait for their answer, as the console does."""
        with contextlib.closing(sqlite3.connect(self.path("data/iampass.sqlite"), timeout=30)) as database, database:
            database.execute("UPDATE application SET answer_time = ?", (seconds,))

    def database(self, name="data/iampass.sqlite"):
        return sqlite3.connect(f"file:{self.path(name)}?mode=ro", uri=True, timeout=30)
