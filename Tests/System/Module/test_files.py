"""Files that decide who gets in, each broken in every way: refused with the reason, never followed, never half read."""

import os
import unittest

from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, SERVICE_ERR, World, make_certificate, read

#: The limit for the module's answer, even if a file never ends; in seconds, for a slow machine.
BOUND = 15
TOKEN = "token-of-the-user-0123456789"
SECRET = "yNGfB51YbmwxAscRuzOl8G5U"
CREDENTIALS = f"application_id = application\napplication_secret = {SECRET}\n"


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.pam("sudo", "prompt=push timeout=20s fail=open")


class Case(unittest.TestCase):
    def setUp(self):
        # Nobody listens there. With a broken file the module must not even connect.
        world.settings = {"server": "https://127.0.0.1:1"}
        world.configure()
        world.write("credentials", CREDENTIALS)
        world.write("users", f"{ENROLLED}:{TOKEN}\n")
        world.forget_attempts()

    def put(self, name, made):
        """Another thing in a file's place, for as long as the test goes on."""
        path = world.path(name)
        os.unlink(path)
        made(path)
        self.addCleanup(lambda: os.path.isdir(path) and not os.path.islink(path) and os.rmdir(path))

    def write_bytes(self, name, content):
        with open(world.path(name), "wb") as file:
            file.write(content)

    def assert_refused(self, told, seconds=BOUND):
        result = world.play()
        self.assertEqual(result["codes"], [SERVICE_ERR], result)
        self.assertLess(result["calls"][0]["seconds"], seconds)
        self.assertIn(told, result["log"][-1])
        self.assertEqual(result["texts"], ["IAMPASS is not configured; ask your administrator. Use your password."])


class Kinds(Case):
    KINDS = {
        "folder": (os.mkdir, "is not a regular file"),
        "pipe": (os.mkfifo, "is not a regular file"),
        "dangling link": (lambda path: os.symlink("/nowhere", path), "is a symbolic link"),
        "link to zeros": (lambda path: os.symlink("/dev/zero", path), "is a symbolic link"),
        "zeros": (lambda path: os.mknod(path, 0o020600, os.makedev(1, 5)), "is not a regular file"),
    }  # fmt: skip

    def test_anything_but_a_file_is_refused_at_once(self):
        for name in ("iampass.conf", "credentials"):
            for kind, (made, told) in self.KINDS.items():
                with self.subTest(name=name, kind=kind):
                    self.setUp()
                    self.put(name, made)
                    self.assert_refused(told)
                    self.doCleanups()
                    if os.path.lexists(world.path(name)):
                        os.unlink(world.path(name))
                        world.write(name, "")

    def test_users_that_are_not_a_file_are_refused_at_once(self):
        for kind, (made, told) in self.KINDS.items():
            with self.subTest(kind=kind):
                self.setUp()
                self.put("users", made)
                self.assert_refused(told)
                self.doCleanups()
                if os.path.lexists(world.path("users")):
                    os.unlink(world.path("users"))
                    world.write("users", "")

    def test_an_empty_configuration_stands_aside_and_empty_credentials_refuse(self):
        world.write("credentials", "")
        self.assert_refused("application_id is missing")
        world.write("iampass.conf", "", 0o644)
        result = world.play()
        self.assertEqual((result["codes"], result["texts"]), ([SERVICE_ERR], []))

    def test_another_owner_is_refused(self):
        for name in ("iampass.conf", "credentials", "users"):
            with self.subTest(name=name):
                self.setUp()
                os.chown(world.path(name), 1, 1)
                self.addCleanup(os.chown, world.path(name), 0, 0)
                self.assert_refused("is not owned by root")
                self.doCleanups()

    def test_a_folder_that_others_write_is_refused(self):
        os.chmod(world.folder, 0o777)
        self.addCleanup(os.chmod, world.folder, 0o700)
        self.assert_refused("is not root's alone to write")


