"""What the module knows of secrets stays neither in its host's memory nor in a dump of it."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from Support.Service.memory import search
from Support.Service.never import assert_hidden, assert_none_found
from Support.Service.world import AUTHINFO_UNAVAIL, AUTH_ERR, ENROLLED, MAXTRIES, PAM_CALL, SESSION_ERR, SUCCESS, World, read

from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import HostileService
from Support.HostileService.relay import Relay

TOKEN = "canary-token-of-the-user-0123456789"
# By name, since a failure must not print one.
SECRETS = {
    "application secret": "Canary-application-0123x", "token of the user": TOKEN,
    "token of the session": "canary-token-of-the-session-0123456789", "secret of the session": "Canary-session-secret-0x",
}  # fmt: skip
START = f"/authentication/authenticate_user/application/{TOKEN}"
# Seconds; longer than anything here takes.
LONGEST = 60
# Looks at a host that waits, and seconds between two of them. It wakes every 0.1 s to see whether a signal has come.
LOOKS, STEP = 4, 0.01


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


def processor_time(pid):
    """What a process that is asleep has used, in ns; None for one that runs or would run."""
    state = read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0]
    return read(f"/proc/{pid}/schedstat").split()[0] if state == "S" else None


def rests(pid):
    """Whether a process sleeps, and has done so between the looks. A host that has sent a request may be stopped before
    it has let go of it, and the service has the request by then."""
    looks = {processor_time(pid)}
    for _ in range(1, LOOKS):
        time.sleep(STEP)
        looks.add(processor_time(pid))
    return None not in looks and len(looks) == 1


def started(secrets=SECRETS):
    status = {
        "authenticated": True, "session_status": "pending", "reason": None, "status_url": "/s", "logout_url": "/l",
        "session_token": secrets["token of the session"], "session_secret": secrets["secret of the session"],
    }  # fmt: skip
    return reply(202, json.dumps({"authentication_status": status}).encode())


def said(word, headers=()):
    return reply(200, json.dumps({"session_status": word, "authenticated": word == "active"}).encode(), headers)


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
        # Hosts that a test has killed leave theirs.
        shutil.rmtree(world.path("run", "requests"), ignore_errors=True)

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
        return sum(request.path.split("?")[0] == path for request in list(self.service.requests))


class Memory(Case):
    def test_after_the_handle_is_closed_no_secret_is_left_in_memory(self):
        for word, code in (("active", SUCCESS), ("cancelled", MAXTRIES), ("failed", AUTH_ERR)):
            with self.subTest(word=word):
                world.forget_attempts()
                self.service.behaviour["/s"] = said(word)
                result, found = self.after(calls=["authenticate", "open_session", "close_session"])
                self.assertEqual(result["codes"][0], code)
                assert_none_found(found)

    def test_an_invalid_start_leaves_no_secret_in_memory(self):
        body = json.dumps({"authentication_status": {"authenticated": True, **{
            name.replace(" of the ", "_"): value for name, value in SECRETS.items()}}})
        for sent in (body, body + "x", body[:-1], body.replace("}}", ', "status_url":"//evil"}}')):
            with self.subTest(tail=sent[-20:]):
                world.forget_attempts()
                self.service.behaviour[START] = reply(202, sent.encode())
                result, found = self.after()
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                assert_none_found(found)

    def test_a_session_that_cannot_be_watched_leaves_no_secret_in_memory(self):
        result, found = self.after(service="login", calls=["authenticate", "open_session"])
        self.assertEqual(result["codes"], [SUCCESS, SESSION_ERR])
        assert_none_found(found)


class Dumps(Case):
    """A dump of the host between two questions. A `Secret` must be there, so that its absence elsewhere says something."""

    #: The question that the host has asked, and how often, when the dump is made.
    question, times = "/s", 2
    kept = "secret of the session"

    def setUp(self):
        super().setUp()
        # With this header the host waits for two seconds each time.
        self.service.behaviour["/s"] = said("pending", [("Preference-Applied", "wait=20")])

    def approve(self):
        self.service.behaviour["/s"] = said("active")

    def waiting(self, **scene):
        return world.playing(pid_file=world.path("pid"), **scene)

    def pid_once_it_waits(self):
        before = self.asked(self.question)
        until(lambda: self.asked(self.question) >= before + self.times)
        pid = int(read(world.path("pid")))
        until(lambda: rests(pid))
        return pid

    def test_what_a_dump_of_a_waiting_host_would_hold_has_no_secret(self):
        with self.waiting() as results:
            try:
                found = search(self.pid_once_it_waits(), SECRETS)
            finally:
                self.approve()
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertIn(self.kept, [one.name for one in found if one.is_left_out])
        assert_none_found([one for one in found if not one.is_left_out])

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
            assert_none_found([name for name, secret in SECRETS.items() if secret.encode() in dump])

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
                self.approve()
        self.assertRegex(limits, r"Max core file size\s+0\s+0\s")
        self.assertEqual((owner, user != 0), (0, True))
        self.assertNotIn("application secret", names)


class HeldDumps(Dumps):
    """The same while the service holds its reply, as it does most of the time."""

    times = 1

    def setUp(self):
        super().setUp()
        self.answers = threading.Event()
        self.addCleanup(self.answers.set)
        answer = {START: started(), "/s": said("active")}[self.question]
        self.service.behaviour[self.question] = lambda *words: self.answers.wait(LONGEST) and answer(*words)

    def approve(self):
        if self.question != "/s":
            super().approve()
        self.answers.set()


class HeldStartDumps(HeldDumps):
    """And while it is slow to begin the sign-in: the user's token stands in the address of this question."""

    question, kept = START, "token of the user"


