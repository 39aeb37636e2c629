"""`iampassctl user import` and `user export`: nothing is taken of a file that is damaged, and users whom the system does not
know do not hold up the others."""

import json
import os
import subprocess
import unittest

from control import CONFIG, DATA, NO_USER, UNAVAILABLE, USAGE
from Support.Service.world import PATIENCE, program, read
from user_case import UserCase, open_world


def setUpModule():
    open_world()


class ImportAndExport(UserCase):
    def test_an_export_comes_back_by_import(self):
        self.user("add", "daemon", "bin")
        before = self.world.users()
        path = self.world.path("exported")
        self.assertEqual(self.user("export", path).out, f"2 users exported to {path}\n")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.world.write("users", "")
        self.assertEqual(self.user("import", path).out, "2 users imported\n")
        self.assertEqual(self.world.users(), before)

    def test_an_export_to_a_pipe_is_the_lines(self):
        self.world.write("users", "daemon:tok\n")
        self.assertEqual(self.user("export").out, "daemon:tok\n")

    def test_an_export_to_a_terminal_is_refused(self):
        self.world.write("users", "daemon:very-secret-token-here\n")
        child = self.world.terminal("user", "export")
        self.assertEqual(self.world.finish(child), USAGE)
        self.assertNotIn("very-secret", child.screen.getvalue())

    def refused(self, text, code, message, mode=0o600, *words):
        self.world.write("users", "games:keep\n")
        self.world.write("incoming", text, mode)
        done = self.user("import", self.world.path("incoming"), *words)
        self.assertEqual((done.code, self.world.users()), (code, {"games": "keep"}), done.text)
        self.assertIn(message, done.err)

    def test_what_cannot_be_taken_refuses_the_file(self):
        self.refused("daemon:t1\r\n", CONFIG, "incoming:1: not a line of text")
        self.refused("daemon:t1\nbroken line\n", CONFIG, "incoming:2: no usable token")
        self.refused("daemon:t1\ndaemon:t2\n", CONFIG, "incoming:2: user named twice")
        self.refused("daemon:a:b\n", CONFIG, "incoming:1: no usable token")
        self.refused("games:other\n", CONFIG, "games has another token already")
        self.refused("daemon:keep\n", DATA, "this token is games's")
        self.refused("daemon:t1\nbin:t1\n", DATA, "this token is daemon's")
        self.refused("daemon:t1\n", CONFIG, "readable by group or others", 0o644)

    def test_unknown_users_are_named_by_line_and_the_others_taken(self):
        self.world.write("incoming", "# from the first computer\nno-such-user:t1\ndaemon:t2\nnobody-else:t3\n")
        path = self.world.path("incoming")
        done = self.user("import", path)
        self.assertEqual((done.code, self.world.users()), (NO_USER, {"daemon": "t2"}), done.text)
        self.assertEqual(done.out, "1 user imported\n")
        self.assertEqual(done.err, (
            f"warning: {path}:2: user no-such-user is not known to this system\n"
            f"warning: {path}:4: user nobody-else is not known to this system\n"
            "iampassctl: 2 of 3 users not imported\n"
            "hint: add their accounts to this system and run it again, or take them all the same with --force\n"))
        self.assertEqual(self.user("import", "--force", path).code, 0)
        self.assertEqual(self.world.users(), {"daemon": "t2", "no-such-user": "t1", "nobody-else": "t3"})

    def test_a_damaged_line_refuses_the_known_users_too(self):
        self.refused("no-such-user:t1\ndaemon:t2\nbroken line\n", CONFIG, "incoming:3: no usable token")

    def test_a_file_of_unknown_users_alone_changes_nothing(self):
        self.refused("no-such-user:t1\n", NO_USER, "1 of 1 user not imported")

    def test_shared_tokens_are_taken_where_they_are_allowed_but_never_roots(self):
        self.world.configure(shared_tokens="allowed")
        self.addCleanup(self.world.configure, shared_tokens=None)
        self.refused("daemon:t1\nroot:t1\n", DATA, "this token is daemon's")
        self.world.write("users", "")
        self.world.write("incoming", "daemon:t1\nbin:t1\n")
        self.assertEqual(self.user("import", self.world.path("incoming")).code, 0)
        self.assertEqual(self.world.users(), {"daemon": "t1", "bin": "t1"})

    def test_the_same_again_changes_nothing(self):
        self.world.write("users", "daemon:t1\n")
        self.world.write("incoming", "daemon:t1\nbin:t2")
        self.assertEqual(self.user("import", self.world.path("incoming")).code, 0)
        self.assertEqual(read(self.world.path("users")), "daemon:t1\nbin:t2\n")
        self.assertEqual(self.user("import", self.world.path("incoming")).code, 0)
        self.assertEqual(read(self.world.path("users")), "daemon:t1\nbin:t2\n")

    def test_local_needs_no_service(self):
        self.world.configure(server="https://127.0.0.1:1")
        self.world.write("incoming", "daemon:t1\n")
        self.assertEqual(self.user("import", self.world.path("incoming")).code, UNAVAILABLE)
        self.assertEqual(self.world.users(), {})
        self.assertEqual(self.user("import", "--local", self.world.path("incoming")).code, 0)


