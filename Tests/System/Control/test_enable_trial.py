"""`iampassctl enable --trial` of what is not off, and its end."""

import unittest

import join_case
from control import CONFIG
from enable_case import Enabled, open_world
from Support.Service.world import read


def setUpModule():
    global world
    world = join_case.JoinCase.world = open_world()


class OfWhatIsOn(Enabled):
    def setUp(self):
        super().setUp()
        self.write_pam("sudo", "@include common-auth\n")

    def assert_refused(self, named):
        """Even if forced, without a change."""
        before = self.common(), world.snapshot()
        answer = self.ctl("enable", "--force", "--no-security-key", "--services", "login", "--trial", "10m")
        self.assertEqual((answer.code, (self.common(), world.snapshot())), (CONFIG, before), answer.text)
        self.assertRegex(answer.err, rf"(?m)^already there: {named}")
        self.assertIn("a trial begins only if sign-in by phone is off, and PAM has the lines above\n", answer.err)

    def test_what_is_on_is_on_after_a_trial_that_was_refused(self):
        self.assertEqual(self.ctl("enable", "--force").code, 0)
        self.assert_refused(r"/etc/pam\.d/common-auth:\d+: auth.*pam_iampass\.so")
        self.assertIn("pam_iampass.so", self.common())

    def test_a_security_key_alone_is_on_too(self):
        self.write_pam("sudo", "auth required pam_u2f.so origin=pam://iampass\n@include common-auth\n")
        self.assert_refused(r"/etc/pam\.d/sudo:1: auth required pam_u2f\.so")

    def test_join_offers_no_trial_of_what_is_on(self):
        self.assertEqual(self.ctl("enable", "--force").code, 0)
        self.addCleanup(world.write, "credentials", read(world.path("credentials")))
        code, _ = join_case.new_code("--unattended")
        done = self.ctl("join", world.address, code, "--name", "desk-that-is-on", "--yes", "--again")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("next: iampassctl check\n", done.out)


if __name__ == "__main__":
    unittest.main()
