"""A hostile service: every fault ends within its bound with the right PAM code, and signs nobody in."""

import base64
import hashlib
import hmac
import json
import os
import unittest

from Support.HostileService.hostile_case import (
    ACTIVE, LATEST, PATIENT, SECRET, START, TIMEOUT, USUAL, Case, hostile_world, session, started, status)
from Support.HostileService.hostile_replies import FAULTS, redirect, reply
from Support.HostileService.hostile_service import SERVICES, HostileService
from Support.Service.world import ABORT, AUTHINFO_UNAVAIL, AUTH_ERR, MAXTRIES, SERVICE_ERR, SUCCESS, make_certificate


def setUpModule():
    global world
    world = hostile_world()


class Baseline(Case):
    def test_this_service_signs_in_when_it_means_well(self):
        """So that the refusals below are the faults' doing."""
        service = self.serve()
        result = self.play(SUCCESS)
        self.assert_told(service, result)
        if not result["not_ended"]:
            self.assertEqual(service.connections, 2, "one for the sign-in, one for its end")
        self.assertEqual([len(self.asked(service, path)) for path in (START, "/s")], [1, 1])

    def test_one_connection_serves_start_and_polls(self):
        pending = status('{"session_status":"pending"}')
        service = self.serve(status=[pending, pending, pending, ACTIVE])
        self.play(SUCCESS)
        self.assertEqual(
            [request.on_connection for request in service.requests if request.path != "/l"], [1, 2, 3, 4, 5])
        self.assertLessEqual({request.on_connection for request in self.asked(service, "/l")}, {1})

    def test_requests_are_signed_with_every_spelling(self):
        service = self.serve()
        self.play(SUCCESS)
        names = {name.lower() for name, _ in self.asked(service, START)[0].headers}
        for name in ("authentication", "x-iampass-authentiaction-timestamp", "x-iampass-authentication-timestamp"):
            self.assertIn(name, names)


class Connections(Case):
    EXPECTED = {
        "plain": None, "tls1_0": None, "tls1_1": None, "weak_ciphers": None,
        "expired": "server certificate expired — check this computer's clock",
        "not_yet_valid": "server certificate not yet valid",
        "wrong_host": "certificate is for another host", "cn_only": "certificate is for another host",
        "self_signed": "certificate is not trusted", "weak_key": None, "weak_digest": None,
        "reset_at_accept": None, "close_at_accept": None, "silent_at_accept": None, "http_on_tls_port": None,
        "garbage_hello": None, "reset_after_hello": None,
    }  # fmt: skip

    def test_every_fault_below_http_is_unavailable(self):
        for name, told in self.EXPECTED.items():
            with self.subTest(name=name):
                service = self.serve(name)
                if name == "plain":
                    world.configure(server=service.url.replace("http:", "https:"))
                self.play(AUTHINFO_UNAVAIL, told=told)
                self.assertEqual(service.requests, [], "something was sent")

    def test_every_kind_of_service_is_tried(self):
        here = {name for name, words in SERVICES.items() if "address" not in words}
        self.assertEqual(here - {"good", "no_address"}, set(self.EXPECTED))

    def test_a_certificate_without_the_address_is_for_another_host(self):
        service = self.serve("no_address")
        world.configure(server=service.url.replace("localhost", "127.0.0.1"))
        self.play(AUTHINFO_UNAVAIL, told="certificate is for another host")

    def test_the_systems_authorities_do_not_count_beside_ca_file(self):
        self.serve()
        _, other = make_certificate(world.folder, "other")
        world.configure(ca_file=other)
        self.play(AUTHINFO_UNAVAIL, told="certificate is not trusted")

    def test_nobody_listening_is_refused_at_once(self):
        service = self.serve()
        service.stop()
        self.with_much_time()
        self.play(AUTHINFO_UNAVAIL, told="server not reachable (refused). Use your password.")

    def test_an_outage_uses_up_no_requests(self):
        service = self.serve()
        service.stop()
        self.with_much_time()
        for _ in range(7):
            self.play(AUTHINFO_UNAVAIL, told="(refused)")

    def with_much_time(self):
        """Whoever waits for its end does not end at once."""
        world.pam("sudo", PATIENT)
        self.addCleanup(world.pam, "sudo", USUAL)

    def test_a_name_that_is_not_found_is_said_at_once(self):
        self.serve()
        world.configure(server="https://nowhere.invalid")
        self.play(AUTHINFO_UNAVAIL, told="server not reachable (name")

    def test_fail_open_opens_on_an_outage_and_on_nothing_else(self):
        self.addCleanup(world.pam, "sudo", USUAL)
        world.pam("sudo", "prompt=push timeout=5s fail=open", "auth [default=die ignore=ignore] MODULE\nauth required pam_permit.so\n")
        service = self.serve()
        service.stop()
        self.play(SUCCESS)
        for name in ("expired", "wrong_host", "self_signed", "tls1_0"):
            with self.subTest(name=name):
                self.serve(name)
                self.play(AUTHINFO_UNAVAIL)
        self.serve(start="server_error")
        self.play(AUTHINFO_UNAVAIL)
        self.serve()
        world.configure(worker=world.path("missing"))
        self.play(AUTHINFO_UNAVAIL, told=NO_WORKER)


