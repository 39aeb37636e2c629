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

    def test_the_probe_takes_no_root_and_needs_systemds_socket(self):
        for user, message in (
            ("0", "the probe does not run as root; systemctl start iampass-presence.socket"),
            ("65534", "the probe has no socket; systemctl start iampass-presence.socket"),
        ):
            words = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", program("iampass-helper"), "--probe"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=30)
            self.assertEqual((done.returncode, done.stderr), (USAGE, f"<3>{message}\n"))

    def test_the_probe_takes_no_other_word(self):
        done = subprocess.run(
            [*IN_A_NAMESPACE, program("iampass-helper"), "--probe", "--config"], capture_output=True, text=True, timeout=30)
        self.assertEqual((done.returncode, done.stderr), (USAGE, "<3>unknown argument --probe; see iampass-helper --help\n"))


if __name__ == "__main__":
    unittest.main()
