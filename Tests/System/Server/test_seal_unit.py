"""Root seals the packaged service's database: its unit gets the key first. systemd's command is a script here."""

import base64
import os
import pathlib
import re
import subprocess
import unittest

from Support.Service import ports
from Support.Service.server import CONFIG, TEMPORARY, UNAVAILABLE
from Support.Service.world import PATIENCE, program
from sealed_world import CLEAR, SealedWorld
from test_usual_place import INSIDE

UNIT = """[Service]
LoadCredential=seal-keys:{file}
SetCredential=seal-keys:none
"""

#: It starts the service with the credential that the unit gives it, and says that it is up once it serves.
SYSTEMCTL = """#!/bin/sh
cd {folder} || exit 1
echo "$1" >> calls
runs() {{ [ -e pid ] && kill -0 "$(cat pid)" 2> /dev/null && ! grep -q '^State:.Z' "/proc/$(cat pid)/status"; }}
case $1 in
  show) echo 'ExecStart={{ path=/x ; argv[]=/usr/bin/iampass-server serve --data {folder}/data ; ignore_errors=no ; }}' ;;
  cat) cat unit ;;
  is-active) if runs; then echo active; else echo inactive; exit 3; fi ;;
  restart|stop)
    [ ! -e fails ] || exit 1
    if runs; then kill "$(cat pid)"; while runs; do sleep 0.05; done; fi
    [ "$1" = restart ] || exit 0
    mkdir -p credentials
    rm -f credentials/seal-keys
    if grep -q LoadCredential unit && [ -e seal-keys ]; then install -m 400 seal-keys credentials; else printf none > credentials/seal-keys; fi
    chmod 400 credentials/seal-keys
    CREDENTIALS_DIRECTORY={folder}/credentials setsid {server} serve --data {folder}/data --listen 127.0.0.1:{port} \\
      --tls-cert {certificate} --tls-key {key} > log 2>&1 < /dev/null &
    echo $! > pid
    until grep -q 'listening on https' log; do runs || exit 1; sleep 0.05; done ;;
esac
"""

#: The service's credential, where root finds it; the words are its folder, and what to run.
CREDENTIALS = """
mkdir -p /run/credentials && ln -s "$0" /run/credentials/iampass-server.service || exit 1
exec "$@"
"""


