"""The real service gets a renewed certificate and SIGHUP while a sign-in waits for its phone."""

import os
import shutil
import signal
import ssl
import threading
import unittest

from Support.Service.world import ENROLLED, SUCCESS, World, make_certificate, program, read, run


class RenewedCertificate(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.world.key, self.world.certificate = make_certificate(self.world.folder)
        self.renewed = make_certificate(self.world.folder, "renewed")
        # Computers and phones trust both, as they trust an authority.
        self.world.write("ca.pem", read(self.world.certificate) + read(self.renewed[1]), 0o644)
        self.world.start_server("--log-level", "debug")
        made = run(program("iampass-server"), "application", "create", "tests", "--data", self.world.path("data"), "--match-code", "off")
        self.world.write("credentials", made)
        self.world.configure(server=self.world.address, ca_file=self.world.path("ca.pem"))
        run(program("iampassctl"), "user", "add", ENROLLED, "--config", self.world.path("iampass.conf"))
        self.first = self.shown()

    def shown(self):
        """The certificate that a new connection gets."""
        host, port = self.world.address.removeprefix("https://").rsplit(":", 1)
        return ssl.get_server_certificate((host, int(port)))

    def renew(self, *files):
        for new, old in files:
            shutil.copy(new, old + ".new")
            os.rename(old + ".new", old)
        self.world.server.process.send_signal(signal.SIGHUP)

    def both(self):
        return (self.renewed[0], self.world.key), (self.renewed[1], self.world.certificate)

    def test_is_shown_to_new_connections_while_a_waiting_sign_in_goes_on(self):
        world, results = self.world, []
        # register_phone trusts world.certificate, which changes here.
        world.certificate, certificate = world.path("ca.pem"), world.certificate
        world.register_phone()
        world.certificate = certificate
        world.pam("sudo", "prompt=push timeout=60s")
        sign_in = threading.Thread(target=lambda: results.append(world.play()))
        sign_in.start()
        world.server.wait_for("session started")
        self.renew(*self.both())
        world.server.wait_for("took the renewed certificate")
        self.assertNotEqual(self.shown(), self.first)
        world.phone("approve")
        sign_in.join()
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assertIsNone(world.server.process.poll())

    def test_without_its_key_is_not_taken(self):
        self.renew((self.renewed[1], self.world.certificate))
        self.world.server.wait_for("the renewed certificate is not taken")
        self.assertEqual(self.shown(), self.first)

    def test_does_not_decide_about_living_on(self):
        self.world.server.process.send_signal(signal.SIGHUP)
        self.world.server.wait_for("the certificate has not changed")
        self.assertEqual(self.shown(), self.first)


if __name__ == "__main__":
    unittest.main()
