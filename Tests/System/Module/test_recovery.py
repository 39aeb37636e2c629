"""Recovery codes: what signs in if the phone cannot be asked, through libpam, with the real service or without it."""

import concurrent.futures
import glob
import hashlib
import json
import os
import pwd
import subprocess
import time
import unittest

from broker_case import SESSION
from recovery_case import NOT_TAKEN, NOWHERE, OFFER, TRIED, WRONG, Recovery, left, open_world
from Support.Service.world import AUTHINFO_UNAVAIL, AUTH_ERR, ENROLLED, MAXTRIES, SUCCESS, program, read, run


def setUpModule():
    global world
    world = open_world()


class Codes(Recovery):
    def test_a_code_signs_in_once(self):
        self.assertEqual(len(set(self.codes)), 10)
        result = world.play(answers=[self.codes[0].upper()])
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertEqual(result["texts"], [OFFER, "IAMPASS: signed in by a recovery code; 9 left"])
        self.assertRegex(result["log"][-1], "approved .*session=none by=recovery-code code=1 left=9$")
        self.assertEqual(left(), 9)
        result = world.play(answers=[self.codes[0], ""])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"][:3], [OFFER, NOT_TAKEN, OFFER])
        self.assertIn("not reachable", result["texts"][-1])

    def test_one_of_two_at_once_is_in(self):
        # Each would take the log's socket from the other.
        scene = {"answers": [self.codes[0], ""], "without_log": True}
        with concurrent.futures.ThreadPoolExecutor(2) as both:
            ended = list(both.map(lambda _: world.play(**scene)["codes"][0], range(2)))
        self.assertEqual(sorted(ended), [SUCCESS, AUTHINFO_UNAVAIL])

    def test_nobody_is_offered_what_the_service_does_not_take(self):
        for word in ("none", "sshd:recovery", "recovery sudo:none", None):
            with self.subTest(word=word):
                world.configure(methods_offline=word)
                result = world.play(answers=[self.codes[0]])
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                self.assertNotIn(OFFER, result["texts"])

    def test_a_password_goes_to_the_next_module(self):
        world.write("keep", f"#!/bin/sh\ncat > {world.path('typed')}\n", 0o700)
        lines = f"auth required MODULE\nauth optional pam_exec.so expose_authtok quiet {world.path('keep')}\n"
        world.pam("sudo", "timeout=20s", lines=lines)
        for answers in (["hunter2"], [WRONG[0], WRONG[0]]):
            with self.subTest(answers=answers):
                result = world.play(answers=answers)
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                self.assertEqual(read(world.path("typed")).strip("\0"), answers[-1])
                self.assertIn("password typed instead", result["log"][-1])

    def test_five_wrong_codes_end_it(self):
        result = world.play(answers=WRONG)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"], [OFFER, NOT_TAKEN] * 5 + ["IAMPASS: too many wrong codes. Use your password."])

    def test_a_source_has_ten_tries_an_hour(self):
        # Otherwise five wrong codes already count as too many requests.
        world.configure(max_requests="20")
        for _ in range(2):
            world.play(answers=WRONG)
        result = world.play(answers=[self.codes[0]])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertRegex(result["texts"][-1], TRIED)
        self.assertEqual(left(), 10)
        # Strangers' tries take nothing from the owner, nor the owner's from others.
        self.assertEqual(world.play(items={"ruser": "games"}, answers=[self.codes[0]])["codes"], [SUCCESS])

    def test_as_second_factor_a_code_stands_for_the_phone(self):
        world.pam("sudo", "timeout=20s", lines="auth optional pam_unix.so nodelay\nauth required MODULE\n")
        for typed, code in (("anything", AUTH_ERR), (self.codes[0], SUCCESS)):
            with self.subTest(typed=typed):
                result = world.play(items={"ruser": "games"}, answers=["first", "", typed])
                self.assertEqual(result["texts"][2], "Server not reachable. Recovery code, or Enter: ")
                self.assertEqual(result["codes"], [code])

    def test_an_open_outage_opens_only_where_no_code_was_typed(self):
        world.pam("sudo", "prompt=push timeout=20s fail=open")
        lines = "auth required MODULE\nauth required pam_permit.so\n"
        world.pam("sudo", "prompt=push timeout=20s fail=open", lines=lines)
        self.assertEqual(world.play(answers=[""])["codes"], [SUCCESS])
        self.assertEqual(world.play(answers=WRONG)["codes"], [AUTHINFO_UNAVAIL])


