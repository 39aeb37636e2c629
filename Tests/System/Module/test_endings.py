"""Each ending of a sign-in, as PAMAnswer.swift lists them, through libpam, against the real service and a phone."""

import concurrent.futures
import os
import re
import time
import unittest

from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.ends import assert_ended, given_up
from Support.Service.world import (
    ABORT, AUTHINFO_UNAVAIL, AUTH_ERR, ENROLLED, MAXTRIES, SERVICE_ERR, SUCCESS, USER_UNKNOWN, WITHOUT_TOKEN, program, read, run)

APPROVE = "Approve the sign-in on your phone"
HAS_IT = "Your phone has the request: answer there"


def setUpModule():
    global world
    world = SignInCase.world = world_with_a_phone()


class Endings(SignInCase):
    def test_approved_is_success_and_ends_with_the_handle(self):
        self.phone("approve")
        result = world.play(calls=["authenticate", "setcred", "acct_mgmt", "open_session", "close_session"])
        self.assertEqual(result["codes"], [SUCCESS, SUCCESS, 6, SUCCESS, SUCCESS])
        self.assertIn(APPROVE, result["texts"])
        self.assertEqual(result["variables"], [], "sudo's command would see it")
        self.assertRegex(result["log"][-1], "approved user=daemon service=sudo rhost=- session=[0-9a-f]{32} phone=[0-9a-f]{32}$")
        self.assert_no_session_is_left(result)

    def test_a_phone_that_takes_its_time_is_said_to_have_the_request(self):
        phone = world.phone_with_keys("ask")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        with world.playing() as results:
            world.wait_for_text(HAS_IT)
            phone.type("y")
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertEqual([message["text"] for message in results[0]["all"]], [APPROVE, HAS_IT])
        self.assertEqual(results[0]["texts"], [APPROVE])

    def test_denied_is_asked_once_and_aborts_after(self):
        phone = self.phone("deny")
        result = world.play(calls=["authenticate"] * 3)
        self.assertEqual(result["codes"], [MAXTRIES, ABORT, ABORT])
        self.assertEqual(result["texts"].count("IAMPASS: denied on your phone"), 1)
        self.assertEqual(phone.count("sign-in request"), 1)

    def test_not_answered_ends_at_its_timeout_and_is_asked_once(self):
        phone = self.phone("ignore")
        world.pam("sudo", "prompt=push timeout=10s")
        result = world.play(calls=["authenticate"] * 2)
        self.assertEqual(result["codes"], [AUTH_ERR, AUTH_ERR])
        self.assertGreater(result["calls"][0]["seconds"], 9.5)
        # The cancellation and the worker's farewell take a second each at most; a reply that is held 25 s.
        self.assertLess(result["calls"][0]["seconds"], 22)
        # A second request would take the same time again.
        self.assertLess(result["calls"][1]["seconds"], 9)
        self.assertEqual(phone.count("sign-in request"), 1)
        self.assertEqual(result["texts"][-1], "IAMPASS: not answered in time. Use your password.")

    def test_after_a_timeout_the_request_is_gone_from_the_phone(self):
        world.pam("sudo", "prompt=push timeout=5s")
        result = world.play()
        phone = self.phone("approve")
        time.sleep(0.5)
        assert_ended(lambda: 1 - phone.count("sign-in request"), given_up(result, waited=5))

    def test_login_reuses_the_handle_for_another_name(self):
        self.phone("deny")
        result = world.play(calls=["authenticate", "user=" + WITHOUT_TOKEN, "authenticate"])
        self.assertEqual(result["codes"], [MAXTRIES, SUCCESS, USER_UNKNOWN])

    def test_a_user_without_token_is_told_nothing(self):
        result = world.play(user=WITHOUT_TOKEN)
        self.assertEqual((result["codes"], result["texts"]), ([USER_UNKNOWN], []))

    def test_a_user_in_the_file_whom_the_system_does_not_know_is_refused_and_not_unknown(self):
        """The system may only not know now: glibc hides a directory that is away behind a source that does not know."""
        users = read(world.path("users"))
        world.write("users", users + "no-such-user:0123456789abcdef0123\n")
        self.addCleanup(world.write, "users", users)
        result = world.play(user="no-such-user")
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))
        self.assertIn("reason=no-such-user has a token, and the system does not know the name", result["log"][-1])

    def test_unfit_names_are_unknown(self):
        for name in ["../../etc/passwd", "-rf", "a b", "root\n", "%s%n", "x" * 4096, "é", "1000", "DAEMON"]:
            with self.subTest(name=name[:20]):
                self.assertEqual(world.play(user=name)["codes"], [USER_UNKNOWN])

    def test_a_password_typed_as_a_name_is_not_logged(self):
        for name in ["hunter2", "Hunter2!", "correct horse battery"]:
            with self.subTest(name=name):
                result = world.play(user=name)
                self.assertEqual(result["codes"], [USER_UNKNOWN])
                self.assertIn("refused user=- service=sudo", result["log"][-1])
                self.assertNotIn(name.split()[0], " ".join(result["log"]))

    def test_no_phone_says_so(self):
        run(program("iampassctl"), "user", "add", "games", "--config", world.path("iampass.conf"))
        result = world.play(user="games")
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"], ["IAMPASS: no phone is registered for you. Use your password."])

    def test_nobody_is_sent_to_a_password_prompt_that_does_not_come(self):
        run(program("iampassctl"), "user", "add", "games", "--config", world.path("iampass.conf"))
        # pam_unix has asked for the password already.
        behind = "auth optional pam_unix.so nodelay\nauth required MODULE\n"
        scenes = (("prompt=push password=none", None, []), ("prompt=push", behind, ["first"]))
        for arguments, lines, answers in scenes:
            with self.subTest(arguments=arguments):
                world.pam("sudo", arguments, lines=lines)
                result = world.play(user="games", answers=answers)
                self.assertEqual(result["texts"][-1], "IAMPASS: no phone is registered for you")

    def test_another_name_than_the_approved_one_signs_nobody_in(self):
        for service, code in (("sudo", ABORT), ("sshd", MAXTRIES)):
            with self.subTest(service=service):
                world.pam(service)
                phone = self.phone("approve")
                world.forget_attempts()
                result = world.play(service, renaming={"at": APPROVE, "to": "games"}, calls=["authenticate", "open_session"])
                self.assertEqual(result["codes"][0], code, result)
                self.assertNotIn("IAMPASS_SESSION", " ".join(result["variables"]))
                self.assertIn("the user's name changed", result["log"][-1])
                phone.stop()
                self.assert_no_session_is_left(result)

    def test_two_spellings_of_one_name_are_two_names(self):
        """To Swift the two are the same text; to the system they are two users."""
        composed, decomposed = "jos\u00e9", "jose\u0301"
        people = f"{read('/etc/passwd')}{composed}:x:3001:3001::/:/bin/sh\n{decomposed}:x:3002:3002::/:/bin/sh\n"
        world.write("passwd", people, 0o644)
        token = re.search(f"^{ENROLLED}:(.*)$", read(world.path("users")), re.MULTILINE)[1]
        self.addCleanup(world.write, "users", read(world.path("users")))
        world.write("users", f"{composed}:{token}\n")
        self.phone("approve")
        scene = {"user": composed, "files": {"/etc/passwd": world.path("passwd")}}
        result = world.play(renaming={"at": APPROVE, "to": decomposed}, **scene)
        self.assertEqual(result["codes"], [ABORT], result)
        # This shows that the name caused the refusal above.
        self.assertEqual(world.play(renaming={"at": APPROVE, "to": composed}, **scene)["codes"], [SUCCESS])

    def test_a_service_that_is_not_listed_is_left_alone(self):
        world.pam("cron")
        result = world.play(service="cron")
        self.assertEqual((result["codes"], result["texts"], result["log"]), ([AUTHINFO_UNAVAIL], [], []))

    def test_an_interruption_cancels_at_once(self):
        for how in ({"block_interrupts": True}, {"handle_interrupts": True}):
            with self.subTest(how=how):
                world.forget_attempts()
                phone = self.phone("ignore")
                world.pam("sudo", "prompt=push timeout=60s")
                result = world.play(interrupt_after=1, calls=["authenticate"], **how)
                self.assertEqual(result["codes"], [ABORT])
                self.assertLess(result["calls"][0]["seconds"], 30)
                self.assertEqual(result["texts"][-1], "IAMPASS: cancelled")
                phone.stop()
                self.assert_no_session_is_left(result, waited=1)

    def test_a_terminal_that_is_gone_aborts_and_cancels(self):
        result = world.play(deaf=True)
        self.assertEqual(result["codes"], [ABORT])
        self.assert_no_session_is_left(result)

    def test_too_many_requests_send_no_more(self):
        world.configure(max_requests="2")
        phone = self.phone("deny")
        for _ in range(2):
            self.assertEqual(world.play()["codes"], [MAXTRIES])
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("too many requests", result["texts"][-1])
        self.assertEqual(phone.count("sign-in request"), 2)
        self.assertEqual(world.play(own=False, items={"rhost": "192.0.2.1"})["codes"], [MAXTRIES])

    def test_a_stack_that_asks_again_leaves_no_session_behind(self):
        phone = self.phone("approve")
        world.pam("sudo", lines="auth required MODULE\nauth required pam_deny.so\n")
        result = world.play(calls=["authenticate"] * 2)
        self.assertEqual(result["codes"], [AUTH_ERR, AUTH_ERR])
        self.assertEqual(phone.count("sign-in request"), 2)
        self.assert_no_session_is_left(result, asked=2)

    def test_a_plain_server_without_signed_replies_is_refused(self):
        world.configure(server="http://127.0.0.1:1")
        result = world.play()
        self.assertEqual(result["codes"], [SERVICE_ERR])
        self.assertIn("needs signed_replies = required", result["log"][-1])

    def test_a_broken_limiter_refuses(self):
        os.makedirs(world.path("run", "attempts"), 0o700, exist_ok=True)
        os.chmod(world.path("run", "attempts"), 0o777)
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("run/attempts is writable by group or others", result["log"][-1])

    def test_a_host_that_ignores_its_children_is_served(self):
        self.phone("approve")
        self.assertEqual(world.play(ignore_children=True)["codes"], [SUCCESS])

    def test_a_restart_of_the_service_during_the_wait_is_waited_through(self):
        phone = self.phone("approve", "--after", "10")
        world.pam("sudo", "prompt=push timeout=60s")
        with concurrent.futures.ThreadPoolExecutor(1) as host:
            playing = host.submit(world.play)
            phone.wait_for("sign-in request")
            world.restart_server()
            result = playing.result()
        self.assertEqual(result["codes"], [SUCCESS], (result, phone.lines))
        self.assertEqual(phone.count("sign-in request"), 1)


