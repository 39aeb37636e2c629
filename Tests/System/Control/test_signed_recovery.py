"""An administrator's phone is lost, and a database is put back: the computer follows, and does not join again."""

import os
import shutil
import subprocess
import unittest

from signed_case import SignedWorld
from Support.Service.world import PATIENCE, program, read


def setUpModule():
    global world
    world = SignedWorld()
    shown = world.command("administrator", "recovery-key", "--as", "ada")
    key = next(line.strip() for line in shown.splitlines() if "IRK1" in line)
    with open(os.open(world.path("recovery-key"), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(key + "\n")


def add(name):
    world.command("user", "add", "tests", name, "--no-link")


class Recovery(unittest.TestCase):
    """In the order of their names: the second goes on from the first."""

    def setUp(self):
        self.credentials = read(world.path("credentials"))
        self.addCleanup(lambda: self.assertEqual(read(world.path("credentials")), self.credentials, "it joined again"))

    def test_1_the_recovery_key_takes_the_place_of_a_lost_phone(self):
        add("bin")
        world.sign()
        world.known(["bin"])
        world.ada.stop()
        world.register(world.command("administrator", "link", "ada", "--lost"), "new.json")
        add("daemon")
        said = world.command("administrator", "sign", "--recovery-key", world.path("recovery-key"), "--yes")
        self.assertIn("number 3", said)
        world.helper.wait_for("administrators=3")
        self.assertEqual(world.kept("users"), ["bin"], "the old phone's list stays until there is another")
        world.ada = world.signing_phone("new.json")
        world.sign()
        world.known(["bin", "daemon"])
        self.assertIn("if ada signs it (set 3)", world.ctl("check").out)

    def test_2_after_a_restore_one_signature_is_enough(self):
        world.command("backup", world.path("copy"))
        add("games")
        world.sign()
        world.known(["bin", "daemon", "games"])
        self.put_back(world.path("copy"))
        world.helper.stop()
        world.start_helper("the service's list of users is not taken: its version is older")
        self.assertEqual(world.kept("users"), ["bin", "daemon", "games"])
        told = subprocess.run([program("iampass-server"), "administrator", "list", "--data", world.path("data")],
                              capture_output=True, text=True, timeout=PATIENCE).stderr  # fmt: skip
        self.assertIn("not signed since the database was put back", told)
        world.sign()
        # After a refusal it waits for a minute.
        world.helper.stop()
        world.start_helper()
        world.known(["bin", "daemon"])

    @staticmethod
    def put_back(copy):
        world.server.stop()
        for end in ("", "-wal", "-shm"):
            path = world.path("data/iampass.sqlite" + end)
            if os.path.exists(path):
                os.unlink(path)
        shutil.copy(copy, world.path("data/iampass.sqlite"))
        world.restart_server()


if __name__ == "__main__":
    unittest.main()
