"""What is mistyped: the word that was meant, and the names that are there."""

import subprocess
import unittest

from Support.Service.server import DATA, USAGE, ServerWorld
from Support.Service.world import PATIENCE, program


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    # Beside the world's own application.
    assert told("application", "create", "laboratory", "--data", world.path("data")).returncode == 0
    assert told("administrator", "add", "zoe", "--role", "admin", "--data", world.path("data")).returncode == 0


def told(*words, by="iampass-server"):
    return subprocess.run([program(by), *words], capture_output=True, text=True, timeout=PATIENCE)


class Mistyped(unittest.TestCase):
    def refused(self, code, message, hint, *words, by="iampass-server"):
        done = told(*words, by=by)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(f"{by}: {message}\n", done.stderr)
        self.assertRegex(done.stderr, f"hint: {hint}")

    def test_a_command(self):
        self.refused(USAGE, "there is no command audt", r"did you mean iampass-server audit\?", "audt", "--data", "/nowhere")
        self.refused(USAGE, "there is no command user lst", r"did you mean iampass-server user list\?", "user", "lst")
        self.refused(USAGE, "there is no command nonsense", "iampass-server --help", "nonsense")

    def test_a_command_of_the_computer_or_of_the_phone(self):
        for by, words, hint in [
            ("iampassctl", ["chek"], r"did you mean iampassctl check\?"),
            ("iampassctl", ["enrol", "alice"], r"did you mean iampassctl enroll\?"),
            ("iampassctl", ["sudoo"], "iampassctl --help"),
            ("iampass-phone", ["wach", "--state", "/nowhere"], r"did you mean iampass-phone watch\?"),
        ]:
            with self.subTest(by=by, words=words):
                self.refused(USAGE, f"there is no command {words[0]}", hint, *words, by=by)
        self.refused(USAGE, "there is no command user lst", r"did you mean iampassctl user list\?", "user", "lst", by="iampassctl")

    def test_an_option(self):
        done = told("serve", "--lisen", "127.0.0.1:0")
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done.stderr)
        self.assertIn("--listen", done.stderr)

    def test_an_application(self):
        place = ("--data", world.path("data"))
        meant = r"did you mean laboratory\? there is: .*laboratory"
        for words in (["application", "set", "labratory", "--match-code", "on"], ["user", "list", "labratory"],
                      ["host-credential", "list", "labratory"], ["application", "notifications", "show", "labratory"]):  # fmt: skip
            with self.subTest(words=words):
                self.refused(DATA, "there is no application labratory", meant, *words, *place)
        self.refused(DATA, "there is no application elsewhere", "there is: .*laboratory", "user", "list", "elsewhere", *place)

    def test_an_administrator(self):
        self.refused(67, "there is no administrator zoo", r"did you mean zoe\? there is: zoe", "administrator", "remove", "zoo", "--data",
                     world.path("data"))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
