"""The phone without a network: its digits sign in, through libpam, by the real phone and the real service, which is down."""

import contextlib
import glob
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import unittest

from offline_case import NOT_TAKEN, TRIED, WRONG, OfflineCase, links, setUpModule  # noqa: F401: what its tests need
from Support.Service import offline
from Support.Service.world import AUTHINFO_UNAVAIL, AUTH_ERR, ENROLLED, MAXTRIES, PAM_CALL, PATIENCE, SUCCESS, program, read, run

OPEN = "No network: open this on your phone"
OFFER = "Server not reachable. Digits on your phone, or password: "
BOTH = "Server not reachable. Digits on your phone, recovery code, or password: "
TOO_LATE = "IAMPASS: the two minutes for these digits are over; open the new link"


class Digits(OfflineCase):
    def test_a_phone_signs_in_with_the_service_stopped(self):
        self.world.configure(server=self.world.address)
        self.world.server.stop()
        self.addCleanup(self.world.restart_server)
        before = len(self.uses())
        with self.world.playing(answers=[self.typed]) as results:
            words = [program("iampass-phone"), "offline", self.link(), "--state", self.world.path("phone.json")]
            refused = subprocess.run([*words, "--answer", "deny"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotRegex(refused.stdout, r"\d{4} \d{4}")
            shown = subprocess.run(words, input="y\n", capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertRegex(shown.stdout, rf"service +sudo\n +user +{ENROLLED}\n +terminal +pts/7\n")
            typed = re.search(r"type on the computer: (\d{4} \d{4})", shown.stdout)[1]
            self.type(typed)
        result = results[0]
        self.assertEqual(result["codes"], [SUCCESS], result)
        self.assertEqual([result["texts"][0], *result["texts"][2:]], [OPEN, OFFER])
        self.assertRegex(result["log"][-1], r"approved .*session=none by=offline-phone phone=\S+$")
        self.assertEqual(typed.replace(" ", ""), self.digits(links(result["texts"][1])[0]))
        self.assertEqual(len(self.uses()), before + 1)
        use = self.uses()[-1]
        self.assertEqual((use["phone"], use["use"]["user"], use["use"]["service"]), (self.phone_state()["device"], ENROLLED, "sudo"))

    def test_digits_of_another_sign_in_do_not_serve(self):
        with self.world.playing(answers=[self.typed, ""]) as results:
            seen = self.digits(self.link())
            self.type("00000000")
        self.assertEqual(results[0]["codes"], [AUTHINFO_UNAVAIL])
        result = self.world.play(answers=[seen, ""])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn(NOT_TAKEN, result["texts"])
        self.assertNotEqual(links(" ".join(results[0]["texts"])), links(" ".join(result["texts"])))

    def test_a_link_that_is_opened_twice_signs_in_once(self):
        with self.world.playing(answers=[self.typed]) as results:
            link = self.link()
            seen = self.digits(link)
            self.assertEqual(self.digits(link), seen)
            self.type(seen)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        result = self.world.play(answers=[seen, ""])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn(NOT_TAKEN, result["texts"])

    def test_a_neighbours_session_takes_no_digits_of_this_one(self):
        """Both ask at the same time, and the neighbour types first."""
        neighbour = {"user": ENROLLED, "items": {"ruser": "games", "tty": "pts/8"}, "without_log": True}
        with self.world.playing(answers=[self.typed]) as results:
            seen = self.digits(self.link())
            scene = {**self.world.scene(), **neighbour, "screen": self.world.path("screen-8"), "answers": [seen, ""]}
            done = subprocess.run(
                ["/usr/bin/python3", PAM_CALL], input=json.dumps(scene), capture_output=True, text=True, timeout=PATIENCE)
            other = json.loads(done.stdout)
            self.type(seen)
        self.assertEqual(other["codes"], [AUTHINFO_UNAVAIL], other)
        self.assertIn(NOT_TAKEN, other["texts"])
        self.assertEqual(results[0]["codes"], [SUCCESS], "the neighbour's try cost the owner nothing")

    def test_the_digits_are_those_of_what_is_shown(self):
        with self.world.playing(answers=[self.typed] * 3 + [""]) as results:
            link = self.link()
            address, _, context = link.rpartition(".")
            fields = address.split(".")
            other = offline.canonical({**offline.parts(link)[1]["context"], "service": "harmless"})
            encoded = offline.base64.urlsafe_b64encode(other).decode().rstrip("=")
            later = [*fields[:-2], str(int(fields[-2]) + 1), fields[-1]]
            lock = [*fields[:-1], "device"]
            for changed in (f"{address}.{encoded}", ".".join([*later, context]), ".".join([*lock, context])):
                self.type(self.digits(changed))
                self.wait_until_taken()
        self.assertEqual(results[0]["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(results[0]["texts"].count(NOT_TAKEN), 3)

    def test_five_wrong_ones_end_it(self):
        result = self.world.play(answers=WRONG)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"][2:], [OFFER, NOT_TAKEN] * 5 + ["IAMPASS: too many wrong codes. Use your password."])

    def test_a_source_has_ten_tries_an_hour(self):
        self.world.configure(max_requests="20")
        for _ in range(2):
            self.world.play(answers=WRONG)
        result = self.signed_in()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertRegex(result["texts"][-1], TRIED)
        # Strangers' tries take nothing from the owner, nor the owner's from others.
        self.assertEqual(self.signed_in(items={"ruser": "games"})["codes"], [SUCCESS])

    def test_good_digits_forgive_the_request_before_them(self):
        """A service that takes requests and fails must not use up the owner's."""
        self.world.configure(max_requests="2")
        with self.failing_service():
            for _ in range(4):
                self.assertEqual(self.signed_in()["codes"], [SUCCESS])
            # Without them it counts.
            for _ in range(2):
                self.world.play(answers=[""])
            self.assertEqual(links(" ".join(self.world.play(answers=[""])["texts"])), [])

    @contextlib.contextmanager
    def failing_service(self):
        class Failing(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.send_error(503)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Failing)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.world.certificate, self.world.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.world.configure(server=f"https://127.0.0.1:{server.server_port}")
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()

    def test_the_broker_s_services_take_none(self):
        self.world.configure(services="sudo i3lock", methods_offline="phone i3lock:phone")
        self.world.pam("i3lock")
        self.assertEqual(links(" ".join(self.world.play("i3lock", answers=["00000000"])["texts"])), [])

    def test_a_password_goes_to_the_next_module(self):
        self.world.write("keep", f"#!/bin/sh\ncat > {self.world.path('kept')}\n", 0o700)
        lines = f"auth required MODULE\nauth optional pam_exec.so expose_authtok quiet {self.world.path('keep')}\n"
        self.world.pam("sudo", "timeout=20s", lines=lines)
        for answers in (["hunter2"], ["00000000", "00000000"]):
            with self.subTest(answers=answers):
                self.assertEqual(self.world.play(answers=answers)["codes"], [AUTHINFO_UNAVAIL])
                self.assertEqual(read(self.world.path("kept")).strip("\0"), answers[-1])

    def test_as_second_factor_the_digits_stand_for_the_phone(self):
        self.world.pam("sudo", "timeout=20s", lines="auth optional pam_unix.so nodelay\nauth required MODULE\n")
        result = self.world.play(items={"ruser": "games"}, answers=["first", "", "anything"])
        self.assertEqual(result["codes"], [AUTH_ERR])
        self.assertIn("Server not reachable. Digits on your phone, or Enter: ", result["texts"])
        self.assertEqual(self.signed_in(["first", ""], items={"ruser": "games"})["codes"], [SUCCESS])

    def test_nobody_is_offered_what_the_service_does_not_take(self):
        for changed in ({"methods_offline": "none"}, {"methods_offline": "sshd:phone"}, {"approvals": "service"}):
            with self.subTest(changed=changed):
                self.world.configure(**{"approvals": "verified", **changed})
                result = self.world.play(answers=["00000000"])
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                self.assertEqual(links(" ".join(result["texts"])), [])

    def test_a_phone_that_is_trusted_no_more_is_not_asked(self):
        os.rename(self.world.path("phones"), self.world.path("phones.away"))
        self.addCleanup(os.rename, self.world.path("phones.away"), self.world.path("phones"))
        self.assertEqual(links(" ".join(self.world.play(answers=["00000000"])["texts"])), [])

    def test_a_tap_is_not_enough_if_the_screen_lock_is_asked_for(self):
        self.world.pam("sudo", "prompt=push timeout=5s methods=device")
        self.assertEqual(links(" ".join(self.world.play(answers=["00000000"])["texts"])), [])

    def test_a_denial_ends_the_attempt(self):
        self.world.configure(server=self.world.address)
        self.phone("deny")
        result = self.world.play(answers=["00000000"])
        self.assertEqual(result["codes"], [MAXTRIES])
        self.assertEqual(links(" ".join(result["texts"])), [])

    def test_a_service_that_comes_back_changes_nothing(self):
        self.world.configure(server=self.world.address)
        self.world.server.stop()
        with self.world.playing(answers=[self.typed]) as results:
            link = self.link()
            self.world.restart_server()
            self.type(self.digits(link))
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assert_no_session_is_left(results[0])

    def test_no_line_has_the_digits(self):
        self.world.pam("sudo", "prompt=push timeout=20s debug")
        with self.world.playing(answers=[self.typed]) as results:
            digits = self.digits(self.link())
            self.type(digits)
        told = "\n".join(results[0]["log"])
        self.assertIn("the digits are the phone's", told)
        self.assertNotIn(digits, told)
        self.assertNotIn("#offline=", told)


class TwoWays(OfflineCase):
    settings = {"methods_offline": "phone recovery"}

    def test_both_are_taken_and_counted_together(self):
        # One yescrypt takes 8 MiB, here beside libcrypto.
        self.world.greatest_kilobytes += 8 * 1024
        self.addCleanup(setattr, self.world, "greatest_kilobytes", self.world.greatest_kilobytes - 8 * 1024)
        shown = run(program("iampassctl"), "recovery", "create", "--any-output", ENROLLED, "--config", self.world.path("iampass.conf"))
        code = re.search(r"\b[0-9a-z]{5}-[0-9a-z]{5}\b", shown)[0]
        result = self.world.play(answers=["00000000", "00000-00001", code])
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertEqual(result["texts"].count(BOTH), 3)
        self.world.forget_attempts()
        result = self.world.play(answers=["00000000", "00000-00001", "00000002", "00000-00003", "00000004"])
        self.assertEqual(result["texts"][-1], "IAMPASS: too many wrong codes. Use your password.")


class Sessions(OfflineCase):
    def test_a_session_is_recorded_as_offline(self):
        self.world.configure(offline_session="2h")
        self.world.pam("login")
        result = self.signed_in(service="login", own=False, items={"tty": "tty1"}, leave_open=True)
        self.assertEqual(result["codes"], [SUCCESS])
        [path] = glob.glob(self.world.path("run", "sessions", "*"))
        record = json.loads(read(path))
        self.assertEqual((record["offline"], record["duration"], record["status_url"]), (True, 7200, ""))
        os.unlink(path)


if __name__ == "__main__":
    unittest.main()
