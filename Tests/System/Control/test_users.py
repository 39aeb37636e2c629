"""`iampassctl user …`: at the service and in the file, and never a torn file."""

import json
import os
import re
import shutil
import subprocess
import time
import unittest

from control import CONFIG, DATA, IO_ERROR, NO_INPUT, NO_PERMISSION, NO_USER, UNAVAILABLE, USAGE
from Support.Service.world import PATIENCE, program, read, run
from user_case import UserCase, open_world


def setUpModule():
    open_world()


class FullDisk(UserCase):
    """A configuration's folder of its own, on a disk that has no room left."""

    def setUp(self):
        super().setUp()
        self.folder = self.world.path("small")
        os.mkdir(self.folder)
        self.addCleanup(os.rmdir, self.folder)
        run("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", self.folder)
        self.addCleanup(run, "umount", self.folder)
        for name in ("iampass.conf", "credentials"):
            shutil.copy(self.world.path(name), self.folder)
        # Without that user there is still something to write.
        self.assertEqual(self.small("add", "daemon", "bin").code, 0)
        self.users = read(os.path.join(self.folder, "users"))
        with open(os.path.join(self.folder, "filler"), "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(bytes(4096))

    def small(self, *words):
        return self.world.ctl("user", *words, "--config", os.path.join(self.folder, "iampass.conf"), configured=False)

    def assert_refused(self, done):
        self.assertEqual(
            (done.code, done.out, done.err),
            (IO_ERROR, "", f"iampassctl: {self.folder}/users.new: No space left on device\n"))
        self.assertEqual(read(os.path.join(self.folder, "users")), self.users)
        self.assertNotIn("users.new", os.listdir(self.folder))

    def test_a_removal_that_cannot_be_written_is_not_told_to_the_service(self):
        self.assert_refused(self.small("remove", "daemon"))
        self.assertTrue(self.has_token_at_the_service(self.users.splitlines()[0].split(":")[1]))

    def test_an_addition_that_cannot_be_written_is_an_error_of_the_file(self):
        self.assert_refused(self.small("add", "sys"))


class Output(UserCase):
    def test_output_that_is_not_taken_is_an_error(self):
        self.world.write("users", "daemon:token-1\n")
        for words in (("export",), ("list",), ("list", "--json")):
            with self.subTest(words=words):
                done = self.world.ctl_to_a_full_disk("user", *words)
                self.assertEqual((done.code, done.err), (IO_ERROR, "iampassctl: standard output: No space left on device\n"))

    def test_a_reader_that_has_left_is_not_an_error(self):
        self.world.write("users", "".join(f"user{number}:{number}\n" for number in range(20_000)))
        words = f"{program('iampassctl')} user list --config {self.world.path('iampass.conf')}"
        # The shell's own child gets SIGPIPE. A child that ignores SIGPIPE gets an error.
        for before in ("", "trap '' PIPE; "):
            done = subprocess.run(["bash", "-c", f"{before}{words} | head -1"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((done.stdout, done.stderr), ("user0\n", ""))


class Add(UserCase):
    def test_adds_at_both_places(self):
        done = self.user("add", "daemon", "bin")
        self.assertEqual((done.code, done.out), (0, "daemon: added\nbin: added\n"))
        tokens = self.world.users()
        self.assertRegex(tokens["daemon"], "^[0-9a-f]{32}$")
        self.assertNotEqual(tokens["daemon"], tokens["bin"])
        self.assertTrue(self.has_token_at_the_service(tokens["daemon"]))
        self.assertEqual(os.stat(self.world.path("users")).st_mode & 0o777, 0o600)

    def test_a_second_time_keeps_the_token(self):
        self.user("add", "daemon")
        before = self.world.users()
        done = self.user("add", "daemon")
        self.assertEqual((done.code, done.out, self.world.users()), (0, "daemon: was there already\n", before))

    def test_takes_a_token(self):
        self.assertEqual(self.user("add", "daemon", "--token", "from-elsewhere").code, 0)
        self.assertEqual(self.world.users(), {"daemon": "from-elsewhere"})

    def test_a_token_for_a_user_with_another_is_refused(self):
        self.user("add", "daemon")
        before = self.world.users()
        done = self.user("add", "daemon", "--token", "other")
        self.assertEqual((done.code, self.world.users()), (CONFIG, before))
        self.assertIn("daemon has another token already", done.err)

    def test_by_the_file_a_user_with_a_known_token_is_added(self):
        self.user("add", "daemon", "--token", "at-the-service")
        self.world.write("users", "")
        self.assertEqual(self.user("add", "daemon", "--token", "at-the-service").out, "daemon: added\n")
        self.assertEqual(self.world.users(), {"daemon": "at-the-service"})
        self.assertEqual(self.user("add", "daemon", "--token", "at-the-service").out, "daemon: was there already\n")

    def test_somebody_elses_token_is_refused(self):
        self.user("add", "daemon")
        before = self.world.users()
        done = self.user("add", "bin", "--token", before["daemon"])
        self.assertEqual((done.code, done.out, self.world.users()), (DATA, "", before))
        self.assertIn(f"{self.world.path('users')}: this token is daemon's", done.err)

    def test_a_token_that_was_there_stays_where_the_service_is_away(self):
        self.world.write("users", "daemon:from-elsewhere\n")
        self.world.configure(server="https://127.0.0.1:1")
        self.assertEqual(self.user("add", "daemon", "--token", "from-elsewhere").code, UNAVAILABLE)
        self.assertEqual(self.world.users(), {"daemon": "from-elsewhere"})

    def test_one_token_for_two_users_is_a_usage_error(self):
        self.assertEqual(self.user("add", "daemon", "bin", "--token", "one").code, USAGE)

    def test_tokens_that_would_break_a_line_are_refused(self):
        for token in ("a:b", "a\nroot:x", "a b", 'a"b', "é", "x" * 600):
            with self.subTest(token=token):
                self.assertEqual(self.user("add", "daemon", f"--token={token}").code, DATA)
                self.assertEqual(self.world.users(), {})

    def test_names_that_would_break_a_line_are_refused(self):
        for name in ("a:b", "a\nb", "../../etc", "a b", "", "a/b"):
            with self.subTest(name=name):
                self.assertEqual(self.user("add", "--force", "--", name).code, USAGE)
                self.assertEqual(self.world.users(), {})

    def test_a_user_unknown_to_the_system_needs_force(self):
        done = self.user("add", "daemon", "no-such-user")
        self.assertEqual((done.code, self.world.users()), (NO_USER, {}))
        self.assertIn("--force", done.err)
        self.assertEqual(self.user("add", "no-such-user", "--force").code, 0)

    def test_nothing_is_kept_where_the_service_is_away(self):
        self.world.configure(server="https://127.0.0.1:1")
        done = self.user("add", "daemon")
        self.assertEqual((done.code, self.world.users()), (UNAVAILABLE, {}))
        self.assertIn("https://127.0.0.1:1 cannot be asked: refused", done.err)

    def test_a_last_line_without_its_end_is_kept_whole(self):
        self.world.write("users", "bin:token")
        self.user("add", "daemon")
        self.assertEqual(sorted(self.world.users()), ["bin", "daemon"])
        self.assertEqual(self.world.users()["bin"], "token")

    def test_windows_line_ends_are_refused_and_left(self):
        self.world.write("users", "bin:token\r\n")
        done = self.user("add", "daemon")
        self.assertEqual((done.code, self.world.bytes_of("users")), (CONFIG, b"bin:token\r\n"))
        self.assertIn("users:1: not a line of text", done.err)

    def test_a_crash_in_between_is_repaired_by_running_it_again(self):
        # As after a kill between file and service: the service does not know this token.
        self.world.write("users", "daemon:" + "c" * 32 + "\n")
        self.assertEqual(self.user("add", "daemon").code, 0)
        self.assertTrue(self.has_token_at_the_service("c" * 32))

    def test_killed_at_any_moment_it_leaves_whole_lines(self):
        words = [program("iampassctl"), "user", "add", "daemon", "bin", "sys", "--config", self.world.path("iampass.conf")]
        for step in range(25):
            self.world.write("users", "games:keep\n")
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.01 + step * 0.003)
            process.kill()
            process.wait()
            self.assertRegex(read(self.world.path("users")), r"\Agames:keep\n(?:(?:daemon|bin|sys):[0-9a-f]{32}\n)*\Z")
        self.assertEqual(self.user("add", "daemon", "bin", "sys").code, 0)
        self.assertEqual(sorted(self.world.users()), ["bin", "daemon", "games", "sys"])

    def test_eight_at_once_all_end_well(self):
        names = re.findall(r"^(\w+):", read("/etc/passwd"), re.MULTILINE)[:8]
        started = [
            subprocess.Popen(
                [program("iampassctl"), "user", "add", name, "--config", self.world.path("iampass.conf")],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in names
        ]  # fmt: skip
        self.assertEqual([process.wait(120) for process in started], [0] * len(names))
        self.assertEqual(sorted(self.world.users()), sorted(names))

    def test_the_applications_credential_can_be_elsewhere(self):
        text = read(self.world.path("credentials"))
        self.addCleanup(self.world.write, "credentials", text)
        self.world.write("management", text)
        self.world.write("credentials", re.sub(r"(application_secret\s*=\s*).*", r"\1" + "A" * 24, text))
        done = self.user("add", "daemon")
        self.assertEqual(done.code, NO_PERMISSION)
        self.assertIn("--credentials FILE", done.err)
        self.assertEqual(self.user("add", "daemon", "--credentials", self.world.path("management")).code, 0)

    def test_a_credentials_file_that_was_asked_for_and_is_not_there_is_said(self):
        for words in (("user", "add", "daemon"), ("enroll", "daemon")):
            done = self.world.ctl(*words, "--credentials", "/nonexistent")
            self.assertEqual((done.code, done.err), (NO_INPUT, "iampassctl: /nonexistent is missing\n"))

    def test_a_missing_worker_does_not_count_as_a_helper(self):
        self.addCleanup(self.world.settings.pop, "worker", None)
        self.world.configure(worker=self.world.path("missing"))
        done = self.user("add", "daemon")
        self.assertEqual(done.code, UNAVAILABLE)
        self.assertIn(f"{self.world.address} cannot be asked: network worker failed\n", done.err)


class Remove(UserCase):
    def test_removes_from_both_places(self):
        self.user("add", "daemon", "bin")
        token = self.world.users()["daemon"]
        done = self.user("remove", "daemon")
        self.assertEqual((done.code, done.out, sorted(self.world.users())), (0, "daemon: removed\n", ["bin"]))
        self.assertFalse(self.has_token_at_the_service(token))

    def test_local_leaves_the_service_alone(self):
        self.user("add", "daemon")
        token = self.world.users()["daemon"]
        self.assertEqual(self.user("remove", "daemon", "--local").code, 0)
        self.assertTrue(self.has_token_at_the_service(token))

    def test_a_token_that_another_user_has_stays_at_the_service(self):
        self.user("add", "daemon")
        token = self.world.users()["daemon"]
        self.world.write("users", f"daemon:{token}\nbin:{token}\n")
        done = self.user("remove", "daemon")
        self.assertEqual((done.code, self.world.users()), (0, {"bin": token}))
        self.assertEqual(done.out, "daemon: removed here\nbin has the same token, so the service keeps it\n")
        self.assertTrue(self.has_token_at_the_service(token))

    def test_who_has_no_token_is_said(self):
        done = self.user("remove", "daemon")
        self.assertEqual((done.code, done.err), (NO_USER, "iampassctl: user daemon has no token\nhint: iampassctl user add daemon\n"))

    def test_with_the_service_away_the_token_stays_unless_forced(self):
        self.user("add", "daemon")
        self.world.configure(server="https://127.0.0.1:1")
        self.assertEqual(self.user("remove", "daemon").code, UNAVAILABLE)
        self.assertEqual(sorted(self.world.users()), ["daemon"])
        done = self.user("remove", "daemon", "--force")
        self.assertEqual((done.code, self.world.users()), (0, {}))
        self.assertIn("warning: daemon's token is still at the service", done.err)

    def test_comments_stay(self):
        self.world.write("users", "# mine\ndaemon:token-1\nbin:token-2\n")
        self.user("remove", "daemon", "--local")
        self.assertEqual(read(self.world.path("users")), "# mine\nbin:token-2\n")


class ListAndShow(UserCase):
    def test_list_as_lines_and_json(self):
        self.world.write("users", "# c\ndaemon:t1\nbin:t2")
        self.assertEqual(self.user("list").out, "daemon\nbin\n")
        self.assertEqual(json.loads(self.user("list", "--json").out), ["daemon", "bin"])

    def test_show_says_token_and_phone(self):
        self.user("add", "daemon")
        self.assertEqual(self.user("show", "daemon").out, "user   daemon (uid 1)\ntoken  yes\nphone  none: iampassctl enroll daemon\n")
        shown = json.loads(self.user("show", "daemon", "--json").out)
        self.assertEqual(shown, {"user": "daemon", "uid": 1, "token": True, "phone": False})
        self.assertIn("no: iampassctl user add bin", self.user("show", "bin").out)

    def test_a_token_that_the_service_does_not_know_has_a_hint(self):
        self.world.write("users", "daemon:never-heard-of\n")
        for words in (("user", "show", "daemon"), ("enroll", "daemon"), ("lost-device", "daemon")):
            done = self.world.ctl(*words)
            self.assertEqual(
                (done.code, done.err),
                (UNAVAILABLE, "iampassctl: the service does not know this application or user\nhint: iampassctl user add daemon\n"))
        self.assertEqual(self.user("add", "daemon").code, 0)
        self.assertEqual(self.user("show", "daemon").code, 0)

    def test_a_hundred_thousand_users_are_listed(self):
        self.world.write("users", "".join(f"user{number}:{number:032x}\n" for number in range(100_000)))
        self.addCleanup(self.world.write, "users", "")
        # It takes a fraction of a second. Reading the file again for each user would take minutes.
        done = subprocess.run(
            [program("iampassctl"), "user", "list", "--config", self.world.path("iampass.conf")], capture_output=True, timeout=60)  # fmt: skip
        self.assertEqual(len(done.stdout.splitlines()), 100_000)


if __name__ == "__main__":
    unittest.main()
