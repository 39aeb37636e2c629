"""Root's commands without `--data`: they work on the packaged service, as its unit names its database."""

import os
import subprocess
import unittest

from Support.Service.server import CONFIG, NO_INPUT, USAGE, ServerWorld
from Support.Service.world import PATIENCE, program

#: The package's folder, and systemd's command; the words are the folder, the script, and what to run.
INSIDE = """
mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/iampass-server || exit 1
[ -z "$0" ] || mount --bind "$0" /var/lib/iampass-server || exit 1
mount -t tmpfs tmpfs /run || exit 1
[ -z "$1" ] || { mkdir -p /run/systemd/system && mount --bind "$1" /usr/bin/systemctl || exit 1; }
shift
exec "$@"
"""


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


class WithoutAPlace(unittest.TestCase):
    def command(self, *words, folder=None, unit=None, before=()):
        script = ""
        if unit is not None:
            script = world.path("systemctl")
            with open(script, "w") as file:
                file.write(f"#!/bin/sh\n{unit}\n")
            os.chmod(script, 0o755)
        folder = world.path("data") if folder is None else folder
        there = ["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, folder, script]
        return subprocess.run([*there, *before, program("iampass-server"), *words], capture_output=True, text=True, timeout=PATIENCE)

    def shows(self, words):
        return f"echo 'ExecStart={{ path=/x ; argv[]=/usr/bin/iampass-server serve {words} ; ignore_errors=no ; }}'"

    def test_each_kind_of_command_works(self):
        for words in (["application", "list"], ["audit"], ["console-link"], ["join-code", "list"], ["administrator", "list"],
                      ["database", "check"], ["signing-key", "list"]):  # fmt: skip
            with self.subTest(words=words):
                done = self.command(*words)
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(world.application["application_id"], self.command("application", "list").stdout)

    def test_a_backup_is_made_of_the_usual_folder(self):
        copy = world.path("copy.sqlite")
        done = self.command("backup", copy)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(os.path.getsize(copy), 0)

    def test_the_units_own_folder_counts(self):
        done = self.command("application", "list", folder="", unit=self.shows(f"--data {world.path('data')}"))
        self.assertIn(world.application["application_id"], done.stdout, done.stderr)

    def test_the_units_postgresql_is_asked_and_not_the_folder(self):
        unit = self.shows("--database postgresql://iampass@127.0.0.1:1/iampass")
        done = self.command("application", "list", unit=unit)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertIn("cannot be used", done.stderr)
        done = self.command("backup", world.path("none"), unit=unit)
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn("pg_dump", done.stderr)

    def test_setup_leaves_a_unit_with_postgresql_alone(self):
        places = ["--folder", world.path("setup"), "--settings", world.path("settings"), "--data", world.path("setup-data")]
        for words in ([], ["--no-start"]):
            with self.subTest(words=words):
                done = self.command("setup", "--yes", *words, *places, unit=self.shows("--database postgresql:///iampass"))
                self.assertEqual((done.returncode, done.stdout), (CONFIG, ""), done.stderr)
                self.assertIn("the unit of the service has --database", done.stderr)
                self.assertIn("under POSTGRESQL", done.stderr)
        for path in places[1::2]:
            self.assertFalse(os.path.exists(path), path)

    def test_commands_of_a_data_directory_say_what_a_postgresql_database_needs(self):
        for words, hint in ((["setup"], "under POSTGRESQL"), (["backup", world.path("none")], "pg_dump"),
                            (["application", "take", "office"], "under POSTGRESQL")):  # fmt: skip
            with self.subTest(words=words):
                done = self.command(*words, "--database", "postgresql:///iampass")
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done.stderr)
                self.assertIn("not a PostgreSQL database" if words[0] == "backup" else "not on a PostgreSQL database", done.stderr)
                self.assertIn(hint, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)

    def test_a_unit_that_cannot_be_known_is_not_guessed(self):
        for unit in (self.shows("--database ${WHERE}"), "exit 1"):
            done = self.command("audit", unit=unit)
            self.assertEqual((done.returncode, done.stdout), (CONFIG, ""), done.stderr)
            self.assertIn("cannot be known\nhint: give --data or --database", done.stderr)

    def test_nothing_is_made_where_nothing_is(self):
        done = self.command("application", "create", "office", folder="")
        self.assertEqual(done.returncode, NO_INPUT, done.stderr)
        self.assertIn("there is no database /var/lib/iampass-server/iampass.sqlite", done.stderr)

    def test_whoever_is_not_root_names_a_place(self):
        done = self.command("audit", before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("give one of --data and --database", done.stderr)

    def test_two_places_are_one_too_many(self):
        done = self.command("audit", "--data", world.path("data"), "--database", "postgresql://db.example.org/x")
        self.assertEqual(done.returncode, USAGE, done.stderr)


if __name__ == "__main__":
    unittest.main()