class Unit(unittest.TestCase):
    def setUp(self):
        self.world = world = SealedWorld()
        self.addCleanup(world.close)
        world.serve_alone()
        world.begin()
        world.server.stop()
        port = ports.take()
        self.script = world.path("systemctl")
        with open(self.script, "w") as file:
            file.write(SYSTEMCTL.format(
                folder=world.folder, server=program("iampass-server"), port=port, certificate=world.certificate,
                key=world.key))  # fmt: skip
        os.chmod(self.script, 0o755)
        self.put("unit", UNIT.format(file=world.file))
        self.addCleanup(subprocess.run, [self.script, "stop"], timeout=PATIENCE)
        subprocess.run([self.script, "restart"], check=True, timeout=PATIENCE)
        world.address = f"https://127.0.0.1:{port}"
        self.assertEqual(world.published(), [world.kid])
        self.put("calls")

    def put(self, name, text=""):
        with open(self.world.path(name), "w") as file:
            file.write(text)

    def restarts(self):
        with open(self.world.path("calls")) as file:
            return file.read().split().count("restart")

    def command(self, *words):
        return self.inside(program("iampass-server"), "database", *words, "--seal-key-file", self.world.file)

    def inside(self, *words):
        """As on the service's machine."""
        there = ["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "", self.script]
        return subprocess.run(
            [*there, "sh", "-c", CREDENTIALS, self.world.path("credentials"), *words], capture_output=True, text=True,
            timeout=PATIENCE)

    def is_clear(self):
        """A service that runs may have the secrets in its log alone."""
        return any(CLEAR in path.read_bytes() for path in pathlib.Path(self.world.path("data")).glob("iampass.sqlite*"))

    def test_the_unit_gets_the_key_before_anything_is_sealed(self):
        world = self.world
        done = self.command("seal")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, f"iampass-server: restarting iampass-server, which has to read {world.file} again\n")
        self.assertRegex(done.stdout, "^sealed 4 secrets: ")
        self.assertEqual((self.restarts(), self.is_clear()), (1, False))
        self.assertEqual(world.published(), [world.kid])
        self.assertTrue(world.file_says_sealed())
        # The service has the key.
        done = self.command("seal")
        self.assertRegex(done.stdout, "^everything was sealed before: ", done.stderr)
        self.assertEqual(self.restarts(), 1)
        [old] = world.lines_of_keys()
        done = self.command("seal", "--new-key")
        self.assertRegex(done.stdout, "^sealed 4 secrets: ", done.stderr)
        self.assertEqual((self.restarts(), world.lines_of_keys()[1]), (2, old))
        self.assertEqual(world.published(), [world.kid])
        done = self.command("unseal")
        self.assertEqual(done.stdout, "stored 4 secrets in clear\n", done.stderr)
        self.assertEqual(self.restarts(), 3)
        self.assertEqual(world.published(), [world.kid])
        self.assertFalse(world.file_says_sealed())

    def test_the_last_copy_of_a_key_is_saved_and_not_replaced(self):
        world = self.world
        self.assertEqual(self.command("seal").returncode, 0)
        [key] = world.lines_of_keys()
        os.unlink(world.file)
        for words in (["seal"], ["seal", "--new-key"], ["seal", "--key-only"], ["unseal"], ["seal", "--give-up-lost-key", "--yes"]):
            with self.subTest(words=words):
                save = self.printed_command(*words)
                self.assertFalse(os.path.exists(world.file))
        self.save(save, key)
        # A new file in its place is not the key either, and stays beside it.
        with open(world.file, "w") as file:
            file.write(f"iampass-seal-key-1 {base64.b64encode(os.urandom(32)).decode()}\n")
        [other] = world.lines_of_keys()
        for words in (["seal"], ["seal", "--new-key"], ["unseal"]):
            with self.subTest(words=words):
                save = self.printed_command(*words)
                self.assertEqual(world.lines_of_keys(), [other])
        self.save(save, key)
        self.assertIn(other, pathlib.Path(world.file + ".~1~").read_text())
        # What was saved is what the service needs.
        subprocess.run([self.script, "restart"], check=True, timeout=PATIENCE)
        self.assertEqual(world.published(), [world.kid])

    def printed_command(self, *words):
        """What a refusal says to do. The service goes on, and was not restarted after the seal."""
        done = self.command(*words)
        self.assertEqual((done.returncode, done.stdout), (CONFIG, ""), done.stderr)
        self.assertRegex(done.stderr, "the database is sealed by the key |a server that runs has the key ")
        self.assertEqual((self.restarts(), self.world.published()), (1, [self.world.kid]))
        return re.search(r"install -m 600 [^;\n]+", done.stderr).group(0)

    def save(self, command, key):
        done = self.inside("sh", "-c", command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.world.lines_of_keys() == [key], "another key was saved")
        self.assertEqual(os.stat(self.world.file).st_mode & 0o7777, 0o600)
        done = self.command("seal")
        self.assertRegex(done.stdout, "^everything was sealed before: ", done.stderr)
        self.assertEqual(self.restarts(), 1)
        self.assertTrue(self.world.file_says_sealed())

    def test_a_unit_without_the_credential_is_not_restarted(self):
        self.put("unit", "[Service]\n")
        done = self.command("seal")
        self.assertEqual(done.returncode, TEMPORARY, done.stderr)
        self.assertIn("nothing was sealed: a server runs on this database without the key", done.stderr)
        self.assertIn("LoadCredential=seal-keys:FILE", done.stderr)
        self.assertEqual((self.restarts(), self.is_clear()), (0, True))
        self.assertEqual(self.world.published(), [self.world.kid])

    def test_a_unit_that_does_not_start_leaves_the_database_as_it_was(self):
        self.put("fails")
        done = self.command("seal")
        self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
        self.assertIn("systemctl restart iampass-server failed", done.stderr)
        self.assertTrue(self.is_clear())
        self.assertFalse(self.world.file_says_sealed())
        self.assertEqual(self.world.published(), [self.world.kid])
        os.unlink(self.world.path("fails"))

    def test_an_unseal_that_fails_leaves_the_line_in_the_file(self):
        world = self.world
        self.assertEqual(self.command("seal").returncode, 0)
        subprocess.run([self.script, "restart"], check=True, timeout=PATIENCE)
        self.put("fails")
        self.addCleanup(pathlib.Path(world.path("fails")).unlink, missing_ok=True)
        done = self.command("unseal")
        self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
        self.assertIn("systemctl restart iampass-server failed", done.stderr)
        self.assertEqual((self.is_clear(), world.file_says_sealed()), (False, True))
        self.assertEqual(world.published(), [world.kid])
        os.unlink(world.path("fails"))
        done = self.command("unseal")
        self.assertRegex(done.stdout, "^stored [0-9]+ secrets in clear\n$", done.stderr)
        self.assertFalse(world.file_says_sealed())
        self.assertEqual(world.published(), [world.kid])


if __name__ == "__main__":
    unittest.main()
