"""How phones are rung: by a browser's push service, and by Apple's and Google's, for apps of one's own."""

import itertools
import re
import ssl
import time
import types
import unittest

from Support.Service import app_keys, app_push_service, own_phone, push_service
from Support.Service.never import assert_hidden
from Support.Service.server import ServerWorld, until
from Support.Service.world import make_certificate

hosts = itertools.count()
APPLE_TOKEN = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
GOOGLE_TOKEN = "dGVzdC1pbnN0YW5jZQ:APA91bH_a-token-of-a-phone"


def start(case, world):
    """A sign-in from a host of its own, which the test's end logs out."""
    session = world.started(f"host-{next(hosts)}")
    path = session["logout_url"].removeprefix(world.address)
    case.addCleanup(world.signed, "POST", path, by=(session["session_token"], session["session_secret"]))
    return session


def rung(case, world):
    """A sign-in, and what the log says of its message."""
    session = start(case, world)
    return session, said_of(world, session)


def said_of(world, session):
    claim = lambda line: session["session_name"] in line and re.search("a phone was rung|could not ring|has ended", line)  # noqa: E731
    return until(lambda: next(filter(claim, world.server.lines), None), "what became of the message")


class WebPush(unittest.TestCase):
    """A page that asks to be rung, at a push service that refuses."""

    @classmethod
    def setUpClass(cls):
        cls.world = ServerWorld()
        cls.addClassCleanup(cls.world.close)
        cls.world.serve_alone("--push-ca", cls.world.path("server.crt"), "--log-level", "debug")
        cls.world.add_users("alice")
        files = types.SimpleNamespace(certificate=cls.world.certificate, key=cls.world.key)
        cls.service = push_service.PushService(files)
        cls.addClassCleanup(cls.service.close)
        path = f"/management/device_registration_link/{cls.world.application['application_id']}/alice"
        cls.phone = own_phone.OwnPhone(cls.world)
        code, reply = cls.phone.register(cls.world.signed("GET", path)["register_url"])
        assert code == 200, reply

    def setUp(self):
        subscription = push_service.Subscription(self.service)
        told = {"endpoint": subscription.endpoint, **subscription.keys}
        code, reply = self.phone.ask("push", subscription=told)
        self.assertEqual(code, 200, reply)

    def rung(self, *replies):
        """How many messages a sign-in sent, and what the log says of it, after the push service gave these replies."""
        self.service.replies, self.service.messages = list(replies), []
        _, said = rung(self, self.world)
        return len(self.service.messages), said

    def test_a_push_service_that_always_refuses_is_logged(self):
        count, said = self.rung(*[(429, {"Retry-After": "1"})] * 4)
        self.assertEqual(count, 3)
        self.assertIn("could not ring a phone", said)
        self.assertIn("status 429, after 3 attempts", said)

    def test_a_push_service_that_recovers_rings(self):
        count, said = self.rung((429, {"Retry-After": "1"}), (503, {}))
        self.assertEqual(count, 3)
        self.assertIn("a phone was rung", said)

    def test_a_push_service_that_wants_to_be_left_alone_is(self):
        count, said = self.rung((429, {"Retry-After": "3600"}))
        self.assertEqual(count, 1)
        self.assertIn("status 429, and no other attempt for 3600 s", said)


