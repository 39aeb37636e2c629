"""`setup --new-authority`, stopped at each of its steps and run again: the same change, whole, and no third authority."""

import os
import shutil
import signal
import sqlite3
import subprocess
import unittest

from setup_world import SetupCase
from Support.Service.world import PATIENCE, run

HERE = os.path.dirname(os.path.abspath(__file__))
#: What a setup leaves another one of each time it is run, by intention: codes of one use, and their traces.
OF_EACH_RUN = {"join_code", "console_link", "audit", "service_clock", "sqlite_sequence"}
KEPT = ("etc", "settings", "office", "data")


class EachStep(SetupCase):
    def setUp(self):
        super().setUp()
        self.preload = self.world.path("step.so")
        run("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", self.preload, os.path.join(HERE, "stop_at_step.c"), "-ldl")

    def keep(self):
        os.mkdir(self.world.path("kept"))
        run("cp", "-a", *(self.world.path(name) for name in KEPT), self.world.path("kept"))

    def restore(self):
        for name in KEPT:
            path = self.world.path(name)
            (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)
        run("cp", "-a", *(self.world.path("kept", name) for name in KEPT), self.world.folder)

    def change(self, **variables):
        variables = {"LD_PRELOAD": self.preload, **{name: str(value) for name, value in variables.items()}}
        return subprocess.run(
            self.world.words("--yes", "--new-authority"), capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
            env={**os.environ, **variables})  # fmt: skip

    def steps(self):
        count = self.world.path("count")
        # The last steps are its data directory's owner's.
        with open(count, "w"):
            os.chmod(count, 0o666)
        done = self.change(STEP_COUNT=count)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(self.world.read("count"))

    def rows(self):
        with sqlite3.connect(f"file:{self.world.path('data/iampass.sqlite')}?mode=ro", uri=True) as base:
            names = {name for (name,) in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            return {name: sorted(base.execute(f'SELECT * FROM "{name}"'), key=repr) for name in names - OF_EACH_RUN}

    def outcome(self):
        """All that may not depend on where it was stopped: each file, and each row. A leaf is signed again each time."""
        files = self.world.files()
        pair = self.world.path("etc/own/service.pem")
        # Its key, and the authority that it shows.
        files[pair] = (files[pair].partition(b"CERTIFICATE")[0], files[pair].rpartition(b"-----BEGIN")[2])
        modes = {path: (found.st_uid, found.st_gid, found.st_mode) for path, found in ((path, os.stat(path)) for path in files)}
        self.assertIn("OK", run("openssl", "verify", "-CAfile", self.world.authority, pair))
        return files, modes, self.rows()

    def stopped_everywhere(self, number):
        self.restore()
        count = self.steps()
        expected = self.outcome()
        self.assertGreater(count, 50)
        stops = 0
        for step in range(1, count + 1):
            self.restore()
            stopped = self.change(STEP_LIMIT=step, STEP_SIGNAL=int(number))
            # The last one may come too late to be heeded.
            if stopped.returncode == 0:
                self.assertEqual((number, self.outcome()), (signal.SIGTERM, expected), step)
                continue
            stops += 1
            self.assertIn(stopped.returncode, (-number, 128 + number), (step, stopped.stderr))
            again = self.change()
            self.assertEqual(again.returncode, 0, (step, again.stderr))
            self.assertEqual(self.outcome(), expected, step)
        self.assertGreater(stops, count // 2)

    def test_killed_at_each_step_the_next_run_completes_it(self):
        self.set_up()
        self.assertEqual(self.world.command("certificate next-authority").returncode, 0)
        told = self.world.read("etc/own/next-authority.pem")
        self.keep()
        self.stopped_everywhere(signal.SIGKILL)
        self.assertEqual(self.world.read("etc/own/authority.pem"), told)

    def test_interrupted_at_each_step_the_next_run_completes_it(self):
        self.set_up()
        self.assertEqual(self.world.command("certificate next-authority").returncode, 0)
        self.keep()
        self.stopped_everywhere(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
