"""What the service says at its start about its page."""

import os
import subprocess
import tempfile
import unittest

from browser_world import PROGRAMS, Authority


class Start(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="iampass-browser-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.authority = Authority(self.folder)

    def log(self, *options):
        """The lines up to the one that it listens."""
        words = [
            os.path.join(PROGRAMS, "iampass-server"), "serve", "--data", os.path.join(self.folder, "data"), "--listen",
            "127.0.0.1:0", "--tls-cert", self.authority.certificate, "--tls-key", self.authority.key, *options,
        ]  # fmt: skip
        server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            lines = []
            for line in server.stdout:
                lines.append(line)
                if "listening on" in line:
                    break
            return "".join(lines)
        finally:
            server.terminate()
            server.communicate(timeout=60)

    def test_says_that_phones_need_a_name(self):
        for options in ((), ("--public-url", "https://192.0.2.1:8443"), ("--public-url", "https://[2001:db8::1]")):
            with self.subTest(options=options):
                self.assertIn("phones need a DNS name", self.log(*options))

    def test_is_content_with_a_name_that_the_certificate_has(self):
        said = self.log("--public-url", "https://localhost:8443")
        self.assertIn("listening on", said)
        self.assertNotIn("phones need a DNS name", said)

    def test_says_that_the_certificate_is_for_another_name(self):
        self.assertIn("the certificate is not for iampass.example.org", self.log("--public-url", "https://iampass.example.org"))

    def test_says_that_the_certificate_is_its_own_authority(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", self.authority.key, "-out",
             self.authority.certificate], check=True, capture_output=True, timeout=60)
        self.assertIn("the certificate names itself as its issuer", self.log("--public-url", "https://localhost:8443"))

    def test_behind_a_proxy_the_certificate_is_not_what_browsers_see(self):
        said = self.log("--public-url", "https://iampass.example.org", "--trusted-proxy", "192.0.2.1")
        self.assertNotIn("phones need a DNS name", said)

    def test_refuses_an_authority_without_a_certificate(self):
        self.assertIn("--push-ca", self.log("--push-ca", os.devnull))


if __name__ == "__main__":
    unittest.main()
