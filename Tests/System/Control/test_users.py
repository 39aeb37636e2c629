"""`iampassctl user …`: at the service and in the file, and never a torn file."""

import json
import os
import re
import shutil
import subprocess
import time
import unittest

from control import CONFIG, DATA, IO_ERROR, NO_INPUT, NO_PERMISSION, NO_USER, UNAVAILABLE, USAGE, ControlWorld
from world import PATIENCE, program, read, run


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()


class Case(unittest.TestCase):
    def setUp(self):
        world.write("users", "")
        self.addCleanup(world.configure, server=world.address, ca_file=world.certificate)

    def user(self, *words, **options):
        return world.ctl("user", *words, **options)

    def has_token_at_the_service(self, token):
        """Whether the service knows it: a token that it knows is `existing`."""
        world.write("users", f"games:{token}\n")
        shown = self.user("show", "games")
        return shown.code == 0


class FullDisk(Case):
    """A configuration's folder of its own, on a disk that has no room left."""

    def setUp(self):
        super().setUp()
        self.folder = world.path("small")
        os.mkdir(self.folder)
        self.addCleanup(os.rmdir, self.folder)
        run("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", self.folder)
        self.addCleanup(run, "umount", self.folder)
        for name in ("iampass.conf", "credentials"):
            shutil.copy(world.path(name), self.folder)
        # Without that user there is still something to write.
        self.assertEqual(self.small("add", "daemon", "bin").code, 0)
        self.users = read(os.path.join(self.folder, "users"))
        with open(os.path.join(self.folder, "filler"), "wb", buffering=0) as file:
            with self.assertRaises(OSError):
                while True:
                    file.write(bytes(4096))

    def small(self, *words):
        return world.ctl("user", *words, "--config", os.path.join(self.folder, "iampass.conf"), configured=False)

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


