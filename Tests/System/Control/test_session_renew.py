"""`iampassctl session renew`: a session's time begins again by a new approval, and by nothing else."""

import fcntl
import json
import os
import re
import struct
import time
import unittest

from control import CONFIG, DATA, world_with_a_phone
from Support.Service.world import ENROLLED, read

OLD = "0" * 31 + "1"
#: fcntl(2); Python has no name for it.
F_OFD_SETLK = 37
#: sysexits.h
TEMPORARY = 75


def setUpModule():
    global world
    world = world_with_a_phone()


def identity(pid):
    stat = read(f"/proc/{pid}/stat")
    return {"pid": pid, "start": stat.rsplit(")", 1)[1].split()[19]}


class Renewal(unittest.TestCase):
    def setUp(self):
        world.settings = {"server": world.address, "ca_file": world.certificate, "session_duration": "2h"}
        world.configure()
        for folder in ("run", "run/sessions"):
            os.makedirs(world.path(folder), 0o700, exist_ok=True)
        for name in os.listdir(world.path("run/sessions")):
            os.remove(world.path("run/sessions", name))
        self.record(OLD)

    def record(self, name, **more):
        me = identity(os.getpid())
        record = {
            "version": 1, "id": name, "user": ENROLLED, "uid": 1, "service": "sshd", "remote_host": "192.0.2.7",
            "status_url": world.address + "/s", "logout_url": world.address + "/l", "session_token": "t",
            "session_secret": "0123456789abcdef01234567", "process": me, "parent": me,
            "created": int(time.clock_gettime(time.CLOCK_BOOTTIME)), "duration": 600, "claimed": True,
            "released": False, "condemned": False, "logind_session": "7", "leader": me, **more,
        }  # fmt: skip
        world.write("run/sessions/" + name, json.dumps({key: value for key, value in record.items() if value is not None}))

    def helper(self):
        """What a helper holds for its life: without one nobody would hear of the new record."""
        lock = os.open(world.path("run/helper.watching"), os.O_RDWR | os.O_CREAT, 0o600)
        self.addCleanup(os.close, lock)
        fcntl.fcntl(lock, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))

    def phone(self, answer):
        phone = world.phone(answer)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def records(self):
        names = os.listdir(world.path("run/sessions"))
        return {name: json.loads(read(world.path("run/sessions", name))) for name in names if "." not in name}

    def is_released(self, name):
        return os.path.exists(world.path("run/sessions", name + ".released"))

    def test_an_approval_replaces_the_session(self):
        self.helper()
        phone = self.phone("approve")
        done = world.ctl("session", "renew", OLD)
        self.assertEqual((done.code, done.err), (0, ""))
        name = re.search(r"^([0-9a-f]{32}): goes on for 2h0m$", done.out, re.MULTILINE)[1]
        # The phone shows what it approves.
        phone.wait_for("sshd: stay signed in")
        records = self.records()
        [new] = set(records) - {OLD}
        # The service's name for it.
        self.assertEqual(records[new]["session_label"], name)
        self.assertTrue(self.is_released(OLD))
        self.assertFalse(self.is_released(new))
        old, record = records[OLD], records[new]
        for key in ("user", "uid", "service", "remote_host", "logind_session", "leader", "claimed"):
            self.assertEqual(record[key], old[key], key)
        self.assertEqual(record["duration"], 7_200)
        self.assertNotEqual(record["session_token"], old["session_token"])
        self.assertTrue(record["status_url"].startswith(world.address + "/authentication/"))

    def test_without_an_approval_nothing_changes(self):
        self.helper()
        self.phone("deny")
        done = world.ctl("session", "renew", OLD)
        self.assertEqual(done.code, TEMPORARY)
        self.assertIn("the sign-in was not approved: denied on your phone", done.err)
        self.assertEqual(list(self.records()), [OLD])
        self.assertFalse(self.is_released(OLD))

    def test_a_token_that_no_sign_in_takes_renews_nothing(self):
        phone = self.phone("ignore")
        self.helper()
        users = read(world.path("users"))
        self.addCleanup(world.write, "users", users)
        world.write("users", f"{ENROLLED}:{world.users()[ENROLLED]}\nbin:{world.users()[ENROLLED]}\n")
        done = world.ctl("session", "renew", OLD)
        self.assertEqual((done.code, done.out), (CONFIG, ""))
        self.assertIn(f"{ENROLLED} and bin have the same token", done.err)
        self.assertEqual(list(self.records()), [OLD])
        self.assertNotIn("sign-in request", "\n".join(phone.lines))

    def test_no_phone_rings_for_what_cannot_be_renewed(self):
        phone = self.phone("ignore")
        refusals = {
            "without a helper": (TEMPORARY, "iampass-helper does not run"),
            "ended by an administrator": (DATA, "is over, or not a login session"),
            "of a sudo": (DATA, "is over, or not a login session"),
            "not in a session": (DATA, "this is not a session that a phone opened"),
        }
        for name, (code, message) in refusals.items():
            with self.subTest(name):
                if name == "ended by an administrator":
                    self.helper()
                    world.write(f"run/sessions/{OLD}.condemned", "")
                if name == "of a sudo":
                    self.record(OLD[:-1] + "2", service="sudo", logind_session=None, leader=None)
                words = {"of a sudo": [OLD[:-1] + "2"], "not in a session": []}.get(name, [OLD])
                done = world.ctl("session", "renew", *words)
                self.assertEqual((done.code, message in done.err), (code, True), done.err)
        self.assertNotIn("sign-in request", "\n".join(phone.lines))


if __name__ == "__main__":
    unittest.main()
