"""`iampassctl enable --trial` of what is not off, and its end."""

import fcntl
import pathlib
import re
import unittest

import join_case
from control import CANNOT_CREATE, CONFIG, INTERRUPTED
from enable_case import Enabled, open_world
from setup_case import SECRET
from Support.Service.world import read


def setUpModule():
    global world
    world = join_case.JoinCase.world = open_world()


class Trial(Enabled):
    def setUp(self):
        super().setUp()
        self.write_pam("sudo", "@include common-auth\n")

    def edit(self):
        """As an administrator does, so that pam-auth-update leaves the file alone from then on."""
        own = r"auth\trequired\tpam_faildelay.so delay=1\n\1"
        self.write_pam("common-auth", re.sub(r"(?m)^(auth.*pam_unix)", own, self.common()))
        self.assertIn("pam_faildelay", self.common())


class OfWhatIsOn(Trial):

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

    def test_a_line_by_hand_is_named_and_no_end_is_promised(self):
        self.write_pam("sudo", "auth required pam_iampass.so\n@include common-auth\n")
        self.assert_refused(r"/etc/pam\.d/sudo:1: auth required pam_iampass\.so")

    def test_lines_that_enable_told_to_add_by_hand_have_no_trial(self):
        self.edit()
        answer = self.ctl("enable", "--force")
        self.assertEqual(answer.code, CANNOT_CREATE, answer.text)
        self.assertIn("add the lines above by hand, without a trial", answer.err)
        line = re.search(r"(?m)^  (auth \[.*pam_iampass\.so)$", answer.err)[1]
        self.write_pam("common-auth", f"{line}\n{self.common()}")
        self.assert_refused(r"/etc/pam\.d/common-auth:1: auth \[")

    def test_join_offers_no_trial_of_what_is_on(self):
        self.assertEqual(self.ctl("enable", "--force").code, 0)
        self.addCleanup(world.write, "credentials", read(world.path("credentials")))
        code, _ = join_case.new_code("--unattended")
        done = self.ctl("join", world.address, code, "--name", "desk-that-is-on", "--yes", "--again")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("next: iampassctl check\n", done.out)


class Ends(Trial):
    def setUp(self):
        super().setUp()
        self.addCleanup(pathlib.Path(world.path("iampass-trial-ended")).unlink, missing_ok=True)
        self.shown = pathlib.Path(self.root, "shown")
        self.lay_over("/usr/bin/wall", f'#!/bin/sh\necho "$1" >>{self.shown}\n')
        self.assertEqual(self.ctl("enable", "--force").code, 0)

    def test_an_end_that_fails_again_and_again_is_on_all_terminals_once(self):
        self.edit()
        for _ in range(2):
            answer = self.ctl("trial-end")
            self.assertEqual(answer.code, CANNOT_CREATE, answer.text)
            self.assertIn("the trial is over, but lines of pam_iampass.so are still in force", answer.out)
        self.assertEqual(len(self.shown.read_text().splitlines()), 1)

    def test_a_forgotten_question_of_another_command_does_not_hold_it_up(self):
        child = world.terminal("setup", "--application-id", "another")
        child.expect_exact(SECRET)
        answer = self.ctl("trial-end")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertNotIn("another iampassctl", answer.err)
        self.assertNotIn("pam_iampass", self.common())
        child.sendintr()
        self.assertEqual(world.finish(child), INTERRUPTED)

    def test_a_command_that_holds_the_lock_for_long_does_not_keep_it_on(self):
        with open(world.path("iampassctl.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answer = self.ctl("disable")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertIn("warning: another iampassctl is still running; going on without the lock\n", answer.err)
        self.assertNotIn("pam_iampass", self.common())


if __name__ == "__main__":
    unittest.main()
