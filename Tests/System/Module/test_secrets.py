"""What the module knows of secrets stays neither in its host's memory nor in a dump of it."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from memory import search
from world import AUTHINFO_UNAVAIL, AUTH_ERR, ENROLLED, MAXTRIES, PAM_CALL, SESSION_ERR, SUCCESS, World, read

from hostile_replies import reply
from hostile_service import HostileService

TOKEN = "canary-token-of-the-user-0123456789"
# By name, since a failure must not print one.
SECRETS = {
    "application secret": "Canary-application-0123x", "token of the user": TOKEN,
    "token of the session": "canary-token-of-the-session-0123456789", "secret of the session": "Canary-session-secret-0x",
}  # fmt: skip
START = f"/authentication/authenticate_user/application/{TOKEN}"
# Seconds; longer than anything here takes.
LONGEST = 60


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.write("credentials", f"application_id = application\napplication_secret = {SECRETS['application secret']}\n")
    world.write("users", f"{ENROLLED}:{TOKEN}\n")


def until(what, patience=LONGEST):
    """What the check gives once it gives anything."""
    end = time.monotonic() + patience
    while not (found := what()):
        if time.monotonic() > end:
            raise AssertionError("waited in vain")
        time.sleep(0.05)
    return found


def started():
    status = {
        "authenticated": True, "session_status": "pending", "reason": None, "status_url": "/s", "logout_url": "/l",
        "session_token": SECRETS["token of the session"], "session_secret": SECRETS["secret of the session"],
    }  # fmt: skip
    return reply(202, json.dumps({"authentication_status": status}).encode())


def said(word):
    return reply(200, json.dumps({"session_status": word, "authenticated": word == "active"}).encode())


class Case(unittest.TestCase):
    def setUp(self):
        self.service = HostileService()
        self.service.start()
        self.addCleanup(self.service.stop)
        self.service.behaviour = {START: started(), "/s": said("active"), "/l": reply(200, b'{"status":true}')}
        world.write("ca.pem", read(self.service.ca_file), 0o644)
        world.settings = {"server": self.service.url, "ca_file": world.path("ca.pem")}
        world.configure()
        world.pam("sudo", "prompt=push timeout=60s")
        world.pam("login", "prompt=push timeout=60s")
        world.forget_attempts()

    def after(self, **scene):
        """The result of a scene, and what its host's memory has when all calls are over."""
        linger, pid_file = world.path("linger"), world.path("pid")
        with world.playing(linger=linger, pid_file=pid_file, **scene) as results:
            until(lambda: os.path.exists(linger))
            try:
                found = search(int(read(pid_file)), SECRETS)
            finally:
                os.unlink(linger)
        return results[0], found

    def asked(self, path):
        return sum(request.path == path for request in list(self.service.requests))


class Memory(Case):
    def test_after_the_handle_is_closed_no_secret_is_left_in_memory(self):
        for word, code in (("active", SUCCESS), ("cancelled", MAXTRIES), ("failed", AUTH_ERR)):
            with self.subTest(word=word):
                world.forget_attempts()
                self.service.behaviour["/s"] = said(word)
                result, found = self.after(calls=["authenticate", "open_session", "close_session"])
                self.assertEqual(result["codes"][0], code)
                self.assertEqual(found, [])

    def test_an_invalid_start_leaves_no_secret_in_memory(self):
        body = json.dumps({"authentication_status": {"authenticated": True, **{
            name.replace(" of the ", "_"): value for name, value in SECRETS.items()}}})
        for sent in (body, body + "x", body[:-1], body.replace("}}", ', "status_url":"//evil"}}')):
            with self.subTest(tail=sent[-20:]):
                world.forget_attempts()
                self.service.behaviour[START] = reply(202, sent.encode())
                result, found = self.after()
                self.assertEqual((result["codes"], found), ([AUTHINFO_UNAVAIL], []))

    def test_a_session_that_cannot_be_watched_leaves_no_secret_in_memory(self):
        result, found = self.after(service="login", calls=["authenticate", "open_session"])
        self.assertEqual(result["codes"], [SUCCESS, SESSION_ERR])
        self.assertEqual(found, [])


