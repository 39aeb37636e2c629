"""The files that Apple and Google give to whoever has an app of their own, made by openssl."""

import json
import os

from Support.Service.world import run

KEY_ID, TEAM_ID, TOPIC = "ABC123DEFG", "DEF123GHIJ", "org.example.signin"
PROJECT, ACCOUNT, ACCOUNT_KEY = "example-1", "rings@example-1.iam.gserviceaccount.com", "0123abcd"


class AppKeys:
    def __init__(self, folder):
        self.folder = folder
        os.mkdir(folder, 0o700)
        curve = "-algorithm EC -pkeyopt ec_paramgen_curve:prime256v1".split()
        for name in ("AuthKey.p8", "apple.key", "other.pem"):
            run("openssl", "genpkey", *curve, "-out", self.file(name))
        run("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.file("rsa.pem"))
        run("openssl", "pkcs8", "-topk8", "-in", self.file("apple.key"), "-passout", "pass:x", "-out", self.file("sealed.pem"))
        self.certify("apple.pem", "-days", "30")
        # openssl req cannot make it; x509 ends it yesterday.
        run("openssl", "req", "-new", "-key", self.file("apple.key"), "-subj", "/CN=old", "-out", self.file("old.csr"))
        run("openssl", "x509", "-req", "-in", self.file("old.csr"), "-signkey", self.file("apple.key"), "-days", "-1",
            "-out", self.file("old.pem"))  # fmt: skip
        self.bundle()

    def file(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.file(name)) as file:
            return file.read()

    def written(self, name, content):
        with open(self.file(name), "wb") as file:
            file.write(content)
        return self.file(name)

    def certify(self, name, *more):
        run("openssl", "req", "-x509", "-new", "-key", self.file("apple.key"), "-subj", "/CN=Apple Push Services",
            "-addext", "extendedKeyUsage=clientAuth", *more, "-out", self.file(name))  # fmt: skip

    def token_with(self, path):
        return ("--token-key", path, "--key-id", KEY_ID, "--team-id", TEAM_ID, "--topic", TOPIC)

    @property
    def apple_token(self):
        return self.token_with(self.file("AuthKey.p8"))

    @property
    def apple_certificate(self):
        return ("--certificate", self.file("apple.pem"), "--certificate-key", self.file("apple.key"), "--topic", TOPIC)

    def bundle(self, *more, passphrase="correct horse"):
        """Words with a PKCS #12 file, which openssl made with these further options."""
        name = "apple" + "".join(more) + ("" if passphrase else "-open") + ".p12"
        keys = () if "-nokeys" in more else ("-inkey", self.file("apple.key"))
        run("openssl", "pkcs12", "-export", *keys, *more, "-in", self.file("apple.pem"), "-passout", "pass:" + passphrase,
            "-out", self.file(name))  # fmt: skip
        secret = ("--passphrase-file", self.written("passphrase", passphrase.encode() + b"\n")) if passphrase else ()
        return ("--bundle", self.file(name), *secret, "--topic", TOPIC)

    def account(self, name="account", **changed):
        """The path of a service account's file."""
        content = {
            "type": "service_account", "project_id": PROJECT, "private_key_id": ACCOUNT_KEY,
            "private_key": self.read("rsa.pem"), "client_email": ACCOUNT, "client_id": "1",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": "https://oauth2.googleapis.com/token",
            **changed,
        }  # fmt: skip
        return self.written(name + ".json", json.dumps(content, indent=2).encode())

    @property
    def google(self):
        return ("--service-account", self.account())

    def public(self, name):
        """The public key of a private one, in PEM."""
        return run("openssl", "pkey", "-in", self.file(name), "-pubout")

    def secrets(self):
        """What nobody may be told: a line of each private key."""
        return [self.read(name).splitlines()[1] for name in ("AuthKey.p8", "apple.key", "rsa.pem")]
