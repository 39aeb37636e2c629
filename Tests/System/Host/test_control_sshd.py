"""The file that `iampassctl enable --sshd` writes, on a booted host: what it opens, and when it may go."""

import contextlib
import unittest

from control_case import ControlCase

SSHD_CONFIG = "/etc/ssh/sshd_config.d/test-host.conf"
DROP_IN = "/etc/ssh/sshd_config.d/00-iampass.conf"
#: A file of the administrator's.
MORE = "/etc/ssh/sshd_config.d/10-own.conf"
CONFIGURATION = "/etc/iampass/iampass.conf"


class DropIn(ControlCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.enabled_again)

    @contextlib.contextmanager
    def sshd_with_its_file(self, more=None):
        """sshd asks PAM by the file of `enable` alone; then another file has these lines."""
        self.ctl("disable")
        # Last of all: sshd itself is told to read its files at a moment that nobody waits for.
        self.addCleanup(self.host.run, "systemctl", "restart", "ssh")
        off = "KbdInteractiveAuthentication no"
        with self.host.changed(SSHD_CONFIG, lambda text: text.replace("KbdInteractiveAuthentication yes", off)):
            code, output = self.ctl("enable", "--sshd")
            self.assertEqual(code, 0, output)
            if more:
                self.host.path(MORE).write_text(more)
            try:
                yield
            finally:
                self.host.run("rm", "-f", MORE)
                self.ctl("disable")
                self.host.run("rm", "-f", DROP_IN)

    def test_sshds_file_stays_if_sshd_does_not_start_without_it(self):
        with self.sshd_with_its_file("AuthenticationMethods publickey,keyboard-interactive\n"):
            code, output = self.ctl("disable")
            self.assertEqual((code, self.has_profiles()), (73, []), output)
            self.assertIn(f"needs the file: {MORE}:1: AuthenticationMethods publickey,keyboard-interactive\n", output)
            self.assertIn(f"{DROP_IN} stays: without it sshd does not start: ", output)
            self.assertIn("cannot be satisfied by enabled authentication methods", output)
            self.assertNotIn("sign-in by phone is off", output)
            self.assertIn("kbdinteractiveauthentication yes", self.host.run("sshd", "-T"))
            self.host.run("rm", MORE)
            code, output = self.ctl("disable")
            self.assertEqual(code, 0, output)
            self.assertIn(f"removed {DROP_IN}", output)
            self.assertFalse(self.host.path(DROP_IN).exists())

    def test_an_administrators_lines_in_sshds_file_stay(self):
        with self.sshd_with_its_file():
            file = self.host.path(DROP_IN)
            edited = file.read_text() + "X11Forwarding no\n"
            file.write_text(edited)
            code, output = self.ctl("disable")
            self.assertEqual((code, self.has_profiles()), (73, []), output)
            self.assertIn(f"{DROP_IN} stays as it is: it has lines that iampassctl did not write\n", output)
            self.assertEqual(file.read_text(), edited)
            self.assertIn("x11forwarding no", self.host.run("sshd", "-T"))
            # Nor does switching on replace a file of the administrator's own.
            file.write_text("X11Forwarding no\n")
            code, output = self.ctl("enable", "--sshd")
            self.assertEqual((code, self.has_profiles()), (73, []), output)
            self.assertEqual(file.read_text(), "X11Forwarding no\n")

    def test_passwords_that_sshd_does_not_take_are_not_opened_without_a_word(self):
        warning = f"warning: PasswordAuthentication is off, but with {DROP_IN} sshd asks users without a phone for their password\n"
        with self.sshd_with_its_file():
            self.assertIn("passwordauthentication no", self.host.run("sshd", "-T"))
            self.assertTrue([text for text in self.findings("warning") if "PasswordAuthentication is off, but" in text])
            self.ctl("disable")
            with self.host.changed(CONFIGURATION, lambda text: text):
                code, output = self.ctl("setup")
            self.assertEqual(code, 0, output)
            self.assertRegex(output, r"(?m)^next: .*iampassctl enable --trial 10m$")
            # Without --sshd nothing is opened.
            self.assertNotIn(warning, self.ctl("enable", "--force")[1])
            code, output = self.ctl("enable", "--sshd")
            self.assertEqual(code, 0, output)
            self.assertIn(warning, output)
            self.assertIn("hint: to ask for a key as well, set UsePAM yes, ", output)

    def test_sshds_file_stays_if_a_block_would_shut_its_users_out(self):
        with self.sshd_with_its_file("Match User bob\nAuthenticationMethods publickey,keyboard-interactive\n"):
            code, output = self.ctl("disable")
            self.assertEqual((code, self.has_profiles()), (73, []), output)
            self.assertIn(f"needs the file: {MORE}:2: AuthenticationMethods publickey,keyboard-interactive\n", output)
            self.assertTrue(self.host.path(DROP_IN).exists())


if __name__ == "__main__":
    unittest.main()