class Names(UserCase):
    """What the service's console and audit call users: nothing rests on it."""

    def setUp(self):
        super().setUp()
        self.world.configure(signed_replies="required", signed_targets="required")
        self.addCleanup(self.world.configure, signed_replies=None, signed_targets=None)

    def told(self):
        """The names that the service has, by its numbers of the users."""
        done = subprocess.run(
            [program("iampass-server"), "audit", "--json-lines", "--data", self.world.path("data")],
            capture_output=True, text=True, timeout=PATIENCE, check=True)
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        return {entry["user"]: entry.get("user_name") for entry in entries if entry["event"] == "user added"}

    def new(self, before):
        """The names of users who are new at the service since."""
        return sorted(str(name) for user, name in self.told().items() if user not in before)

    def incoming(self, *entries):
        self.world.write("incoming", "".join(f"{user}:{token}\n" for user, token in entries))
        return self.world.path("incoming")

    def test_who_is_imported_or_added_is_called_by_the_unix_name(self):
        before = self.told()
        path = self.incoming(("daemon", "import-1"), ("bin", "import-2"))
        self.assertEqual(self.user("import", path).code, 0)
        self.assertEqual(self.user("add", "games").code, 0)
        self.assertEqual(self.new(before), ["bin", "daemon", "games"])

    def test_names_that_are_not_to_be_told_are_forgotten(self):
        before = self.told()
        path = self.incoming(("daemon", "import-3"), ("bin", "import-4"))
        self.assertEqual(self.user("import", "--no-names", path).code, 0)
        self.assertEqual(self.new(before), ["None", "None"])
        self.assertEqual(self.user("import", path).code, 0)
        self.assertEqual(self.new(before), ["bin", "daemon"])
        self.assertEqual(self.user("add", "--no-names", "daemon").code, 0)
        self.assertEqual(self.new(before), ["None", "bin"])

    def test_a_service_that_may_be_another_one_is_told_no_names(self):
        self.world.configure(signed_replies=None, signed_targets=None)
        before = self.told()
        self.assertEqual(self.user("import", self.incoming(("daemon", "import-5"))).code, 0)
        self.assertEqual(self.new(before), ["None"])

    def test_users_of_one_token_and_long_tokens_are_told_all_the_same(self):
        self.world.configure(shared_tokens="allowed")
        self.addCleanup(self.world.configure, shared_tokens=None)
        before = self.told()
        # Each has 512 bytes and is told twice: more than one request takes. The shared one is told first and last.
        entries = [(f"long{number}", f"{number}-".ljust(512, "x")) for number in range(90)]
        done = self.user("import", "--force", self.incoming(("daemon", "import-6"), *entries, ("bin", "import-6")))
        self.assertEqual((done.code, done.out), (0, "92 users imported\n"), done.text)
        self.assertEqual(self.new(before), sorted(["daemon", *(user for user, _ in entries)]))


if __name__ == "__main__":
    unittest.main()
