"""Recovery codes as the administrator makes, counts and revokes them."""

import fcntl
import glob
import json
import os
import re
import signal
import stat
import subprocess
import time
import unittest

from control import INTERRUPTED, NO_USER, USAGE, ControlWorld
from Support.Service.world import ENROLLED, WITHOUT_TOKEN, program, read

CODE = r"\b[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}\b"


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()


class Recovery(unittest.TestCase):
    def setUp(self):
        world.configure(methods_offline="recovery")

    def tearDown(self):
        world.ctl("recovery", "revoke", ENROLLED)

    def create(self):
        answer = world.ctl("recovery", "create", "--any-output", ENROLLED)
        self.assertEqual(answer.code, 0, answer.text)
        return re.findall(CODE, answer.out)

    def listed(self):
        return json.loads(world.ctl("recovery", "list", "--json").out)

    def files(self):
        return {path: read(path) for path in glob.glob(world.path("state", "recovery", "*"))}

    def test_ten_codes_are_shown_once_and_only_hashes_kept(self):
        codes = self.create()
        self.assertEqual(len(set(codes)), 10)
        files = self.files()
        self.assertEqual(len(files), 1)
        for path, text in files.items():
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertFalse([code for code in codes if code in text or code.replace("-", "") in text])
        self.assertEqual([(one["user"], one["left"]) for one in self.listed()], [(ENROLLED, 10)])
        self.assertIn("10 of 10", world.ctl("recovery", "list", ENROLLED).out)

    def test_without_a_terminal_nothing_is_made(self):
        answer = world.ctl("recovery", "create", ENROLLED)
        self.assertEqual(answer.code, USAGE)
        self.assertIn("not a terminal", answer.err)
        self.assertEqual(self.files(), {})

    def test_codes_that_were_not_shown_whole_are_not_kept(self):
        answer = world.ctl_to_a_full_disk("recovery", "create", "--any-output", ENROLLED)
        self.assertNotEqual(answer.code, 0)
        self.assertEqual(self.files(), {})

    def test_ctrl_c_leaves_the_earlier_codes(self):
        self.create()
        before = self.files()
        # A reader that takes nothing holds the command while it shows the codes.
        reading, writing = os.pipe()
        os.write(writing, b"x" * fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096))
        words = [program("iampassctl"), "recovery", "create", "--any-output", ENROLLED, "--config", world.path("iampass.conf")]
        with subprocess.Popen(words, stdout=writing, stderr=subprocess.PIPE) as command, open(reading, "rb") as reader:
            os.close(writing)
            self.wait_until_interrupts_wait(command.pid)
            command.send_signal(signal.SIGINT)
            codes = re.findall(CODE, reader.read().decode())
            self.assertEqual(command.wait(60), INTERRUPTED)
        self.assertEqual(len(codes), 10)
        self.assertEqual(self.files(), before)

    def wait_until_interrupts_wait(self, pid):
        """The command holds SIGINT back, and looks at it when it likes."""
        end = time.monotonic() + 30
        while not int(re.search(r"SigBlk:\s*(\w+)", read(f"/proc/{pid}/status"))[1], 16) & 1 << signal.SIGINT - 1:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_at_a_terminal_no_flag_is_needed(self):
        child = world.terminal("recovery", "create", ENROLLED)
        self.assertEqual(world.finish(child), 0)
        self.assertEqual(len(re.findall(CODE, child.screen.getvalue())), 10)

    def test_only_users_who_could_use_them_get_codes(self):
        answer = world.ctl("recovery", "create", "--any-output", WITHOUT_TOKEN)
        self.assertEqual((answer.code, answer.out), (NO_USER, ""))
        self.assertEqual(world.ctl("recovery", "create", "--any-output", "no-such-user").code, NO_USER)

    def test_without_a_service_that_takes_them_it_says_so(self):
        world.configure(methods_offline=None)
        self.assertIn("no PAM service takes recovery codes", world.ctl("recovery", "create", "--any-output", ENROLLED).err)
        self.assertIn("has recovery codes, and no service takes them", world.ctl("check").out)

    def test_revoking_and_removing_take_them_away(self):
        self.create()
        self.assertIn("revoked", world.ctl("recovery", "revoke", ENROLLED).out)
        self.assertEqual(self.files(), {})
        self.assertIn("had no recovery codes", world.ctl("recovery", "revoke", ENROLLED).out)
        self.create()
        self.assertEqual(world.ctl("user", "remove", "--local", ENROLLED).code, 0)
        self.assertEqual(self.files(), {})
        self.assertEqual(world.ctl("user", "add", ENROLLED).code, 0)

    def test_without_a_configuration_nothing_is_revoked(self):
        self.create()
        before = self.files()
        good = read(world.path("iampass.conf"))
        world.write("iampass.conf", "server\n")
        try:
            for words in (("recovery", "revoke"), ("user", "remove", "--local")):
                answer = world.ctl(*words, ENROLLED)
                self.assertNotEqual(answer.code, 0, answer.text)
                self.assertIn("iampass.conf", answer.err)
        finally:
            world.write("iampass.conf", good)
        self.assertEqual(self.files(), before)
        self.assertIn(ENROLLED, world.ctl("user", "list").out)

    def test_a_power_cut_does_not_bring_a_set_back_without_its_uses(self):
        self.create()
        (path,) = self.files()
        used = f"{path}.{json.loads(read(path))['id']}.1.used"
        world.write(os.path.relpath(used, world.folder), "{}")
        # The service knows of it: otherwise the use stays until it does.
        world.write(os.path.relpath(used, world.folder).replace(".used", ".told"), "")
        subprocess.run(
            ["strace", "-f", "-qq", "-o", world.path("trace"), "-e", "trace=unlink,unlinkat,fsync", program("iampassctl"),
             "recovery", "revoke", ENROLLED, "--config", world.path("iampass.conf")], check=True, capture_output=True, timeout=60)  # fmt: skip
        self.assertEqual(self.files(), {})
        self.assertRegex(read(world.path("trace")), f'(?s){path}".*fsync.*= 0.*{re.escape(used)}"')

    def test_two_at_once_wait_for_each_other(self):
        with open(world.path("iampassctl.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for words in (("create", "--any-output"), ("revoke",)):
                with self.subTest(words=words):
                    command = subprocess.Popen(
                        [program("iampassctl"), "recovery", *words, ENROLLED, "--config", world.path("iampass.conf")],
                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
                    self.addCleanup(command.wait)
                    self.addCleanup(command.stderr.close)
                    self.addCleanup(command.kill)
                    self.assertIn(b"waiting for another iampassctl", command.stderr.readline())
                    self.assertEqual(self.files(), {})

    def test_check_says_who_would_be_left_with_a_password(self):
        found = world.ctl("check").out
        self.assertIn(f"with a password only: {ENROLLED}", found)
        self.create()
        found = world.ctl("check").out
        self.assertIn("take recovery codes", found)
        self.assertIn(f"{ENROLLED} has 10 recovery codes left", found)


if __name__ == "__main__":
    unittest.main()
