"""What packaging/bench measures of iampass-helper: how soon a session is gone, and what watching a thousand costs."""

import http.client
import json
import math
import os
import pathlib
import re
import secrets
import ssl
import subprocess
import time
import urllib.parse

from Support.Hosts import testhost
from Support.Hosts.signed_requests import headers

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


# From the service's word to logind's

def measure_latency(report, built, runs):
    """On a booted host, with real sshd and logind; times are the journal's own."""
    with testhost.Host(built) as host:
        # Asked every 5 s, it may learn of it so much later.
        for name, arguments, asked in (("held replies", "", 300), ("polling", "--longest-wait 0", 5_300)):
            with_arguments(host, arguments)
            report.add(f"walkaway to SessionRemoved, {name}", [leave_once(host) for _ in range(runs)], "ms", asked)


def with_arguments(host, arguments):
    """The service with further arguments."""
    settings = host.path("/etc/default/iampass-server")
    settings.write_text(re.sub(r"(?m)^#?OPTIONS=.*", f"OPTIONS={arguments}", settings.read_text()))
    host.run("systemctl", "restart", "iampass-server")
    host.start_service()
    host.run("systemctl", "restart", "iampass-helper")


def leave_once(host):
    host.forget_attempts()
    with host.module_arguments("prompt=push"), testhost.Phone(host, "approve"):
        child = host.terminal("ssh alice@localhost", user="visitor")
        child.expect(r"alice@workstation[^\n]*\$ ")
    # Not in step with anything.
    time.sleep(1 + secrets.randbelow(1_000) / 1_000)
    mark = time.time()
    host.run("iampass-phone", "leave", "--state", testhost.PHONE_STATE, user="phone")
    child.finish(20)
    try:
        said = moment(host, mark, "iampass-server", "session walked away")
        removed = moment(host, mark, "systemd-logind", "Removed session")
    finally:
        host.run("iampass-phone", "return", "--state", testhost.PHONE_STATE, user="phone")
    return (removed - said) / 1_000


def moment(host, since, unit, text):
    """When a unit, or anybody, said this, in µs."""
    of_unit = [f"--unit={unit}"] if unit else []
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        lines = host.run("journalctl", "--output=json", f"--since=@{since:.3f}", *of_unit).splitlines()
        for line in lines:
            entry = json.loads(line) if line.startswith("{") else {}
            if text in str(entry.get("MESSAGE")):
                return int(entry.get("_SOURCE_REALTIME_TIMESTAMP", entry["__REALTIME_TIMESTAMP"]))
        time.sleep(0.05)
    raise SystemExit(f"bench: {unit or 'nobody'} never said {text}")


# A thousand sessions

#: How long the helper has a reply held, in seconds.
HOLD = 55


