"""What `iampass-phone` shows of a sign-in request, and how it ends sessions and itself."""

import hashlib
import json
import os
import re
import subprocess
import unittest

from Support.Service.server import DATA, USAGE, ServerWorld
from Support.Service.world import PATIENCE, program

REFUSED = 77  # sysexits.h: EX_NOPERM


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    world.enroll_alice()


class Request(unittest.TestCase):
    def test_the_seven_pairs_have_labels_and_all_others_their_names_in_quotes(self):
        own = {"service": "sudo", "user": "alice", "asked_by": "mallory", "tty": "pts/1", "remote_host": "192.0.2.7"}
        further = {"from": "10.1.1.1", "Host": "db-server", "time left": "1 h", "held back": "0"}
        lines = world.denied("web-1", {**own, **further})
        shown = lines[lines.index("transaction") + 1 : lines.index("denied")]
        rows = [(row[2:16].strip(), row[16:]) for row in shown]
        self.assertEqual(
            rows[:-2],
            [("application", "office"), ("host", "web-1"), ("service", "sudo"), ("user", "alice"), ("asked by", "mallory"),
             ("terminal", "pts/1"),
             ("from", "192.0.2.7"), ("“Host”", "db-server"), ("“from”", "10.1.1.1"), ("“held back”", "0"),
             ("“time left”", "1 h")])
        self.assertEqual([name for name, _ in rows[-2:]], ["session", "time left"])

    def test_a_request_of_the_seven_pairs_alone_is_a_sign_in(self):
        self.assertIn("sign-in request", world.denied("web-2", {"service": "sudo", "asked_by": "mallory"}))

    def test_a_request_without_digits_says_why(self):
        locker = {"service": "swaylock", "user": "alice", "match_code": "none: the program shows no text"}
        lines = world.denied("web-6", locker)
        self.assertIn("sign-in request", lines)
        self.assertIn("  code          none: the program shows no text", lines)

    def test_nobody_elses_request_goes_without_digits(self):
        path = f"/authentication/authenticate_user/{world.application['application_id']}/alice"
        locker = {"host": "web-6", "service": "swaylock", "user": "alice"}
        without = {"match_code": "none: the program shows no text"}
        for context in ({**locker, **without, "remote_host": "192.0.2.7"}, {**locker, **without, "asked_by": "mallory"},
                        {**without, "host": "web-6"}, {**locker, "match_code": "47"}):  # fmt: skip
            code, _, reply = world.ask("POST", path, {"context": context})
            self.assertEqual((code, reply["reason"]), (400, "BAD_REQUEST"), context)

    def test_what_would_not_be_seen_is_named(self):
        command = "sh -c 'apt upgrade" + " " * 190 + "; curl x|sh'"
        lines = world.denied("web-3", {"command": command, "user": "ali\u00adce\u202e\x9b"})
        self.assertIn("  command       sh -c 'apt upgrade‹190 spaces›; curl x|sh'", lines)
        self.assertIn("  user          ali‹U+00AD›ce‹U+202E›‹U+009B›", lines)

    def test_both_ends_of_a_long_command_are_shown(self):
        command = "begin " + "x" * 2000 + " end"
        lines = world.denied("web-4", {"command": command})
        digest = hashlib.sha256(command.encode()).hexdigest()
        for name, shown in (("beginning", command[:500]), ("end", command[-500:]), ("length", "2010"), ("SHA-256", digest)):
            self.assertTrue(any(re.fullmatch(f"  command’s {name} +{shown}", line) for line in lines), name)
        self.assertIn("  left out      the middle of the command, which is too long", lines)

    def test_a_name_that_ends_in_a_space_is_not_asked_with(self):
        path = f"/authentication/authenticate_user/{world.application['application_id']}/alice"
        code, _, reply = world.ask("POST", path, {"context": {"host": "web-1", "host ": "db-server"}})
        self.assertEqual((code, reply["reason"]), (400, "BAD_REQUEST"))


class Ending(unittest.TestCase):
    """Each test has a user and a phone of its own."""

    def setUp(self):
        self.user = self.id().rpartition("_")[2]
        self.state = self.user + ".json"
        self.register()

    def link(self):
        world.add_users(self.user)
        path = f"/management/device_registration_link/{world.application['application_id']}/{self.user}?display_name=U"
        return world.signed("GET", path)["register_url"]

    def register(self):
        world.phone_registered(self.link(), self.state)

    def phone(self, *words):
        return subprocess.run(
            [program("iampass-phone"), *words, "--state", world.path(self.state)], capture_output=True, text=True,
            timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def assert_done(self, done, line):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, line + "\n", ""))

    def assert_refused(self, done, status, message):
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertRegex(done.stderr, message)

    def sessions(self):
        done = self.phone("status", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [each["session"] for each in json.loads(done.stdout)["sessions"]]

    def approved(self, host):
        path = f"/authentication/authenticate_user/{world.application['application_id']}/{self.user}"
        session = world.signed("POST", path, {"context": {"host": host}})["authentication_status"]
        done = self.phone("watch", "--answer", "approve", "--once")
        self.assertEqual(done.returncode, 0, done.stderr)
        world.becomes(session, "active")
        return session

    def test_a_named_session_ends_and_the_other_goes_on_1(self):
        first, second = self.approved("web-1"), self.approved("web-2")
        self.assert_done(self.phone("end", self.sessions()[0]), "ended: 1 session")
        self.assertEqual(sorted((world.status(first), world.status(second))), ["active", "closed"])

    def test_all_sessions_end_2(self):
        sessions = [self.approved("web-1"), self.approved("web-2")]
        self.assert_done(self.phone("end", "--all"), "ended: 2 sessions")
        self.assertEqual([world.status(each) for each in sessions], ["closed", "closed"])
        self.assert_done(self.phone("end", "--all"), "ended: 0 sessions")

    def test_one_unknown_session_ends_none_3(self):
        session = self.approved("web-1")
        done = self.phone("end", self.sessions()[0], "0" * 32)
        self.assert_refused(done, DATA, "does not know one of these sessions: no session was ended\nhint: ")
        self.assertEqual(world.status(session), "active")

    def test_end_wants_names_or_all_4(self):
        for words in ((), ("--all", "one")):
            self.assert_refused(self.phone("end", *words), USAGE, "name sessions, or give --all")

    def test_an_unregistered_phone_is_gone_and_its_sessions_go_on_5(self):
        session = self.approved("web-1")
        self.assert_done(self.phone("unregister"), "unregistered: this phone approves nothing any more")
        self.assertFalse(os.path.exists(world.path(self.state)))
        self.assertEqual(world.status(session), "active")
        path = f"/management/has_registered_mobile_device/{world.application['application_id']}/{self.user}"
        self.assertIs(world.signed("GET", path)["device_registered"], False)
        # With a new link the user has a phone again, which shows the session.
        self.register()
        self.assertEqual(len(self.sessions()), 1)

    def test_a_phone_that_the_service_cut_off_can_unregister_6(self):
        path = f"/management/lost_user_mobile_device/{world.application['application_id']}/{self.user}"
        world.signed("GET", path)
        self.assert_refused(self.phone("status"), REFUSED, "no longer registered")
        self.assert_done(self.phone("unregister"), "unregistered: this phone approves nothing any more")
        self.assertFalse(os.path.exists(world.path(self.state)))


if __name__ == "__main__":
    unittest.main()
