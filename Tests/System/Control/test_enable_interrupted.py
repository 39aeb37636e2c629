"""`iampassctl enable`, `disable` and the end of a trial, interrupted while pam-auth-update runs."""

import os
import pathlib
import signal
import subprocess
import unittest

from control import INTERRUPTED
from enable_case import Enabled, open_world
from Support.Service.server import until
from Support.Service.world import PATIENCE, read

UPDATE = "/usr/sbin/pam-auth-update"
#: Its first command, after debconf has started it again.
BEGINNING = "version('2.0');"


def setUpModule():
    global world
    world = open_world()


class Interrupted(Enabled):
    def setUp(self):
        super().setUp()
        world.configure(services="login")
        for service in ("login", "sudo"):
            self.write_pam(service, "@include common-auth\n@include common-session\n")
        self.addCleanup(pathlib.Path(world.path("iampass-trial-ended")).unlink, missing_ok=True)
        self.lay_over("/usr/bin/wall", "#!/bin/sh\n")
        self.started, self.may_go_on = pathlib.Path(self.root, "started"), pathlib.Path(self.root, "may-go-on")
        waits = (f"open(my $mark, '>', '{self.started}') or die; close($mark);\n"
                 f"for (1..1200) {{ last if -e '{self.may_go_on}'; select(undef, undef, undef, 0.05); }}\n")  # fmt: skip
        self.assertEqual(read(UPDATE).count(BEGINNING), 1)
        self.lay_over(UPDATE, read(UPDATE).replace(BEGINNING, waits + BEGINNING))

    def switch_on(self):
        self.may_go_on.touch()
        answer = self.ctl("enable", "--force")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertIn("pam_iampass", self.common())

    def interrupt(self, number, *words):
        """Sends the signal while pam-auth-update waits. The command's exit code, and what it printed."""
        self.started.unlink(missing_ok=True)
        self.may_go_on.unlink(missing_ok=True)
        command = subprocess.Popen(
            self.words(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(command.wait)
        self.addCleanup(command.stdout.close)
        self.addCleanup(command.kill)
        until(lambda: self.started.exists(), "pam-auth-update's start")
        os.kill(command.pid, number)
        self.may_go_on.touch()
        output, _ = command.communicate(timeout=PATIENCE)
        return command.returncode, output

    def test_what_enable_has_begun_is_taken_back(self):
        def files():
            return self.common(), read(self.root + "/etc/pam.d/common-session"), read(world.path("iampass.conf"))

        before = files()
        for number in (signal.SIGINT, signal.SIGHUP):
            with self.subTest(number=number):
                code, output = self.interrupt(number, "enable", "--force", "--services", "sudo")
                self.assertEqual((code, files()), (INTERRUPTED, before), output)
                self.assertIn("interrupted; nothing was changed", output)

    def test_what_switches_off_is_finished(self):
        for words in ("disable", "trial-end"):
            with self.subTest(words=words):
                self.switch_on()
                code, output = self.interrupt(signal.SIGTERM, words)
                self.assertEqual(code, 0, output)
                self.assertIn("sign-in by phone is off", output)
                self.assertNotIn("pam_iampass", self.common())


if __name__ == "__main__":
    unittest.main()
