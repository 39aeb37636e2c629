"""A computer that loses its power while it has sessions: they are ended at the service after the next start."""

import contextlib
import unittest

from helper_case import HelperCase

CREDENTIALS = "/etc/iampass/credentials"
DATA = "/var/lib/iampass-server"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Reboot(HelperCase):
    def setUp(self):
        super().setUp()
        self.assert_eventually("a session of the test before is live", lambda: not self.live_sessions())

    def session_over_a_reboot(self):
        """A session that is live when the power fails. Returns its id."""
        child = self.ssh_shell()
        boot = self.host.run("cat", BOOT_ID)
        (session,) = self.live_sessions()
        self.host.reboot()
        child.close(force=True)
        self.assertNotEqual(self.host.run("cat", BOOT_ID), boot)
        self.assertEqual(self.logind_sessions(), [])
        return session["session"]

    def is_live(self, session):
        return session in [one["session"] for one in self.live_sessions()]

    @contextlib.contextmanager
    def host_credential(self):
        made = self.host.run(
            "iampass-server", "host-credential", "create", "workstation", "reboot", "--host", "workstation",
            "--data", DATA, user="_iampass-server")
        with self.host.changed(CREDENTIALS, lambda _: made):
            self.host.run("systemctl", "reload", "iampass-helper")
            yield
        self.host.run("systemctl", "reload", "iampass-helper")

    @contextlib.contextmanager
    def helper_only_until_the_reboot(self):
        self.host.run("systemctl", "disable", "iampass-helper")
        try:
            yield
        finally:
            self.host.run("systemctl", "enable", "--now", "iampass-helper")

    def test_with_the_applications_own_credential_the_helper_ends_it(self):
        session = self.session_over_a_reboot()
        self.assert_eventually("the session is still live", lambda: not self.is_live(session))
        self.assertIn("that were open before this start", self.host.journal())

    def test_with_a_host_credential_the_next_sign_in_ends_it(self):
        with self.host_credential(), self.helper_only_until_the_reboot():
            session = self.session_over_a_reboot()
            self.assertTrue(self.is_live(session))
            with self.phone("approve"):
                self.assertEqual(self.sudo().finish(), 0)
            self.assertFalse(self.is_live(session))


if __name__ == "__main__":
    unittest.main()
