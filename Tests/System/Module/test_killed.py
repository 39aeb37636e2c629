"""FAULT H25: a program that is killed while the phone is asked, within a PAM conversation or outside of one.

sshd does that to its own PAM process as soon as the client has gone. Nobody is left who could withdraw the request, which
must not hold back the user's next one.
"""

import contextlib
import glob
import json
import os
import stat
import subprocess
import time
import unittest

from sign_in_case import SignInCase, world_with_codes
from Support.Service.ends import given_up
from Support.Service.world import AUTH_ERR, ABORT, MAXTRIES, PAM_CALL, PATIENCE, PYTHON, SUCCESS, program, run

#: What is said of a request that holds another one back.
WAITS = "another request of yours"
OTHER_HOST, HOST = "192.0.2.8", "192.0.2.9"
#: How the programs ask. sshd holds information back, so that its code stands in a prompt.
PROGRAMS = {
    "sshd": {"own": False, "items": {"rhost": HOST, "tty": "ssh"}},
    "sudo": {"own": True},
    "su": {"own": False, "items": {"tty": "pts/9", "ruser": "bin"}},
    "login": {"own": False, "items": {"tty": "tty1"}},
}


def setUpModule():
    global world
    SignInCase.world = world = world_with_codes()


class Case(SignInCase):
    def setUp(self):
        super().setUp()
        world.configure(send_context="yes")
        for service in PROGRAMS:
            world.pam(service, "prompt=push timeout=30s")
        for path in self.notes():
            os.unlink(path)

    def notes(self):
        return glob.glob(world.path("run", "requests", "*", "*"))

    @contextlib.contextmanager
    def asking(self, service, **more):
        """A program that shows a code and is killed at the end: by its process's number, so that nothing else is."""
        scene = {**PROGRAMS[service], "answers": [{"file": world.path("never")}], **more}
        host = subprocess.Popen(
            [PYTHON, PAM_CALL], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        try:
            json.dump(world.scene(service, **scene), host.stdin)
            host.stdin.close()
            yield world.code_on_the_screen()
            self.assertIsNone(host.poll(), "it has ended by itself")
        finally:
            host.kill()
            host.wait(PATIENCE)

    def kill_one_that_asks(self, service, **more):
        with self.asking(service, **more):
            [note] = self.notes()
            for path, mode in ((note, 0o600), (os.path.dirname(note), 0o700)):
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), mode, path)
        self.assertEqual(self.notes(), [note])

    def approve(self, code):
        run(program("iampass-phone"), "watch", "--state", world.path("phone.json"), "--answer", "approve", "--once",
            "--code", code)  # fmt: skip

    def sign_in(self, service, **more):
        """One that the phone approves."""
        with world.playing(service, **{**PROGRAMS[service], "answers": [""], **more}) as results:
            self.approve(world.code_on_the_screen())
        [result] = results
        self.assertEqual(result["codes"][:1], [SUCCESS], result["texts"])
        return result


class Killed(Case):
    def test_the_next_sign_in_is_not_held_back(self):
        for service in PROGRAMS:
            with self.subTest(service=service):
                self.kill_one_that_asks(service)
                result = self.sign_in(service)
                self.assertNotIn(WAITS, " ".join(result["texts"]))
                self.assertRegex("\n".join(result["log"]), "withdrew user=daemon session=[0-9a-f]{32}: its sign-in was killed")
                self.assertEqual(self.notes(), [])
                world.forget_attempts()

    def test_it_is_withdrawn_from_the_phone(self):
        self.kill_one_that_asks("sshd")
        self.sign_in("sshd", items={"rhost": OTHER_HOST, "tty": "ssh"})
        phone = self.phone("ignore")
        time.sleep(1)
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_one_that_waits_its_turn_goes_on_once_the_other_is_killed(self):
        waiting = world.playing("sshd", **PROGRAMS["sshd"], answers=[""])
        with contextlib.ExitStack() as stack:
            with self.asking("sshd"):
                results = stack.enter_context(waiting)
                world.wait_for_text(WAITS)
            self.approve(world.code_on_the_screen())
        self.assertEqual(results[0]["codes"], [SUCCESS], results[0]["texts"])
        self.assertEqual(self.notes(), [])

    def test_a_service_that_is_away_leaves_it_to_a_later_sign_in(self):
        self.kill_one_that_asks("sshd")
        [note] = self.notes()
        world.server.stop()
        try:
            world.play("sshd", **PROGRAMS["sshd"])
            self.assertEqual(self.notes(), [note])
        finally:
            world.restart_server()
        # The connection's, which is this process in all scenes.
        world.forget_attempts()
        self.sign_in("sshd")
        self.assertEqual(self.notes(), [])


class LeftAlone(Case):
    def test_a_request_that_is_asked_is_not_withdrawn(self):
        with world.playing("sshd", **PROGRAMS["sshd"], answers=[{"file": world.path("enter")}]) as results:
            code = world.code_on_the_screen()
            [note] = self.notes()
            self.sign_in("sshd", items={"rhost": OTHER_HOST, "tty": "ssh"})
            self.assertEqual(self.notes(), [note])
            self.approve(code)
            world.answer("enter")
        self.assertEqual(results[0]["codes"], [SUCCESS], results[0]["texts"])
        self.assertEqual(self.notes(), [])

    def test_an_approved_session_is_not_ended_by_the_next_sign_in(self):
        """Not even if its program has ended without a word."""
        before = {session["session"] for session in world.phone_status()["sessions"]}
        self.sign_in("sshd", calls=["in_child:authenticate"], leave_open=True)
        self.assertEqual(self.notes(), [])
        approved = {session["session"] for session in world.phone_status()["sessions"]} - before
        self.assertEqual(len(approved), 1)
        self.sign_in("sshd")
        self.assertLessEqual(approved, {session["session"] for session in world.phone_status()["sessions"]})

    def test_every_other_ending_leaves_no_note(self):
        world.pam("sudo", "prompt=push timeout=5s")
        for code, answer, waited, scene in (
            (MAXTRIES, "deny", 0, {}), (AUTH_ERR, "ignore", 5, {}),
            (ABORT, "ignore", 1, {"interrupt_after": 1, "handle_interrupts": True}),
        ):  # fmt: skip
            with self.subTest(code=code):
                phone = self.phone(answer)
                result = world.play(**scene)
                self.assertEqual(result["codes"], [code])
                phone.stop()
                # A cancellation that a busy machine gave up is left to the next sign-in.
                self.assertLessEqual(len(self.notes()), given_up(result, waited))

    def test_a_run_folder_that_takes_no_note_does_not_refuse(self):
        os.makedirs(world.path("run"), 0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.rename(world.path("run", "requests"), world.path("requests-before"))
        world.write("run/requests", "no folder")
        try:
            self.sign_in("sshd")
        finally:
            os.unlink(world.path("run", "requests"))

    def test_a_damaged_note_ends_nothing_and_goes(self):
        # Its request stays open for its time, and would hold back others from there.
        self.kill_one_that_asks("sshd", items={"rhost": "192.0.2.7", "tty": "ssh"})
        [note] = self.notes()
        os.truncate(note, 10)
        self.sign_in("sshd")
        self.assertEqual(self.notes(), [])


if __name__ == "__main__":
    unittest.main()
