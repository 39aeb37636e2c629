"""`iampassctl setup` and signed replies: when they are required, and when they are given up."""

import ssl
import time
import unittest
import urllib.error
import urllib.request

from control import CONFIG, PATIENCE, PROTOCOL, program, read, run
from setup_case import SetupCase, open_world
from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import HostileService


def setUpModule():
    global world
    world = open_world()


class Stripping(HostileService):
    """Carries everything to the real service and back, but for its signatures and what it announces."""

    def __init__(self):
        super().__init__()
        self.behaviour["*"] = self.carry

    def carry(self, stream, request):
        headers = {name: value for name, value in request.headers if name.lower() != "content-length"}
        asked = urllib.request.Request(
            world.address + request.path, method=request.method, headers=headers, data=request.body or None)
        context = ssl.create_default_context(cafile=world.certificate)
        try:
            answer = urllib.request.urlopen(asked, timeout=PATIENCE, context=context)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            is_announcement = request.path == "/.well-known/iampass"
            reply(404 if is_announcement else answer.status, b"{}" if is_announcement else answer.read(), ())(stream, request)


class SignedReplies(SetupCase):
    def setUp(self):
        super().setUp()
        self.relay = Stripping().start()
        self.addCleanup(self.relay.stop)
        self.elsewhere = ("--server", self.relay.url, "--ca", self.relay.ca_file)

    def issued(self, more=""):
        """A file as the service prints it."""
        words = ("application", "create", f"issued{time.monotonic()}", "--data", world.path("data"), "--match-code", "off")
        return self.secret_file(run(program("iampass-server"), *words) + more)

    def test_they_are_not_given_up_for_another_address(self):
        self.setup_once()
        before = world.snapshot()
        done = self.setup(*self.elsewhere)
        self.assertEqual(done.code, PROTOCOL, done.text)
        self.assertIn("answer is not signed\nhint: somebody may be in between", done.err)
        self.assertIn("iampassctl setup --unsigned\n", done.err)
        self.assertEqual(world.snapshot(), before)

    def test_they_are_given_up_by_word_alone(self):
        self.setup_once()
        done = self.setup(*self.elsewhere, "--unsigned")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("the service does not sign its replies: signed_replies = off\n", done.out)
        self.assertIn("signed_replies = off\n", read(world.path("iampass.conf")))

    def test_the_word_gives_up_nothing_if_the_service_signs(self):
        self.setup_once()
        self.assertEqual(self.setup("--unsigned").code, 0)
        self.assertIn("signed_replies = required\n", read(world.path("iampass.conf")))

    def test_the_services_own_file_requires_them_from_the_first_call(self):
        for word in ((), ("--unsigned",)):
            done = self.setup(*self.elsewhere, "--secret-file", self.issued(), *word)
            self.assertEqual(done.code, PROTOCOL, done.text)
            self.assertIn("the service says that it signs: somebody may be in between", done.err)
            self.assert_nothing_changed()

    def test_a_secret_alone_requires_nothing_and_that_is_said(self):
        done = self.setup(*self.elsewhere, "--application-id", self.id, "--secret-file", self.secret_file())
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("signed_replies = off", done.out)

    def test_the_address_in_the_file_is_taken_where_none_is_given(self):
        done = self.setup("--secret-file", self.issued(f"server = {world.address}\n"))
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"server = {world.address}\n", read(world.path("iampass.conf")))

    def test_a_bad_line_in_the_file_is_named(self):
        for line in ("server = nonsense", "server = http://iampass.example.com"):
            done = self.setup("--secret-file", self.issued(line + "\n"))
            self.assertEqual(done.code, CONFIG, done.text)
            self.assertRegex(done.err, r"secret:\d: bad server")
        path = self.secret_file(f"application_id = {self.id}\napplication_secret = {self.secret}\nsigned_replies = maybe\n")
        self.assertIn("secret:3: bad signed_replies", self.setup("--server", world.address, "--secret-file", path).err)
        self.assert_nothing_changed()


if __name__ == "__main__":
    unittest.main()
