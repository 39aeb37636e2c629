"""What `iampass-phone` shows of a sign-in request."""

import hashlib
import re
import unittest

from server import ServerWorld


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    world.enroll_alice()


class Request(unittest.TestCase):
    def test_the_six_pairs_have_labels_and_all_others_their_names_in_quotes(self):
        own = {"service": "sudo", "user": "alice", "tty": "pts/1", "remote_host": "192.0.2.7"}
        further = {"from": "10.1.1.1", "Host": "db-server", "time left": "1 h", "held back": "0"}
        lines = world.denied("web-1", {**own, **further})
        shown = lines[lines.index("transaction") + 1 : lines.index("denied")]
        rows = [(row[2:16].strip(), row[16:]) for row in shown]
        self.assertEqual(
            rows[:-1],
            [("application", "office"), ("host", "web-1"), ("service", "sudo"), ("user", "alice"), ("terminal", "pts/1"),
             ("from", "192.0.2.7"), ("“Host”", "db-server"), ("“from”", "10.1.1.1"), ("“held back”", "0"),
             ("“time left”", "1 h")])
        self.assertEqual(rows[-1][0], "time left")

    def test_a_request_of_the_six_pairs_alone_is_a_sign_in(self):
        self.assertIn("sign-in request", world.denied("web-2", {"service": "sudo"}))

    def test_what_would_not_be_seen_is_named(self):
        command = "sh -c 'apt upgrade" + " " * 190 + "; curl x|sh'"
        lines = world.denied("web-3", {"command": command, "user": "ali\u00adce\u202e\x9b"})
        self.assertIn("  command       sh -c 'apt upgrade‹190 spaces›; curl x|sh'", lines)
        self.assertIn("  user          ali‹U+00AD›ce‹U+202E›‹U+009B›", lines)

    def test_of_a_long_command_both_ends_are_shown(self):
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


if __name__ == "__main__":
    unittest.main()