class Output(Case):
    def test_output_that_is_not_taken_is_an_error(self):
        world.write("users", "daemon:token-1\n")
        for words in (("export",), ("list",), ("list", "--json")):
            with self.subTest(words=words):
                done = world.ctl_to_a_full_disk("user", *words)
                self.assertEqual((done.code, done.err), (IO_ERROR, "iampassctl: standard output: No space left on device\n"))

    def test_a_reader_that_has_left_is_not_an_error(self):
        world.write("users", "".join(f"user{number}:{number}\n" for number in range(20_000)))
        words = f"{program('iampassctl')} user list --config {world.path('iampass.conf')}"
        # The shell's own child gets SIGPIPE. A child that ignores SIGPIPE gets an error.
        for before in ("", "trap '' PIPE; "):
            done = subprocess.run(["bash", "-c", f"{before}{words} | head -1"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual((done.stdout, done.stderr), ("user0\n", ""))


class Add(Case):
    def test_adds_at_both_places(self):
        done = self.user("add", "daemon", "bin")
        self.assertEqual((done.code, done.out), (0, "daemon: added\nbin: added\n"))
        tokens = world.users()
        self.assertRegex(tokens["daemon"], "^[0-9a-f]{32}$")
        self.assertNotEqual(tokens["daemon"], tokens["bin"])
        self.assertTrue(self.has_token_at_the_service(tokens["daemon"]))
        self.assertEqual(os.stat(world.path("users")).st_mode & 0o777, 0o600)

    def test_a_second_time_keeps_the_token(self):
        self.user("add", "daemon")
        before = world.users()
        done = self.user("add", "daemon")
        self.assertEqual((done.code, done.out, world.users()), (0, "daemon: was there already\n", before))

    def test_takes_a_token(self):
        self.assertEqual(self.user("add", "daemon", "--token", "from-elsewhere").code, 0)
        self.assertEqual(world.users(), {"daemon": "from-elsewhere"})

    def test_a_token_for_a_user_with_another_is_refused(self):
        self.user("add", "daemon")
        before = world.users()
        done = self.user("add", "daemon", "--token", "other")
        self.assertEqual((done.code, world.users()), (CONFIG, before))
        self.assertIn("daemon has another token already", done.err)

    def test_by_the_file_a_user_with_a_known_token_is_added(self):
        self.user("add", "daemon", "--token", "at-the-service")
        world.write("users", "")
        self.assertEqual(self.user("add", "daemon", "--token", "at-the-service").out, "daemon: added\n")
        self.assertEqual(world.users(), {"daemon": "at-the-service"})
        self.assertEqual(self.user("add", "daemon", "--token", "at-the-service").out, "daemon: was there already\n")

    def test_somebody_elses_token_is_refused(self):
        self.user("add", "daemon")
        before = world.users()
        done = self.user("add", "bin", "--token", before["daemon"])
        self.assertEqual((done.code, done.out, world.users()), (DATA, "", before))
        self.assertIn(f"{world.path('users')}: this token is daemon's", done.err)

    def test_a_token_that_was_there_stays_where_the_service_is_away(self):
        world.write("users", "daemon:from-elsewhere\n")
        world.configure(server="https://127.0.0.1:1")
        self.assertEqual(self.user("add", "daemon", "--token", "from-elsewhere").code, UNAVAILABLE)
        self.assertEqual(world.users(), {"daemon": "from-elsewhere"})

    def test_one_token_for_two_users_is_a_usage_error(self):
        self.assertEqual(self.user("add", "daemon", "bin", "--token", "one").code, USAGE)

    def test_tokens_that_would_break_a_line_are_refused(self):
        for token in ("a:b", "a\nroot:x", "a b", 'a"b', "é", "x" * 600):
            with self.subTest(token=token):
                self.assertEqual(self.user("add", "daemon", f"--token={token}").code, DATA)
                self.assertEqual(world.users(), {})

    def test_names_that_would_break_a_line_are_refused(self):
        for name in ("a:b", "a\nb", "../../etc", "a b", "", "a/b"):
            with self.subTest(name=name):
                self.assertEqual(self.user("add", "--force", "--", name).code, USAGE)
                self.assertEqual(world.users(), {})

    def test_a_user_unknown_to_the_system_needs_force(self):
        done = self.user("add", "daemon", "no-such-user")
        self.assertEqual((done.code, world.users()), (NO_USER, {}))
        self.assertIn("--force", done.err)
        self.assertEqual(self.user("add", "no-such-user", "--force").code, 0)

    def test_nothing_is_kept_where_the_service_is_away(self):
        world.configure(server="https://127.0.0.1:1")
        done = self.user("add", "daemon")
        self.assertEqual((done.code, world.users()), (UNAVAILABLE, {}))
        self.assertIn("https://127.0.0.1:1 cannot be asked: refused", done.err)

    def test_a_last_line_without_its_end_is_kept_whole(self):
        world.write("users", "bin:token")
        self.user("add", "daemon")
        self.assertEqual(sorted(world.users()), ["bin", "daemon"])
        self.assertEqual(world.users()["bin"], "token")

    def test_windows_line_ends_are_refused_and_left(self):
        world.write("users", "bin:token\r\n")
        done = self.user("add", "daemon")
        self.assertEqual((done.code, world.bytes_of("users")), (CONFIG, b"bin:token\r\n"))
        self.assertIn("users:1: not a line of text", done.err)

    def test_a_crash_in_between_is_repaired_by_running_it_again(self):
        # As after a kill between file and service: the service does not know this token.
        world.write("users", "daemon:" + "c" * 32 + "\n")
        self.assertEqual(self.user("add", "daemon").code, 0)
        self.assertTrue(self.has_token_at_the_service("c" * 32))

    def test_killed_at_any_moment_it_leaves_whole_lines(self):
        words = [program("iampassctl"), "user", "add", "daemon", "bin", "sys", "--config", world.path("iampass.conf")]
        for step in range(25):
            world.write("users", "games:keep\n")
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.01 + step * 0.003)
            process.kill()
            process.wait()
            self.assertRegex(read(world.path("users")), r"\Agames:keep\n(?:(?:daemon|bin|sys):[0-9a-f]{32}\n)*\Z")
        self.assertEqual(self.user("add", "daemon", "bin", "sys").code, 0)
        self.assertEqual(sorted(world.users()), ["bin", "daemon", "games", "sys"])

    def test_eight_at_once_all_end_well(self):
        names = re.findall(r"^(\w+):", read("/etc/passwd"), re.MULTILINE)[:8]
        started = [
            subprocess.Popen(
                [program("iampassctl"), "user", "add", name, "--config", world.path("iampass.conf")],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in names
        ]  # fmt: skip
        self.assertEqual([process.wait(120) for process in started], [0] * len(names))
        self.assertEqual(sorted(world.users()), sorted(names))

    def test_the_applications_credential_can_be_elsewhere(self):
        text = read(world.path("credentials"))
        self.addCleanup(world.write, "credentials", text)
        world.write("management", text)
        world.write("credentials", re.sub(r"(application_secret\s*=\s*).*", r"\1" + "A" * 24, text))
        done = self.user("add", "daemon")
        self.assertEqual(done.code, NO_PERMISSION)
        self.assertIn("--credentials FILE", done.err)
        self.assertEqual(self.user("add", "daemon", "--credentials", world.path("management")).code, 0)

    def test_a_credentials_file_that_was_asked_for_and_is_not_there_is_said(self):
        for words in (("user", "add", "daemon"), ("enroll", "daemon")):
            done = world.ctl(*words, "--credentials", "/nonexistent")
            self.assertEqual((done.code, done.err), (NO_INPUT, "iampassctl: /nonexistent is missing\n"))

    def test_a_missing_worker_does_not_count_as_a_helper(self):
        self.addCleanup(world.settings.pop, "worker", None)
        world.configure(worker=world.path("missing"))
        done = self.user("add", "daemon")
        self.assertEqual(done.code, UNAVAILABLE)
        self.assertIn(f"{world.address} cannot be asked: network worker failed\n", done.err)


class Remove(Case):
    def test_removes_from_both_places(self):
        self.user("add", "daemon", "bin")
        token = world.users()["daemon"]
        done = self.user("remove", "daemon")
        self.assertEqual((done.code, done.out, sorted(world.users())), (0, "daemon: removed\n", ["bin"]))
        self.assertFalse(self.has_token_at_the_service(token))

    def test_local_leaves_the_service_alone(self):
        self.user("add", "daemon")
        token = world.users()["daemon"]
        self.assertEqual(self.user("remove", "daemon", "--local").code, 0)
        self.assertTrue(self.has_token_at_the_service(token))

    def test_a_token_that_another_user_has_stays_at_the_service(self):
        self.user("add", "daemon")
        token = world.users()["daemon"]
        world.write("users", f"daemon:{token}\nbin:{token}\n")
        done = self.user("remove", "daemon")
        self.assertEqual((done.code, world.users()), (0, {"bin": token}))
        self.assertEqual(done.out, "daemon: removed here\nbin has the same token, so the service keeps it\n")
        self.assertTrue(self.has_token_at_the_service(token))

    def test_who_has_no_token_is_said(self):
        done = self.user("remove", "daemon")
        self.assertEqual((done.code, done.err), (NO_USER, "iampassctl: user daemon has no token\nhint: iampassctl user add daemon\n"))

    def test_with_the_service_away_the_token_stays_unless_forced(self):
        self.user("add", "daemon")
        world.configure(server="https://127.0.0.1:1")
        self.assertEqual(self.user("remove", "daemon").code, UNAVAILABLE)
        self.assertEqual(sorted(world.users()), ["daemon"])
        done = self.user("remove", "daemon", "--force")
        self.assertEqual((done.code, world.users()), (0, {}))
        self.assertIn("warning: daemon's token is still at the service", done.err)

    def test_comments_stay(self):
        world.write("users", "# mine\ndaemon:token-1\nbin:token-2\n")
        self.user("remove", "daemon", "--local")
        self.assertEqual(read(world.path("users")), "# mine\nbin:token-2\n")


class ListAndShow(Case):
    def test_list_as_lines_and_json(self):
        world.write("users", "# c\ndaemon:t1\nbin:t2")
        self.assertEqual(self.user("list").out, "daemon\nbin\n")
        self.assertEqual(json.loads(self.user("list", "--json").out), ["daemon", "bin"])

    def test_show_says_token_and_phone(self):
        self.user("add", "daemon")
        self.assertEqual(self.user("show", "daemon").out, "user   daemon (uid 1)\ntoken  yes\nphone  none: iampassctl enroll daemon\n")
        shown = json.loads(self.user("show", "daemon", "--json").out)
        self.assertEqual(shown, {"user": "daemon", "uid": 1, "token": True, "phone": False})
        self.assertIn("no: iampassctl user add bin", self.user("show", "bin").out)

    def test_a_token_that_the_service_does_not_know_has_a_hint(self):
        world.write("users", "daemon:never-heard-of\n")
        for words in (("user", "show", "daemon"), ("enroll", "daemon"), ("lost-device", "daemon")):
            done = world.ctl(*words)
            self.assertEqual(
                (done.code, done.err),
                (UNAVAILABLE, "iampassctl: the service does not know this application or user\nhint: iampassctl user add daemon\n"))
        self.assertEqual(self.user("add", "daemon").code, 0)
        self.assertEqual(self.user("show", "daemon").code, 0)

    def test_a_hundred_thousand_users_are_listed(self):
        world.write("users", "".join(f"user{number}:{number:032x}\n" for number in range(100_000)))
        self.addCleanup(world.write, "users", "")
        # It takes a fraction of a second. Reading the file again for each user would take minutes.
        done = subprocess.run(
            [program("iampassctl"), "user", "list", "--config", world.path("iampass.conf")], capture_output=True, timeout=60)  # fmt: skip
        self.assertEqual(len(done.stdout.splitlines()), 100_000)


class ImportAndExport(Case):
    def test_an_export_comes_back_by_import(self):
        self.user("add", "daemon", "bin")
        before = world.users()
        path = world.path("exported")
        self.assertEqual(self.user("export", path).out, f"2 users exported to {path}\n")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        world.write("users", "")
        self.assertEqual(self.user("import", path).out, "2 users imported\n")
        self.assertEqual(world.users(), before)

    def test_an_export_to_a_pipe_is_the_lines(self):
        world.write("users", "daemon:tok\n")
        self.assertEqual(self.user("export").out, "daemon:tok\n")

    def test_an_export_to_a_terminal_is_refused(self):
        world.write("users", "daemon:very-secret-token-here\n")
        child = world.terminal("user", "export")
        self.assertEqual(world.finish(child), USAGE)
        self.assertNotIn("very-secret", child.screen.getvalue())

    def refused(self, text, code, message, mode=0o600, *words):
        world.write("users", "games:keep\n")
        world.write("incoming", text, mode)
        done = self.user("import", world.path("incoming"), *words)
        self.assertEqual((done.code, world.users()), (code, {"games": "keep"}), done.text)
        self.assertIn(message, done.err)

    def test_what_cannot_be_taken_refuses_the_file(self):
        self.refused("daemon:t1\r\n", CONFIG, "incoming:1: not a line of text")
        self.refused("daemon:t1\nbroken line\n", CONFIG, "incoming:2: no usable token")
        self.refused("daemon:t1\ndaemon:t2\n", CONFIG, "incoming:2: user named twice")
        self.refused("daemon:a:b\n", CONFIG, "incoming:1: no usable token")
        self.refused("daemon:t1\nno-such-user:t2\n", NO_USER, "no-such-user is not known")
        self.refused("games:other\n", CONFIG, "games has another token already")
        self.refused("daemon:keep\n", DATA, "this token is games's")
        self.refused("daemon:t1\nbin:t1\n", DATA, "this token is daemon's")
        self.refused("daemon:t1\n", CONFIG, "readable by group or others", 0o644)

    def test_shared_tokens_are_taken_where_they_are_allowed_but_never_roots(self):
        world.configure(shared_tokens="allowed")
        self.addCleanup(world.configure, shared_tokens=None)
        self.refused("daemon:t1\nroot:t1\n", DATA, "this token is daemon's")
        world.write("users", "")
        world.write("incoming", "daemon:t1\nbin:t1\n")
        self.assertEqual(self.user("import", world.path("incoming")).code, 0)
        self.assertEqual(world.users(), {"daemon": "t1", "bin": "t1"})

    def test_the_same_again_changes_nothing(self):
        world.write("users", "daemon:t1\n")
        world.write("incoming", "daemon:t1\nbin:t2")
        self.assertEqual(self.user("import", world.path("incoming")).code, 0)
        self.assertEqual(read(world.path("users")), "daemon:t1\nbin:t2\n")
        self.assertEqual(self.user("import", world.path("incoming")).code, 0)
        self.assertEqual(read(world.path("users")), "daemon:t1\nbin:t2\n")

    def test_local_needs_no_service(self):
        world.configure(server="https://127.0.0.1:1")
        world.write("incoming", "daemon:t1\n")
        self.assertEqual(self.user("import", world.path("incoming")).code, UNAVAILABLE)
        self.assertEqual(world.users(), {})
        self.assertEqual(self.user("import", "--local", world.path("incoming")).code, 0)


if __name__ == "__main__":
    unittest.main()
