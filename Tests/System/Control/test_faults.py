"""iampassctl against a hostile service: bounded, nothing half written, and nothing of the service's own on the terminal."""

import base64
import hashlib
import hmac
import json
import time
import unittest

from control import NO_PERMISSION, PROTOCOL, UNAVAILABLE, ControlWorld
from Support.Service.world import read

from Support.HostileService.hostile_replies import redirect, reply
from Support.HostileService.hostile_service import SERVICES, HostileService

SECRET = "yNGfB51YbmwxAscRuzOl8G5U"
WELL_KNOWN = "/.well-known/iampass"
ADD, DELETE = "/management/add_users/application", "/management/delete_users/application"
LINK = "/management/device_registration_link/application/token-1"
LOST = "/management/lost_user_mobile_device/application/token-1"
HAS_PHONE = "/management/has_registered_mobile_device/application/token-1"
# A call's limit is 15 s. The program also starts and stops.
BOUND = 45


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)


def signed_the_older_way(stream, request):
    """404 for a user without a phone, with the signature of older versions."""
    header = next(value for name, value in request.headers if name.lower() == "authentication")
    body = b'{"status":false,"reason":"UNKNOWN_USER"}'
    key = hashlib.sha256(b"reply" + SECRET.encode()).digest()
    signature = base64.b64encode(hmac.digest(key, header.split(":")[1].encode() + b"404" + body, "sha256")).decode()
    reply(404, body, [("X-IAMPASS-Reply-Signature", signature)])(stream, request)


class Case(unittest.TestCase):
    def serve(self, name="good", signed_replies=None, signed_targets=None):
        self.service = HostileService(**SERVICES[name])
        self.service.start()
        self.addCleanup(self.service.stop)
        world.write("ca.pem", read(self.service.ca_file), 0o644)
        world.settings = {"server": self.service.url, "ca_file": world.path("ca.pem"), "signed_replies": signed_replies,
                          "signed_targets": signed_targets}  # fmt: skip
        world.configure()
        world.write("credentials", f"application_id = application\napplication_secret = {SECRET}\n")
        world.write("users", "daemon:token-1\n")
        self.before = world.snapshot()

    def assert_refused(self, words, code, message):
        began = time.monotonic()
        done = world.ctl(*words)
        self.assertLess(time.monotonic() - began, BOUND)
        self.assertEqual(done.code, code, done.text)
        self.assertIn(message, done.err)
        self.assertNotRegex(done.text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]")
        self.assertEqual(world.snapshot(), self.before)
        return done

    def asked(self, path):
        return [request for request in self.service.requests if request.path.split("?")[0] == path]


class Setup(Case):
    def test_a_service_that_signed_once_and_stops_is_refused(self):
        self.serve(signed_replies="required")
        self.service.behaviour = {WELL_KNOWN: reply(404, b"{}"), "*": [reply(404, b"{}"), reply(401, b"{}")]}
        self.assert_refused(("setup",), PROTOCOL, "answer is not signed")

    def test_a_service_that_announces_signatures_and_has_none_is_refused(self):
        self.serve()
        self.service.behaviour = {
            WELL_KNOWN: reply(200, b'{"signed_replies":true}'), "*": [reply(404, b"{}"), reply(401, b"{}")],
        }  # fmt: skip
        self.assert_refused(("setup",), PROTOCOL, "answer is not signed")

    def test_a_service_that_covered_what_was_asked_and_stops_is_refused(self):
        for is_recorded in (True, False):
            with self.subTest(is_recorded=is_recorded):
                self.serve(signed_replies="required", signed_targets="required" if is_recorded else None)
                self.service.behaviour = {
                    WELL_KNOWN: reply(200, b'{"signed_replies":true,"signed_targets":%s}' % (b"false" if is_recorded else b"true")),
                    "*": signed_the_older_way,
                }  # fmt: skip
                self.assert_refused(("setup",), PROTOCOL, "answer is signed, but not for this request")

    def test_an_older_service_is_taken_where_nothing_more_was_recorded(self):
        self.serve(signed_replies="required")
        self.service.behaviour = {WELL_KNOWN: reply(200, b'{"signed_replies":true}'), "*": signed_the_older_way}
        done = world.ctl("setup")
        self.assertEqual((done.code, world.snapshot()), (0, self.before), done.text)

    def test_a_service_that_never_signed_is_taken_without(self):
        self.serve()
        self.service.behaviour = {WELL_KNOWN: reply(404, b"<html>"), "*": [reply(404, b"{}"), reply(401, b"{}")]}
        done = world.ctl("setup")
        self.assertEqual((done.code, world.snapshot()), (0, self.before), done.text)
        self.assertNotIn("signs its replies", done.out)

    def test_a_clock_far_off_is_said(self):
        self.serve()
        date = [("Date", "Sun, 06 Nov 1994 08:49:37 GMT")]
        self.service.behaviour = {"*": reply(401, b"{}", date)}
        done = self.assert_refused(("setup",), UNAVAILABLE, "ahead of the service's\nhint: timedatectl set-ntp true\n")
        self.assertEqual(done.text.count("clock"), 1, done.text)
        done = world.ctl("check")
        self.assertEqual(done.out.count("this computer's clock"), 1, done.out)

    def test_a_clock_that_the_service_takes_all_the_same_is_said(self):
        self.serve()
        date = [("Date", "Sun, 06 Nov 1994 08:49:37 GMT")]
        self.service.behaviour = {WELL_KNOWN: reply(404, b"", date), "*": [reply(404, b"{}", date), reply(401, b"{}")]}
        done = world.ctl("setup")
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(done.out.count("ahead of the service's\nhint: timedatectl set-ntp true\n"), 1, done.out)

    def test_faults_end_within_the_bound_and_change_nothing(self):
        faults = {
            "silent": "server silent", "close": "connection lost", "reset": "connection lost",
            "huge_header": "answer too large", "not_http": "answer is not HTTP", "truncated": "connection lost",
        }  # fmt: skip
        for fault, message in faults.items():
            with self.subTest(fault=fault):
                self.serve()
                self.service.behaviour = {"*": fault}
                self.assert_refused(("setup", "--application-id", "a", "--secret-file", world.path("credentials")), UNAVAILABLE, message)

    def test_a_redirect_is_not_followed(self):
        self.serve()
        self.service.behaviour = {"*": redirect(302, "https://elsewhere.example/")}
        self.assert_refused(("setup",), UNAVAILABLE, "redirect refused")

    def test_certificates_are_judged(self):
        told = {"expired": "expired", "not_yet_valid": "not yet valid", "wrong_host": "another host", "self_signed": "not trusted"}
        for name, message in told.items():
            with self.subTest(name=name):
                self.serve(name)
                self.service.behaviour = {"*": "ok"}
                self.assert_refused(("setup",), UNAVAILABLE, message)


