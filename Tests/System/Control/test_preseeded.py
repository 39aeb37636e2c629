"""A preseeded join: what the package's postinst does with the address and the code. debconf and the commands are stubs."""

import os
import shutil
import subprocess
import tempfile
import unittest

POSTINST = os.path.join(os.path.dirname(__file__), "../../../packaging/debian/libpam-iampass.postinst")
CONFMODULE = """db_get() { RET=$PRESEEDED; }
db_reset() { return "$RESET"; }
db_stop() { :; }
"""


class Preseeded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.write("confmodule", CONFMODULE)
        self.write("iampassctl", '#!/bin/sh\nprintf "%s\\n" "$@" >"$FOLDER/arguments"\ncat >"$FOLDER/input"\nexit "$JOINED"\n')
        for name in ("install", "pam-auth-update"):
            self.write(name, "#!/bin/sh\n")
        with open(POSTINST) as file:
            text = file.read()
        self.assertIn("\n. /usr/share/debconf/confmodule\n", text)
        self.write("postinst", text.replace(". /usr/share/debconf/confmodule", f". {self.folder}/confmodule"))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)
        os.chmod(file.name, 0o755)

    def configure(self, preseeded, reset=0, joined=0):
        return subprocess.run(
            [os.path.join(self.folder, "postinst"), "configure"], capture_output=True, text=True, cwd="/",
            env={"PATH": f"{self.folder}:{os.environ['PATH']}", "FOLDER": self.folder, "PRESEEDED": preseeded,
                 "RESET": str(reset), "JOINED": str(joined)})  # fmt: skip

    def read(self, name):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            return None
        with open(path) as file:
            return file.read()

    def test_the_code_goes_by_a_pipe_and_the_wait_is_short(self):
        done = self.configure("https://h CODE")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read("arguments").split(), ["join", "--yes", "--wait", "1m", "--", "https://h", "-"])
        self.assertEqual(self.read("input"), "CODE\n")

    def test_what_debconf_does_not_erase_is_not_used(self):
        done = self.configure("https://h CODE", reset=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(self.read("arguments"))
        self.assertIn("does not join", done.stderr)

    def test_no_file_names_are_made_of_it(self):
        self.configure("* *")
        self.assertEqual((self.read("arguments").split()[-2], self.read("input")), ("*", "*\n"))

    def test_a_join_that_fails_fails_no_installation(self):
        done = self.configure("https://h", joined=77)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("has not joined", done.stderr)

    def test_nothing_preseeded_joins_nothing(self):
        self.assertEqual(self.configure("").returncode, 0)
        self.assertIsNone(self.read("arguments"))
