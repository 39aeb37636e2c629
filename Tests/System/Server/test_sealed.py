"""The service's own keys, sealed in its database by a key outside it."""

import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import unittest

from sealed_world import CLEAR, SealedWorld
from Support.Service import ports
from Support.Service.never import assert_hidden
from Support.Service.server import CONFIG, DATA, IO, NO_INPUT, TEMPORARY, USAGE, until
from Support.Service.world import PATIENCE, program


class Sealed(unittest.TestCase):
    def setUp(self):
        self.world = SealedWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone()
        self.world.begin()

    def files(self):
        """The bytes of all files of the data directory."""
        found = b""
        for name in glob.glob(self.world.path("data", "*")):
            with open(name, "rb") as file:
                found += file.read()
        return found

    def refused(self, code, said, *words, **options):
        done = self.world.server_command(*words, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(said, done.stderr)
        self.assertIn("hint: ", done.stderr)
        for line in self.world.lines_of_keys():
            assert_hidden(line.split()[-1], done.stdout + done.stderr)
        assert_hidden(self.world.secret, done.stdout + done.stderr)

    def serve_words(self):
        return ("serve", "--listen", "127.0.0.1:0", "--tls-cert", self.world.certificate, "--tls-key", self.world.key)

    def change(self, sql, *values):
        with sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=30) as database:
            database.execute(sql, values)

    def ask(self, sql):
        with sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=30) as database:
            return database.execute(sql).fetchall()

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

    def test_a_lost_key_is_given_up_once_it_is_said(self):
        world = self.world
        world.seal_with_the_service()
        lost = world.file
        world.file = world.path("new-keys")
        words = ("database", "seal", "--give-up-lost-key", "--seal-key-file", world.file)
        done = world.server_command(*words, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done.stderr)
        self.assertIn("nothing was given up", done.stderr)
        self.assertFalse(os.path.exists(world.file))
        done = world.server_command(*words, "--yes")
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("a server that runs has the key", done.stderr)
        self.assertFalse(os.path.exists(world.file))
        self.assertEqual(world.published(), [world.kid])
        world.server.stop()
        same = ("database", "seal", "--give-up-lost-key", "--yes", "--seal-key-file", lost)
        self.assertRegex(world.does(*same), "^nothing is left to give up: the key of this database is [0-9a-f]{16} in ")
        said = world.does(*words, "--yes")
        self.assertRegex(said, r"^gave up the key [0-9a-f]{16}: the key is now [0-9a-f]{16} in ")
        self.assertIn("removed the key for notifications of office: apple\n", said)
        self.assertIn("the application office has a new secret, which nobody knows\n", said)
        self.assertTrue(world.file_says_sealed())
        world.start_server("--seal-key-file", world.file)
        [kid] = world.published()
        self.assertNotEqual(kid, world.kid)
        self.assertEqual(world.does("database", "check", "--seal-key-file", world.file), "no problem found\n")
        self.assertIn("  lost key given up  reason=", world.does("audit"))

    def test_a_lost_key_is_not_given_up_where_nothing_is_sealed(self):
        self.world.server.stop()
        self.refused(
            DATA, "nothing in this database is sealed", "database", "seal", "--give-up-lost-key", "--yes", "--seal-key-file",
            self.world.file)  # fmt: skip
        self.assertFalse(os.path.exists(self.world.file))

    def test_what_a_run_that_gives_up_a_key_leaves_is_done_by_the_next(self):
        world = self.world
        world.server.stop()
        world.seal()
        world.file = world.path("new-keys")
        words = ("database", "seal", "--give-up-lost-key", "--yes", "--seal-key-file", world.file)
        with contextlib.closing(sqlite3.connect(world.path("data/iampass.sqlite"))) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM audit").fetchall()
            self.refused(TEMPORARY, "the secrets are given up, but the database's files may still have them", *words)
        # As one that was killed before it had written the line.
        self.take_the_line_out()
        done = "^nothing is left to give up: the key of this database is [0-9a-f]{16} in "
        self.assertRegex(world.does(*words), done)
        self.assertTrue(world.file_says_sealed())
        # A service may run by then.
        self.take_the_line_out()
        world.start_server("--seal-key-file", world.file)
        self.assertRegex(world.does(*words), done)
        self.assertTrue(world.file_says_sealed())
        self.assertEqual(world.does("audit").count("lost key given up"), 1)
        self.assertEqual(len(world.published()), 1)

    def take_the_line_out(self):
        path = pathlib.Path(self.world.file)
        path.write_text(path.read_text().replace("iampass-sealed-1\n", ""))

    def test_without_the_databases_key_no_file_is_made_or_changed(self):
        world = self.world
        other, missing = world.path("other"), world.path("missing")
        world.does("database", "seal", "--seal-key-file", other, "--key-only")
        world.seal_with_the_service()
        before = pathlib.Path(other).read_bytes()
        for hint in ("copy the file of keys from that server before it ends", "--give-up-lost-key\n"):
            for words in (["seal"], ["seal", "--new-key"], ["seal", "--key-only"], ["unseal"]):
                for place, lack in ((missing, f"and {missing} is missing"), (other, f"which {other} does not have")):
                    with self.subTest(words=words, lack=lack):
                        done = world.server_command("database", *words, "--seal-key-file", place)
                        self.assertEqual((done.returncode, done.stdout), (CONFIG, ""), done.stderr)
                        self.assertIn(lack, done.stderr)
                        self.assertIn(hint, done.stderr)
            self.assertFalse(os.path.exists(missing))
            self.assertEqual(pathlib.Path(other).read_bytes(), before)
            if world.server.process.poll() is None:
                self.assertEqual(world.published(), [world.kid])
                world.server.stop()
        self.assertTrue(world.file_says_sealed())
        self.assertRegex(world.seal(), "^everything was sealed before: ")

    def test_another_key_a_changed_value_and_a_file_for_others_are_refused(self):
        world = self.world
        world.server.stop()
        other = world.path("other")
        made = world.does("database", "seal", "--seal-key-file", other, "--key-only")
        self.assertRegex(made, r"^the key [0-9a-f]{16} is in \S+\n$")
        world.seal()
        self.refused(CONFIG, f"which {other} does not have", *self.serve_words(), "--seal-key-file", other)
        self.refused(CONFIG, f"which {other} does not have", "database", "seal", "--seal-key-file", other)
        os.chmod(world.file, 0o640)
        self.refused(CONFIG, "is readable by group or others", *self.serve_words(), "--seal-key-file", world.file)
        os.chmod(world.file, 0o600)
        self.refused(NO_INPUT, "is missing", *self.serve_words(), "--seal-key-file", world.path("nowhere"))
        with open(other, "a") as file:
            file.write("iampass-seal-key-1 AAAA\n")
        self.refused(CONFIG, "is not a key for sealed secrets", *self.serve_words(), "--seal-key-file", other)
        self.change("UPDATE signing_key SET private_key = (SELECT private_key FROM push_key)")
        self.refused(DATA, "in the database is not as it was sealed", "database", "unseal", "--seal-key-file", world.file)
        self.assertTrue(world.file_says_sealed())
        words = (*self.serve_words(), "--seal-key-file", world.file)
        self.refused(DATA, f"the signing key {world.kid} in the database is not as it was sealed", *words)
        self.change("UPDATE signing_key SET private_key = ?", "-----BEGIN PRIVATE KEY-----")
        self.refused(DATA, "is in clear, in a database whose secrets are sealed", *words)

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

    def test_systemds_credential_is_the_key(self):
        world = self.world
        world.server.stop()
        world.seal()
        folder = world.path("credentials")
        os.mkdir(folder, 0o700)
        shutil.copy(world.file, os.path.join(folder, "seal-keys"))
        # As the mask of an access control list shows it.
        os.chmod(os.path.join(folder, "seal-keys"), 0o440)
        there = {**os.environ, "CREDENTIALS_DIRECTORY": folder}
        self.assertIn(world.kid, world.does("signing-key", "list", env=there))
        self.assertRegex(world.does("database", "seal", env=there), "^everything was sealed before: ")
        self.refused(USAGE, "is systemd's credential", "database", "seal", "--new-key", env=there)
        self.serve_in(there)
        self.assertEqual(world.published(), [world.kid])

    def test_systemds_credential_may_stand_for_a_missing_file(self):
        world = self.world
        folder = world.path("credentials")
        os.mkdir(folder, 0o700)
        with open(os.path.join(folder, "seal-keys"), "w") as file:
            file.write("none")
        os.chmod(os.path.join(folder, "seal-keys"), 0o400)
        there = {**os.environ, "CREDENTIALS_DIRECTORY": folder}
        world.server.stop()
        server = self.serve_in(there)
        self.assertEqual(world.published(), [world.kid])
        server.stop()
        world.seal()
        self.refused(CONFIG, "and no key was given", *self.serve_words(), env=there)

    def serve_in(self, environment):
        world = self.world
        server = world.start(
            program("iampass-server"), "serve", *world.where, "--listen", f"127.0.0.1:{ports.take()}", "--tls-cert",
            world.certificate, "--tls-key", world.key, env=environment)  # fmt: skip
        world.address = re.search(r"https://[0-9.:]+", server.wait_for("listening on https")).group(0)
        return server

    def test_a_new_key_takes_the_place_of_the_old_one(self):
        world = self.world
        world.seal_with_the_service()
        [old] = world.lines_of_keys()
        # The service has read its file before.
        self.refused(
            TEMPORARY, "a server runs on this database without the key", "database", "seal", "--seal-key-file", world.file,
            "--new-key")  # fmt: skip
        self.assertEqual(world.published(), [world.kid])
        new, kept = world.lines_of_keys()
        self.assertEqual(kept, old)
        # The service that has both goes on when the new one seals.
        world.restart_server("--seal-key-file", world.file)
        self.assertRegex(world.seal(), "^sealed 4 secrets: ")
        self.assertEqual(world.published(), [world.kid])
        self.assertTrue(world.file_says_sealed())
        with open(world.file, "w") as file:
            file.write(new + "\n")
        world.restart_server("--seal-key-file", world.file)
        self.assertEqual(world.published(), [world.kid])


if __name__ == "__main__":
    unittest.main()
