"""Two servers on one PostgreSQL database, for suites and benchmarks."""

import ctypes
import json
import os
import re
import subprocess

from Support.Hosts import signed_requests
from Support.Service import ports
from Support.Service.postgresql import PostgreSQL
from Support.Service.server import ServerWorld
from Support.Service.world import PATIENCE, make_certificate, program

#: The folder of another version's `iampass-server`. Only what asks for it by `OneName.others` gets it: tests of other things
#: may need what an older version cannot do.
OTHER_VERSION = os.environ.get("IAMPASS_OTHER_VERSION")

#: unshare(2): mounts of one's own.
CLONE_NEWNS = 0x00020000


def server_program(other=False):
    """The service's program; `other`: the other version's, if there is one."""
    return os.path.join(OTHER_VERSION, "iampass-server") if other and OTHER_VERSION else program("iampass-server")


class TwoServers(ServerWorld):
    """`at(number)` makes one of the servers the one that is asked."""

    standby = None
    #: Whether commands are the other version's: see `server_program`.
    other_commands = False

    def serve_twice(self, standby=False, servers=2, database=None, url=None):
        """`database`: one that runs; `url`: another way to it than its own."""
        self.key, self.certificate = make_certificate(self.folder)
        self.postgresql = database or PostgreSQL(self.folder)
        self.url = url or self.postgresql.url
        if standby:
            self.standby = PostgreSQL(self.folder, "standby", self.postgresql)
            self.url += "," + self.standby.folder
        self.command("database", "migrate").check_returncode()
        made = self.command("application", "create", "office", "--json", "--match-code", "off")
        assert made.returncode == 0, made.stderr
        self.application = json.loads(made.stdout)
        self.servers = [self.served() for _ in range(servers)]
        self.at(0)
        self.enroll_alice()

    def served(self):
        """A server, its address, and the address of its numbers."""
        server = self.start(
            program("iampass-server"), "serve", "--database", self.url, "--listen", f"127.0.0.1:{ports.take()}",
            "--tls-cert", self.certificate, "--tls-key", self.key, "--metrics-listen", "127.0.0.1:0",
            "--log-level", "notice")
        address = re.search(r"https://[0-9.:]+", server.wait_for("listening on https")).group(0)
        return server, address, re.search(r"http://[0-9.:]+", server.wait_for("metrics on")).group(0)

    def at(self, number):
        self.server, self.address, self.metrics = self.servers[number]

    def held(self, number):
        """How many requests this server holds until something changes."""
        text = self.get("/metrics", address=self.servers[number][2])[2]
        found = re.search(r"(?m)^iampass_requests_held (\d+)$", text)
        return int(found.group(1)) if found else 0

    def command(self, *words, url=None, **options):
        return subprocess.run(
            [server_program(self.other_commands), *words, "--database", url or self.url], capture_output=True,
            text=True, timeout=PATIENCE, **options)

    def close(self):
        for database in (self.postgresql, self.standby):
            try:
                if database:
                    database.stop("immediate")
            except subprocess.CalledProcessError:
                pass  # A test has stopped it.
        super().close()

    def elsewhere(self, session):
        """The session as its client asks for it at the server that is asked now."""
        path = re.sub(r"^https://[^/]+", "", session["status_url"])
        return {**session, "status_url": self.address + path}


class OneName(TwoServers):
    """Both servers behind one name, which has the address of each, and which no other process knows."""

    NAME = "iampass.example"
    ADDRESSES = ("127.0.0.11", "127.0.0.12")
    #: The numbers of servers that are of the other version when they start.
    others = ()

    def begin(self):
        self.know_the_name()
        self.key, self.certificate = make_certificate(
            self.folder, names=",".join([f"DNS:{self.NAME}", *(f"IP:{address}" for address in self.ADDRESSES)]))
        self.postgresql = PostgreSQL(self.folder)
        self.url = self.postgresql.url
        # The same port at both.
        self.port = None
        self.servers = [None, None]
        self.command("database", "migrate").check_returncode()
        made = self.command("application", "create", "tests", "--match-code", "off")
        assert made.returncode == 0, made.stderr
        self.write("credentials", made.stdout)
        identity = dict(re.findall(r"(application_\w+) = (\S+)", made.stdout))
        self.application = identity
        for number in (0, 1):
            self.serve_at(number)
        self.name = f"https://{self.NAME}:{self.port}"
        self.configure(server=self.name, ca_file=self.certificate, signed_replies="required", signed_targets="required")
        self.at(0)

    def know_the_name(self):
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        self.write("hosts", "127.0.0.1 localhost\n" + "".join(
            f"{address} {self.NAME}\n" for address in self.ADDRESSES), 0o644)  # fmt: skip
        for words in (["--make-rprivate", "/"], ["--bind", self.path("hosts"), "/etc/hosts"]):
            subprocess.run(["mount", *words], check=True, timeout=PATIENCE)

    def serve_at(self, number, *more):
        """Starts the server at this address of the name."""
        server = self.start(
            server_program(number in self.others), "serve", "--database", self.url,
            "--listen", f"{self.ADDRESSES[number]}:{self.port or 0}", "--tls-cert", self.certificate, "--tls-key", self.key,
            "--metrics-listen", "127.0.0.1:0", "--public-url", f"https://{self.NAME}:{self.port or 1}", "--log-level", "notice",
            *more)
        address = re.search(r"https://[0-9.:]+", server.wait_for("listening on https")).group(0)
        if self.port is None:
            # Only now is a port known that can be in the name's address.
            self.port = int(address.rpartition(":")[2])
            server.stop()
            return self.serve_at(number, *more)
        metrics = re.search(r"http://[0-9.:]+", server.wait_for("metrics on")).group(0)
        self.servers[number] = (server, address, metrics)
        return server

    def ask(self, method, path, body=None, by=None, headers=None):
        """As everywhere, at one server: signatures are for the name."""
        client, secret = by or (self.application["application_id"], self.application["application_secret"])
        data = json.dumps(body or {}).encode() if method == "POST" else None
        signing = signed_requests.headers(client, secret, self.name + path)
        code, found, text = self.get(path, method, data, {**signing, **(headers or {})})
        return code, found, json.loads(text)

    def kill(self, number):
        self.servers[number][0].process.kill()
        self.servers[number][0].process.wait(PATIENCE)
