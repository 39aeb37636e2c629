"""A private place for `iampass-server setup`: folders, settings and a user of its own, without systemd."""

import io
import json
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest

import pexpect

from Support.Service import ports
from Support.Service.server import until
from Support.Service.world import PATIENCE, Background, program, run

#: Every Debian has it; the packages make one of their own.
SERVICE_USER = "daemon"
#: 128 + SIGINT
INTERRUPTED = 130
#: Where setup stands: names of files, each with what it must be.
MODES = {
    "etc/own/authority.pem": ("root", "root", "644"), "etc/own/authority.key": ("root", "root", "600"),
    "etc/own/service.pem": ("root", SERVICE_USER, "640"), "settings": ("root", "root", "644"), "office": ("root", "root", "600"),
    "data": (SERVICE_USER, SERVICE_USER, "700"), "data/iampass.sqlite": (SERVICE_USER, SERVICE_USER, "600"),
}  # fmt: skip


class SetupWorld:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="iampass-setup-")
        # The service's user has to pass.
        os.chmod(self.folder, 0o711)
        self.port = ports.take()
        self.url = f"https://localhost:{self.port}"
        self.authority = self.path("etc", "own", "authority.pem")
        self.services = []

    def close(self):
        for service in self.services:
            service.stop()
        shutil.rmtree(self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    @property
    def places(self):
        return ["--folder", self.path("etc"), "--settings", self.path("settings"), "--data", self.path("data"), "--user", SERVICE_USER,
                "--letsencrypt", self.path("letsencrypt"), "--unit", "none"]  # fmt: skip

    @property
    def usual(self):
        """What an automation gives."""
        return ["--name", "localhost", "--listen", f"127.0.0.1:{self.port}", *self.own_file]

    @property
    def own_file(self):
        return ["--secret-file", self.path("office")]

    def words(self, *words, command="setup"):
        no_start = ["--no-start"] if command == "setup" else []
        return [program("iampass-server"), *command.split(), *words, *no_start, *self.places]

    def setup(self, *words, **options):
        """Without a terminal, and with a file of its own for a recovery key."""
        return self.command("setup", "--recovery-key-file", self.path("recovery-key"), *words, **options)

    def server(self, *words):
        return run(program("iampass-server"), *words, "--data", self.path("data"))

    def register(self, told, state):
        """A phone, by the first link in what a command told."""
        link = re.search(rf"{self.url}/register/\S+", told)[0]
        run(program("iampass-phone"), "register", link, "--force", "--state", self.path(state), "--ca", self.authority)

    def renew(self, *words):
        return self.command("certificate renew", *words)

    def command(self, command, *words, **options):
        return subprocess.run(
            self.words(*words, command=command), capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, **options)

    def terminal(self, *words, columns=120, rows=60):
        own = self.words(*words)
        child = pexpect.spawn(own[0], own[1:], timeout=60, encoding="utf-8", dimensions=(rows, columns),
                              env={"PATH": os.environ["PATH"], "TERM": "xterm", "LANG": "C.UTF-8"})
        child.delaybeforesend = 0.05
        child.screen = io.StringIO()
        child.logfile_read = child.screen
        return child

    def finish(self, child):
        child.expect(pexpect.EOF)
        child.close()
        return child.exitstatus

    def files(self):
        """Everything that setup writes but the database, with its bytes."""
        found = {}
        for name in ("etc", "settings", "office", "letsencrypt"):
            path = self.path(name)
            paths = [path] if os.path.isfile(path) else [os.path.join(top, file) for top, _, files in os.walk(path) for file in files]
            found.update({path: self.read(path) for path in paths if not path.endswith((".lock", "restart-needed"))})
        return found

    def settings(self):
        return dict(re.findall(r"^([A-Z_]+)=(.*)$", self.read("settings").decode(), re.MULTILINE))

    def applications(self):
        lines = run(program("iampass-server"), "application", "list", "--json", "--data", self.path("data")).splitlines()
        return {found["name"]: found for found in map(json.loads, lines)}

    def serve(self):
        """The service by its settings, as its user."""
        user, settings = pwd.getpwnam(SERVICE_USER), self.settings()
        service = Background(
            "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", program("iampass-server"), "serve",
            "--data", self.path("data"), "--listen", settings["LISTEN"], "--tls-cert", settings["TLS_CERT"],
            "--tls-key", settings["TLS_KEY"], *settings["OPTIONS"].split())  # fmt: skip
        self.services.append(service)
        service.wait_for("listening on https")
        return service

    def connect(self):
        """A client of the service, which trusts the authority alone."""
        context = ssl.create_default_context(cafile=self.authority)
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        return context.wrap_socket(plain, server_hostname="localhost")

    def get(self, path):
        """The status of a page."""
        with self.connect() as client:
            return ask(client, path)


def ask(client, path):
    """The status of a page, over a connection that goes on."""
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += client.recv(1)
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    left = int(length[1]) if length else 0
    while left > 0:
        left -= len(client.recv(left))
    return int(head.split()[1])


class SetupCase(unittest.TestCase):
    def setUp(self):
        self.world = SetupWorld()
        self.addCleanup(self.world.close)

    def set_up(self, *words):
        done = self.world.setup(*(words or self.world.usual))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def assert_refused(self, done, code, pattern):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertRegex(done.stderr, rf"iampass-server: {pattern}")
        self.assertRegex(done.stderr, r"\nhint: \S")

    def assert_nothing_written(self):
        self.assertEqual(self.world.files(), {})
        self.assertFalse(os.path.exists(self.world.path("data")))


def certificate_facts(path):
    """Serial number and public key."""
    return run("openssl", "x509", "-in", path, "-noout", "-serial"), run("openssl", "x509", "-in", path, "-noout", "-pubkey")


__all__ = [
    "INTERRUPTED", "MODES", "SERVICE_USER", "SetupCase", "SetupWorld", "ask", "certificate_facts", "until",
]  # fmt: skip
