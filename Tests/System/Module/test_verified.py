"""`approvals = verified`: a service that holds every secret of the real one can refuse, and signs nobody in."""

import base64
import json
import unittest

from Support.HostileService.hostile_case import ENROLLED, START, USUAL, Case, hostile_world, made_world, reply, started, status
from Support.HostileService.hostile_service import HostileService
from Support.HostileService.signing_phone import TOUCHED, VERIFIED, Key, SigningPhone
from Support.Service.server import until
from Support.Service.world import AUTHINFO_UNAVAIL, MAXTRIES, SERVICE_ERR, SUCCESS

SESSION = "session-1"


def setUpModule():
    global world
    world = hostile_world()


class Verified(Case):
    """A scripted service behind which a phone signs."""

    #: Written by the users' own computer, once.
    phone = SigningPhone()

    def setUp(self):
        self.world.write("phones", self.phone.line(ENROLLED), 0o644)
        self.world.write("users", f"{ENROLLED}:token-of-the-user-0123456789\n")
        self.start = None
        self.code = 0

    def serve_approval(self, approval=None, settings=None, **of_the_start):
        """A service that means well up to the approval. `approval` makes it from what the module sent."""

        def answer_start(stream, request):
            self.start = json.loads(request.body)
            said = {"session_name": SESSION, **{name: self.start.get(name) for name in ("challenge", "match_code")}}
            reply(202, started(**{**said, **of_the_start}))(stream, request)

        def answer_status(stream, request):
            body = {"session_status": "active", "authenticated": True, "session_name": SESSION}
            text = json.dumps(body if approval is None else {**body, "approval": approval(self.start)})
            reply(200, text.encode() if not hasattr(self, "mangle") else self.mangle(text).encode())(stream, request)

        service = self.serve(start=answer_start, status=answer_status)
        self.origin = service.url
        self.world.configure(approvals="verified", **(settings or {}))
        return service

    def honest(self, start, **changed):
        return self.phone.statement(self.origin, SESSION, start, **changed)


class CodesOfOthers(Verified):
    """A service that reads codes and refuses, so that another sign-in of the same user comes by the code which her own
    terminal shows."""

    REASONS = ("NO_MOBILE_DEVICE", "SOURCE_BLOCKED", "METHOD_NOT_AVAILABLE", "CODE_IN_USE")

    def refuse(self, reason):
        """A service that notes the codes and refuses them by this word; what answers so, and the codes."""
        codes = []

        def answer_start(stream, request):
            codes.append(json.loads(request.body)["match_code"])
            reply(200, started(authenticated=False, session_status="failed", reason=reason))(stream, request)

        return answer_start, codes

    def test_a_source_has_few_codes_drawn_whatever_word_refuses_them(self):
        for reason in self.REASONS:
            with self.subTest(reason=reason):
                refusing, codes = self.refuse(reason)
                self.serve(start=refusing)
                self.world.configure(approvals="verified")
                for _ in range(12):
                    self.play(AUTHINFO_UNAVAIL)
                # `max_requests` sign-ins, and each draws three codes at most.
                self.assertLessEqual(len(codes), 5 * (3 if reason == "CODE_IN_USE" else 1))

    def test_a_source_has_few_codes_drawn_if_the_service_goes_after_each(self):
        refusing, codes = self.refuse("CODE_IN_USE")
        first = self.serve()
        self.world.configure(approvals="verified")
        first.stop()
        for _ in range(12):
            with HostileService(port=first.port) as service:

                def answer_start(stream, request):
                    refusing(stream, request)
                    service.stop()

                service.behaviour[START] = answer_start
                self.play(AUTHINFO_UNAVAIL)
        self.assertEqual(len(codes), 5)

    def test_no_other_sign_in_has_the_code_of_one_that_is_open(self):
        """A hundred and eighty codes of strangers: without the check one of them is hers in 84 of a hundred runs."""
        hers = []
        refusing, others = self.refuse("CODE_IN_USE")

        def answer_start(stream, request):
            start = json.loads(request.body)
            hers.append(start["match_code"])
            repeated = {name: start[name] for name in ("challenge", "match_code")}
            reply(202, started(session_name=SESSION, **repeated))(stream, request)

        service = self.serve(start=answer_start, status=status('{"session_status":"pending","authenticated":false}'))
        self.world.configure(approvals="verified")
        self.world.pam("sudo", "prompt=push timeout=90s")
        self.addCleanup(self.world.pam, "sudo", USUAL)
        strangers = made_world()
        self.addCleanup(strangers.close)
        strangers.settings = {**self.world.settings, "run_dir": self.world.path("run")}
        strangers.configure()
        strangers.write("phones", self.phone.line(ENROLLED), 0o644)
        with self.world.playing() as played:
            until(lambda: hers, "she is asked")
            service.behaviour[START] = refusing
            for number in range(60):
                result = strangers.play(own=False, items={"rhost": f"192.0.2.{number}"})
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
            service.behaviour["/s"] = status('{"session_status":"cancelled","authenticated":false}')
        self.assertEqual(played[0]["codes"], [MAXTRIES])
        self.assertEqual(len(others), 180)
        self.assertNotIn(hers[0], others)


