"""What tests of sign-ins without the service share: a computer that has met a phone, codes of recovery, and two outages."""

import contextlib
import json
import re

from cryptography.hazmat.primitives import serialization
from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT
from Support.Service import offline

OPEN = "No network: open this on your phone"
OFFER = "Server not reachable. Digits on your phone, recovery code, or password: "
LINK = r"https://\S+/phone/#offline=[\w.-]+"
PHONES = "/etc/iampass/phones"


class OfflineCase:
    """Beside a HelperCase. Both ways are taken, each outage comes, and the phone has no network either."""

    ways = "phone recovery"
    offline_session = "10m"

    def setUp(self):
        super().setUp()
        state = json.loads(self.host.run("cat", testhost.PHONE_STATE, user="phone"))
        key = serialization.load_der_private_key(offline.base64.b64decode(state["private_key"]), None).public_key()
        self.host.path(PHONES).write_text(f"alice:{state['device']}:{offline.spki(key)}:::1700000000:phone\n")
        self.addCleanup(self.host.run, "rm", "-f", PHONES)
        taken = self.configured(
            "approvals = verified", f"methods_offline = {self.ways}", f"offline_session = {self.offline_session}")
        taken.__enter__()
        self.addCleanup(taken.__exit__, None, None, None)
        shown = self.host.run("iampassctl", "recovery", "create", "--any-output", "alice")
        self.codes = re.findall(r"\b[0-9a-z]{5}-[0-9a-z]{5}\b", shown)
        self.addCleanup(self.host.run, "iampassctl", "recovery", "revoke", "alice")
        self.meet()

    def meet(self):
        """A sign-in with the service: the computer gets to know the phone's key."""
        if self.host.run("sh", "-c", "ls /var/lib/iampass/offline 2>/dev/null", check=False):
            return
        with self.phone("approve") as phone:
            child = self.sudo()
            child.expect(r"code (\d\d)")
            phone.type(child.match[1])
            self.assertEqual(child.finish(), 0)
        # An outage would hold back its end, which is tried again after minutes.
        self.assert_eventually("a record is left", lambda: not self.records())

    @contextlib.contextmanager
    def interface_down(self):
        self.host.run("ip", "link", "set", "lo", "down")
        try:
            yield
        finally:
            self.host.run("ip", "link", "set", "lo", "up")

    def in_each_cell(self, act):
        """Has `act` sign in by each way in each outage."""
        for name, outage in (("service", self.host.service_down), ("interface", self.interface_down)):
            with outage():
                for way in (self.digits_for, self.next_code):
                    with self.subTest(down=name, way=way.__name__):
                        act(way)

    def digits_for(self, link):
        shown = self.host.run(
            "iampass-phone", "offline", "--state", testhost.PHONE_STATE, "--answer", "approve", link, user="phone")
        self.assertIn("alice", shown)
        return re.search(r"type on the computer: (\d{4} \d{4})", shown)[1]

    def next_code(self, _):
        return self.codes.pop(0)

    def read_link(self, child):
        child.expect_exact(OPEN)
        child.expect(LINK)
        link = child.match.group(0)
        child.expect_exact(OFFER)
        return link

    def type_offline(self, child, way):
        """Reads the link from the terminal, and types what signs in."""
        link = self.read_link(child)
        child.sendline(way(link))
        return link

    def choose_offline(self, child, way):
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline("")
        return self.type_offline(child, way)

    def assert_offline(self, count=1):
        self.assert_eventually("the session is offline", lambda: [
            one["offline"] for one in self.sessions() if one.get("logind_session")] == [True] * count)