class Crowd:
    """Sessions at a real service, records of them, and a helper that takes them for logind's.

    The caller is in a mount namespace of its own: logind's folder there is this one's.
    """

    def __init__(self, world, count):
        self.world = world
        self.count = count
        #: The leader of all sessions.
        self.leader = subprocess.Popen(["sleep", "100000"])
        self.made = not os.path.isdir("/run/systemd")
        os.makedirs("/run/systemd", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run/systemd"], check=True, timeout=30)
        self.folder = pathlib.Path("/run/systemd/sessions")
        self.folder.mkdir()

    def sign_in(self):
        """Starts the sessions; the phone approves them."""
        credentials = dict(
            line.split(" = ") for line in pathlib.Path(self.world.path("credentials")).read_text().splitlines())
        token = pathlib.Path(self.world.path("users")).read_text().strip().split(":")[1]
        address = urllib.parse.urlsplit(self.world.address)
        connection = http.client.HTTPSConnection(
            address.netloc, context=ssl.create_default_context(cafile=self.world.certificate), timeout=30)
        route = (f"{self.world.address}/authentication/authenticate_user/{credentials['application_id']}/{token}"
                 "?duration_seconds=43200")
        for number in range(1, self.count + 1):
            reply = self._ask(connection, "POST", route, credentials["application_id"], credentials["application_secret"])
            session = reply["authentication_status"]
            url, client, secret = session["status_url"], session["session_token"], session["session_secret"]
            while self._ask(connection, "GET", url, client, secret, "wait=10")["session_status"] != "active":
                pass
            self._record(number, session)
        connection.close()

    @staticmethod
    def _ask(connection, method, url, client, secret, prefer=None):
        extra = {"Prefer": prefer} if prefer else {}
        target = urllib.parse.urlsplit(url)
        connection.request(method, f"{target.path}?{target.query}" if target.query else target.path, b"",
                           {**headers(client, secret, url), **extra})
        reply = connection.getresponse()
        body = reply.read()
        if reply.status not in (200, 202):
            raise SystemExit(f"bench: the service answered {reply.status}: {body[:200]}")
        return json.loads(body)

    def _record(self, number, session):
        stat = pathlib.Path(f"/proc/{self.leader.pid}/stat").read_text()
        leader = {"pid": self.leader.pid, "start": stat.rsplit(")", 1)[1].split()[19]}
        created = int(time.clock_gettime(time.CLOCK_BOOTTIME))
        identity = secrets.token_hex(16)
        record = {
            "version": 1, "id": identity, "user": "daemon", "uid": 1, "service": "sshd", "remote_host": "192.0.2.7",
            "status_url": session["status_url"], "logout_url": session["logout_url"],
            "session_token": session["session_token"], "session_secret": session["session_secret"],
            "process": leader, "parent": leader, "created": created, "duration": 43_200, "claimed": True,
            "released": False, "condemned": False, "logind_session": str(number), "leader": leader,
        }
        (self.folder / str(number)).write_text(
            f"UID=1\nUSER=daemon\nACTIVE=1\nSTATE=active\nREMOTE=1\nTYPE=tty\nCLASS=user\nSCOPE=session-{number}.scope\n"
            f"LEADER={self.leader.pid}\n")
        run = pathlib.Path(self.world.path("run"))
        run.mkdir(mode=0o700, exist_ok=True)
        sessions = run / "sessions"
        sessions.mkdir(mode=0o700, exist_ok=True)
        (sessions / identity).touch(mode=0o600)
        (sessions / identity).write_text(json.dumps(record))

    def close(self):
        self.leader.kill()
        self.leader.wait()
        subprocess.run(["umount", "/run/systemd"], check=False, timeout=30)
        if self.made:
            os.rmdir("/run/systemd")


class Helper:
    """A running helper and its worker, and what they have used."""

    def __init__(self, world):
        # The bus does not belong to the bench, so that nobody is logged out.
        self.process = subprocess.Popen(
            [os.path.join(os.environ["IAMPASS_BIN"], "iampass-helper"), "--config", world.path("iampass.conf")],
            stdin=subprocess.DEVNULL, stderr=open(world.path("helper.log"), "w"), stdout=subprocess.DEVNULL)

    def processes(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def usage(self, seconds):
        """For helper and worker: percent of one core, MiB resident, wake-ups a second; and the connections."""
        before = [self._read(pid) for pid in self.processes()]
        began = time.monotonic()
        time.sleep(seconds)
        after = [self._read(pid) for pid in self.processes()]
        took = time.monotonic() - began
        rows = [((new[0] - old[0]) / CLOCK_TICKS / took * 100, new[1] / 1024, (new[2] - old[2]) / took)
                for old, new in zip(before, after)]
        worker = self.processes()[-1]
        sockets = subprocess.run(["ss", "-Htnp", "state", "established"], capture_output=True, text=True, check=True)
        return rows, sockets.stdout.count(f"pid={worker},")

    @staticmethod
    def _read(pid):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return (int(fields[11]) + int(fields[12]), int(re.search(r"VmRSS:\s*(\d+)", status)[1]),
                int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", status)[1]))

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def measure_crowd(report, world, count, seconds):
    # Whole holds: within one nothing happens.
    seconds = math.ceil(seconds / HOLD) * HOLD
    report.part(f"{count:,} watched session{'s' if count > 1 else ''}, over {seconds} s")
    crowd = Crowd(world, count)
    try:
        with_phone(world, crowd.sign_in)
        for name, extra, share in (("held replies", (), 1), ("polling every 5 s", ("--longest-wait", "0"), 5)):
            world.restart_server(*extra)
            helper = Helper(world)
            # The first answers, and whatever a start costs, are over.
            time.sleep(15)
            rows, connections = helper.usage(seconds)
            many = count > 1
            report.add(f"{name}: CPU, helper and worker", [sum(row[0] for row in rows)], "% of a core", share if many else None)
            for part, (_, resident, wakes) in zip(("helper", "worker"), rows):
                report.add(f"{name}: {part} resident", [resident], "MiB", (60 if many else 15) if part == "helper" else None)
                report.add(f"{name}: {part} wake-ups", [wakes], "/s", None if many else 1)
            report.add(f"{name}: connections", [connections], "", 8)
            helper.stop()
    finally:
        crowd.close()


def with_phone(world, work):
    phone = world.phone("approve")
    phone.wait_for("waiting for sign-ins")
    try:
        work()
    finally:
        phone.stop()
