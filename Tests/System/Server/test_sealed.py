"""The service's own keys, sealed in its database by a key outside it."""

import json
import os
import shutil
import subprocess
import unittest

from sealed_case import SealedCase
from sealed_world import CLEAR
from Support.Service.never import assert_hidden
from Support.Service.server import CONFIG, DATA, IO, TEMPORARY, until
from Support.Service.world import PATIENCE, program


class Sealed(SealedCase):
    def test_files_and_copies_have_nothing_in_clear(self):
        world = self.world
        # A key that is replaced leaves its row's room behind.
        world.does("signing-key", "rotate", "--now")
        [kid] = [line.split()[0] for line in world.does("signing-key", "list").splitlines()]
        self.assertIn(CLEAR, self.files())
        said = world.seal_with_the_service()
        self.assertRegex(said, r"^sealed 4 secrets: the key is [0-9a-f]{16} in \S+\nkeep a copy of that file away ")
        self.assertEqual(os.stat(world.file).st_mode & 0o7777, 0o600)
        [line] = world.lines_of_keys()
        assert_hidden(line.split()[-1], said)
        world.does("backup", world.path("copy"))
        with open(world.path("copy"), "rb") as copy:
            for found in (self.files(), copy.read()):
                self.assertNotIn(CLEAR, found)
                self.assertNotIn(world.secret.encode(), found)
                self.assertNotIn(world.application["application_secret"].encode(), found)
                self.assertNotIn(line.split()[-1].encode(), found)
        self.assertIn("  secrets sealed  reason=", world.does("audit").splitlines()[-2])
        self.assertRegex(world.seal(), r"^everything was sealed before: ")
        self.assertEqual(world.does("audit").count("secrets sealed"), 1)
        # Anyone with the file has everything.
        os.mkdir(world.path("restored"), 0o700)
        shutil.copy(world.path("copy"), world.path("restored/iampass.sqlite"))
        world.where = ("--data", world.path("restored"))
        self.refused(CONFIG, "and no key was given", "database", "check")
        self.assertEqual(world.does("database", "check", "--seal-key-file", world.file), "no problem found\n")
        self.assertIn(kid, world.does("signing-key", "list", "--seal-key-file", world.file))

    def test_a_service_without_the_key_refuses_and_does_not_start_again(self):
        world = self.world
        self.assertEqual(world.published(), [world.kid])
        self.refused(
            TEMPORARY, "nothing was sealed: a server runs on this database without the key", "database", "seal",
            "--seal-key-file", world.file)  # fmt: skip
        self.assertEqual(world.published(), [world.kid])
        self.assertFalse(world.file_says_sealed())
        self.assertNotIn("secrets sealed", world.does("audit"))
        world.hide_servers()
        world.seal()
        # It tells keys from its memory for a second.
        until(lambda: world.published() == 503, "a refusal")
        world.server.wait_for("sealed by the key [0-9a-f]{16}, and no key was given")
        world.server.stop()
        self.refused(CONFIG, "and no key was given", *self.serve_words())
        world.start_server("--seal-key-file", world.file)
        self.assertEqual(world.published(), [world.kid])
        # It writes what it makes sealed, and so do commands.
        self.refused(CONFIG, "and no key was given", "signing-key", "rotate", "--now")
        world.does("signing-key", "rotate", "--now", "--seal-key-file", world.file)
        self.assertNotIn(CLEAR, self.files())
        # What needs no secret needs no key.
        world.does("application", "list")
        self.assertTrue(world.file_says_sealed())
        world.restart_server("--seal-key-file", world.file)
        unseal = ("database", "unseal", "--seal-key-file", world.file)
        self.refused(TEMPORARY, "nothing was unsealed: a server refuses a database that is not sealed", *unseal)
        self.assertNotIn(CLEAR, self.files())
        world.restart_server("--seal-key-file", world.file)
        self.assertEqual(world.does(*unseal), "stored 4 secrets in clear\n")
        self.assertNotEqual(world.published(), 503)
        world.restart_server()
        self.assertNotEqual(world.published(), 503)

    def test_a_database_that_somebody_unseals_is_refused(self):
        world = self.world
        before = [row[0] for row in self.ask("SELECT private_key FROM push_key UNION ALL SELECT private_key FROM signing_key")]
        secret = world.application["application_secret"]
        world.seal_with_the_service()
        # A service that was started before the seal goes on by its key alone.
        self.assertEqual(world.published(), [world.kid])
        world.server.stop()
        self.change("UPDATE push_key SET private_key = ?", before[0])
        self.change("UPDATE signing_key SET private_key = ?", before[1])
        self.change("DELETE FROM notification_service")
        self.change("UPDATE application SET secret = ?", secret)
        words = ("--seal-key-file", world.file)
        said = f"secrets in the database are in clear, but {world.file} says that they are sealed"
        self.refused(CONFIG, said, *self.serve_words(), *words)
        self.refused(CONFIG, said, "database", "seal", *words)
        self.refused(CONFIG, said, "signing-key", "rotate", "--now", *words)
        # An older copy that was put back is taken on purpose.
        self.assertEqual(world.does("database", "unseal", *words), "nothing is sealed\n")
        self.assertRegex(world.does("database", "seal", *words), "^sealed 3 secrets: ")
        self.assertTrue(world.file_says_sealed())
        world.start_server(*words)
        self.assertEqual(world.published(), [world.kid])

    def test_sealed_by_another_user_than_root_the_file_says_so(self):
        world = self.world
        world.server.stop()
        os.chmod(world.folder, 0o711)
        os.mkdir(world.path("own"), 0o700)
        os.rename(world.path("data"), world.path("own/data"))
        for folder, names, files in os.walk(world.path("own")):
            for name in (folder, *(os.path.join(folder, name) for name in files)):
                os.chown(name, 65534, 65534)
        world.file = world.path("own/seal-keys")
        words = ("--data", world.path("own/data"), "--seal-key-file", world.file)
        as_another = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program("iampass-server"), "database")
        for command, said, is_sealed in (
            ("seal", "^sealed [0-9]+ secrets: ", True), ("seal", "^everything was sealed before: ", True),
            ("unseal", "^stored [0-9]+ secrets in clear\n$", False), ("seal", "^sealed [0-9]+ secrets: ", True)):  # fmt: skip
            done = subprocess.run([*as_another, command, *words], capture_output=True, text=True, timeout=PATIENCE)
            self.assertRegex(done.stdout, said, done.stderr)
            self.assertEqual((done.stderr, world.file_says_sealed()), ("", is_sealed))

    def test_what_cannot_be_read_may_be_of_a_server(self):
        world = self.world
        world.server.stop()
        os.symlink("nowhere", world.path("data", "serving-unknown"))
        self.refused(IO, "serving-unknown", "database", "seal", "--seal-key-file", world.file)
        os.unlink(world.path("data", "serving-unknown"))
        self.assertIn(CLEAR, self.files())

    def test_what_was_left_by_a_killed_program_is_removed(self):
        world = self.world
        left = [world.path("seal-keys.new"), world.path("data", "serving-unknown.new")]
        for name in left:
            with open(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write("iampass-seal-key-1 AAAA\n")
        world.seal_with_the_service()
        self.assertEqual([name for name in left if os.path.exists(name)], [])
        self.assertEqual(world.published(), [world.kid])

    def test_sealed_secrets_of_computers_serve_sign_ins(self):
        world = self.world
        world.enroll_alice()
        made = world.does("host-credential", "create", "office", "desk", "--host", "desk", "--json")
        desk = json.loads(made)
        by = (desk["application_id"], desk["application_secret"])
        path = f"/authentication/authenticate_user/{desk['application_id']}/alice"
        self.assertEqual(world.ask("GET", f"/authentication/service_mark/{by[0]}", by=by)[0], 200)
        world.seal_with_the_service()
        for _ in ("with what was in its memory", "after its start"):
            [(stored,)] = self.ask("SELECT secret FROM host_credential")
            self.assertTrue(stored.startswith("sealed:1:"))
            phone = world.phone("approve", "--once")
            try:
                code, _, reply = world.ask("POST", path, {"context": {"host": "desk", "service": "sudo"}}, by=by)
                self.assertEqual(code, 202, reply)
                world.becomes(reply["authentication_status"], "active")
            finally:
                phone.stop()
            session = world.approved("web-1")
            world.restart_server("--seal-key-file", world.file)
            self.assertEqual(world.status(session), "active")
        found = self.files()
        for secret in (by[1], session["session_secret"], world.application["application_secret"]):
            self.assertNotIn(secret.encode(), found)
        # What is made now is sealed, by a service and by a command, and serves.
        self.refused(CONFIG, "and no key was given", "host-credential", "create", "office", "till", "--host", "till")
        made = world.does(
            "host-credential", "create", "office", "till", "--host", "till", "--json", "--seal-key-file", world.file)  # fmt: skip
        till = json.loads(made)
        for secret in (desk["application_secret"], till["application_secret"]):
            self.assertNotIn((secret,), self.ask("SELECT secret FROM host_credential"))
        by = (till["application_id"], till["application_secret"])
        path = f"/authentication/authenticate_user/{till['application_id']}/alice"
        self.assertEqual(world.ask("POST", path, {"context": {"host": "till"}}, by=by)[0], 202)
        # A value from another row does not open, and nobody is let in by it.
        self.change("UPDATE host_credential SET secret = (SELECT secret FROM host_credential WHERE name = 'desk')")
        self.assertGreaterEqual(world.ask("POST", path, {"context": {"host": "till-2"}}, by=by)[0], 400)
        self.refused(DATA, "the secret of the credential", "database", "check", "--seal-key-file", world.file)

    def test_a_start_asks_for_what_an_earlier_version_left_in_clear(self):
        world = self.world
        world.enroll_alice()
        world.seal_with_the_service()
        self.change("UPDATE push_key SET client_seal = NULL")
        self.change("UPDATE application SET secret = ?", world.application["application_secret"])
        world.restart_server("--seal-key-file", world.file)
        world.server.wait_for("secrets of applications, computers and sessions in the database are not all sealed")
        world.approved("web-1")
        # One secret of the application, and two of its session.
        self.assertRegex(world.seal(), "^sealed 3 secrets: ")
        world.restart_server("--seal-key-file", world.file)
        world.approved("web-2")


if __name__ == "__main__":
    unittest.main()
