"""A certificate of certbot's own, from an ACME server on the host: used from the set-up on, and renewed without a restart."""

import json
import re
import time
import unittest

from host_case import PATIENCE
from own_host import PACKAGES, own_host
from Support.Hosts import debian_package

NAME = "iampass.example.org"
ACME = "https://127.0.0.1:14000/dir"
LIVE = f"/etc/letsencrypt/live/{NAME}/fullchain.pem"
PEBBLE = {
    "pebble": {
        "listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "certificate": "/root/acme.pem",
        "privateKey": "/root/acme.key", "httpPort": 80, "tlsPort": 443, "ocspResponderURL": "",
        "externalAccountBindingRequired": False,
    },
}  # fmt: skip
#: The server's own certificate, then the server, and its authority among those that the system trusts, as a real one is.
ACME_SERVER = """
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj '/CN=ACME' \\
    -addext subjectAltName=IP:127.0.0.1 -keyout /root/acme.key -out /root/acme.pem 2>/dev/null
systemd-run --quiet --unit=pebble --setenv=PEBBLE_VA_NOSLEEP=1 --setenv=PEBBLE_WFE_NONCEREJECT=0 pebble -config /root/pebble.json
for _ in $(seq 300); do [ -z "$(ss -Hltn 'src 127.0.0.1:15000')" ] || break; sleep 0.1; done
python3 - <<'END' >/usr/local/share/ca-certificates/acme.crt
import ssl, urllib.request
trust = ssl.create_default_context(cafile="/root/acme.pem")
print(urllib.request.urlopen("https://127.0.0.1:15000/roots/0", context=trust, timeout=30).read().decode())
END
update-ca-certificates
"""


class Certbot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = own_host()
        cls.addClassCleanup(cls.host.stop)
        debian_package.install_with_needs(cls.host, "certbot", "pebble")
        with open(cls.host.path("/etc/hosts"), "a") as hosts:
            hosts.write(f"127.0.0.1 {NAME}\n")
        cls.host.path("/root/pebble.json").write_text(json.dumps(PEBBLE))
        cls.host.run("bash", "-euc", ACME_SERVER)
        cls.host.run("bash", "-c", f"dpkg --install {PACKAGES}/*.deb", timeout=300)

    def certbot(self, *words):
        return self.host.run("certbot", *words, "--non-interactive", environment={"REQUESTS_CA_BUNDLE": "/root/acme.pem"})

    def serial(self, command):
        return re.search(r"serial=(\w+)", self.host.run("bash", "-c", command))[1]

    def shown(self):
        """The serial number of the certificate that the service shows, by what the system trusts."""
        return self.serial(f"openssl s_client -connect {NAME}:443 -servername {NAME} -verify_return_error </dev/null 2>/dev/null"
                           " | openssl x509 -noout -serial")  # fmt: skip

    def test_its_certificate_is_used_and_renewed_without_a_restart(self):
        self.certbot("certonly", "--standalone", "--agree-tos", "--email", f"root@{NAME}", "--no-eff-email", "--server", ACME, "-d", NAME)
        first = self.serial(f"openssl x509 -noout -serial -in {LIVE}")
        said = self.host.run("iampass-server", "setup", "--name", NAME, "--certbot", "--yes")
        self.assertIn(f"iampassctl join https://{NAME} IJ1", said)
        self.assertEqual(self.shown(), first)
        code = self.host.run("iampass-server", "join-code", "create", "office", "--unattended").split()[-1]
        said = self.host.run("iampassctl", "join", "--yes", f"https://{NAME}", "-", text_in=code + "\n")
        self.assertIn("joined office as workstation\n", said)

        process = self.host.main_pid("iampass-server")
        # Without a terminal certbot waits for up to eight minutes, at random.
        self.certbot("renew", "--force-renewal", "--no-random-sleep-on-renew")
        second = self.serial(f"openssl x509 -noout -serial -in {LIVE}")
        self.assertNotEqual(second, first)
        end = time.monotonic() + PATIENCE
        while self.shown() != second:
            self.assertLess(time.monotonic(), end, self.host.run("journalctl", "--no-pager", "--unit=iampass-server"))
            time.sleep(0.1)
        self.assertEqual(self.host.main_pid("iampass-server"), process)
        # Computers trust the authority, and not the certificate that they saw as they joined.
        self.assertIn(f"https://{NAME} answers over TLS", self.host.run("iampassctl", "check", check=False))


if __name__ == "__main__":
    unittest.main()
