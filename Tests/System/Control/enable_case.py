"""What tests of `iampassctl enable` share. The computer's own pam-auth-update works on copies: folders of the test lie over
the computer's in a mount namespace."""

import glob
import os
import shutil
import subprocess
import unittest

from control import Answer, ControlWorld
from Support.Service.world import PATIENCE, program, read

PROFILES = os.path.join(os.path.dirname(__file__), "../../../packaging/pam-configs")
COPIED = ("/etc/pam.d", "/usr/share/pam-configs", "/var/lib/pam", "/var/cache/debconf")
OVER = 'root=$1; shift; while [ "$1" != -- ]; do mount --bind "$root$1" "$1"; shift; done; shift; exec "$@"'


def open_world():
    """For one module's tests: a service, and a computer that is set up and asks no phone yet."""
    Enabled.world = ControlWorld()
    unittest.addModuleCleanup(Enabled.world.close)
    Enabled.world.serve()
    return Enabled.world


class Enabled(unittest.TestCase):
    world = None

    def setUp(self):
        self.world.configure(services="sudo", signed_replies="required", signed_targets="required")
        self.root = self.world.path("root")
        self.addCleanup(shutil.rmtree, self.root)
        for folder in COPIED:
            shutil.copytree(folder, self.root + folder)
        for name in ("iampass", "iampass-session"):
            shutil.copy(os.path.join(PROFILES, name), self.root + "/usr/share/pam-configs")
        modules = os.path.dirname(glob.glob("/usr/lib/*/security/pam_unix.so")[0])
        os.makedirs(self.root + modules)
        shutil.copy(program("libpam_iampass.so"), self.root + modules + "/pam_iampass.so")
        #: What lies over the computer's own.
        self.mounted = [*COPIED, modules]
        self.assertNotIn("pam_iampass", self.common())

    def common(self):
        return read(self.root + "/etc/pam.d/common-auth")

    def write_pam(self, service, text):
        with open(f"{self.root}/etc/pam.d/{service}", "w") as file:
            file.write(text)

    def lay_over(self, path, text):
        """A program of the test's in the place of the computer's."""
        os.makedirs(os.path.dirname(self.root + path), exist_ok=True)
        shutil.copy(path, self.root + path)
        with open(self.root + path, "w") as file:
            file.write(text)
        if path not in self.mounted:
            self.mounted.append(path)

    def words(self, *words):
        """A command line of iampassctl, which becomes that process itself."""
        return ["unshare", "--mount", "sh", "-ec", OVER, "sh", self.root, *self.mounted, "--", program("iampassctl"), *words,
                "--config", self.world.path("iampass.conf")]  # fmt: skip

    def ctl(self, *words):
        return Answer(subprocess.run(
            self.words(*words), capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL))