class Replies(Case):
    # A client does not treat these as faults, but their content is not a start or status reply.
    def test_every_reply_fault_at_the_start_is_unavailable(self):
        def check(name):
            service = self.serve(start=name)
            self.play(AUTHINFO_UNAVAIL)
            self.assertEqual(len(self.asked(service, START)), 1, "a POST is not sent twice")

        self.for_each(FAULTS, check)

    def test_no_reply_fault_at_the_status_signs_in(self):
        def check(name):
            self.serve(status=name)
            result = self.world.play()
            self.assertIn(result["codes"], ([AUTHINFO_UNAVAIL], [AUTH_ERR]))
            self.assertLess(result["calls"][0]["seconds"], LATEST)

        self.for_each(FAULTS, check)

    def test_only_a_plain_active_status_signs_in(self):
        for text in (
            '{"session_status":"active","authenticated":false}', '{"session_status":"active"}x',
            '{"session_status":"pending","session_status":"active"}', '{"session_status":["active"]}',
            '{"session_status":{"active":1}}', '["active"]', '"active"', "active", '{"Session_Status":"active"}',
            '{"session_status\\u0000":"active"}', '{"session_status":"active\\u0000"}', b'{"session_status":"active\xff"}',
            b"\xef\xbb\xbf" + b'{"session_status":"active"}', "[" * 60_000, '{"a":' * 10_000, "{'session_status':'active'}",
            '{"session_status":"active","authentication_status":{"session_status":"closed"}}', "", "null", "NaN",
            '{"session_status":"active","x":1e999}', '{"session_status":"active","x":NaN}',
        ):  # fmt: skip
            with self.subTest(text=text[:60]):
                self.serve(status=status(text))
                self.play(AUTHINFO_UNAVAIL)

    def test_no_other_word_approves(self):
        words = {"cancelled": MAXTRIES, "timeout": AUTH_ERR, "failed": AUTH_ERR, "closed": AUTH_ERR, "walkaway": AUTH_ERR}
        words.update({word: AUTH_ERR for word in ("Active", "maybe", "active ", "aktiv\u202e", "", "a" * 5_000)})
        for word, code in words.items():
            with self.subTest(word=word[:20]):
                service = self.serve(status=status(json.dumps({"session_status": word})))
                self.assert_told(service, self.play(code))

    def test_an_active_start_reply_alone_signs_nobody_in(self):
        self.serve(start=session(session_status="active"), status=status('{"session_status":"cancelled"}'))
        self.play(MAXTRIES)

    def test_other_codes_than_200_approve_nothing(self):
        body = '{"session_status":"active","authenticated":true}'
        for code in (201, 202, 203, 206, 300, 304, 400, 401, 402, 403, 404, 410, 418):
            with self.subTest(code=code):
                self.serve(status=status(body, code))
                self.play(AUTHINFO_UNAVAIL)

    def test_codes_that_may_pass_are_asked_again_at_most_once_a_second(self):
        for code in (429, 500, 502, 503):
            with self.subTest(code=code):
                service = self.serve(status=status("{}", code, [("Retry-After", "-1")]))
                self.play(AUTH_ERR, told="waiting for the server…")
                self.assertLessEqual(len(self.asked(service, "/s")), TIMEOUT + 1)

    def test_a_storm_that_passes_is_waited_through(self):
        storm = status("{}", 503)
        self.serve(status=[storm, storm, ACTIVE])
        self.play(SUCCESS)

    def test_addresses_elsewhere_are_refused_and_get_nothing(self):
        other = HostileService()
        other.start()
        self.addCleanup(other.stop)
        port = other.url.rsplit(":", 1)[1]
        for address in (
            other.url + "/s", f"https://127.0.0.1:{port}/s", f"//localhost:{port}/s", f"https://ok@localhost:{port}/s",
            "http://localhost/s", "s", "file:///etc/passwd", "/../s", "/s\r\nX: y", "https://localhost.evil/s",
            f"https://loc\u0430lhost:{port}/s", f"https://localhost\\@127.0.0.1:{port}/s", "/" + "a" * 100_000, "", "https://",
            None, 7,
        ):  # fmt: skip
            for name in ("status_url", "logout_url"):
                with self.subTest(name=name, address=str(address)[:40]):
                    self.serve(start=session(**{name: address}))
                    self.play(AUTHINFO_UNAVAIL)
        self.assertEqual(other.connections, 0)

    def test_session_secrets_of_a_wrong_form_are_bad_replies(self):
        for changed in ({"session_secret": "short"}, {"session_secret": None}, {"session_token": "a b"}, {"session_token": ""}):
            with self.subTest(changed=changed):
                self.serve(start=session(**changed))
                self.play(AUTHINFO_UNAVAIL, told="answer not understood")

    def test_what_the_service_says_is_shown_as_harmless_text(self):
        nasty = "\x1b[2J\x1b]0;owned\x07%n%s\u202e\u2028\n" + "x" * 20_000
        body = {"authentication_status": {"authenticated": False, "reason": nasty}}
        self.serve(start=reply(200, json.dumps(body).encode()))
        self.play(AUTHINFO_UNAVAIL, told="?[2J?]0;owned?%n%s???x")

    def test_redirects_are_not_followed(self):
        for code in (301, 302, 303, 307, 308):
            with self.subTest(code=code):
                service = self.serve(start=redirect(code, "/elsewhere"))
                self.play(AUTHINFO_UNAVAIL, told="redirect refused")
                self.assertEqual(len(service.requests), 1)

    def test_a_credential_that_is_not_accepted_is_said(self):
        self.serve(start=reply(401, b"{}"))
        result = self.play(AUTHINFO_UNAVAIL, told="the server does not accept this computer: its id or secret is wrong")
        self.assertTrue(result["log"][-1].startswith("<83>"), "not logged as an error")

    def test_a_clock_that_differs_is_told(self):
        self.serve(start=reply(401, b"{}", [("Date", "Sun, 06 Nov 1994 08:49:37 GMT")]))
        self.play(AUTHINFO_UNAVAIL, told="clock differs from the server's by")


