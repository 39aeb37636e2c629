"""Root seals the packaged service's keys: systemd gives the service the key as a credential, with the usual settings."""

import re

from host_case import HostCase

UNIT = "iampass-server"
KEYS = "/etc/iampass-server/seal-keys"
COPY = "/root/copy-of-seal-keys"
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

    def test_the_last_copy_of_a_lost_file_is_saved_by_the_printed_command(self):
        self.addCleanup(self.host.run, "rm", "-f", KEYS)
        self.addCleanup(self.host.run, "iampass-server", "database", "unseal")
        self.host.run("iampass-server", "database", "seal")
        # The other tests' host must go on in any case.
        self.host.run("cp", "--preserve", KEYS, COPY)
        self.addCleanup(self.host.run, "mv", COPY, KEYS)
        running, key = self.host.main_pid(UNIT), self.key()
        self.host.run("rm", KEYS)
        for words in ("seal", "seal --new-key", "unseal", "seal --give-up-lost-key --yes"):
            with self.subTest(words=words):
                said = self.host.run("sh", "-c", f"iampass-server database {words} 2>&1; echo the code is $?")
                self.assertIn("the code is 78", said)
                save = re.search(r"install -m 600 [^;\n]+", said).group(0)
                self.host.run("test", "!", "-e", KEYS)
        self.assertEqual(self.host.main_pid(UNIT), running)
        self.assert_serves()
        self.host.run("sh", "-c", save)
        self.assertEqual((self.host.run("stat", "-c", "%U %a", KEYS).strip(), self.key()), ("root 600", key))
        self.assertRegex(self.host.run("iampass-server", "database", "seal"), "(?m)^everything was sealed before: ")
        self.assertEqual(self.host.main_pid(UNIT), running)
        self.host.run("systemctl", "restart", UNIT)
        self.assert_serves()

    def key(self):
        """A digest of the file's keys."""
        return self.host.run("sh", "-c", f"grep ^iampass-seal-key-1 {KEYS} | sha256sum")

    def assert_serves(self):
        self.assertEqual(self.host.run("python3", "-c", READY).strip(), "200")
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)
