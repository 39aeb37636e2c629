"""`iampassctl status`: one screen, and an exit code that says whether all of it works."""

import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from control import CONFIG, NO_PERMISSION, world_with_a_phone
from Support.Service.world import ENROLLED, program, read

#: fcntl(2); Python has no name for it.
F_OFD_SETLK = 37
OLD = "0" * 31 + "1"


def setUpModule():
    global world
    world = world_with_a_phone()


class Status(unittest.TestCase):
    def setUp(self):
        world.set_up_for_sudo()
        for folder in ("run", "run/sessions"):
            os.makedirs(world.path(folder), 0o700, exist_ok=True)
        for name in os.listdir(world.path("run/sessions")):
            os.remove(world.path("run/sessions", name))
        before = read(world.path("credentials"))
        self.addCleanup(world.write, "credentials", before)
        world.write("credentials", before + "host = desk-7\n")
        self.lock = os.open(world.path("run/helper.watching"), os.O_RDWR | os.O_CREAT, 0o600)
        # What a helper holds for its life.
        fcntl.fcntl(self.lock, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        self.addCleanup(os.close, self.lock)

    def status(self, *words):
        before = world.snapshot()
        answer = world.ctl("status", "--pam-folder", world.path("pam.d"), *words)
        self.assertEqual(world.snapshot(), before, "status changes nothing")
        return answer

    def record(self, name, **more):
        stat = read(f"/proc/{os.getpid()}/stat")
        me = {"pid": os.getpid(), "start": stat.rsplit(")", 1)[1].split()[19]}
        record = {
            "version": 1, "id": name, "user": ENROLLED, "uid": 1, "service": "sshd", "remote_host": "192.0.2.7",
            "tty": "pts/3", "status_url": world.address + "/s", "logout_url": world.address + "/l",
            "session_token": "the-token-of-a-session", "session_secret": "0123456789abcdef01234567", "process": me, "parent": me,
            "created": int(time.clock_gettime(time.CLOCK_BOOTTIME)) - 100, "duration": 600, "claimed": True,
            "released": False, "condemned": False, "logind_session": "7", "leader": me, **more,
        }  # fmt: skip
        world.write("run/sessions/" + name, json.dumps(record))

    def assert_broken(self, pattern):
        answer = self.status()
        self.assertEqual((answer.code, answer.err), (1, ""), answer.text)
        self.assertRegex(answer.out, pattern)
        # One thing that does not work hides none of the others.
        self.assertEqual(
            [name for name in re.findall(r"(?m)^([a-z]+) ", answer.out) if name != "problem"],
            ["computer", "service", "asks", "helper", "trial", "nobody"], answer.out)
        self.assertIs(json.loads(self.status("--json").out)["works"], False)

    def test_all_works(self):
        answer = self.status()
        self.assertEqual((answer.code, answer.err), (0, ""), answer.text)
        self.assertEqual(answer.out.splitlines(), [
            "computer  desk-7", f"service   {world.address}: answers, and accepts this computer", "asks      sudo",
            "helper    runs", "trial     none", "", "nobody is signed in by phone"])

    def test_who_is_signed_in_by_phone(self):
        self.record(OLD)
        lines = self.status().out.splitlines()
        self.assertEqual(lines[-2].split(), ["USER", "SERVICE", "SINCE", "TERMINAL", "FROM", "STATUS"])
        self.assertRegex(lines[-1], rf"^{ENROLLED} +sshd +20\d\d-\d\d-\d\d \d\d:\d\d:\d\d +pts/3 +192\.0\.2\.7 +unknown$")
        answer = self.status("--json")
        self.assertNotIn("the-token-of-a-session", answer.text)
        told = json.loads(answer.out)
        session, = told["sessions"]
        self.assertEqual((told["works"], told["computer"], told["asking"]), (True, "desk-7", ["sudo"]))
        self.assertEqual((session["user"], session["service"], session["tty"]), (ENROLLED, "sshd", "pts/3"))
        # It began a hundred seconds ago, or a little more.
        self.assertLessEqual(session["since"], time.time() - 99)
        self.assertGreater(session["since"], time.time() - 100 - 600)

    def test_nobody_listens(self):
        world.configure(server="https://127.0.0.1:1")
        self.assert_broken(r"(?m)^problem   https://127.0.0.1:1 cannot be asked: refused$")

    def test_a_service_that_never_answers_has_one_bounded_try(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        world.configure(server=f"https://127.0.0.1:{silent.getsockname()[1]}")
        self.assert_broken("(?m)^problem   .* cannot be asked: ")

    def test_a_wrong_secret(self):
        text = read(world.path("credentials"))
        world.write("credentials", re.sub(r"(application_secret\s*=\s*).*", r"\1" + "A" * 24, text))
        self.assert_broken("(?m)^problem   the service does not accept the signature")

    def test_no_service_asks_the_phone(self):
        world.pam("sudo", lines="auth required pam_unix.so\n")
        self.assert_broken("(?m)^asks      no PAM service asks the phone$")

    def test_a_stack_that_lets_anybody_in(self):
        world.pam("sudo", lines="auth optional MODULE\nauth required pam_permit.so\n")
        self.assert_broken("(?m)^problem   sudo: lets anybody in")

    def test_no_helper(self):
        fcntl.fcntl(self.lock, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0))
        self.assert_broken("(?m)^helper    does not run: nobody is logged out when a phone leaves$")

    def test_a_trial_that_has_ended(self):
        world.write("iampass-trial-ended", "1795000000\n")
        self.addCleanup(os.unlink, world.path("iampass-trial-ended"))
        self.assert_broken(r"(?m)^trial     a trial ended \(.*\) and switched sign-in by phone off: .*\n +hint: iampassctl enable")

    def test_an_application_has_no_name(self):
        text = read(world.path("credentials"))
        world.write("credentials", text.replace("host = desk-7\n", ""))
        self.assertIn("computer  has no name at the service", self.status().out)
        self.assertIsNone(json.loads(self.status("--json").out)["computer"])

    def test_a_computer_that_is_not_set_up(self):
        before = read(world.path("iampass.conf"))
        self.addCleanup(world.write, "iampass.conf", before, 0o644)
        os.unlink(world.path("iampass.conf"))
        answer = self.status()
        self.assertEqual((answer.code, answer.out), (CONFIG, ""))
        self.assertIn("hint: iampassctl setup", answer.err)

    def test_an_ordinary_user_is_refused(self):
        folder = tempfile.mkdtemp(prefix="iampassctl-as-nobody-")
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        shutil.copy(program("iampassctl"), folder)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", os.path.join(folder, "iampassctl"), "status"],
            capture_output=True, text=True, cwd="/", timeout=60)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (NO_PERMISSION, ""))
        self.assertEqual(done.stderr, "iampassctl: only root can do this\nhint: sudo iampassctl …\n")


if __name__ == "__main__":
    unittest.main()
