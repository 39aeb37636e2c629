"""FAULT L17: the session of an approved sign-in is bound to its record, or refused, whatever becomes of the record's id
between the approval and the session."""

import glob
import json
import os
import unittest

from broker_case import UID
from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.ends import assert_ended
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, SESSION_ERR, SUCCESS, WITHOUT_TOKEN, read

VARIABLE = "IAMPASS_SESSION"
SESSION = "XDG_SESSION_ID=c1"
REFUSED = "IAMPASS: refused: this session could not be watched: "


def setUpModule():
    global world
    SignInCase.world = world = world_with_a_phone()


class Case(SignInCase):
    def setUp(self):
        super().setUp()
        world.configure(services="sudo login sshd su ssh2")
        for service in ("login", "sshd", "ssh2"):
            world.pam(service)
        os.makedirs(world.path("logind"), exist_ok=True)
        self.forget_records()
        self.addCleanup(self.forget_records)
        self.ringing = self.phone("approve")

    def forget_records(self):
        for folder in ("sessions", "waiting"):
            for path in glob.glob(world.path("run", folder, "*")):
                os.unlink(path)

    def play(self, service, *calls, **scene):
        """The host is a process that leads logind's session c1."""
        return world.play(
            service, own=False, calls=calls, items={"rhost": "192.0.2.9", "tty": "ssh"}, sessions=world.path("logind"),
            own_uid=UID, **scene)  # fmt: skip

    def assert_bound(self, result):
        codes = dict(zip((call["call"] for call in result["calls"]), result["codes"]))
        self.assertEqual(codes["open_session"], SUCCESS, result["texts"])
        [binding] = glob.glob(world.path("run", "sessions", "*.binding"))
        self.assertEqual(json.loads(read(binding))["logind_session"], "c1")
        self.assertEqual(result["variables"], [SESSION], "the user's shell would see it")
        self.assertEqual(glob.glob(world.path("run", "waiting", "*")), [])


class AuthenticatedInAChild(Case):
    """As sshd does: PAM data is lost."""

    def sign_in(self, service, *between, **scene):
        """`between`: calls between the approval and the session."""
        return self.play(service, "in_child:authenticate", "putenv=" + SESSION, *between, "open_session", **scene)

    def test_under_any_service_name_it_is_bound(self):
        for service in ("sshd", "ssh2"):
            with self.subTest(service=service):
                self.forget_records()
                self.assert_bound(self.sign_in(service, leave_open=True))

    def test_a_variable_that_is_gone_or_changed_makes_no_difference(self):
        for change in (VARIABLE, VARIABLE + "=", f"{VARIABLE}={'0' * 32}", VARIABLE + "=../../etc/passwd"):
            with self.subTest(change=change):
                self.forget_records()
                self.assert_bound(self.sign_in("sshd", "putenv=" + change, leave_open=True))

    def test_what_cannot_be_bound_is_refused_with_a_reason_and_ended(self):
        for service in ("sshd", "ssh2"):
            with self.subTest(service=service):
                # The host may try again.
                result = self.sign_in(service, "putenv=XDG_SESSION_ID", "putenv=" + VARIABLE, "open_session")
                self.assertEqual(result["codes"][-2:], [SESSION_ERR] * 2)
                self.assertIn(REFUSED + "logind has no session of this process", result["texts"][-2])
                self.assertIn(REFUSED, result["texts"][-1])
                self.assert_no_session_is_left(result)

    def test_a_child_that_has_ended_its_sign_in_opens_no_session(self):
        result = self.sign_in("ssh2", child_ends=True)
        self.assertEqual(result["codes"], [SUCCESS, SUCCESS, SESSION_ERR])
        self.assertIn(REFUSED, result["texts"][-1])
        self.assert_no_session_is_left(result)

    def test_a_sign_in_that_failed_after_the_phone_refuses_no_session(self):
        world.pam("ssh2", lines="auth required MODULE\nauth required pam_deny.so\nsession required MODULE\n")
        result = self.sign_in("ssh2", child_ends=True)
        self.assertNotEqual(result["codes"][0], SUCCESS)
        self.assertEqual(result["codes"][-1], SUCCESS)
        self.assert_no_session_is_left(result)

    def test_a_session_without_the_phone_is_opened(self):
        self.assertEqual(self.play("sshd", "open_session")["codes"], [SUCCESS])
        # So does one on which somebody has changed the folder's mode, and with it everybody's sign-in by phone.
        self.assert_bound(self.sign_in("sshd", leave_open=True))
        os.chmod(world.path("run", "waiting"), 0o770)
        self.addCleanup(os.chmod, world.path("run", "waiting"), 0o700)
        self.assertEqual(self.play("sshd", "open_session")["codes"], [SUCCESS])
        result = self.sign_in("sshd")
        self.assertNotEqual(result["codes"][0], SUCCESS, result["texts"])
        # A computer without a phone opens sessions, too.
        os.unlink(world.path("iampass.conf"))
        self.assertEqual(self.play("sshd", "open_session")["codes"], [SUCCESS])


