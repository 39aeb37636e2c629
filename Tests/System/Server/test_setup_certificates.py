"""The certificates of `iampass-server setup`, while the service runs: of its own authority, and certbot's."""

import os
import signal
import subprocess
import unittest

from setup_world import SERVICE_USER, SetupCase, ask, certificate_facts
from Support.Service.server import DATA, NO_INPUT
from Support.Service.world import PATIENCE, make_certificate, run


class Renewal(SetupCase):
    def test_a_running_service_takes_the_new_certificate_and_keeps_its_connections(self):
        self.set_up()
        service, pair = self.world.serve(), self.world.path("etc/own/service.pem")
        serial, key = certificate_facts(pair)
        with self.world.connect() as old:
            self.assertEqual(ask(old, "/healthz"), 200)
            done = self.world.renew("--force")
            self.assertRegex(done.stdout, r"^renewed the certificate, good until \d{4}-\S+Z\n$", done.stderr)
            # As systemctl reload does it.
            service.process.send_signal(signal.SIGHUP)
            service.wait_for("took the renewed certificate")
            new_serial, new_key = certificate_facts(pair)
            self.assertNotEqual(new_serial, serial)
            self.assertEqual(new_key, key)
            with self.world.connect() as new:
                shown = new.getpeercert()["serialNumber"]
            self.assertEqual(new_serial.strip(), f"serial={shown}")
            self.assertEqual(ask(old, "/healthz"), 200)

    def test_before_its_time_nothing_is_renewed(self):
        self.set_up()
        before = self.world.files()
        done = self.world.renew()
        self.assertRegex(done.stdout, r"^the certificate is good until \d{4}-\S+Z: nothing to do\n$", done.stderr)
        self.assertEqual(self.world.files(), before)

    def test_before_the_setup_there_is_nothing_to_renew(self):
        done = self.world.renew()
        self.assertEqual((done.returncode, done.stdout), (0, "the certificate is not setup's: there is nothing to renew\n"))

    def test_without_the_authority_it_says_so(self):
        self.set_up()
        for name in ("authority.pem", "authority.key"):
            os.unlink(self.world.path("etc/own", name))
        self.assert_refused(self.world.renew(), NO_INPUT, "the authority of this service is missing")

    def test_two_at_once_wait_for_each_other(self):
        self.set_up()
        runs = [subprocess.Popen(self.world.words("--force", command="certificate renew"), stdout=subprocess.PIPE, text=True)
                for _ in range(3)]  # fmt: skip
        for process in runs:
            self.assertIn("renewed the certificate", process.communicate(timeout=PATIENCE)[0])
        self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)


class Certbot(SetupCase):
    def setUp(self):
        super().setUp()
        self.live = self.world.path("letsencrypt/live/localhost")
        os.makedirs(self.live)
        self.make_pair()

    def make_pair(self):
        key, certificate = make_certificate(self.world.folder, "certbot")
        # As certbot leaves them.
        os.chmod(key, 0o600)
        os.rename(key, self.live + "/privkey.pem")
        os.rename(certificate, self.live + "/fullchain.pem")
        self.world.authority = self.live + "/fullchain.pem"

    def test_its_certificate_is_used_and_renewed(self):
        self.set_up(*self.world.usual, "--certbot")
        pair = self.world.path("etc/certbot.pem")
        self.assertEqual(run("stat", "--format=%U %G %a", pair).split(), ["root", SERVICE_USER, "640"])
        service = self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)
        self.assertIn("in use already: nothing to do", self.world.renew().stdout)
        self.make_pair()
        self.assertIn("took certbot's certificate", self.world.renew().stdout)
        service.process.send_signal(signal.SIGHUP)
        service.wait_for("took the renewed certificate")
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_the_hook_renews(self):
        self.set_up(*self.world.usual, "--certbot")
        hook = self.world.path("letsencrypt/renewal-hooks/deploy/iampass-server")
        self.assertEqual(run("stat", "--format=%U %a", hook).split(), ["root", "755"])
        self.assertIn("\nexec /usr/bin/iampass-server certificate renew\n", self.world.read(hook).decode())
        run("sh", "-n", hook)

    def test_without_a_certificate_of_certbots_it_says_so(self):
        os.unlink(self.live + "/fullchain.pem")
        self.assert_refused(self.world.setup(*self.world.usual, "--certbot"), NO_INPUT, "certbot has no certificate in .*/live/localhost")

    def test_a_renewed_pair_that_does_not_fit_is_not_taken(self):
        self.set_up(*self.world.usual, "--certbot")
        before = self.world.read("etc/certbot.pem")
        key, certificate = make_certificate(self.world.folder, "other")
        os.unlink(key)
        os.rename(certificate, self.live + "/fullchain.pem")
        self.assert_refused(self.world.renew(), DATA, "the key in .* is not the key of the certificate")
        self.assertEqual(self.world.read("etc/certbot.pem"), before)


if __name__ == "__main__":
    unittest.main()
