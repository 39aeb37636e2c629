"""Root seals the packaged service's keys: systemd gives the service the key as a credential, with the usual settings."""

from host_case import HostCase

UNIT = "iampass-server"
KEYS = "/etc/iampass-server/seal-keys"
#: The metrics' listener, as set-up-inside has it. It answers 200, or raises.
READY = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:9464/readyz').status)"


class Sealed(HostCase):
    def test_one_command_seals_the_running_service(self):
        self.addCleanup(self.host.run, "rm", "-f", KEYS)
        self.addCleanup(self.host.run, "iampass-server", "database", "unseal")
        first = self.host.main_pid(UNIT)
        self.assertRegex(self.host.run("iampass-server", "database", "seal"), "(?m)^sealed [0-9]+ secrets?: the key is ")
        self.assertEqual(self.host.run("stat", "-c", "%U %a", KEYS).strip(), "root 600")
        second = self.host.main_pid(UNIT)
        self.assertNotEqual(second, first)
        self.assert_serves()
        # The service has the key: it is not restarted again.
        self.assertRegex(self.host.run("iampass-server", "database", "seal"), "(?m)^everything was sealed before: ")
        self.assertEqual(self.host.main_pid(UNIT), second)
        self.assertRegex(self.host.run("iampass-server", "database", "seal", "--new-key"), "(?m)^sealed [0-9]+ secrets?: ")
        self.assert_serves()
        self.host.run("systemctl", "restart", UNIT)
        self.assert_serves()
        self.assertRegex(self.host.run("iampass-server", "database", "unseal"), "(?m)^stored [0-9]+ secrets? in clear")
        self.assert_serves()

    def assert_serves(self):
        self.assertEqual(self.host.run("python3", "-c", READY).strip(), "200")
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)