class OpenedTwice(Case):
    """The profile is on, and there is a line by hand too."""

    def test_a_second_line_leaves_the_session_that_the_first_one_has_bound(self):
        for service in ("login", "sshd"):
            with self.subTest(service=service):
                self.forget_records()
                world.pam(service, lines="auth required MODULE\nsession required MODULE\nsession required MODULE\n")
                how = "authenticate" if service == "login" else "in_child:authenticate"
                result = self.play(service, how, "putenv=" + SESSION, "open_session", leave_open=True)
                self.assert_bound(result)
                self.assertEqual(glob.glob(world.path("run", "sessions", "*.released")), [])

    def test_another_session_is_refused_and_the_sign_in_is_ended(self):
        result = self.play(
            "login", "authenticate", "putenv=" + SESSION, "open_session", "putenv=XDG_SESSION_ID=c2", "open_session")
        self.assertEqual(result["codes"][-3:], [SUCCESS, SUCCESS, SESSION_ERR])
        self.assertIn(REFUSED, result["texts"][-1])
        self.assert_no_session_is_left(result)

    def test_a_session_that_was_closed_is_not_opened_again(self):
        result = self.play("login", "authenticate", "putenv=" + SESSION, "open_session", "close_session", "open_session")
        self.assertEqual(result["codes"][-3:], [SUCCESS, SUCCESS, SESSION_ERR])
        self.assert_no_session_is_left(result)


class RefusedByALaterModule(Case):
    """As login asks: after a failure for the next name, on the same handle."""

    APPROVED = "auth [success=ok user_unknown=ignore default=die] MODULE\n"
    LATER = f"auth required pam_succeed_if.so quiet user != {ENROLLED}\n"
    SESSION_LINE = "session required MODULE\n"

    def test_the_next_user_on_the_handle_is_not_kept_out(self):
        world.pam("login", lines=self.APPROVED + self.LATER + self.SESSION_LINE)
        # The handle is not ended: the session has to end before.
        result = self.play(
            "login", "authenticate", "user=" + WITHOUT_TOKEN, "authenticate", "putenv=" + SESSION, "open_session",
            leave_open=True)  # fmt: skip
        self.assertNotEqual(result["codes"][0], SUCCESS)
        self.assertEqual(result["codes"][1:], [SUCCESS] * 4, result["texts"])
        self.assertEqual(self.ringing.count("sign-in request"), 1)
        self.assertEqual(glob.glob(world.path("run", "waiting", "*")), [])
        assert_ended(lambda: 1 - len(self.sessions_left()), len(result["not_ended"]))

    def test_a_name_that_changes_within_the_pass_opens_no_session(self):
        """Somebody's phone has approved what this session would be opened for."""
        lines = "auth required MODULE\nauth optional pam_unix.so nodelay\nauth optional MODULE debug\n"
        world.pam("login", lines=lines + self.SESSION_LINE)
        result = self.play(
            "login", "authenticate", "putenv=" + SESSION, "open_session", answers=["first"],
            renaming={"at": "Password", "to": WITHOUT_TOKEN})  # fmt: skip
        self.assertEqual(result["codes"], [SUCCESS, SUCCESS, SESSION_ERR], result["texts"])
        self.assertIn(REFUSED, result["texts"][-1])
        self.assert_no_session_is_left(result)


class ElsewhereThanItsParent(Case):
    """A program whose parent is outside of its pid namespace."""

    IN_A_NAMESPACE = ("unshare", "--fork", "--pid")

    def test_it_is_bound_by_itself(self):
        result = self.play(
            "login", "authenticate", "putenv=" + SESSION, "open_session", before=(*self.IN_A_NAMESPACE, "--mount-proc"),
            leave_open=True)  # fmt: skip
        self.assert_bound(result)

    def test_with_a_foreign_proc_it_is_refused_before_the_phone_rings(self):
        result = self.play("login", "authenticate", before=self.IN_A_NAMESPACE)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(
            result["texts"],
            ["IAMPASS: not asked: your session could not be watched: this process cannot be identified: /proc is missing, "
             "or another pid namespace's. Use your password."])  # fmt: skip
        self.assertEqual(self.ringing.count("sign-in request"), 0)

    def test_with_a_foreign_proc_a_session_without_the_phone_is_opened(self):
        self.assertEqual(self.play("login", "open_session", before=self.IN_A_NAMESPACE)["codes"], [SUCCESS])


if __name__ == "__main__":
    unittest.main()