class Apps(unittest.TestCase):
    """An app that told its device token, at stand-ins for Apple's and Google's services."""

    @classmethod
    def setUpClass(cls):
        app_push_service.use_packages()
        cls.world = ServerWorld()
        cls.addClassCleanup(cls.world.close)
        cls.world.key, cls.world.certificate = make_certificate(cls.world.folder)
        cls.keys = app_keys.AppKeys(cls.world.path("keys"))
        cls.service = app_push_service.AppPushService(cls.keys, cls.world.certificate, cls.world.key)
        cls.addClassCleanup(cls.service.close)
        given = cls.world.certificate, cls.world.key
        cls.world.serve_alone("--app-push-url", cls.service.address, "--push-ca", given[0], "--log-level", "debug")
        # The service's certificate is made again there.
        cls.service.use(cls.world.certificate, cls.world.key)
        cls.phone = own_phone.OwnPhone(cls.world)
        cls.world.add_users("alice")
        code, reply = cls.phone.register(cls.link(), subscription={"service": "apple", "token": APPLE_TOKEN})
        assert code == 200, reply

    @classmethod
    def link(cls, user="alice"):
        path = f"/management/device_registration_link/{cls.world.application['application_id']}/{user}?display_name=Alice"
        return cls.world.signed("GET", path)["register_url"]

    def setUp(self):
        self.service.forget()

    def use(self, service, *words):
        """The application's settings, and the phone's token, from now on."""
        done = self.world.command("application", "notifications", service, "office", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.tell(service)

    def tell(self, service):
        token = APPLE_TOKEN if service == "apple" else GOOGLE_TOKEN
        code, reply = self.phone.ask("push", subscription={"service": service, "token": token})
        self.assertEqual(code, 200, reply)

    def rung(self, *replies):
        """How many messages a sign-in sent, and what the log says of it."""
        self.service.forget()
        self.service.replies = list(replies)
        _, said = rung(self, self.world)
        for secret in (APPLE_TOKEN, GOOGLE_TOKEN, "eyJ", "ya29."):
            assert_hidden(secret, "\n".join(self.world.server.lines))
        return len(self.service.messages), said

    def silent(self):
        """Whether a sign-in sends no message: of two, the second one's shows it."""
        self.service.forget()
        start(self, self.world)
        self.tell("apple")
        rung(self, self.world)
        return len(self.service.messages) == 1

    def test_apple_gets_what_it_documents_by_a_token(self):
        self.use("apple", *self.keys.apple_token)
        session, said = rung(self, self.world)
        self.assertIn("a phone was rung", said)
        message = self.service.message()
        self.assertEqual(message.headers[":path"], "/3/device/" + APPLE_TOKEN)
        self.assertEqual(message.claims, {"iss": app_keys.TEAM_ID, "iat": message.claims["iat"]})
        self.assertEqual(message.headers["apns-collapse-id"], session["session_name"])
        self.assertLessEqual(int(message.headers["apns-expiration"]), time.time() + 60)
        self.assertEqual((message.json["device"], message.json["session"]), (self.phone.device, session["session_name"]))
        self.assertEqual(sorted(message.json), ["aps", "device", "session"])
        self.assertNotIn(b"alice", message.body.lower())
        self.assertNotIn(b"host-", message.body)

    def test_apple_gets_the_certificate(self):
        for words in (self.keys.apple_certificate, self.keys.bundle()):
            with self.subTest(words=words[0]):
                self.use("apple", *words)
                self.assertIn("a phone was rung", self.rung()[1])
                own = ssl.PEM_cert_to_DER_cert(self.keys.read("apple.pem"))
                self.assertEqual(self.service.message().peer, own)

    def test_google_gets_what_it_documents(self):
        self.use("google", *self.keys.google)
        session, said = rung(self, self.world)
        self.assertIn("a phone was rung", said)
        told = self.service.message().json["message"]
        self.assertEqual(told["token"], GOOGLE_TOKEN)
        self.assertEqual(told["data"], {"device": self.phone.device, "session": session["session_name"]})
        self.assertNotIn(b"alice", self.service.message().body.lower())

    def test_connections_and_tokens_are_kept(self):
        for service, words in (("apple", self.keys.apple_token), ("google", self.keys.google)):
            with self.subTest(service=service):
                self.use(service, *words)
                self.rung()
                before = self.service.connections, len(self.service.grants)
                first = self.service.message().headers["authorization"]
                self.rung()
                self.assertEqual(self.service.message().headers["authorization"], first)
                self.assertEqual((self.service.connections, len(self.service.grants)), before)

    def test_a_connection_that_ended_is_made_again(self):
        self.use("apple", *self.keys.apple_token)
        self.rung()
        self.service.hang_up()
        self.assertIn("a phone was rung", self.rung()[1])

    def test_a_token_that_is_gone_is_forgotten(self):
        self.use("google", *self.keys.google)
        refusal = app_push_service.google_refusal(404, "NOT_FOUND", "UNREGISTERED")
        self.service.replies = [refusal]
        start(self, self.world)
        until(lambda: self.world.server.count("a push subscription has ended") == 1, "the end of the token")
        self.use("apple", *self.keys.apple_token)
        for count, refusal in enumerate((
            app_push_service.apple_refusal(410, "Unregistered", timestamp=int(time.time() * 1000) + 1000),
            app_push_service.apple_refusal(410, "ExpiredToken"), app_push_service.apple_refusal(400, "BadDeviceToken")), 2):
            with self.subTest(refusal=refusal):
                self.tell("apple")
                self.service.replies = [refusal]
                start(self, self.world)
                until(lambda: self.world.server.count("a push subscription has ended") == count, "the end of the token")  # noqa: B023
                self.assertTrue(self.silent())

    def test_the_end_of_an_earlier_registration_forgets_nothing(self):
        self.use("apple", *self.keys.apple_token)
        _, said = self.rung(app_push_service.apple_refusal(410, "Unregistered", timestamp=1_500_000_000_000))
        self.assertIn("for an earlier registration", said)
        self.assertIn("a phone was rung", self.rung()[1])

    def test_a_service_that_asks_for_patience_gets_it(self):
        after = {"Retry-After": "1"}
        self.use("apple", *self.keys.apple_token)
        for status, reason in ((429, "TooManyRequests"), (500, "InternalServerError"), (503, "Shutdown")):
            with self.subTest(status=status):
                count, said = self.rung((status, {"reason": reason}, after))
                self.assertEqual(count, 2)
                self.assertIn("a phone was rung", said)
        self.use("google", *self.keys.google)
        count, said = self.rung((503, None, after))
        self.assertEqual(count, 2)
        self.assertIn("a phone was rung", said)

    def test_a_service_that_refuses_for_good_is_logged(self):
        self.use("apple", *self.keys.apple_token)
        count, said = self.rung(*[(503, {"reason": "ServiceUnavailable"}, {"Retry-After": "1"})] * 4)
        self.assertEqual(count, 3)
        self.assertIn("status 503 ServiceUnavailable, after 3 attempts", said)
        count, said = self.rung(app_push_service.apple_refusal(400, "DeviceTokenNotForTopic"))
        self.assertEqual(count, 1)
        self.assertIn("status 400 DeviceTokenNotForTopic", said)

    def test_a_quota_of_googles_is_not_tried_for_a_minute(self):
        self.use("google", *self.keys.google)
        count, said = self.rung(app_push_service.google_refusal(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"))
        self.assertEqual(count, 1)
        self.assertIn("status 429 QUOTA_EXCEEDED, and no other attempt for 60 s", said)

    def test_an_expired_token_of_apples_is_not_made_again_at_once(self):
        self.use("apple", *self.keys.apple_token)
        count, said = self.rung(app_push_service.apple_refusal(403, "ExpiredProviderToken"))
        self.assertEqual(count, 1)
        self.assertIn("status 403 ExpiredProviderToken", said)

    def test_an_expired_grant_of_googles_is_made_again(self):
        self.use("google", *self.keys.google)
        self.rung()
        before = len(self.service.grants)
        count, said = self.rung(app_push_service.google_refusal(401, "UNAUTHENTICATED"))
        self.assertEqual((count, len(self.service.grants)), (2, before + 1))
        self.assertIn("a phone was rung", said)

    def test_a_service_account_that_google_refuses_is_logged(self):
        self.use("google", "--service-account", self.keys.account("other", client_email="nobody@example.org"))
        count, said = self.rung()
        self.assertEqual(count, 0)
        self.assertIn("no access token, status 400", said)

    def test_a_silent_service_keeps_nobody_waiting(self):
        self.use("apple", *self.keys.apple_token)
        self.service.replies = [None]
        self.service.released.clear()
        session = start(self, self.world)
        self.service.message()
        # The message has no reply yet; the sign-in goes on all the same.
        self.assertIn(self.world.status(session), ("pending", "identifying"))
        self.service.released.set()
        self.assertIn("a phone was rung", said_of(self.world, session))

    def test_a_service_that_never_answers_is_given_up(self):
        self.use("apple", *self.keys.apple_token)
        self.service.released.clear()
        self.addCleanup(self.service.released.set)
        count, said = self.rung(None, None, None)
        self.assertEqual(count, 3)
        self.assertIn("could not ring a phone", said)

    def test_a_certificate_of_somebody_else_gets_nothing(self):
        key, certificate = make_certificate(self.world.folder, "other")
        self.use("apple", *self.keys.apple_token)
        try:
            self.service.use(certificate, key)
            self.service.hang_up()
            count, said = self.rung()
        finally:
            self.service.use(self.world.certificate, self.world.key)
        self.assertEqual(count, 0)
        self.assertIn("CERTIFICATE_VERIFY_FAILED", said)

    def test_a_service_without_http_2_gets_nothing(self):
        self.use("apple", *self.keys.apple_token)
        try:
            self.service.use(self.world.certificate, self.world.key, ["http/1.1"])
            self.service.hang_up()
            count, said = self.rung()
        finally:
            self.service.use(self.world.certificate, self.world.key)
        self.assertEqual(count, 0)
        self.assertIn("could not ring a phone", said)

    def test_without_settings_no_app_is_rung(self):
        self.use("apple", *self.keys.apple_token)
        self.world.command("application", "notifications", "remove", "office", "apple")
        self.service.forget()
        start(self, self.world)
        self.use("apple", *self.keys.apple_token)
        rung(self, self.world)
        self.assertEqual(len(self.service.messages), 1)

    def test_a_token_that_cannot_be_one_is_refused(self):
        self.world.add_users("bob")
        link, other = self.link("bob"), own_phone.OwnPhone(self.world)
        bad = [("apple", "xyz"), ("apple", "0a" * 15), ("apple", "../" * 20), ("apple", "0" * 514), ("google", "short"),
               ("google", "a b" * 20), ("google", "a" * 5000), ("google", "x\r\n" * 20)]  # fmt: skip
        for service, token in bad:
            with self.subTest(service=service, token=token[:10]):
                told = {"service": service, "token": token}
                self.assertEqual(other.register(link, subscription=told)[1]["reason"], "BAD_SUBSCRIPTION")
                self.assertEqual(self.phone.ask("push", subscription=told)[1]["reason"], "BAD_SUBSCRIPTION")
        for told in ({"service": "other", "token": APPLE_TOKEN}, {"service": "apple"}, "apple"):
            self.assertEqual(other.register(link, subscription=told)[1]["reason"], "BAD_REQUEST")
        self.assertEqual(other.register(link)[0], 200)


if __name__ == "__main__":
    unittest.main()