class SignedReplies(Case):
    def test_an_unsigned_or_wrongly_signed_reply_is_refused(self):
        for headers in ((), [("X-IAMPASS-Reply-Signature", "")], [("X-IAMPASS-Reply-Signature", "A" * 43 + "=")]):
            with self.subTest(headers=headers):
                body = json.dumps({"authentication_status": {"authenticated": False, "reason": "forged"}}).encode()
                self.serve(start=reply(200, body, headers))
                world.configure(signed_replies="required")
                self.play(AUTHINFO_UNAVAIL, told="answer is not signed")
        world.configure(signed_replies=None)

    def signed(self, status, body):
        """As the real service signs: over the request's nonce, with the application's secret."""
        def send(stream, request):
            header = next(value for name, value in request.headers if name.lower() == "authentication")
            key = hashlib.sha256(b"reply" + SECRET.encode()).digest()
            text = header.split(":")[1].encode() + str(status).encode() + body
            signature = base64.b64encode(hmac.digest(key, text, "sha256")).decode()
            reply(status, body, [("X-IAMPASS-Reply-Signature", signature)])(stream, request)
        return send

    def test_a_signed_reply_about_another_session_signs_nobody_in(self):
        # An attacker gets such a reply by asking about their own session with the nonce of another's request.
        self.addCleanup(world.configure, signed_replies=None)
        for own, told, code in (
            ("mine", "theirs", AUTHINFO_UNAVAIL), ("mine", None, AUTHINFO_UNAVAIL), ("mine", "mine", SUCCESS),
            (None, None, SUCCESS),
        ):  # fmt: skip
            with self.subTest(own=own, told=told):
                active = {"session_status": "active", "authenticated": True, "session_name": told}
                begun = {"session_name": own} if own else {}
                self.serve(
                    start=self.signed(202, started(**begun)), status=self.signed(200, json.dumps(active).encode()),
                    logout=self.signed(200, json.dumps({"status": True, "session_name": told}).encode()))
                world.configure(signed_replies="required")
                self.play(code, told=None if code == SUCCESS else "answer is for another session")


