"""`approvals = verified` through the broker: a service that was broken into unlocks nothing, and satisfies no polkit."""

import os
import unittest
import unittest.mock

from broker_case import WithBroker
from Support.HostileService.hostile_case import ENROLLED, START, hostile_world
from Support.HostileService.signing_phone import Key, SigningPhone
from Support.Service.world import AUTHINFO_UNAVAIL, SUCCESS
from test_verified import Verified

LISTED = {"services": "swaylock polkit-1", "unlock_timeout": "20s"}


def setUpModule():
    global world
    world = hostile_world()


class ThroughTheBroker(WithBroker, Verified):
    def setUp(self):
        super().setUp()
        self.set_up_broker("timeout=20s")

    def attempts(self, approval, code, told=None, settings=None, **of_the_start):
        """A locker's and polkit's attempt at this service."""
        for name, attempt in {
            "swaylock": lambda: self.lock(""),
            "polkit-1": lambda: self.world.play("polkit-1", own=False, answers=[""]),
        }.items():
            with self.subTest(program=name):
                service = self.serve_approval(approval, LISTED, **of_the_start)
                self.world.configure(**(settings or {}))
                result = attempt()
                self.assertEqual(result["codes"], [code], result)
                if told:
                    self.assertIn(told, " ".join(result["texts"]))
                self.assertEqual(len(self.asked(service, START)), 1)

    def assert_refused(self, approval, told, **of_the_start):
        self.attempts(approval, AUTHINFO_UNAVAIL, told, **of_the_start)
        # The same reply is an approval if the service is believed: it is the check that refused.
        if not of_the_start:
            self.attempts(approval, SUCCESS, settings={"approvals": "service", "send_context": "yes"})


class BrokenIntoService(ThroughTheBroker):
    def test_what_the_phone_signed_is_an_approval(self):
        self.attempts(lambda start: self.phone.approval(self.honest(start)), SUCCESS)
        self.broker.wait_for("approved user=daemon service=polkit-1")

    def test_active_without_a_signature_does_not_count(self):
        self.assert_refused(None, "no signature of your phone")

    def test_another_phone_or_screen_lock_is_refused(self):
        stranger = SigningPhone("phone-2")
        self.assert_refused(
            lambda start: stranger.approval(stranger.statement(self.origin, "session-1", start)),
            "does not trust that phone")
        self.assert_refused(
            lambda start: self.phone.approval(self.honest(start), key=Key()), "screen lock proves nothing")

    def test_another_request_of_the_user_is_refused(self):
        """The phone showed sudo, at another computer."""
        for changed in ({"service": "sudo"}, {"host": "desk-8"}):
            elsewhere = lambda start: {**start, "context": {**start["context"], **changed}}
            self.assert_refused(lambda start: self.phone.approval(self.honest(elsewhere(start))), "showed another request")

    def test_a_service_that_repeats_nothing_is_refused(self):
        honest = lambda start: self.phone.approval(self.honest(start))
        self.assert_refused(honest, "no approvals that this computer can verify", challenge=None)

    def test_a_phone_that_is_forgotten_while_it_is_asked_is_refused(self):
        # The service's threads have no world of their own.
        here = self.world

        def forget_and_approve(start):
            here.write("phones", "", 0o644)
            return self.phone.approval(self.honest(start))

        def attempt(act):
            self.world.write("phones", self.phone.line(ENROLLED), 0o644)
            service = self.serve_approval(forget_and_approve, LISTED)
            result = act()
            self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
            self.assertIn("stopped trusting your phone", " ".join(result["texts"]))
            self.assert_told(service, result)

        attempt(lambda: self.lock(""))
        attempt(lambda: self.world.play("polkit-1", own=False, answers=[""]))

    def test_a_phone_that_was_taken_off_the_list_is_not_rung(self):
        self.world.write("phones", "", 0o644)
        service = self.serve_approval(lambda start: self.phone.approval(self.honest(start)), LISTED)
        result = self.lock("")
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("trusts no phone of yours", " ".join(result["texts"]))
        self.assertEqual(self.asked(service, START), [])


class LibraryOfTheBroker(ThroughTheBroker):
    def test_a_library_that_cannot_be_loaded_refuses(self):
        os.makedirs(self.world.path("library"), exist_ok=True)
        self.world.write("library/libcrypto.so.3", "not a library\n" * 100, 0o644)
        self.broker.stop()
        with unittest.mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": self.world.path("library")}):
            self.broker = self.start_broker()
        service = self.serve_approval(lambda start: self.phone.approval(self.honest(start)), LISTED)
        for result in (self.lock(""), self.world.play("polkit-1", own=False, answers=[""])):
            self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
            self.assertIn("cannot check signatures of phones", " ".join(result["texts"]))
        self.assertEqual(self.asked(service, START), [], "the phone was rung")

    def test_a_configuration_of_libcrypto_is_not_read(self):
        self.broker.stop()
        with unittest.mock.patch.dict(os.environ, {"OPENSSL_CONF": "/nowhere", "OPENSSL_MODULES": self.world.folder}):
            self.broker = self.start_broker()
        self.attempts(lambda start: self.phone.approval(self.honest(start)), SUCCESS)


if __name__ == "__main__":
    unittest.main()
