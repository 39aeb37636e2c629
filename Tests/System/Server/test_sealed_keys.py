"""The key that seals: a lost one, a wrong one, a new one, and systemd's credential in the place of its file."""

import contextlib
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import unittest

from sealed_case import SealedCase
from Support.Service import ports
from Support.Service.server import CONFIG, DATA, NO_INPUT, TEMPORARY, USAGE
from Support.Service.world import program


class Sealed(SealedCase):
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
