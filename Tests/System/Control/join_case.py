"""What the tests of `iampassctl join` share."""

import contextlib
import os
import re
import sqlite3
import subprocess
import unittest

from control import ControlWorld
from Support.Service.world import program, read


def open_world():
    """For one module's tests: a service, and a computer that has not joined it."""
    JoinCase.world = ControlWorld()
    unittest.addModuleCleanup(JoinCase.world.close)
    JoinCase.world.serve()
    return JoinCase.world


def command(*words, check=True):
    done = subprocess.run(
        [program("iampass-server"), "join-code", *words, "--data", JoinCase.world.path("data")], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def new_code(*words, certificate=None):
    """The code and its id."""
    made = command("create", "tests", "--certificate", certificate or JoinCase.world.certificate, *words)
    code = re.fullmatch(rf"iampassctl join {re.escape(JoinCase.world.address)} (IJ1\S+)\n", made)[1]
    return code, command("list").split("  ")[0].split()[0]


def sql(text, *values):
    with contextlib.closing(sqlite3.connect(JoinCase.world.path("data/iampass.sqlite"), timeout=30)) as database, database:
        return database.execute(text, values).fetchall()


@contextlib.contextmanager
def busy_service():
    """A service that cannot write until the transaction ends, and answers 503."""
    with contextlib.closing(sqlite3.connect(JoinCase.world.path("data/iampass.sqlite"), isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield database


class JoinCase(unittest.TestCase):
    def setUp(self):
        for name in ("iampass.conf", "credentials", "joining", "service-ca.pem", "iampass.conf.bak"):
            if os.path.exists(self.world.path(name)):
                os.unlink(self.world.path(name))
        self.settings = f"run_dir = {self.world.path('run')}\nworker = {self.world.path('iampass-https')}\nworker_user = nobody\nstate_dir = {self.world.path('state')}\n"
        self.world.write("iampass.conf", self.settings, 0o644)

    def name(self):
        return "desk-" + self.id().rsplit(".", 1)[1].replace("_", "-")[-40:]

    def join(self, code, *words, name=None, address=None):
        return self.world.ctl("join", address or self.world.address, code, "--name", name or self.name(), "--yes", *words)

    def refused(self, code, status, pattern, words=(), **more):
        done = self.join(code, *words, **more)
        self.assertEqual(done.code, status, done.text)
        self.assertRegex(done.err, pattern)
        self.assertEqual(read(self.world.path("iampass.conf")), self.settings)
        self.assertFalse(os.path.exists(self.world.path("credentials")))
        return done