class MaliciousService(Verified):
    """It has the application's secret, sees all that passes, and hands on whatever it likes."""

    def assert_refused(self, approval, told, code=AUTHINFO_UNAVAIL):
        service = self.serve_approval(approval)
        result = self.play(code, told=told)
        self.assert_told(service, result)
        # The same reply signs in if the service is believed: it is the check that refused.
        world.configure(approvals="service", send_context="yes")
        world.forget_attempts()
        self.play(SUCCESS)
        return result

    def test_what_the_phone_signed_signs_in(self):
        service = self.serve_approval(lambda start: self.phone.approval(self.honest(start)))
        result = self.play(SUCCESS)
        self.assertRegex(result["log"][-1], r"approved .* phone=phone-1 method=device$")
        self.assertRegex(" ".join(result["texts"]), rf"code {self.start['match_code']}")
        self.assertEqual(len(base64.b64decode(self.start["challenge"])), 32)
        self.assertIn("methods=device", self.asked(service, START)[0].path)

    def test_a_tap_is_enough_only_if_the_stack_says_so(self):
        tap = lambda start: self.phone.approval(self.honest(start, method="acceptance"))
        self.assert_refused(tap, "another method")
        world.pam("sudo", "prompt=push timeout=5s methods=acceptance")
        self.addCleanup(world.pam, "sudo", "prompt=push timeout=5s")
        self.serve_approval(tap)
        self.play(SUCCESS)

    def test_active_without_a_signature_signs_nobody_in(self):
        self.assert_refused(None, "no signature of your phone")

    def test_another_statement_signs_nobody_in(self):
        old = base64.b64encode(bytes(32)).decode()
        other_user = lambda start: {**start["context"], "user": "root"}
        cases = {
            "answer": ({"answer": "deny"}, "no approval"),
            "not me": ({"answer": "not_me"}, "no approval"),
            "service": ({"origin": "https://localhost:1"}, "another server"),
            "session": ({"session": "session-2"}, "another session"),
            "no challenge": ({"challenge": None}, "another request"),
            "an hour ago": ({"challenge": old}, "another request"),
            "code": ({"code": "xx"}, "another code"),
            "no code": ({"code": ""}, "another code"),
            "code left out": ({"code": None}, "not understood"),
            "method left out": ({"method": None}, "not understood"),
            "device": ({"device": "phone-2"}, "does not trust that phone"),
            "purpose": ({"purpose": "leave"}, "not understood"),
            "method": ({"method": "facial"}, "another method"),
        }
        for name, (changed, told) in cases.items():
            with self.subTest(name=name):
                self.assert_refused(lambda start: self.phone.approval(self.honest(start, **changed)), told)
        with self.subTest(name="user"):
            self.assert_refused(
                lambda start: self.phone.approval(
                    self.phone.statement(self.origin, SESSION, {**start, "context": other_user(start)})),
                "showed another request")

    def test_another_key_signs_nobody_in(self):
        other = SigningPhone("phone-1")
        self.assert_refused(
            lambda start: other.approval(other.statement(self.origin, SESSION, start)), "signature is wrong")
        stranger = SigningPhone("phone-2")
        self.assert_refused(
            lambda start: stranger.approval(stranger.statement(self.origin, SESSION, start)), "does not trust that phone")

    def test_another_users_phone_signs_nobody_in(self):
        """Trusted here, but for somebody else: under its own id, and under the id of the user's phone."""
        for name in ("phone-2", "phone-1"):
            with self.subTest(name=name):
                other = SigningPhone(name)
                world.write("phones", other.line("root") + self.phone.line(ENROLLED), 0o644)
                told = "does not trust that phone" if name == "phone-2" else "signature is wrong"
                self.assert_refused(lambda start: other.approval(other.statement(self.origin, SESSION, start)), told)

    def test_either_of_two_phones_signs_in_by_its_own_key_alone(self):
        second = SigningPhone("phone-2")
        world.write("phones", self.phone.line(ENROLLED) + second.line(ENROLLED), 0o644)
        for phone in (self.phone, second):
            self.serve_approval(lambda start: phone.approval(phone.statement(self.origin, SESSION, start)))
            result = self.play(SUCCESS)
            self.assertIn(f"phone={phone.name} ", result["log"][-1])
        mixed = lambda start: {**second.approval(second.statement(self.origin, SESSION, start)), "phone": "phone-1"}
        self.assert_refused(mixed, "does not trust that phone")
        swapped = lambda start: self.phone.approval(second.statement(self.origin, SESSION, start))
        self.assert_refused(swapped, "does not trust that phone")
        self.assert_refused(lambda start: {**swapped(start), "phone": "phone-2"}, "signature is wrong")

    def test_an_approval_of_this_phone_for_another_request_signs_nobody_in(self):
        """Replayed, and of another host of the same application."""
        kept = []

        def first(start):
            if not kept:
                kept.append(self.phone.approval(self.honest(start)))
            return kept[0]

        # The same service, since another one would be refused for its address.
        self.serve_approval(first)
        self.play(SUCCESS)
        world.forget_attempts()
        self.play(AUTHINFO_UNAVAIL, told="signed another request")
        elsewhere = lambda start: {**start, "context": {**start["context"], "host": "desk-8"}}
        self.assert_refused(lambda start: self.phone.approval(self.honest(elsewhere(start))), "showed another request")

    def test_another_signature_signs_nobody_in(self):
        def with_signature(raw):
            def made(start):
                return {**self.phone.approval(self.honest(start)), "signature": base64.b64encode(raw).decode()}
            return made

        for name, raw in {"71 bytes": bytes([0x30] * 71), "all zero": bytes(64), "out of range": b"\xff" * 64, "none": b"",
                          "63 bytes": b"\1" * 63}.items():  # fmt: skip
            with self.subTest(name=name):
                self.assert_refused(with_signature(raw), "not understood")
        self.assert_refused(with_signature(b"\1" * 64), "signature is wrong")

    def test_another_word_of_the_screen_lock_signs_nobody_in(self):
        cases = {
            "unverified": {"flags": TOUCHED}, "untouched": {"flags": VERIFIED}, "another credential": {"key": Key()},
            "the phone's own key": {"key": self.phone.key}, "another page": {"party": "localhost.evil"},
            "another origin": {"origin": "https://localhost:1"}, "another ceremony": {"type": "webauthn.create"},
            "another statement": {"challenge": bytes(32)}, "in a frame": {"cross": True}, "junk": {"junk": b"\0"},
        }  # fmt: skip
        for name, wrong in cases.items():
            with self.subTest(name=name):
                self.assert_refused(
                    lambda start: self.phone.approval(self.honest(start), **wrong), "screen lock proves nothing")

        def without(start):
            approval = self.phone.approval(self.honest(start))
            del approval["assertion"]
            return approval

        self.assert_refused(without, "was not unlocked")

    def test_another_form_signs_nobody_in(self):
        for name, value in {"text": "approved", "list": [], "empty": {}, "number": 1}.items():
            with self.subTest(name=name):
                self.assert_refused(lambda start: value, "not understood")
        self.addCleanup(delattr, self, "mangle")
        for name, mangle in {
            "twice": lambda text: text.replace('"phone": ', '"phone": "phone-1", "phone": ', 1),
            "truncated": lambda text: text[:-40],
        }.items():
            with self.subTest(name=name):
                self.mangle = mangle
                self.serve_approval(lambda start: self.phone.approval(self.honest(start)))
                self.play(AUTHINFO_UNAVAIL, told="answer not understood")

    def test_a_service_that_repeats_nothing_is_refused(self):
        for name, changed in {
            "no challenge": {"challenge": None}, "another challenge": {"challenge": base64.b64encode(bytes(32)).decode()},
            "no code": {"match_code": None}, "another code": {"match_code": "xx"}, "no name": {"session_name": None},
        }.items():  # fmt: skip
            with self.subTest(name=name):
                if changed.get("match_code"):
                    # Its own choice, as one of an attacker's open request would be.
                    changed = {"match_code": "00"}
                service = self.serve_approval(lambda start: self.phone.approval(self.honest(start)), **changed)
                if name == "another code":
                    service.behaviour[START] = self.with_next_code
                self.assert_told(service, self.play(AUTHINFO_UNAVAIL, told="no approvals that this computer can verify"))

    def test_a_phone_that_is_forgotten_while_it_is_asked_signs_nobody_in(self):
        """Taken off the list, or replaced by another phone of the user."""
        for name, later in {"forgotten": "", "another": SigningPhone("phone-2").line(ENROLLED)}.items():
            with self.subTest(name=name):
                world.write("phones", self.phone.line(ENROLLED), 0o644)

                def change_and_approve(start):
                    world.write("phones", later, 0o644)
                    return self.phone.approval(self.honest(start))

                service = self.serve_approval(change_and_approve)
                result = self.play(AUTHINFO_UNAVAIL, told="stopped trusting your phone")
                self.assertIn("trusts the phone no more", result["log"][-1])
                self.assertEqual(len(self.asked(service, START)), 1)
                self.assert_told(service, result)
                world.forget_attempts()

    def test_a_list_of_phones_that_breaks_while_the_phone_is_asked_refuses(self):
        def break_and_approve(start):
            world.write("phones", f"{ENROLLED}:x\n", 0o644)
            return self.phone.approval(self.honest(start))

        service = self.serve_approval(break_and_approve)
        self.assert_told(service, self.play(SERVICE_ERR, told="not configured"))

    def with_next_code(self, stream, request):
        self.start = json.loads(request.body)
        code = f"{(int(self.start['match_code']) + 1) % 100:02}"
        reply(202, started(session_name=SESSION, challenge=self.start["challenge"], match_code=code))(stream, request)


if __name__ == "__main__":
    unittest.main()
