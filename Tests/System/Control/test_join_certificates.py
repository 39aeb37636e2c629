"""`iampassctl join` and the certificate that the code names: impostors, and authorities that systems know."""

import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import unittest

from control import PROTOCOL, UNAVAILABLE, ControlWorld
from join_case import JoinCase, new_code, open_world
from Support.Service.world import make_certificate, program, read, run


def setUpModule():
    global world
    world = open_world()


class Impostors(JoinCase):
    """Whoever answers at the service's address without the certificate that the code names."""

    def setUp(self):
        super().setUp()
        os.makedirs(world.path("impostor"), exist_ok=True)
        self.addCleanup(shutil.rmtree, world.path("impostor"))
        self.key, self.certificate = make_certificate(world.path("impostor"))
        self.received = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.address = f"https://localhost:{self.listener.getsockname()[1]}"

    def impersonate(self, certificate, key, reply=b""):
        answer = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (b"200 OK" if reply else b"404 Not Found", len(reply), reply)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

        def serve():
            while True:
                try:
                    connection, _ = self.listener.accept()
                except OSError:
                    return
                try:
                    connection.settimeout(5)
                    with context.wrap_socket(connection, server_side=True) as stream:
                        while data := stream.recv(65536):
                            self.received.append(data)
                            stream.sendall(answer)
                except OSError:
                    pass

        threading.Thread(target=serve, daemon=True).start()

    def test_another_certificate_gets_nothing(self):
        code, _ = new_code("--unattended")
        self.impersonate(self.certificate, self.key)
        self.refused(code, PROTOCOL, "does not show the certificate that the code names; the code was not sent",
                     address=self.address)  # fmt: skip
        self.assertEqual(b"".join(self.received), b"")

    def test_showing_the_right_certificate_without_its_key_gets_nothing(self):
        """The authority is public: whoever appends it to their own chain still has no certificate by it."""
        code, _ = new_code("--unattended")
        chain = world.path("impostor/chain.pem")
        with open(chain, "w") as file:
            file.write(read(self.certificate) + read(world.certificate))
        self.impersonate(chain, self.key)
        done = self.join(code, address=self.address)
        self.assertEqual(done.code, UNAVAILABLE, done.text)
        self.assertIn("certificate is not trusted", done.err)
        self.assertEqual(b"".join(self.received), b"")

    def test_the_services_own_words_are_looked_at(self):
        code, _ = new_code("--unattended")
        told = {"status": True, "application_id": "a" * 32, "host": self.name(), "application": "tests"}
        for wrong in ({"host": "other"}, {"application_id": "a b"}, {"application_id": "a\nserver = https://x"}, {"application_id": ""}):
            self.impersonate(world.certificate, world.key, json.dumps({**told, **wrong}).encode())
            self.refused(code, PROTOCOL, "no usable answer", address=self.address)
            self.listener.close()
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(self.listener.close)
            self.address = f"https://localhost:{self.listener.getsockname()[1]}"

    def test_a_terminal_is_sent_no_commands(self):
        code, _ = new_code("--unattended")
        told = {"status": True, "application_id": "a" * 32, "host": self.name(), "application": "\x1b[2Jtests"}
        self.impersonate(world.certificate, world.key, json.dumps(told).encode())
        done = self.join(code, address=self.address)
        self.assertIn("joined ?[2Jtests as", done.out)

    def test_nobody_there_is_told(self):
        code, _ = new_code("--unattended")
        self.refused(code, UNAVAILABLE, "shows no certificate", address="https://127.0.0.1:1")


def make_issued(folder):
    """An authority, and a certificate by it for the service: paths of the authority, the certificate and its key."""
    os.makedirs(folder, exist_ok=True)
    run("sh", "-c", """cd "$1" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=ca \\
        -keyout ca.key -out ca.crt -days 2 && openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \\
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout leaf.key -out leaf.csr && \\
        openssl x509 -req -in leaf.csr -CA ca.crt -CAkey ca.key -days 2 -copy_extensions copy -out leaf.crt""", "sh", folder)
    return os.path.join(folder, "ca.crt"), os.path.join(folder, "leaf.crt"), os.path.join(folder, "leaf.key")


class SystemsAuthorities(unittest.TestCase):
    """A service whose certificate comes from an authority that systems know, or do not."""

    @classmethod
    def setUpClass(cls):
        cls.world = ControlWorld()
        cls.addClassCleanup(cls.world.close)
        cls.authority, cls.world.certificate, cls.world.key = make_issued(cls.world.path("issued"))
        cls.world.start_server()
        run(program("iampass-server"), "application", "create", "tests", "--data", cls.world.path("data"))
        os.chmod(cls.world.folder, 0o711)
        os.makedirs(cls.world.path("trusted"))
        shutil.copy(cls.authority, cls.world.path("trusted/ca.pem"))
        run("openssl", "rehash", cls.world.path("trusted"))

    def setUp(self):
        for name in ("credentials", "joining", "service-ca.pem"):
            if os.path.exists(self.world.path(name)):
                os.unlink(self.world.path(name))
        self.world.configure()

    def in_a_system(self, *words):
        """Runs a command in a system that trusts the authority."""
        script = 'mount --bind "$1" /etc/ssl/certs && shift && exec "$@"'
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", self.world.path("trusted"), *words], capture_output=True, text=True)

    def create(self, *more, certificate=None):
        return self.in_a_system(
            program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate",
            certificate or self.world.certificate, "--data", self.world.path("data"), *more)

    def join(self, code, name):
        return self.in_a_system(
            program("iampassctl"), "join", self.world.address, code, "--name", name, "--yes", "--config", self.world.path("iampass.conf"))

    def test_the_join_is_held_to_the_certificate_and_the_system_is_trusted_afterwards(self):
        code = self.create().stdout.split()[-1]
        done = self.join(code, "system-1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("ca_file", read(self.world.path("iampass.conf")))
        self.assertFalse(os.path.exists(self.world.path("service-ca.pem")))

    def test_another_certificate_of_the_same_authority_is_refused(self):
        _, other, _ = make_issued(self.world.path("other"))
        run("sh", "-c", 'cd "$1" && openssl x509 -req -in leaf.csr -CA ../issued/ca.crt -CAkey ../issued/ca.key -days 2 '
            "-copy_extensions copy -out leaf.crt", "sh", self.world.path("other"))  # fmt: skip
        code = self.create(certificate=other).stdout.split()[-1]
        done = self.join(code, "system-2")
        self.assertEqual(done.returncode, PROTOCOL, done.stderr)
        self.assertIn("the code was not sent", done.stderr)

    def test_the_authority_has_to_be_shown_if_nobody_knows_it(self):
        done = subprocess.run(
            [program("iampass-server"), "join-code", "create", "tests", "--certificate", self.world.certificate, "--data",
             self.world.path("data")], capture_output=True, text=True)  # fmt: skip
        self.assertIn("without that authority\nhint: append the authority's certificate", done.stderr)
