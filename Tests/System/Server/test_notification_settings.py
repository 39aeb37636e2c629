"""`application notifications`: how one sets that apps of one's own are rung."""

import os
import unittest

from Support.Service import app_keys
from Support.Service.never import assert_hidden
from Support.Service.server import DATA, NO_INPUT, USAGE, ServerWorld


class Settings(unittest.TestCase):
    """The files that Apple and Google give out."""

    @classmethod
    def setUpClass(cls):
        cls.world = ServerWorld()
        cls.addClassCleanup(cls.world.close)
        cls.world.serve_alone()
        cls.keys = app_keys.AppKeys(cls.world.path("keys"))

    def set(self, *words, application="office"):
        return self.world.command("application", "notifications", *words[:1], application, *words[1:])

    def done(self, *words):
        """What it prints."""
        done = self.set(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, code, said, *words, **more):
        done = self.set(*words, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(said, done.stderr)
        self.assertIn("hint: " if code != USAGE else "Usage: ", done.stderr)
        self.assertNotIn("PRIVATE", done.stdout + done.stderr)

    def shown(self):
        return self.done("show")

    def test_a_token_key_is_set_shown_and_removed(self):
        self.assertEqual(self.done("apple", *self.keys.apple_token), "office rings apps through Apple\n")
        self.assertRegex(
            self.shown(),
            r"^apple topic=org.example.signin production key=ABC123DEFG team=DEF123GHIJ set=\S+Z\n$")
        self.done("apple", *self.keys.apple_token, "--sandbox")
        self.assertIn(" sandbox ", self.shown())
        self.assertEqual(self.done("remove", "apple"), "office rings no app through Apple any more\n")
        self.assertEqual(self.shown(), "")
        self.refused(DATA, "office rings no app through Apple", "remove", "apple")

    def test_a_certificate_comes_with_its_key_or_in_one_file(self):
        for words in (self.keys.apple_certificate, self.keys.bundle(), self.keys.bundle("-legacy"), self.keys.bundle(passphrase="")):
            with self.subTest(words=words):
                self.done("apple", *words)
                self.assertRegex(
                    self.shown(), r"^apple topic=org.example.signin production certificate-ends=\S+Z set=\S+Z\n$")
        self.done("remove", "apple")

    def test_a_service_account_is_set_shown_and_removed(self):
        self.done("google", *self.keys.google)
        self.assertRegex(self.shown(), r"^google project=example-1 account=\S+@\S+ key=0123abcd set=\S+Z\n$")
        self.done("remove", "google")

    def test_no_key_is_shown_logged_or_left_readable(self):
        self.done("apple", *self.keys.apple_token)
        self.done("google", *self.keys.google)
        told = self.shown() + self.world.command("audit").stdout + "\n".join(self.world.server.lines)
        for secret in self.keys.secrets():
            assert_hidden(secret, told)
        self.assertEqual(os.stat(self.world.path("data/iampass.sqlite")).st_mode & 0o077, 0)
        self.assertIn("notifications set", told)
        for service in ("apple", "google"):
            self.done("remove", service)
        with self.world.database() as database:
            self.assertEqual(database.execute("SELECT count(*) FROM notification_service").fetchone(), (0,))

    def test_a_bad_file_is_named_with_what_is_wrong(self):
        keys = self.keys
        topic = ("--topic", "org.example.signin")
        cases = (
            ("the token key is not a P-256 private key", ("apple", *keys.token_with(keys.file("rsa.pem")))),
            ("the token key is not a P-256 private key", ("apple", *keys.token_with(keys.written("text.p8", b"no key")))),
            ("the private key does not belong", ("apple", "--certificate", keys.file("apple.pem"), "--certificate-key", keys.file("other.pem"), *topic)),
            ("no private key in PEM", ("apple", "--certificate", keys.file("apple.pem"), "--certificate-key", keys.file("sealed.pem"), *topic)),
            ("no certificate in PEM", ("apple", "--certificate", keys.file("apple.key"), "--certificate-key", keys.file("apple.key"), *topic)),
            ("the certificate has expired", ("apple", "--certificate", keys.file("old.pem"), "--certificate-key", keys.file("apple.key"), *topic)),
            ("the passphrase is wrong", ("apple", "--bundle", keys.file("apple.p12"), *topic)),
            ("does not have both", ("apple", *keys.bundle("-nokeys"))),
            ("it is not a PKCS #12 file", ("apple", "--bundle", keys.file("apple.pem"), *topic)),
            ("it is not the JSON file", ("google", "--service-account", keys.file("apple.pem"))),
            ("token_uri of the service", ("google", "--service-account", keys.account("elsewhere", token_uri="https://evil.test/token"))),
            ("private_key of the service", ("google", "--service-account", keys.account("short", private_key="x"))),
            ("project_id of the service", ("google", "--service-account", keys.account("odd", project_id="../../x"))),
        )  # fmt: skip
        for said, words in cases:
            with self.subTest(said=said):
                self.refused(DATA, said, *words)
        self.assertEqual(self.shown(), "")

    def test_what_cannot_be_read_is_named(self):
        os.mkfifo(self.world.path("pipe"))
        for path in (self.world.path("pipe"), "/dev/zero", self.world.folder, "/nonexistent", self.keys.written("empty", b""),
                     self.keys.written("large", bytes(70_000))):  # fmt: skip
            with self.subTest(path=path):
                self.refused(NO_INPUT, path, "google", "--service-account", path)

    def test_words_that_do_not_belong_together_are_refused(self):
        token = self.keys.apple_token
        self.refused(USAGE, "give one of", "apple", "--topic", "org.example.signin")
        self.refused(USAGE, "belong together", "apple", *token[:2], "--topic", "org.example.signin")
        self.refused(USAGE, "belongs to --bundle", "apple", *token, "--passphrase-file", "/dev/null")
        self.refused(DATA, "there is no application nobody", "apple", *token, application="nobody")
        self.refused(DATA, "the topic is invalid", "apple", *token[:-1], "a b")
        self.refused(DATA, "the key id is invalid", "apple", *token[:3], "short", *token[4:])


if __name__ == "__main__":
    unittest.main()
