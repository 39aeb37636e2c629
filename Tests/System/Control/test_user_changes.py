"""`user add`, `user remove` and `enroll` on a computer that has joined: an administrator's phone takes the place of a secret."""

import os
import subprocess
import unittest

from control import DATA, INTERRUPTED, NO_PERMISSION, NO_USER, UNAVAILABLE, USAGE, ControlWorld
from Support.Service.world import program, run

TEMPORARY = 75


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    os.unlink(world.path("users"))
    os.unlink(world.path("credentials"))
    world.configure(server=None, ca_file=None, users_from_service="1-59999")
    made = server("join-code", "create", "tests", "--unattended", "--certificate", world.certificate)
    joined = world.ctl("join", world.address, made.split()[-1], "--name", "desk-7", "--yes")
    if joined.code != 0:
        raise AssertionError(joined.text)
    link = server("administrator", "add", "ada", "--role", "admin").split()[-1]
    run(program("iampass-phone"), "register", link, "--state", world.path("ada.json"), "--ca", world.certificate)


def server(*words):
    return run(program("iampass-server"), *words, "--data", world.path("data"))


def listed():
    return server("user", "list", "tests").splitlines()


def answer(answer, code=None):
    words = ["watch", "--state", world.path("ada.json"), "--answer", answer, "--once", *(["--code", code] if code else [])]
    return run(program("iampass-phone"), *words)


class Changes(unittest.TestCase):
    def setUp(self):
        names = [line.split()[0] for line in listed()]
        if names:
            server("user", "remove", "tests", *names)

    def change(self, *words):
        """A command that has asked the phone, and the digits that it shows."""
        child = world.terminal(*words)
        child.expect(r"phone asks for these digits: (\d\d)")
        return child, child.match[1]

    def test_a_user_is_added_by_the_phone_alone(self):
        child, code = self.change("user", "add", "daemon", "--group", "office")
        shown = answer("approve", code)
        self.assertIn("add daemon to office", shown)
        self.assertIn("desk-7", shown)
        child.expect("daemon: on the service's list, approved by ada")
        self.assertEqual(world.finish(child), 0)
        self.assertEqual(listed(), ["daemon  group=office  no phone"])

    def test_a_denial_changes_nothing(self):
        child, _ = self.change("user", "add", "daemon")
        answer("deny")
        child.expect("iampassctl: an administrator denied it on the phone")
        self.assertEqual(world.finish(child), NO_PERMISSION)
        self.assertEqual(listed(), [])

    def test_ctrl_c_withdraws_it(self):
        child, _ = self.change("user", "add", "daemon")
        child.sendintr()
        child.expect("interrupted; nothing was changed")
        self.assertEqual(world.finish(child), INTERRUPTED)
        # The phone is free again.
        child, code = self.change("user", "add", "bin")
        answer("approve", code)
        self.assertEqual(world.finish(child), 0)
        self.assertEqual(listed(), ["bin  no phone"])

    def test_removed_and_enrolled(self):
        server("user", "add", "tests", "daemon", "--no-link")
        world.ctl("user", "list")
        child, code = self.change("enroll", "daemon")
        self.assertIn("registers a phone of daemon", answer("approve", code))
        child.expect(r"(https://\S+/register/[0-9a-f]+)")
        link = child.match[1]
        self.assertEqual(world.finish(child), 0)
        run(program("iampass-phone"), "register", link, "--state", world.path("daemon.json"), "--ca", world.certificate)
        self.assertEqual(listed(), ["daemon  phone"])
        # No administrator is asked for a link that cannot work; nor does the service itself show one.
        done = world.ctl("enroll", "daemon")
        self.assertEqual((done.code, done.out), (DATA, ""))
        self.assertIn("this user already has a registered phone\nhint: if it is gone, cut it off", done.err)
        link = subprocess.run(
            [program("iampass-server"), "user", "link", "tests", "daemon", "--data", world.path("data")],
            capture_output=True, text=True)
        self.assertEqual((link.returncode, link.stdout), (DATA, ""))
        self.assertIn("daemon has a phone already\nhint: if it is gone, cut it off", link.stderr)
        child, code = self.change("user", "remove", "daemon")
        self.assertIn("remove daemon, with their phones", answer("approve", code))
        child.expect("daemon: removed, approved by ada")
        self.assertEqual(world.finish(child), 0)
        self.assertEqual(listed(), [])

    def test_what_cannot_be_done_is_told_at_once(self):
        for words, status, text in (
            (("user", "remove", "daemon"), NO_USER, "the server does not know this user\nhint: iampassctl user list"),
            (("user", "add", "daemon", "--token", "t"), USAGE, "--token is for the users file"),
            (("user", "add", "daemon", "--group=-x"), DATA, "does not take this name of a group"),
            (("enroll", "daemon", "--sms", "+4915112345678"), USAGE, "--sms and --display-name need the application's credential"),
        ):
            with self.subTest(words):
                done = world.ctl(*words)
                self.assertEqual((done.code, done.out), (status, ""), done.text)
                self.assertIn(text, done.err)

    def test_without_an_administrators_phone(self):
        server("administrator", "set", "ada", "--role", "auditor")
        self.addCleanup(server, "administrator", "set", "ada", "--role", "admin")
        done = world.ctl("user", "add", "daemon")
        self.assertEqual(done.code, UNAVAILABLE, done.text)
        self.assertIn("no administrator of the service has a phone that could be asked\nhint: iampass-server admin", done.err)


if __name__ == "__main__":
    unittest.main()