class DumpsAfterAKilledOne(HeldDumps):
    """And of a request that another sign-in has left as it was killed: this one has read its note and withdrawn it."""

    DEAD = {
        "token of the session": "canary-token-of-a-dead-session-0123456", "secret of the session": "Canary-dead-secret-0123x",
    }  # fmt: skip

    def setUp(self):
        super().setUp()
        self.service.behaviour[START] = started(self.DEAD)
        host = subprocess.Popen(
            ["/usr/bin/python3", PAM_CALL], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        host.stdin.write(json.dumps(world.scene()).encode())
        host.stdin.close()
        until(lambda: self.asked(self.question))
        host.kill()
        host.wait(LONGEST)
        note, = pathlib.Path(world.path("run", "requests")).glob("*/*")
        # What is searched for below stands in the note, and it alone has it.
        for name, secret in self.DEAD.items():
            self.assertIn(secret.encode(), note.read_bytes(), name)
        self.service.behaviour[START] = started()

    def test_what_it_withdrew_is_nowhere_in_its_memory(self):
        with self.waiting():
            try:
                found = search(self.pid_once_it_waits(), self.DEAD)
                withdrawn = self.asked("/l")
            finally:
                self.approve()
        self.assertEqual(withdrawn, 1)
        assert_none_found(found)


class WatchedRelay(Relay):
    """Tells which question the service has not answered yet."""

    open_question = None

    def carry(self, stream, request):
        self.open_question = request.path
        super().carry(stream, request)
        self.open_question = None


class RealService(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.world.serve()
        self.world.register_phone()
        self.relay = WatchedRelay(self.world).start()
        self.addCleanup(self.relay.stop)
        self.world.configure(server=self.relay.url, ca_file=self.relay.ca_file)
        self.world.pam("sudo", "prompt=push timeout=60s")

    def secrets(self):
        """By name, with those of the session that the service has begun."""
        begun, = (json.loads(answer)["authentication_status"] for path, _, answer in self.relay.carried
                  if path.startswith("/authentication/authenticate_user/"))  # fmt: skip
        application, user = self.world.secrets()
        return begun["status_url"].removeprefix(self.relay.url), {
            "application secret": application, "token of the user": user,
            "token of the session": begun["session_token"], "secret of the session": begun["session_secret"],
        }  # fmt: skip

    def test_a_dump_of_a_host_has_no_secret_while_the_service_holds_its_reply(self):
        with self.world.playing(pid_file=self.world.path("pid")) as results:
            try:
                until(lambda: (self.relay.open_question or "").startswith("/authentication/session_status/"))
                pid = int(read(self.world.path("pid")))
                until(lambda: rests(pid))
                question, secrets = self.secrets()
                found = search(pid, secrets)
                held = self.relay.open_question
            finally:
                phone = self.world.phone("approve")
        phone.stop()
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertEqual(held, question)
        self.assertEqual({one.name for one in found if one.is_left_out}, set(secrets))
        assert_none_found([one for one in found if not one.is_left_out])


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
            assert_hidden(secret.encode(), shown + readable, name)


if __name__ == "__main__":
    unittest.main()