class Dumps(Case):
    """A dump of the host while a sign-in waits. `Secret` must be there, so that its absence elsewhere says something."""

    def setUp(self):
        super().setUp()
        self.service.behaviour["/s"] = said("pending")

    def waiting(self, **scene):
        return world.playing(pid_file=world.path("pid"), **scene)

    def pid_once_it_waits(self):
        before = self.asked("/s")
        until(lambda: self.asked("/s") > before + 1)
        return int(read(world.path("pid")))

    def test_what_a_dump_of_a_waiting_host_would_hold_has_no_secret(self):
        with self.waiting() as results:
            try:
                found = search(self.pid_once_it_waits(), SECRETS)
            finally:
                self.service.behaviour["/s"] = said("active")
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertIn("secret of the session", [one.name for one in found if one.is_left_out])
        self.assertEqual([one for one in found if not one.is_left_out], [])

    def test_the_kernels_own_dump_of_a_waiting_host_has_no_secret(self):
        place = read("/proc/sys/kernel/core_pattern").strip()
        with tempfile.TemporaryDirectory() as folder:
            host = subprocess.Popen(
                ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh", "/usr/bin/python3", PAM_CALL],
                cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            host.stdin.write(json.dumps(world.scene(pid_file=world.path("pid"))).encode())
            host.stdin.close()
            pid = self.pid_once_it_waits()
            os.kill(pid, signal.SIGABRT)
            self.assertEqual(host.wait(LONGEST), -signal.SIGABRT)
            dumps = [pathlib.Path(folder, name).read_bytes() for name in os.listdir(folder)]
        # If dumps go to a program or elsewhere, this test does not look for them. The test above shows their content.
        self.assertEqual(len(dumps), 1 if place and not place.startswith(("|", "/")) else 0)
        for dump in dumps:
            # The scene, in the memory of Python, shows that memory is in it.
            self.assertIn(b"pam_call.py", dump)
            self.assertEqual([name for name, secret in SECRETS.items() if secret.encode() in dump], [])

    def test_the_worker_of_a_waiting_host_can_not_be_dumped(self):
        with self.waiting():
            pid = self.pid_once_it_waits()
            try:
                worker, = read(f"/proc/{pid}/task/{pid}/children").split()
                limits = read(f"/proc/{worker}/limits")
                # Another user's process with files that root owns: the kernel makes no dumps of it (proc(5)).
                owner, user = os.stat(f"/proc/{worker}/environ").st_uid, os.stat(f"/proc/{worker}").st_uid
                names = {found.name for found in search(int(worker), SECRETS)}
            finally:
                self.service.behaviour["/s"] = said("active")
        self.assertRegex(limits, r"Max core file size\s+0\s+0\s")
        self.assertEqual((owner, user != 0), (0, True))
        self.assertNotIn("application secret", names)


class Shown(Case):
    def test_no_argument_variable_or_file_of_others_shows_a_secret(self):
        self.service.behaviour["/s"] = said("pending")
        with world.playing(pid_file=world.path("pid")):
            try:
                until(lambda: self.asked("/s") > 1)
                pid = int(read(world.path("pid")))
                processes = [pid, *map(int, read(f"/proc/{pid}/task/{pid}/children").split())]
                shown = b"".join(
                    pathlib.Path(f"/proc/{one}/{name}").read_bytes() for one in processes for name in ("cmdline", "environ"))
                kept = [path for path in pathlib.Path(world.folder).rglob("*") if path.is_file()]
                readable = b"".join(path.read_bytes() for path in kept if path.stat().st_mode & 0o077)
            finally:
                self.service.behaviour["/s"] = said("active")
        self.assertIn(b"iampass-https", shown)
        for name, secret in SECRETS.items():
            self.assertNotIn(secret.encode(), shown + readable, name)


if __name__ == "__main__":
    unittest.main()