class Additions(SignInCase):
    def test_signed_replies_are_accepted_when_required(self):
        self.phone("approve")
        world.configure(signed_replies="required")
        self.addCleanup(world.configure, signed_replies=None)
        self.assertEqual(world.play()["codes"], [SUCCESS])

    def test_the_phone_shows_a_requests_user_and_source(self):
        phone = self.phone("deny")
        world.configure(send_context="yes")
        self.addCleanup(world.configure, send_context=None)
        world.pam("su")
        world.play(service="su", items={"rhost": "192.0.2.5\x1b[2J"})
        for shown in ("daemon", "su", "pts/7", "192.0.2.5‹U+001B›[2J"):
            phone.wait_for(re.escape(shown), 5)

    def test_no_context_is_sent_when_the_service_announced_nothing(self):
        phone = self.phone("deny")
        world.play()
        phone.wait_for("denied", 5)
        self.assertEqual(phone.count("pts/7"), 0)

    def test_the_published_clients_scheme_works_too(self):
        self.phone("approve")
        for settings in ({"signing": "client"}, {"dialect": "activeconnect"}):
            with self.subTest(settings=settings):
                world.configure(**settings)
                self.assertEqual(world.play()["codes"], [SUCCESS])
                world.configure(**dict.fromkeys(settings))


