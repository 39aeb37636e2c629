"""The built iampass-helper with records of ours, a service of ours, and a logind that only writes down what it is told."""

import json
import os
import pathlib
import re
import secrets
import subprocess
import time
import unittest

from scripted_bus import ScriptedBus
from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import HostileService
from Support.Service.world import World, program, read

APPLICATION_SECRET = "Canary-application-0123x"
SESSION_SECRET = "Canary-session-secret-0x"
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
ACTIVE = reply(200, b'{"session_status":"active","authenticated":true}')
DONE = reply(200, b'{"status":true}')
#: In its own mount namespace the helper sees folders of the world as logind's files, the probe's folder and BlueZ's.
IN_A_NAMESPACE = """
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mkdir -p /run/systemd/sessions /run/iampass-presence /var/lib/bluetooth
mount --bind "$1/logind" /run/systemd/sessions
mount --bind "$1/probe" /run/iampass-presence
mount --bind "$1/bonds" /var/lib/bluetooth
shift
exec "$@"
"""


class HelperWorld(World):
    """A helper, its records and its bus. The sessions' leader is a process that does nothing."""

    def __init__(self):
        super().__init__()
        for folder in ("logind", "probe", "bonds"):
            os.makedirs(self.path(folder))
        self.bus = ScriptedBus(self.path("bus"))
        self.leader = subprocess.Popen(["sleep", "100000"])
        self.write("credentials", f"application_id = application\napplication_secret = {APPLICATION_SECRET}\n")
        self.records = {}
        self.helper = None

    def serve_by(self, url, ca_file, **settings):
        self.url = url
        self.write("ca.pem", read(ca_file), 0o644)
        self.configure(server=url, ca_file=self.path("ca.pem"), **settings)

    def watch(self, name, path=None):
        """A record of a session of this name, whose status stands at `path` (default: /s/NAME)."""
        identity, session = secrets.token_hex(16), str(len(self.records) + 1)
        self.records[name] = identity
        stat = pathlib.Path(f"/proc/{self.leader.pid}/stat").read_text()
        leader = {"pid": self.leader.pid, "start": stat.rsplit(")", 1)[1].split()[19]}
        record = {
            "version": 1, "id": identity, "user": "daemon", "uid": 1, "service": "sshd", "remote_host": "192.0.2.7",
            "status_url": self.url + (path or f"/s/{name}"), "logout_url": self.url + "/l",
            "session_token": f"canary-token-of-session-{name}", "session_secret": SESSION_SECRET,
            "process": leader, "parent": leader, "created": int(time.clock_gettime(time.CLOCK_BOOTTIME)),
            "duration": 43_200, "claimed": True, "released": False, "condemned": False, "logind_session": session,
            "leader": leader,
        }
        pathlib.Path(self.path("logind", session)).write_text(
            f"UID=1\nUSER=daemon\nACTIVE=1\nSTATE=active\nREMOTE=1\nTYPE=tty\nCLASS=user\nSCOPE=session-{session}.scope\n"
            f"LEADER={self.leader.pid}\n")
        for folder in ("run", "run/sessions"):
            os.makedirs(self.path(folder), 0o700, exist_ok=True)
        # Written at once, as the module writes them.
        self.write(f"run/{identity}", json.dumps(record))
        os.rename(self.path("run", identity), self.path("run/sessions", identity))
        return session

    def sit(self, session, seat="seat0", remote=0, kind="wayland"):
        """A session that a password opened: no record tells of it."""
        pathlib.Path(self.path("logind", session)).write_text(
            f"UID=1\nUSER=daemon\nACTIVE=1\nSTATE=active\nREMOTE={remote}\nTYPE={kind}\nCLASS=user\nSEAT={seat}\n"
            f"SCOPE=session-{session}.scope\nLEADER={self.leader.pid}\n")
        self.bus.sessions[session] = (1, "daemon", seat)

    def helper_words(self):
        """What becomes a helper, by exec alone."""
        return [
            "env", "DBUS_SYSTEM_BUS_ADDRESS=" + self.bus.address, "unshare", "--mount", "--propagation", "private",
            "sh", "-c", IN_A_NAMESPACE, "sh", self.folder, program("iampass-helper"),
            "--config", self.path("iampass.conf")]

    def start_helper(self):
        self.helper = self.start(*self.helper_words())

    def note(self, name):
        """What the helper has written down of a session."""
        try:
            return json.loads(read(self.path("run/watch", self.records[name])))
        except FileNotFoundError:
            return {}

    def is_well(self, name):
        note = self.note(name)
        return note.get("status") == "active" and note.get("unanswered_since") is None

    def is_unanswered(self, name):
        return self.note(name).get("unanswered_since") is not None

    def watched(self):
        """Names whose records are there still."""
        there = os.listdir(self.path("run/sessions"))
        return {name for name, identity in self.records.items() if identity in there}

    def processes(self):
        """The helper and its worker."""
        pid = self.helper.process.pid
        return [pid, *map(int, read(f"/proc/{pid}/task/{pid}/children").split())]

    def seconds_of_cpu(self):
        """The helper's and all its workers', including workers that have ended."""
        helper, *workers = self.processes()
        ticks = sum(times(helper)) + sum(sum(times(worker)[:2]) for worker in workers)
        return ticks / CLOCK_TICKS

    def peak_kilobytes(self):
        # An ending process no longer has memory.
        found = [re.search(r"VmHWM:\s*(\d+)", read(f"/proc/{pid}/status")) for pid in self.processes()]
        return max(int(one[1]) for one in found if one)

    def close(self):
        super().close()
        self.bus.stop()
        self.leader.kill()
        self.leader.wait()


def times(pid):
    """utime, stime, cutime and cstime of proc(5); zeros once the process has gone."""
    try:
        return [int(field) for field in read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[11:15]]
    except (FileNotFoundError, ProcessLookupError):
        return [0] * 4


def until(what, claim, patience=120):
    """Waits for the check to hold, and returns what it said; what it waits for has no other sign."""
    end = time.monotonic() + patience
    while not (said := what()):
        if time.monotonic() > end:
            raise AssertionError(claim() if callable(claim) else claim)
        time.sleep(0.1)
    return said


class ServedCase(unittest.TestCase):
    """A helper's world with a service that means well; its helper is not started yet."""

    def setUp(self):
        self.world = HelperWorld()
        self.addCleanup(self.world.close)
        self.service = HostileService().start()
        self.addCleanup(self.service.stop)
        self.service.behaviour = {"*": ACTIVE, "/l": DONE}
        self.world.serve_by(self.service.url, self.service.ca_file)