NO_WORKER = "the network worker of this computer does not work; ask your administrator. Use your password."


class Workers(Case):
    """A worker that does not do its work never opens, whatever `fail` says."""

    def test_another_program_as_worker_is_unavailable(self):
        self.serve()
        self.addCleanup(world.pam, "sudo", USUAL)
        for text in ("#!/bin/sh\nexit 0\n", "#!/bin/sh\nkill -9 $$\n", "#!/bin/sh\necho garbage >&3\n", "", "not a program"):
            for arguments in ("prompt=push timeout=5s", "prompt=push timeout=5s fail=open"):
                with self.subTest(text=text, arguments=arguments):
                    world.forget_attempts()
                    world.pam("sudo", arguments)
                    world.write("worker", text, 0o755)
                    world.configure(worker=world.path("worker"))
                    self.play(AUTHINFO_UNAVAIL, told=NO_WORKER)

    def test_a_silent_worker_is_ended(self):
        self.serve()
        world.write("worker", "#!/bin/sh\nwhile :; do sleep 0.1; done\n", 0o755)
        world.configure(worker=world.path("worker"))
        self.play(AUTHINFO_UNAVAIL, told=NO_WORKER)

    def test_a_worker_that_others_can_write_is_not_started(self):
        self.serve()
        world.write("worker", "#!/bin/sh\ntouch " + world.path("started"), 0o777)
        world.configure(worker=world.path("worker"))
        result = self.play(AUTHINFO_UNAVAIL)
        self.assertIn("writable", result["log"][-1])
        self.assertFalse(os.path.exists(world.path("started")))


class Surroundings(Case):
    def test_the_callers_environment_changes_nothing(self):
        service = self.serve()
        keys = world.path("keys")
        self.play(
            SUCCESS,
            environment={
                "SSLKEYLOGFILE": keys, "https_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1",
                "OPENSSL_CONF": "/dev/null/x", "SSL_CERT_FILE": "/nowhere", "RES_OPTIONS": "debug",
                "LD_BIND_NOW": "1", "SWIFT_BACKTRACE": "enable=yes", "HOME": "/nowhere", "TMPDIR": "/nowhere",
                "CURL_HOME": "/nowhere", "MALLOC_PERTURB_": "1",
            },
        )  # fmt: skip
        self.assertFalse(os.path.exists(keys))
        self.assertEqual([len(self.asked(service, path)) for path in (START, "/s")], [1, 1])

    def test_low_limits_are_refused_or_served_and_never_crash(self):
        for limits in ({"NOFILE": 8}, {"NOFILE": 16}, {"NPROC": 1}, {"FSIZE": 0}, {"AS": 200 * 1024 * 1024}):
            with self.subTest(limits=limits):
                self.serve()
                self.assertIn(world.play(limits=limits)["codes"][0], (SUCCESS, AUTHINFO_UNAVAIL, SERVICE_ERR, ABORT))

    def test_limits_that_cannot_be_raised_are_served_where_they_are_enough(self):
        # The worker's own limits are 256 descriptors and 512 MiB. A sign-in takes far less.
        for limits in ({"NOFILE": 255}, {"NOFILE": 64}, {"AS": 511 << 20}, {"AS": 300 << 20}, {"NOFILE": 64, "AS": 300 << 20}):
            with self.subTest(limits=limits):
                self.serve()
                self.play(SUCCESS, limits=limits)


if __name__ == "__main__":
    unittest.main()
