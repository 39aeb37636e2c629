"""`iampassctl setup` by options, and run again."""

import os
import shutil
import subprocess
import time
import unittest

from control import CONFIG, DATA, NO_PERMISSION, UNAVAILABLE, USAGE, program, read
from setup_case import SetupCase, open_world


def setUpModule():
    global world
    world = open_world()


class ByOptions(SetupCase):
    def test_needs_no_terminal(self):
        done = self.setup_once()
        for line in ("answers over TLS", "clock agrees", "signing = documented", "signed_replies = required",
                     "signed_targets = required", "application's own"):
            self.assertIn(line, done.out)

    def test_what_is_missing_without_a_terminal_is_named(self):
        done = self.setup("--server", world.address)
        self.assertEqual(done.code, USAGE)
        self.assertIn("--application-id is needed", done.err)
        self.assert_nothing_changed()

    def test_reads_id_and_secret_as_the_service_printed_them(self):
        path = self.secret_file(f"application_id = {self.id}\napplication_secret = {self.secret}\n")
        self.assertEqual(self.setup("--server", world.address, "--secret-file", path).code, 0)

    def test_a_secret_file_that_others_read_is_refused(self):
        done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", self.secret_file(mode=0o644))
        self.assertEqual(done.code, CONFIG)
        self.assertIn("hint: chmod 600", done.err)
        self.assert_nothing_changed()

    def test_a_file_of_the_systems_gets_no_command_that_would_break_it(self):
        for path in ("/etc/hosts", "/etc/ssl/certs/../../hosts"):
            self.assertTrue(os.stat(path).st_mode & 0o004, "the system's own file is readable by all")
            done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", path)
            self.assertEqual(done.code, CONFIG)
            self.assertIn("hint: copy it to a file that only root can read, and name that one\n", done.err)
            self.assertNotIn("chmod", done.text)
        self.assert_nothing_changed()

    def test_a_secret_file_named_alone_is_in_the_folder_where_one_is(self):
        folder = world.path("answers")
        os.mkdir(folder)
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(folder, "secret"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.secret + "\n")
        words = ("setup", "--server", world.address, "--application-id", self.id, "--secret-file", "secret")
        # In it others could put a secret of theirs.
        os.chmod(folder, 0o777)
        done = world.ctl(*words, cwd=folder)
        self.assertEqual(done.code, CONFIG, done.text)
        self.assertIn("folder", done.err)
        os.chmod(folder, 0o700)
        done = world.ctl(*words, cwd=folder)
        self.assertEqual(done.code, 0, done.text)

    def test_a_secret_file_that_is_not_a_file_is_refused(self):
        os.mkfifo(world.path("fifo"))
        self.addCleanup(os.unlink, world.path("fifo"))
        for path in (world.path("fifo"), "/dev/zero", world.folder):
            done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", path)
            self.assertIn(done.code, (CONFIG, 74), done.text)
        self.assert_nothing_changed()

    def test_a_secret_that_would_break_its_line_is_refused(self):
        for text in ("a b\n", "\n", "a\x01b\n", "x" * 600, "é" * 24):
            path = self.secret_file(text)
            done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", path)
            self.assertEqual(done.code, DATA, text)
        self.assert_nothing_changed()

    def test_a_relative_configuration_is_a_usage_error(self):
        done = subprocess.run(
            [program("iampassctl"), "setup", "--config", "iampass.conf"], capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, USAGE)

    def test_a_folder_that_others_write_is_refused(self):
        os.chmod(world.folder, 0o777)
        self.addCleanup(os.chmod, world.folder, 0o700)
        done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", "/nonexistent")
        self.assertEqual(done.code, CONFIG)
        self.assertIn("is not root's alone to write", done.err)

    def test_plain_http_to_another_machine_is_refused(self):
        done = self.setup("--server", "http://iampass.example.com")
        self.assertEqual((done.code, done.err.splitlines()[0]), (USAGE, "iampassctl: http://iampass.example.com is not https"))
        self.assert_nothing_changed()

    def test_a_service_that_is_away_is_said_within_the_bound(self):
        began = time.monotonic()
        done = self.setup("--server", "https://127.0.0.1:1", "--application-id", "a", "--secret-file", self.secret_file())
        self.assertEqual(done.code, UNAVAILABLE)
        self.assertIn("https://127.0.0.1:1 cannot be asked: refused", done.err)
        self.assertLess(time.monotonic() - began, 40)
        self.assert_nothing_changed()

    def test_an_untrusted_certificate_names_the_option(self):
        world.write("iampass.conf", self.comment.rsplit("\n", 1)[0] + "\n", 0o644)
        done = self.setup("--server", world.address, "--application-id", "a", "--secret-file", self.secret_file())
        self.assertEqual(done.code, UNAVAILABLE)
        self.assertIn("certificate is not trusted\nhint: iampassctl setup --ca FILE", done.err)
        done = self.setup(
            "--server", world.address, "--application-id", self.id, "--secret-file", self.secret_file(),
            "--ca", world.certificate)  # fmt: skip
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"ca_file = {world.certificate}\n", read(world.path("iampass.conf")))

    def test_an_unknown_application_is_told_from_a_wrong_secret(self):
        done = self.setup("--server", world.address, "--application-id", "nobody", "--secret-file", self.secret_file())
        self.assertEqual(done.code, NO_PERMISSION)
        self.assertIn("does not know the application nobody", done.err)

    def test_run_again_it_changes_nothing_that_was_not_asked(self):
        self.setup_once()
        before = world.snapshot()
        done = self.setup()
        self.assertEqual((done.code, world.snapshot()), (0, before), done.text)
        self.assertIn("nothing to change", done.out)

    def test_run_again_with_another_application_keeps_the_rest(self):
        self.setup_once()
        before = read(world.path("iampass.conf"))
        other, secret = world.application()
        done = self.setup("--application-id", other, "--secret-file", self.secret_file(secret))
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(read(world.path("iampass.conf")), before)
        self.assertIn(other, read(world.path("credentials")))

    def test_no_copy_of_an_old_secret_stays(self):
        self.setup_once()
        other, secret = world.application()
        done = self.setup("--application-id", other, "--secret-file", self.secret_file(secret))
        self.assertEqual(done.code, 0, done.text)
        os.unlink(world.path("secret"))
        self.assertIn(f"wrote {world.path('credentials')}\n", done.out)
        words = ["grep", "-rlF", self.secret, "--exclude-dir=data", world.folder]
        self.assertEqual(subprocess.run(words, capture_output=True, text=True).stdout, "")

    def test_a_broken_configuration_is_not_overwritten(self):
        world.write("iampass.conf", "server = https://a\nserver = https://b\n", 0o644)
        done = self.setup("--server", world.address)
        self.assertEqual(done.code, CONFIG)
        self.assertIn("iampass.conf:2: server is set twice", done.err)

    def test_finds_the_scheme_of_a_secret_that_only_one_takes(self):
        world.write("iampass.conf", self.comment + "\nsigning = client\n", 0o644)
        self.setup_once()
        self.assertIn("signing = client\n", read(world.path("iampass.conf")))


if __name__ == "__main__":
    unittest.main()