class BrokenFiles(SignInCase):
    """Broken or unsafe files answer PAM_SERVICE_ERR, whatever `fail` says."""

    def assert_service_error(self, told, shown=("IAMPASS is not configured; ask your administrator. Use your password.",)):
        world.pam("sudo", "prompt=push timeout=5s fail=open")
        result = world.play()
        self.assertEqual((result["codes"], result["texts"]), ([SERVICE_ERR], list(shown)))
        self.assertIn(told, result["log"][-1])

    def test_however_often_the_stack_comes_back_it_is_said_once_for_a_user(self):
        self.replace("credentials", None, 0o644)
        result = world.play(calls=["authenticate"] * 3 + ["user=games", "authenticate"])
        self.assertEqual(result["codes"], [SERVICE_ERR] * 3 + [SUCCESS, SERVICE_ERR])
        self.assertEqual((len(result["texts"]), len(result["log"])), (2, 2), result)

    def replace(self, name, text, mode):
        old = read(world.path(name))
        old_mode = os.stat(world.path(name)).st_mode & 0o777
        self.addCleanup(world.write, name, old, old_mode)
        world.write(name, text if text is not None else old, mode)

    def test_no_server_stands_aside(self):
        world.settings = {}
        world.configure()
        self.assert_service_error("no server is set", shown=())

    def test_no_configuration_stands_aside(self):
        os.unlink(world.path("iampass.conf"))
        self.assert_service_error("no server is set", shown=())

    def test_readable_credentials(self):
        self.replace("credentials", None, 0o644)
        self.assert_service_error(f"{world.path('credentials')} is readable by group or others (mode 0644)")

    def test_readable_users(self):
        self.replace("users", None, 0o640)
        self.assert_service_error(f"{world.path('users')} is readable by group or others")

    def test_writable_configuration(self):
        os.chmod(world.path("iampass.conf"), 0o666)
        self.assert_service_error(f"{world.path('iampass.conf')} is writable by group or others")

    def test_linked_credentials(self):
        os.rename(world.path("credentials"), world.path("elsewhere"))
        self.addCleanup(os.rename, world.path("elsewhere"), world.path("credentials"))
        os.symlink(world.path("elsewhere"), world.path("credentials"))
        self.assert_service_error("is a symbolic link")

    def test_a_bad_value_names_its_line(self):
        world.configure(approval_timeout="1e99")
        lines = read(world.path("iampass.conf")).splitlines()
        number = lines.index("approval_timeout = 1e99") + 1
        self.assert_service_error(f"iampass.conf:{number}: bad approval_timeout: takes a duration from 5s to 90s")

    def test_plain_http_to_another_machine(self):
        world.configure(server="http://example.com")
        self.assert_service_error("bad server")

    def test_credentials_without_a_secret(self):
        self.replace("credentials", "application_id = x\n", 0o600)
        self.assert_service_error("application_secret is missing")

    def test_a_secret_that_does_not_fit_the_scheme(self):
        self.replace("credentials", "application_id = x\napplication_secret = short\n", 0o600)
        self.assert_service_error("has not the 24 bytes")

    def test_a_user_named_twice(self):
        self.replace("users", "daemon:aaaaaaaaaaaaaaaa\ndaemon:bbbbbbbbbbbbbbbb\n", 0o600)
        self.assert_service_error("users:2: user named twice")

    def test_a_bad_module_argument(self):
        for argument in ("timeout=0", "timeout=91s", "prompt=maybe", "methods=smell", "fail=maybe", "config=relative"):
            with self.subTest(argument=argument):
                world.pam("sudo", argument)
                self.assertEqual(world.play()["codes"], [SERVICE_ERR])

    def test_an_unknown_module_argument_is_logged_and_ignored(self):
        self.phone("approve")
        world.pam("sudo", "prompt=push timeout=20s colour=blue")
        result = world.play()
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertIn("unknown module argument colour", result["log"][0])


if __name__ == "__main__":
    unittest.main()
