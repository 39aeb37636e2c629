"""The words that `iampass-helper` is started with."""

import subprocess
import unittest

from helper_world import program

USAGE = 64
#: A helper that starts by mistake leaves nothing in this machine's /run.
IN_A_NAMESPACE = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh")


class Words(unittest.TestCase):
    def test_a_configuration_without_an_absolute_path_is_refused(self):
        for path in ("iampass.conf", "./iampass.conf", "", "/etc/iampass/"):
            done = subprocess.run(
                [*IN_A_NAMESPACE, program("iampass-helper"), "--config", path], capture_output=True, text=True, timeout=30)
            self.assertEqual((done.returncode, done.stderr), (USAGE, "<3>--config takes an absolute path\n"), path)


if __name__ == "__main__":
    unittest.main()