class Users(Case):
    def test_a_refusals_words_are_shown_as_plain_text(self):
        self.serve()
        told = {"status": False, "reason": "no\x1b[31m\u202e\nroom" + "x" * 500}
        self.service.behaviour = {ADD: reply(200, json.dumps(told).encode())}
        self.assert_refused(("user", "add", "bin"), PROTOCOL, "the service refused: no?[31m??room")

    def test_an_answer_that_is_nonsense_leaves_nobody_added(self):
        for body in (b"", b"{}", b"[]", b'{"status":true}', b'{"status":true,"status":true}', b"\xff" * 20):
            self.serve()
            self.service.behaviour = {ADD: reply(201, body), DELETE: reply(200, b'{"status":true}')}
            self.assert_refused(("user", "add", "bin"), PROTOCOL, "answer not understood")

    def test_what_may_have_arrived_is_taken_back_at_the_service(self):
        self.serve()
        self.service.behaviour = {ADD: "close", DELETE: reply(200, b'{"status":true}')}
        self.assert_refused(("user", "add", "bin"), UNAVAILABLE, "connection lost")
        added, deleted = (json.loads(self.asked(path)[0].body)["users"] for path in (ADD, DELETE))
        self.assertEqual(added, deleted)

    def test_a_token_that_others_may_have_is_not_deleted(self):
        self.serve()
        self.service.behaviour = {ADD: "close", DELETE: reply(200, b'{"status":true}')}
        self.assert_refused(("user", "add", "bin", "--token", "shared"), UNAVAILABLE, "connection lost")
        self.assertEqual(self.asked(DELETE), [])

    def test_a_credential_that_may_not_manage_says_what_is_needed(self):
        self.serve()
        self.service.behaviour = {"*": reply(403, b"{}")}
        for words in (("user", "add", "bin"), ("user", "remove", "daemon"), ("enroll", "daemon"), ("lost-device", "daemon")):
            done = self.assert_refused(words, NO_PERMISSION, "does not let the credential of")
            self.assertIn("--credentials FILE", done.err)


class Enroll(Case):
    def enroll(self, link):
        self.serve()
        self.service.behaviour = {
            HAS_PHONE: reply(200, b'{"status":true,"device_registered":false}'),
            LINK: reply(200, json.dumps({"status": True, "register_url": link}).encode()),
        }  # fmt: skip
        child = world.terminal("enroll", "daemon", "--no-wait")
        return world.finish(child), child.screen.getvalue()

    def test_a_phone_is_cut_off_also_where_the_service_does_not_say_whether_there_is_one(self):
        self.serve()
        link = json.dumps({"status": True, "register_url": "https://a/b"}).encode()
        self.service.behaviour = {HAS_PHONE: reply(500, b"{}"), LOST: reply(200, link)}
        done = world.ctl("lost-device", "daemon", "--no-wait")
        self.assertEqual(done.code, 0, done.text)
        self.assertRegex(done.out, "^daemon's phone is cut off\n(?s:.*)\nhttps://a/b\n$")
        self.assertEqual(len(self.asked(LOST)), 1)

    def test_a_link_with_escapes_moves_no_cursor(self):
        code, screen = self.enroll("https://a/\x1b]0;owned\x07")
        self.assertEqual(code, 0)
        self.assertIn("https://a/?]0;owned?", screen)
        self.assertNotIn("\x1b]0", screen)

    def test_a_link_too_long_for_the_window_is_shown_alone(self):
        code, screen = self.enroll("https://a/" + "x" * 1500)
        self.assertEqual(code, 0)
        self.assertIn("too small for the QR code", screen)
        self.assertIn("x" * 1500, screen.replace("\r\n", ""))


if __name__ == "__main__":
    unittest.main()