class Phones(Recovery):
    def test_a_denial_ends_the_attempt(self):
        world.configure(server=world.address)
        self.phone("deny")
        result = world.play(answers=[self.codes[0]])
        self.assertEqual(result["codes"], [MAXTRIES])
        self.assertFalse([text for text in result["texts"] if "Recovery" in text])

    def test_after_denials_no_code_is_asked_for(self):
        world.configure(server=world.address, max_requests="1")
        self.phone("deny")
        self.assertEqual(world.play()["codes"], [MAXTRIES])
        world.configure(server=NOWHERE, max_requests="1")
        result = world.play(answers=[self.codes[0]])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertFalse([text for text in result["texts"] if "Recovery" in text])
        self.assertEqual(left(), 10)

    def test_a_phone_that_does_not_answer_is_not_waited_for_in_vain(self):
        world.configure(server=world.address)
        world.pam("sudo", "prompt=push timeout=5s")
        result = world.play(answers=[self.codes[0]])
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertIn("Not answered. Recovery code, or password: ", result["texts"])
        # The request was taken back: it cannot be denied or approved any more.
        self.assert_no_session_is_left(result, waited=5)


class Reports(Recovery):
    """What the helper tells the service of codes that have served."""

    #: The helper finds no other sessions, and leaves nothing in this machine's /run.
    HELPER = ["unshare", "--mount", "--propagation", "private", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"]

    def start_helper(self):
        helper = world.start(
            *self.HELPER, program("iampass-helper"), "--config", world.path("iampass.conf"))
        self.addCleanup(helper.stop)
        return helper

    #: Codes of other tests are told, too.
    TTY = "pts/77"

    def await_use(self):
        end = time.monotonic() + 30
        while not (uses := [one for one in world.phone_status()["codes_used"] if one["context"].get("tty") == self.TTY]):
            self.assertLess(time.monotonic(), end, "the phone was not told in 30 s")
            time.sleep(0.1)
        return uses

    def audited(self):
        shown = run(program("iampass-server"), "audit", "--data", world.path("data"), "--json-lines")
        entries = map(json.loads, shown.splitlines())
        return [one for one in entries if one["event"] == "recovery code used" and one.get("tty") == self.TTY]

    def test_the_phone_and_the_audit_are_told_once_the_service_is_back(self):
        self.assertEqual(world.play(answers=[self.codes[0]], items={"tty": self.TTY})["codes"], [SUCCESS])
        self.assertEqual(self.audited(), [])
        world.configure(server=world.address)
        phone = self.phone("ignore")
        self.start_helper()
        (use,) = self.await_use()
        self.assertEqual((use["way"], use["left"], use["context"]["service"]), ("recovery", 9, "sudo"))
        (entry,) = self.audited()
        self.assertEqual((entry["account"], entry["service"]), (ENROLLED, "sudo"))
        self.assertRegex(entry["reason"], "^used [-0-9T:]+Z, 9 left$")
        phone.wait_for("signed in by a recovery code: sudo")


class Sessions(Recovery):
    def test_a_session_that_must_end_is_recorded_as_offline(self):
        world.configure(offline_session="2h")
        world.pam("login")
        result = world.play(service="login", own=False, items={"tty": "tty1"}, answers=[self.codes[0]], leave_open=True)
        self.assertEqual(result["codes"], [SUCCESS])
        records = glob.glob(world.path("run", "sessions", "*"))
        self.assertEqual(len(records), 1)
        record = json.loads(read(records[0]))
        self.assertEqual((record["offline"], record["duration"], record["status_url"]), (True, 7200, ""))
        listed = json.loads(run(program("iampassctl"), "session", "list", "--json", "--config", world.path("iampass.conf")))
        self.assertEqual([(one["offline"], one["watched"]) for one in listed], [(True, False)])
        os.unlink(records[0])

    def test_without_a_record_it_is_not_opened(self):
        world.pam("login")
        world.write("no-folder", "")
        world.configure(run_dir=world.path("no-folder", "run"))
        result = world.play(service="login", own=False, items={"tty": "tty1"}, answers=[self.codes[0]])
        self.assertNotEqual(result["codes"], [SUCCESS])


class Screens(Recovery):
    """A screen of GDM that the helper locked because the phone left."""

    #: pam_setcred(3): GDM renews the credentials of the session that is there.
    RENEWAL = "setcred:8"

    def setUp(self):
        super().setUp()
        uid = pwd.getpwnam(ENROLLED).pw_uid
        os.makedirs(world.path("logind"), exist_ok=True)
        world.write("logind/3", SESSION.format(uid=uid, remote=0, active=1))
        start = int(read("/proc/1/stat").rsplit(")", 1)[1].split()[19])
        name = hashlib.sha256(f"{uid} 3 1 {start}".encode()).hexdigest()[:32]
        for folder in ("run", "run/locked"):
            os.makedirs(world.path(folder), 0o700, exist_ok=True)
        self.note = world.path("run", "locked", name)
        world.write(f"run/locked/{name}", json.dumps({
            "version": 1, "uid": uid, "logind_session": "3", "leader": {"pid": 1, "start": str(start)}}))
        world.pam("gdm-password", "timeout=20s")

    def play(self, **scene):
        return world.play(
            "gdm-password", calls=["authenticate", self.RENEWAL], own=False, sessions=world.path("logind"), **scene)

    def settings(self, **more):
        world.configure(services="gdm-password", methods_offline="recovery", unlock="walkaway", **more)

    def test_a_code_leaves_the_note_that_the_phone_is_away(self):
        self.settings()
        result = self.play(answers=["", self.codes[0]])
        self.assertEqual(result["codes"], [SUCCESS, SUCCESS], result)
        self.assertTrue(os.path.exists(self.note))

    def test_an_approval_takes_it_away(self):
        self.settings(server=world.address)
        self.phone("approve")
        result = self.play(answers=[""])
        self.assertEqual(result["codes"], [SUCCESS, SUCCESS], result)
        self.assertFalse(os.path.exists(self.note))


class Faults(Recovery):
    def refused(self, words, **scene):
        result = world.play(answers=[self.codes[0]], **scene)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(
            result["texts"][-1], f"IAMPASS: recovery codes cannot be used: {words}. Use your password.")
        return result

    def test_a_full_disk_refuses(self):
        with self.state_on_a_disk("full", "recovery"):
            self.refused("the disk is full")

    def test_a_disk_that_cannot_be_written_refuses(self):
        with self.state_on_a_disk("ro", "recovery"):
            self.refused("the disk cannot be written")

    def test_a_copied_set_is_refused(self):
        other = json.loads(read(self.set_file()))
        other["computer"] = "0" * 64
        path = os.path.relpath(self.set_file(), world.folder)
        world.write(path, json.dumps(other))
        self.assertIn("was made for another computer", self.refused("they were made for another computer")["log"][-1])

    def test_hashes_of_another_scheme_are_refused(self):
        path = os.path.relpath(self.set_file(), world.folder)
        world.write(path, read(self.set_file()).replace("$y$j8T$", "$6$"))
        self.refused("their file is damaged")

    def test_a_set_that_others_could_have_written_is_refused(self):
        os.chmod(self.set_file(), 0o660)
        self.refused("a file has a fault")

    def test_without_libcrypt_nobody_is_in(self):
        world.write("no-library", "")
        place = next(iter(glob.glob("/lib/*/libcrypt.so.1")))
        self.refused("this computer cannot check them", files={place: world.path("no-library")})

    def test_the_use_is_on_the_disk_before_the_answer(self):
        """A power cut takes no use back: without the folder's fsync there is no success."""
        world.write("scene", json.dumps(world.scene(answers=[self.codes[0]])))
        with open(world.path("scene")) as scene:
            done = subprocess.run(
                ["strace", "-f", "-qq", "-o", world.path("trace"), "-e", "trace=fsync,link,linkat",
                 "-e", "inject=fsync:error=EIO:when=2+", "/usr/bin/python3", os.path.join(os.path.dirname(__file__),
                 "../../Support/Service/pam_call.py")],
                stdin=scene, capture_output=True, text=True, timeout=120)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["codes"], [AUTHINFO_UNAVAIL])
        self.assertRegex(read(world.path("trace")), r"(?s)fsync\(\d+\) += 0.*link.*= 0.*fsync\(\d+\) += -1 EIO.*INJECTED")
        # It is used up all the same.
        self.assertEqual(left(), 9)


if __name__ == "__main__":
    unittest.main()
