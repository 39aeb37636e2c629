"""PAM files that are written over while the helper runs. Folders of the test lie over the computer's."""

import fcntl
import itertools
import os
import signal
import unittest

from helper_world import ServedCase, until

OWN = "auth required pam_iampass.so\n"
FOREIGN = "auth required pam_unix.so\n"
REPLACING = "auth sufficient pam_iampass.so\n"


class LostLines(ServedCase):
    def setUp(self):
        super().setUp()
        self.numbers = itertools.count()
        self.world.configure(services="sudo sudo-i sshd")
        os.makedirs(self.world.path("pam.d"), exist_ok=True)
        self.write("common-auth", REPLACING + FOREIGN)
        for name in ("sudo", "sudo-i"):
            self.write(name, "@include common-auth\n")
        self.write("sshd", OWN + FOREIGN)
        # As `iampassctl enable` has left it.
        for folder in ("state", "state/pam"):
            os.makedirs(self.world.path(folder), 0o700)
        self.expect("auth sudo asked", "auth sudo-i asked", file="/etc/pam.d/common-auth")
        self.expect("auth sshd required", file="/etc/pam.d/sshd")

    def write(self, name, text):
        """Put in the place of the old file, as package managers do it."""
        self.world.write("pam.d/" + name + ".new", text, 0o644)
        os.rename(self.world.path("pam.d", name + ".new"), self.world.path("pam.d", name))

    def expect(self, *lines, file):
        with open(self.world.path("state/pam/lines"), "a", opener=lambda path, flags: os.open(path, flags, 0o600)) as note:
            note.writelines(f"{line} {file}\n" for line in lines)

    def start(self):
        script = 'mount --bind "$1" /etc/pam.d; shift; exec "$@"'
        self.world.helper = self.world.start(
            "unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh", self.world.path("pam.d"),
            *self.world.helper_words())  # fmt: skip
        until(lambda: os.path.exists(self.world.path("run/helper.watching")), "not started")

    def look(self):
        """Has it look at the files now."""
        self.world.helper.process.send_signal(signal.SIGHUP)

    def look_and_end(self):
        """The same; comes back after the look."""
        before = self.world.settings["ca_file"]
        # A round says what it does not like, and then looks: the second one begins after the first one's look.
        for _ in range(2):
            path = self.world.path(f"nowhere-{next(self.numbers)}")
            self.world.configure(ca_file=path)
            self.look()
            self.world.helper.wait_for(f"not usable.*{path}")
        self.world.configure(ca_file=before)

    def said(self):
        return [line for line in self.world.helper.lines if "lost its line" in line]

    def test_a_second_factor_that_is_written_over_is_an_error_in_the_log(self):
        self.start()
        self.write("sshd", FOREIGN)
        self.look()
        self.world.helper.wait_for("lost its line")
        for _ in range(2):
            self.look_and_end()
        self.assertEqual(self.said(), [
            "<3>/etc/pam.d/sshd has lost its line of pam_iampass.so; the phone was required there, and is not any more: sshd; "
            "put the line back, or run iampassctl enable if this is meant; see iampass-helper(8)"])

    def test_a_file_of_several_services_is_one_line(self):
        self.start()
        self.write("common-auth", FOREIGN)
        self.look()
        self.world.helper.wait_for("lost its line")
        self.assertEqual(self.said(), [
            "<4>/etc/pam.d/common-auth has lost its line of pam_iampass.so; the phone is not asked any more: sudo, sudo-i; "
            "iampassctl enable, or iampassctl disable if this is meant; see iampass-helper(8)"])

    def test_while_a_command_is_at_work_nothing_is_said(self):
        self.start()
        with open(self.world.path("iampassctl.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.write("sshd", FOREIGN)
            self.look_and_end()
            self.assertEqual(self.said(), [])
        self.look()
        self.world.helper.wait_for("lost its line")

    def test_what_is_as_it_was_is_not_mentioned(self):
        self.start()
        self.look_and_end()
        self.assertEqual(self.said(), [])


if __name__ == "__main__":
    unittest.main()
