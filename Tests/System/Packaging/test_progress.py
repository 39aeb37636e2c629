"""`watched` of packaging/common.sh, which tells what a long build does."""

import os
import pathlib
import pty
import re
import shlex
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
#: Seconds in place of ten.
PAUSE = 2
PATIENCE = 120


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = pathlib.Path(folder.name) / "log"

    def words(self, command):
        script = (f"source {shlex.quote(str(PROJECT / 'packaging' / 'common.sh'))}\nprogress_pause={PAUSE}\n"
                  f"watched building {shlex.quote(str(self.log))} bash -c {shlex.quote(command)}\n")
        return ["bash", "-euo", "pipefail", "-c", script]

    def watch(self, command):
        return subprocess.run(self.words(command), capture_output=True, text=True, timeout=PATIENCE, check=False)

    def test_lines_say_what_is_done_and_for_how_long(self):
        done = self.watch("echo '[1/9] Compiling One' >&2; sleep 3; echo '[2/9] Compiling Two' >&2; sleep 3; echo out")
        self.assertEqual((done.returncode, done.stdout), (0, "out\n"), done)
        lines = done.stderr.splitlines()
        self.assertRegex(lines[0], r"^building 0:\d\d  \[[12]/9\] Compiling (One|Two)$")
        self.assertRegex(lines[-1], r"^building took 0:\d\d$")
        times = [int(seconds) for seconds in re.findall(r"building 0:(\d\d)  ", done.stderr)]
        self.assertTrue(all(later - sooner >= PAUSE for sooner, later in zip(times, times[1:])), lines)
        self.assertIn("[2/9] Compiling Two\n", self.log.read_text())

    def test_a_short_command_has_one_line(self):
        self.assertRegex(self.watch("true").stderr, r"\Abuilding took 0:\d\d\n\Z")

    def test_a_failure_is_passed_on_and_its_log_is_kept(self):
        done = self.watch("echo broken >&2; exit 3")
        self.assertEqual((done.returncode, self.log.read_text()), (3, "broken\n"), done)
        self.assertNotIn("took", done.stderr)

    def test_on_a_terminal_it_is_one_line(self):
        ours, theirs = pty.openpty()
        running = subprocess.Popen(self.words("echo '[1/9] Compiling One' >&2; sleep 5"), stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        # The terminal is gone once all who write to it are.
        try:
            while part := os.read(ours, 4_096):
                shown += part
        except OSError:
            pass
        os.close(ours)
        self.assertEqual(running.wait(PATIENCE), 0)
        self.assertRegex(shown.decode(), r"\rbuilding 0:\d\d  \[1/9\] Compiling One\x1b\[K\r")
        self.assertEqual(shown.count(b"\n"), 1, shown)


if __name__ == "__main__":
    unittest.main()