class Texts(Case):
    LINES = {
        "NUL": b"server = https://a\0b\n", "not UTF-8": b"server = https://\xff\n", "carriage return": b"server = https://a\r\n",
        "mark": b"\xef\xbb\xbfserver = https://a\n", "no value": b"server\n", "twice": b"server = https://a\nserver = https://a\n",
        "escape": b"server = \x1b[2J\n",
    }  # fmt: skip

    def test_a_configuration_that_is_not_text_is_refused_with_its_line(self):
        for name, line in self.LINES.items():
            with self.subTest(name=name):
                self.setUp()
                self.write_bytes("iampass.conf", b"# one\n" + line)
                self.assert_refused("iampass.conf:")

    def test_too_much_is_refused_unread(self):
        for name, content in (
            ("a line of 100 MB", b"#" * 100_000_000), ("a million keys", b"".join(b"key%d = a\n" % n for n in range(1_000_000))),
        ):  # fmt: skip
            with self.subTest(name=name):
                self.setUp()
                self.write_bytes("iampass.conf", content)
                self.assert_refused("is too large")
        self.setUp()
        self.write_bytes("users", b"#" * (16 * 1024 * 1024 + 1))
        self.assert_refused("users is too large")

    def test_bad_values_are_named_with_key_and_line(self):
        for key, value in (
            ("approval_timeout", "-1"), ("approval_timeout", "0"), ("approval_timeout", "1e99"), ("approval_timeout", "9" * 40 + "s"),
            ("server", "https://"), ("server", "ftp://a"), ("server", "https://a b"), ("server", "https://user@a"),
            ("max_requests", "-5"), ("max_requests", "many"), ("signing", "none"), ("on_walkaway", "shout"), ("proxy", "socks://a"),
            ("ca_file", "relative.pem"), ("on_unreachable", "shout"), ("session_duration", "12"), ("worker", "relative"),
        ):  # fmt: skip
            with self.subTest(key=key, value=value[:20]):
                self.setUp()
                world.configure(**{key: value})
                self.assert_refused(f"bad {key}")

    def test_a_last_line_without_its_end_counts(self):
        world.write("iampass.conf", read(world.path("iampass.conf")).rstrip("\n") + "\napproval_timeout = soon", 0o644)
        self.assert_refused("bad approval_timeout")


class Authorities(Case):
    def test_a_file_that_pins_nothing_is_refused(self):
        """Without bytes the system's authorities would count."""
        key, certificate = make_certificate(world.folder)
        for name, text, told in (
            ("empty", "", "ca.pem is empty"), ("blank", "\n\n", "has no certificate in it"),
            ("comment", "# to be done\n", "has no certificate in it"), ("key", read(key), "has no certificate in it"),
            ("cut", read(certificate)[:-40], "has no certificate in it"),
        ):  # fmt: skip
            with self.subTest(name=name):
                self.setUp()
                world.write("ca.pem", text, 0o644)
                world.configure(ca_file=world.path("ca.pem"))
                self.assert_refused(told)
        world.configure(ca_file=certificate)
        # Reaches the service's address, at which nobody listens.
        self.assertIn("reason=unavailable: refused", world.play()["log"][-1])


class Users(Case):
    def assert_served(self, user=ENROLLED):
        """Reaches the service's address, at which nobody listens."""
        self.assertIn("reason=unavailable: refused", world.play(user=user)["log"][-1])

    def test_a_damaged_line_refuses_its_own_user_alone(self):
        for line in (b"games:bbbbbbbbbbbb\r\n", b"games:bbbb\0bbbb\n", b"\rgames:bbbbbbbbb\n", b"ga\0mes:bbbbbbbb\n"):
            with self.subTest(line=line):
                self.setUp()
                self.write_bytes("users", line + f"{ENROLLED}:{TOKEN}\n".encode())
                self.assert_served()
                result = world.play(user="games")
                self.assertEqual(result["codes"], [SERVICE_ERR], result)
                self.assertIn("users:1: not a line of text", result["log"][-1])

    def test_a_token_of_two_users_signs_none_of_them_in(self):
        world.write("users", f"{ENROLLED}:{TOKEN}\ngames:{TOKEN}\n")
        for user, other in ((ENROLLED, "games"), ("games", ENROLLED)):
            result = world.play(user=user)
            self.assertEqual(result["codes"], [SERVICE_ERR])
            self.assertIn(f"{user} and {other} have the same token", result["log"][-1])
        world.configure(shared_tokens="allowed")
        self.addCleanup(world.configure, shared_tokens=None)
        self.assert_served()
        self.assert_served("games")

    def test_roots_token_is_never_anothers(self):
        world.write("users", f"{ENROLLED}:{TOKEN}\nroot:{TOKEN}\n")
        for sharing in (None, "refused", "allowed"):
            with self.subTest(sharing=sharing):
                world.configure(shared_tokens=sharing)
                self.addCleanup(world.configure, shared_tokens=None)
                for user in (ENROLLED, "root"):
                    self.assertEqual(world.play(user=user)["codes"], [SERVICE_ERR])


class NotRoot(Case):
    def test_the_module_stands_aside_silently_for_a_caller_who_is_not_root(self):
        for folder in (world.folder, world.path("pam.d")):
            self.addCleanup(os.chmod, folder, os.stat(folder).st_mode & 0o777)
            os.chmod(folder, 0o755)
        os.chmod(world.path("pam.d/sudo"), 0o644)
        result = world.play(uid=1)
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))
        # authpriv (10) at level debug (7)
        self.assertEqual([line for line in result["log"] if "pam_iampass" in line and not line.startswith("<87>")], [])


if __name__ == "__main__":
    unittest.main()
