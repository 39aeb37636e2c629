"""`iampassctl setup`, killed at any moment, or twice at once."""

import fcntl
import os
import re
import subprocess
import time
import unittest

from control import USAGE, program, read
from setup_case import SERVER, SetupCase, open_world

TEMPORARY = 75


def setUpModule():
    global world
    world = open_world()


class Killed(SetupCase):
    def test_killed_at_any_moment_leaves_old_or_new_files(self):
        """`kill -9` at 40 moments; the next run, of any kind that takes the lock, finishes or forgets."""
        self.setup_once()
        old = world.snapshot()
        other, secret = world.application()
        words = [program("iampassctl"), "setup", "--config", world.path("iampass.conf"), "--application-id", other,
                 "--secret-file", self.secret_file(secret)]  # fmt: skip
        seen = set()
        whole = 0.0
        for step in range(41):
            for name in list(world.snapshot()):
                os.unlink(world.path(name))
            for name, (mode, text) in old.items():
                world.write(name, re.sub("signed_.* = required\n", "", text), int(mode, 8))
            began = time.monotonic()
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # The first run is not killed, and shows how long a run takes here.
            if whole:
                time.sleep(whole * step / 32)
                process.kill()
            process.wait()
            whole = whole or time.monotonic() - began
            # Takes the lock, and itself changes nothing.
            world.ctl("user", "remove", "nobody-of-this-name", "--force")
            is_new = other in read(world.path("credentials"))
            for key in ("signed_replies", "signed_targets"):
                self.assertEqual(f"{key} = required" in read(world.path("iampass.conf")), is_new)
            self.assertEqual(os.stat(world.path("credentials")).st_mode & 0o777, 0o600)
            self.assertEqual([name for name in os.listdir(world.folder) if name.endswith(".pending")], [])
            seen.add(is_new)
        self.assertEqual(seen, {True, False}, "the moments were all before, or all after")

    def test_two_at_once_wait_with_a_message(self):
        with open(world.path("iampassctl.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            second = world.start(program("iampassctl"), "setup", "--config", world.path("iampass.conf"), "--server",
                                 "http://nonsense.example")  # fmt: skip
            second.wait_for("waiting for another iampassctl to end")
            self.assertIsNone(second.process.poll())
        self.assertEqual(second.process.wait(60), USAGE)

    def test_a_question_holds_nobody_up_and_its_answers_do_not_go_over_what_was_written_meanwhile(self):
        child = world.terminal("setup")
        child.expect_exact(SERVER)
        done = self.setup_once()
        self.assertNotIn("waiting for another iampassctl", done.err)
        before = world.snapshot()
        child.sendline(world.address)
        self.assertEqual(world.finish(child), TEMPORARY, child.screen.getvalue())
        self.assertIn("another command has changed the configuration or the credential meanwhile", child.screen.getvalue())
        self.assertEqual(world.snapshot(), before)


if __name__ == "__main__":
    unittest.main()
