"""The service as browsers and computers meet it: https://localhost with an authority of the tests' own."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from Support.Hosts.signed_requests import headers as signed_headers
from Support.Service import ports

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.environ.get("IAMPASS_BIN", os.path.join(HERE, "../../../.build-product/release"))

# Longer than anything here takes; a test that reaches it fails.
PATIENCE = 120
# The longest that an application may have, in seconds. In a new one's 60 a busy machine may not load a page, and type at it.
LONGEST_ANSWER_TIME = 300


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} exited with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def until(claim, what, seconds=PATIENCE):
    """Waits until `claim()` is true, and returns what it said. `what` is a text, or gives one when it is too late."""
    end = time.monotonic() + seconds
    while not (said := claim()):
        if time.monotonic() > end:
            raise AssertionError(f"never seen: {what() if callable(what) else what}")
        time.sleep(0.05)
    return said


class Authority:
    """A certificate authority, and a certificate for localhost by it."""

    def __init__(self, folder):
        self.file = os.path.join(folder, "ca.crt")
        self.key, self.certificate = os.path.join(folder, "localhost.key"), os.path.join(folder, "localhost.crt")
        ca_key, request = os.path.join(folder, "ca.key"), os.path.join(folder, "localhost.csr")
        fresh = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split()
        run("openssl", "req", "-x509", *fresh, "-days", "2", "-subj", "/CN=tests", "-keyout", ca_key, "-out", self.file,
            "-addext", "keyUsage=critical,keyCertSign")
        run("openssl", "req", *fresh, "-subj", "/CN=localhost", "-keyout", self.key, "-out", request)
        names = os.path.join(folder, "names")
        with open(names, "w") as file:
            file.write("subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n")
        run("openssl", "x509", "-req", "-in", request, "-CA", self.file, "-CAkey", ca_key, "-days", "2", "-extfile", names,
            "-out", self.certificate)


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body}")
        self.status, self.body = status, body


class BrowserWorld:
    """The service with one application, and what its computers ask. `answer_time`: of its applications, in seconds;
    None: a new one's."""

    def __init__(self, *options, path="", answer_time=None):
        self.answer_time = answer_time
        self.folder = tempfile.mkdtemp(prefix="iampass-browser-")
        self.authority = Authority(self.folder)
        self.tls = ssl.create_default_context(cafile=self.authority.file)
        self.options = [option.replace("CA-FILE", self.authority.file) for option in options]
        self.port = ports.take()
        self.origin = f"https://localhost:{self.port}"
        # As if a proxy passed on what is below a path.
        self.address = self.origin + path
        self.lines = []
        self.start()
        self.applications = {}
        self.use_application("office")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self):
        os.makedirs(self.path("programs"), mode=0o755, exist_ok=True)
        with open(self.path("programs", "send"), "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
            file.write("#!/bin/sh\n")
        words = [
            os.path.join(PROGRAMS, "iampass-server"), "serve", "--data", self.path("data"), "--public-url", self.address,
            "--listen", f"127.0.0.1:{self.port}", "--tls-cert", self.authority.certificate, "--tls-key", self.authority.key,
            "--programs", self.path("programs"), *self.options,
        ]  # fmt: skip
        self.server = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read, args=(self.server.stdout, len(self.lines)), daemon=True)
        began = len(self.lines)
        self.reader.start()
        until(lambda: any("listening on" in line for line in self.lines[began:]), lambda: f"listening, in {self.lines}")

    def read(self, stream, _):
        for line in stream:
            self.lines.append(line.rstrip("\n"))
        stream.close()

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        try:
            self.server.wait(20)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.reader.join(10)

    def use_data(self, folder):
        """Has the service use this folder's data from now on, unless it has taken them already."""
        if os.path.exists(folder):
            self.stop()
            shutil.rmtree(self.path("data"))
            os.rename(folder, self.path("data"))
            self.start()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def use_application(self, name, *options):
        """From now on computers ask as this application, which is made first."""
        if name not in self.applications:
            text = run(
                os.path.join(PROGRAMS, "iampass-server"), "application", "create", name, "--data", self.path("data"),
                "--json", *options)
            self.applications[name] = json.loads(text)
            if self.answer_time:
                # As the console would.
                self.database("UPDATE application SET answer_time = ? WHERE name = ?", self.answer_time, name)
        made = self.applications[name]
        self.application, self.secret = made["application_id"], made["application_secret"]

    def database(self, statement, *arguments):
        with contextlib.closing(sqlite3.connect(self.path("data", "iampass.sqlite"), timeout=30)) as database, database:
            return database.execute(statement, arguments).fetchall()

    # --- What computers ask ---

    def ask(self, method, path, body=None, client=None):
        """A signed request; `client` is an id and a secret, the application's by itself."""
        url = path if path.startswith("https:") else self.address + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            url, data=data, method=method, headers=signed_headers(*(client or (self.application, self.secret)), url))
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=PATIENCE) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, error.read().decode()) from None

    def fetch(self, path, **headers):
        """A browser's plain request: status, headers, body. No redirects are followed."""
        request = urllib.request.Request(self.address + path, headers=headers)

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=self.tls), Stay)
        try:
            with opener.open(request, timeout=PATIENCE) as reply:
                return reply.status, reply.headers, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def link(self, user, name=None, lost=False):
        """A registration link for `user`, who is added first."""
        self.ask("POST", f"/management/add_users/{self.application}", {"users": [user]})
        route = "lost_user_mobile_device" if lost else "device_registration_link"
        query = urllib.parse.urlencode({"display_name": name or user})
        return self.ask("GET", f"/management/{route}/{self.application}/{user}?{query}")["register_url"]

    def sign_in(self, name, /, methods=None, challenge=None, match_code=None, shows_code=True, **context):
        """A sign-in that waits for its answer; with a challenge, if the computer is to verify it."""
        query = f"?methods={methods}" if methods else ""
        context = {"host": "desk", "service": "sudo", "user": name, "tty": "pts/3", **context}
        context |= {} if shows_code else {"match_code": "none: the program shows no text"}
        own = {"challenge": challenge, "match_code": match_code}
        body = {"context": context, **{name: value for name, value in own.items() if value}}
        reply = self.ask("POST", f"/authentication/authenticate_user/{self.application}/{name}{query}", body)
        return SignIn(self, reply["authentication_status"], reply, context)


class SignIn:
    """A session as its computer has it."""

    def __init__(self, world, start, reply, context):
        self.world, self.start, self.reply, self.context = world, start, reply, context
        self.client = start.get("session_token"), start.get("session_secret")

    @property
    def id(self):
        return self.start["status_url"].rsplit("/", 1)[1]

    @property
    def code(self):
        return self.start.get("match_code") or self.reply.get("match_code") or ""

    def reply_now(self):
        return self.world.ask("GET", self.start["status_url"], client=self.client)

    def status(self):
        return self.reply_now()["session_status"]

    def becomes(self, *words):
        return until(lambda: (status := self.status()) in words and status, lambda: f"{words}; it is {self.status()}")

    def log_out(self):
        self.world.ask("POST", self.start["logout_url"], {}, client=self.client)
