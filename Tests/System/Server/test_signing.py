"""The commands by which administrators' phones come to sign lists of users."""

import os
import re
import subprocess
import unittest

import pexpect

from Support.Service.server import CONFIG, DATA, UNAVAILABLE, USAGE, ServerWorld
from Support.Service.world import PATIENCE, program, read

NO_PERMISSION, TRY_AGAIN = 77, 75


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


def told(*words, **options):
    done = world.command(*words, **options)
    if done.returncode:
        raise AssertionError(f"{words}: {done.returncode} {done.stderr}")
    return done.stdout


def administrator(name):
    link = told("administrator", "add", name, "--role", "admin").split()[-1]
    world.phone_registered(link, f"{name}.json")


def signed(name, *words):
    """What a command prints whose request the phone of `name` approves."""
    phone = subprocess.Popen(
        [program("iampass-phone"), "watch", "--state", world.path(f"{name}.json"), "--answer", "approve", "--sign-documents",
         "--once"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        return told(*words)
    finally:
        phone.terminate()
        phone.communicate(timeout=PATIENCE)


def watched(name, answer):
    """What the phone of `name` shows of its only request, with which it does this."""
    return subprocess.run(
        [program("iampass-phone"), "watch", "--state", world.path(f"{name}.json"), "--answer", answer, "--once"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE).stdout  # fmt: skip


class Signing(unittest.TestCase):
    """In the order of their names: each goes on from the one before."""

    def test_1_nothing_is_signed_before_it_begins(self):
        self.assertEqual(world.command("user", "sign", "office").returncode, CONFIG)
        refused = world.command("administrator", "start-signing")
        self.assertEqual(refused.returncode, DATA)
        self.assertIn("has a phone", refused.stderr)
        refused = world.command("administrator", "start-signing", "--again")
        self.assertEqual(refused.returncode, DATA)
        self.assertIn("has a phone", refused.stderr)
        self.assertEqual(world.command("administrator", "start-signing", "--yes").returncode, USAGE)

    def test_2_it_begins_once(self):
        administrator("ada")
        self.assertRegex(told("administrator", "start-signing"), r"^administrators, number 1:\n  phone of ada  \w+")
        self.assertEqual(world.command("administrator", "start-signing").returncode, DATA)
        self.assertIn("number 1", told("administrator", "list"))

    def test_2b_a_phone_that_approves_everything_signs_nothing_unread(self):
        told("user", "add", "office", "bob", "--no-link")
        asking = subprocess.Popen(
            [program("iampass-server"), "user", "sign", "office", "--data", world.path("data")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.addCleanup(asking.kill)
        said = watched("ada", "approve")
        self.assertIn("bob (no group), no phone", said)
        self.assertIn("not answered: --answer approve does not sign documents", said)
        self.assertIsNone(asking.poll())
        watched("ada", "deny")
        self.assertEqual((asking.wait(PATIENCE), asking.stderr.read().splitlines()[-2:]),
                         (NO_PERMISSION, ["iampass-server: ada denied it", "hint: nothing was signed"]))  # fmt: skip
        self.assertIn("no list of users was signed yet", world.command("user", "list", "office").stderr)

    def test_3_a_phone_signs_a_list_and_what_changes_it(self):
        told("user", "add", "office", "bob", "--no-link")
        self.assertIn("no list of users was signed yet", world.command("user", "list", "office").stderr)
        said = signed("ada", "user", "sign", "office")
        self.assertEqual(said, "office: add bob\noffice: signed\n")
        self.assertEqual(world.command("user", "list", "office").stderr, "")
        told("user", "remove", "office", "bob")
        self.assertIn("1 change is not signed yet", world.command("user", "list", "office").stderr)

    def test_4_a_recovery_key_takes_the_place_of_a_lost_phone(self):
        shown = signed("ada", "administrator", "recovery-key")
        key = next(line.strip() for line in shown.splitlines() if "IRK1" in line)
        link = told("administrator", "link", "ada", "--lost").split()[-1]
        world.phone_registered(link, "new.json")
        denied = world.command("administrator", "sign")
        self.assertIn("among those that sign", denied.stderr)
        path = world.path("recovery")
        with open(path, "w") as file:
            file.write(key + "\n")
        os.chmod(path, 0o644)
        self.assertEqual(world.command("administrator", "sign", "--recovery-key", path).returncode, NO_PERMISSION)
        mistyped = world.command("administrator", "sign", "--recovery-key", "-", input=key[:-1] + "\n")
        self.assertEqual(mistyped.returncode, DATA)
        os.chmod(path, 0o600)
        unasked = world.command("administrator", "sign", "--recovery-key", path)
        self.assertEqual(unasked.returncode, USAGE)
        self.assertRegex(unasked.stdout, r"^this is signed as the administrators, number 3:\n  remove phone of ada: .*\n  add phone of ada: ")
        self.assertIn("nobody is here to agree", unasked.stderr)
        self.assertIn("number 2", told("administrator", "list"))
        self.assertEqual(world.command("administrator", "sign", "--as", "ada", "--yes").returncode, USAGE)
        again = ("administrator", "start-signing", "--again")
        code, said = self.at_a_terminal("n", *again, question="Give all of this up?")
        self.assertEqual(code, USAGE)
        self.assertIn("  recovery key  ", said)
        self.assertNotIn("  phone of ada  ", said)
        for answer, code in (("n", 1), ("", 1), ("y", 0)):
            self.assertEqual(self.at_a_terminal(answer, "administrator", "sign", "--recovery-key", path)[0], code)
            self.assertIn(f"number {2 if code else 3}", told("administrator", "list"))
        self.assertIn("nothing has changed", told("administrator", "sign", "--recovery-key", "-", input=key + "\n"))

    def at_a_terminal(self, answer, *words, question="Sign this?"):
        """The exit code after the question was answered, and what was said before it."""
        child = pexpect.spawn(
            program("iampass-server"), [*words, "--data", world.path("data")], timeout=PATIENCE, encoding="utf-8")  # fmt: skip
        child.expect_exact(f"{question} [y/N] ")
        said = child.before
        child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        return child.exitstatus, said

    def test_5_without_the_service_nobody_is_asked(self):
        world.server.stop()
        refused = world.command("user", "sign", "office")
        self.assertEqual(refused.returncode, UNAVAILABLE)
        self.assertIn("did not ask", refused.stderr)

    def test_6_it_begins_again_with_a_recovery_key(self):
        path = world.path("first")
        refused = world.command("administrator", "start-signing", "--recovery-key-file", path)
        self.assertEqual((refused.returncode, os.path.exists(path)), (DATA, False))
        again = ("administrator", "start-signing", "--again", "--recovery-key-file", path)
        unasked = world.command(*again)
        self.assertEqual((unasked.returncode, os.path.exists(path)), (USAGE, False))
        self.assertIn("nothing was given up", unasked.stderr)
        self.assertIn("number 3", told("administrator", "list"))
        # A power cut takes no name of a file whose key counts.
        traced = subprocess.run(
            ["strace", "-f", "-y", "-qq", "-o", world.path("trace"), "-e", "trace=link,linkat,fsync", program("iampass-server"),
             *again, "--yes", "--data", world.path("data")],
            capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
        self.assertEqual(traced.returncode, 0, traced.stderr)
        said = traced.stdout
        folder = re.escape(world.folder)
        self.assertRegex(read(world.path("trace")), rf'(?s)link(at)?\([^\n]*"{folder}/first"[^\n]*\n.*fsync\(\d+<{folder}>')
        self.assertRegex(said, r"(?s)number 1:.*\n  recovery key  \w+.*\nThe recovery key counts from now on\.\n\Z")
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)
        self.assertNotIn("IRK1", said)
        child = pexpect.spawn(
            program("iampass-server"), ["administrator", "start-signing", "--again", "--recovery-key", "--data", world.path("data")],
            timeout=PATIENCE, encoding="utf-8", dimensions=(40, 120))  # fmt: skip
        child.expect_exact("Give all of this up? [y/N] ")
        self.assertRegex(child.before, r"(?s)one of these keys.*nothing goes:.*  phone of ada  \w+.*  recovery key  \w+")
        self.assertNotIn("IRK1", child.before)
        child.sendline("y")
        child.expect(r"shown this one time:\s+IRK1\S+")
        child.expect_exact("The recovery key counts from now on.")
        child.expect(pexpect.EOF)
        before = told("administrator", "list")
        for answer in ("n", ""):
            code, said = self.at_a_terminal(answer, *again, question="Give all of this up?")
            self.assertEqual(code, USAGE)
            self.assertIn("all signed lists go, and do not come back", said)
            self.assertEqual(told("administrator", "list"), before)


if __name__ == "__main__":
    unittest.main()
