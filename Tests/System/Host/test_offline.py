"""Sign-ins without the service, by real sudo, ssh and login: by the digits of a phone and by recovery codes, with the
service down and with the interface down."""

import json
import os
import re
import subprocess
import tempfile
import unittest

from helper_case import PROMPT, HelperCase
from offline_case import OfflineCase
from Support.Hosts import testhost

#: The visitor comes by a network of its own.
AWAY = """
ip netns add away
ip link add way0 type veth peer name way1
ip link set way1 netns away
ip address add 10.77.0.1/24 dev way0
ip link set way0 up
ip -n away address add 10.77.0.2/24 dev way1
ip -n away link set way1 up
"""
SSH = ("ip netns exec away ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
       "-o PreferredAuthentications=keyboard-interactive alice@10.77.0.1")


class Terminals(OfflineCase, HelperCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.run("sh", "-euc", AWAY)
        # Nobody can read its file, in which others look for secrets. The links of a network that is gone go a little later.
        cls.addClassCleanup(cls.host.run, "sh", "-euc", "ip link delete way0; ip netns delete away")

    def visitor(self):
        return self.host.terminal(SSH)

    def login(self):
        child = self.host.login_terminal()
        child.expect("login: ")
        child.sendline("alice")
        return child


class Offline(Terminals):
    def test_each_way_through_sudo(self):
        self.in_each_cell(self.assert_root)
        told = "\n".join(self.module_lines())
        self.assertEqual(len(re.findall(r"approved .* by=offline-phone phone=\S+", told)), 2)
        self.assertEqual(len(re.findall(r"approved .* by=recovery-code code=\d left=\d", told)), 2)

    def assert_root(self, way):
        child = self.sudo("--reset-timestamp id -un")
        self.type_offline(child, way)
        self.assertEqual(child.finish(), 0)
        self.assertRegex(child.screen, r"(?m)^root\r?$")

    def assert_shell(self, child, way):
        self.choose_offline(child, way)
        child.expect(PROMPT)
        self.assert_offline()
        child.sendline("exit")
        child.finish()
        self.assert_nothing_left()

    def test_each_way_through_ssh(self):
        self.in_each_cell(lambda way: self.assert_shell(self.visitor(), way))

    def test_each_way_through_login(self):
        self.in_each_cell(lambda way: self.assert_shell(self.login(), way))

    def test_a_session_that_its_user_disowns_ends(self):
        # The end of a session of the test before is told to the phone within the helper's pace.
        self.assert_eventually("a use of a test before stays open", lambda: not self.open_uses(), 120)
        with self.host.service_down():
            child = self.login()
            self.choose_offline(child, self.digits_for)
            child.expect(PROMPT)
            self.assert_offline()
        # Otherwise the helper looks within half a minute, and waits longer after each failure.
        self.host.run("systemctl", "restart", "iampass-helper")
        self.assert_eventually("the phone is asked whose it is", lambda: self.open_uses(), 60)
        (use,) = self.open_uses()
        self.assertEqual((use["way"], use["context"]["service"]), ("phone", "login"))
        self.host.run("iampass-phone", "end", use["use"], "--state", testhost.PHONE_STATE, user="phone")
        self.assert_over(child, "Signed out: ")
        self.assert_nothing_left()
        self.assertEqual(self.open_uses(), [])
        self.assertIn("disowned on the phone", self.journal())

    def open_uses(self):
        shown = self.host.run("iampass-phone", "status", "--json", "--state", testhost.PHONE_STATE, user="phone")
        return [use for use in json.loads(shown)["codes_used"] if use.get("open")]

    def test_a_terminal_with_room_shows_a_code_to_scan(self):
        with self.interface_down():
            child = self.host.terminal("sh -c 'stty iutf8 rows 70 cols 140; sudo --reset-timestamp id -un'", user="alice")
            link = self.type_offline(child, self.digits_for)
            self.assertEqual(child.finish(), 0)
        self.assertEqual(self.scanned(child.screen), link)
        small = self.sudo_in("stty iutf8 rows 24 cols 80")
        self.assertNotIn("▀", small)
        other = self.sudo_in("stty -iutf8 rows 70 cols 140")
        self.assertNotIn("▀", other)

    def sudo_in(self, terminal):
        with self.interface_down():
            child = self.host.terminal(f"sh -c '{terminal}; sudo --reset-timestamp id -un'", user="alice")
            self.type_offline(child, self.digits_for)
            child.finish()
        return child.screen

    def scanned(self, screen):
        """What a camera reads from the half blocks."""
        lines = [line for line in re.findall("\x1b\\[30;107m([█▀▄ ]+)\x1b\\[0m", screen)]
        self.assertTrue(lines, screen)
        rows = []
        for line in lines:
            rows.append([cell in "█▀" for cell in line])
            rows.append([cell in "█▄" for cell in line])
        scale = 4
        text = "\n".join("".join("1" * scale if dark else "0" * scale for dark in row) for row in rows for _ in range(scale))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "code.pbm")
            with open(path, "w") as file:
                file.write(f"P1\n{len(rows[0]) * scale} {len(rows) * scale}\n{text}\n")
            return subprocess.run(["zbarimg", "--quiet", "--raw", path], capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    unittest.main()
