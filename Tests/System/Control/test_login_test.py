"""`iampassctl login-test`: a real PAM transaction with the built module."""

import glob
import io
import os
import time
import unittest

import pexpect
from Support.Service import ends

from control import INTERRUPTED, NO_PERMISSION, USAGE, world_with_a_phone
from Support.Service.late_line import without_late_line
from Support.Service.world import ENROLLED, program

STACK = "auth required MODULE\naccount required pam_permit.so\nsession required pam_permit.so\n"
PUSH = "Approve the sign-in on your phone"


def setUpModule():
    global world
    world = world_with_a_phone()


class LoginTest(unittest.TestCase):
    def setUp(self):
        world.settings = {"server": world.address, "ca_file": world.certificate}
        world.configure()
        world.pam("sudo", lines=STACK)
        world.forget_attempts()
        self.known = {one["session"] for one in world.phone_status()["sessions"]}

    def phone(self, answer):
        phone = world.phone(answer)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def start(self, *words, user=ENROLLED, before=()):
        command = [*before, program("iampassctl"), "login-test", user, "--pam-folder", world.path("pam.d"), *words]
        child = pexpect.spawn(
            command[0], command[1:], timeout=60,
            encoding="utf-8", env={"PATH": os.environ["PATH"], "TERM": "dumb"}, dimensions=(40, 200))  # fmt: skip
        child.screen = io.StringIO()
        child.logfile_read = child.screen
        return child

    def finish(self, child):
        """Its exit status and what is certain of its screen, and in `took` the seconds until its end."""
        began = time.monotonic()
        code = world.finish(child)
        self.took = time.monotonic() - began
        return code, without_late_line(child.screen.getvalue().replace("\r\n", "\n"))

    def assert_ended(self, least):
        """The service knows of no session, unless the command took so many seconds, as to give the end up takes at least."""
        ends.assert_ended(lambda: 1 - len(self.sessions_left()), int(self.took >= least))

    def sessions_left(self):
        return [one for one in world.phone_status()["sessions"] if one["session"] not in self.known]

    def test_an_approved_sign_in_shows_each_step_and_its_time(self):
        self.phone("approve")
        code, screen = self.finish(self.start())
        self.assertEqual(code, 0, screen)
        took = r"success after (?:\d+ ms|\d+\.\d s)"
        self.assertRegex(
            screen,
            rf"\Asigning daemon in through sudo\nauthenticate\n  message  {PUSH}\n  {took}\naccount\n  {took}\n"
            rf"open session\n  {took}\nclose session\n  {took}\n\Z")  # fmt: skip
        self.assert_ended(ends.END)

    def test_a_denial_is_said_with_its_meaning(self):
        self.phone("deny")
        code, screen = self.finish(self.start())
        self.assertEqual(code, NO_PERMISSION)
        self.assertIn("message  IAMPASS: denied on your phone", screen)
        self.assertRegex(screen, r"maxtries after .*: denied on the phone")
        self.assertNotIn("account", screen)

    def test_a_password_is_asked_without_echo(self):
        world.pam("sudo", arguments="prompt=choose timeout=20s", lines=STACK)
        child = self.start()
        child.expect_exact("message  Press Enter alone to approve on your phone")
        child.expect_exact("asks     Password: ")
        self.assertTrue(child.waitnoecho(60))
        child.sendline("my-very-own-password")
        code, screen = self.finish(child)
        self.assertNotIn("my-very-own-password", screen)
        self.assertEqual(code, NO_PERMISSION)
        self.assertIn("authinfo_unavail", screen)

    def test_ctrl_c_while_the_phone_rings_takes_the_request_back(self):
        phone = self.phone("ignore")
        child = self.start()
        child.expect_exact(PUSH)
        phone.wait_for("sign-in request")
        child.sendintr()
        code, screen = self.finish(child)
        self.assertEqual(code, INTERRUPTED)
        self.assertIn("abort", screen)
        self.assert_ended(ends.CANCELLATION)

    def test_ctrl_c_at_the_password_ends_it(self):
        world.pam("sudo", arguments="prompt=choose timeout=20s", lines=STACK)
        child = self.start()
        child.expect_exact("asks     Password: ")
        child.sendintr()
        self.assertEqual(self.finish(child)[0], INTERRUPTED)

    def test_a_service_that_is_not_there_is_said(self):
        code, screen = self.finish(self.start("--service", "nonsense"))
        self.assertEqual(code, 66)
        self.assertIn("pam.d/nonsense is missing", screen)

    def test_a_locker_is_tried_by_the_stacks_of_the_file_that_it_asks_as(self):
        world.settings["services"] = "xsecurelock"
        world.configure()
        world.pam("common-auth", lines="auth required MODULE\n")
        # What a file does not have libpam takes from this one.
        world.pam("other", lines="auth required pam_deny.so\n" + STACK.split("\n", 1)[1])
        code, screen = self.finish(self.start("--service", "xsecurelock"))
        self.assertEqual(code, 66, screen)
        self.phone("approve")
        code, screen = self.finish(self.start("--service", "xsecurelock", before=world.with_program("xsecurelock")))
        self.assertEqual(code, 0, screen)
        self.assertIn("signing daemon in through xsecurelock\n", screen)
        self.assertEqual(glob.glob("/run/iampass-login-test.*"), [])

    def test_it_says_what_it_saw_of_an_unknown_service(self):
        row = "install -D -m 644 /dev/stdin /etc/iampass/services.d/home-grown.conf"
        for session, has_row in (("", True), ("session optional pam_systemd.so\n", False)):
            with self.subTest(session=session):
                world.pam("home-grown", lines="auth required pam_permit.so\n" + STACK.split("\n", 1)[1] + session)
                code, screen = self.finish(self.start("--service", "home-grown"))
                self.assertEqual(code, 0, screen)
                self.assertIn("\nnothing is known of home-grown\n", screen)
                self.assertIn("  program  there is none of this name\n", screen)
                self.assertEqual("pam_systemd.so opens a login session" in screen, not has_row, screen)
                self.assertEqual(row in screen, has_row, screen)

    def test_a_known_service_has_no_proposal(self):
        self.phone("approve")
        self.assertNotIn("nothing is known", self.finish(self.start())[1])

    def test_a_service_that_is_a_path_is_a_usage_error(self):
        for name in ("../sudo", "/etc/passwd", "", ".x"):
            self.assertEqual(self.finish(self.start(f"--service={name}"))[0], USAGE)


if __name__ == "__main__":
    unittest.main()
