"""Who asks through polkit: whose requests count, and for whom."""

import pwd
import unittest

from broker_case import AGREED, ASKED_FOR, FOLLOWS, UID, BrokerCase, request_for
from sign_in_case import world_with_a_phone
from world import AUTHINFO_UNAVAIL, ENROLLED, SUCCESS

#: Another user of this computer.
STRANGER = pwd.getpwnam("games").pw_uid


def setUpModule():
    BrokerCase.world = world_with_a_phone()


class Counts(BrokerCase):
    def use_up(self, **asker):
        """The requests of one asker at the setuid helper of polkit, none of them answered."""
        phone = self.phone("ignore")
        for _ in range(5):
            self.die_while_it_rings(phone, "polkit-1", **asker)
        refused = self.world.play("polkit-1", own=False, answers=[""], **asker)
        self.assertEqual(refused["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("too many requests", refused["texts"][-1])
        self.assertEqual(phone.count("sign-in request"), 5)
        phone.stop()

    def assert_rings(self, service, **scene):
        with self.subTest(service=service, **scene):
            result = self.world.play(service, own=False, answers=[""], **scene)
            self.assertEqual(result["codes"], [SUCCESS], result["texts"])

    def test_a_stranger_uses_up_the_strangers_own_requests_alone(self):
        self.world.configure(services="swaylock polkit-1 gdm-password login")
        for service in ("gdm-password", "login"):
            self.world.pam(service, "timeout=20s")
        self.use_up(real_uid=STRANGER)
        self.phone("approve")
        self.assert_rings("polkit-1", real_uid=UID)
        self.assert_rings("polkit-1")
        for service in ("gdm-password", "login"):
            self.assert_rings(service)
        self.broker.wait_for(f"caller=0 asker={STRANGER} reason=too many requests")

    def test_a_helper_that_root_runs_uses_up_requests_of_polkit_alone(self):
        """From polkit 127 on nobody is known to ask."""
        self.world.configure(services="swaylock polkit-1 gdm-password login")
        for service in ("gdm-password", "login"):
            self.world.pam(service, "timeout=20s")
        self.use_up()
        self.phone("approve")
        for service in ("gdm-password", "login"):
            self.assert_rings(service)
        self.assert_rings("polkit-1", real_uid=UID)

    def test_only_root_says_for_whom_it_asks(self):
        """A program of the user's own counts as the user's, whomever it names."""
        self.world.configure(max_requests="1")
        self.phone("deny")
        asked = request_for(ENROLLED, flags=FOLLOWS | AGREED | ASKED_FOR, asker=STRANGER)
        self.told(asked)
        self.broker.wait_for(f"caller={UID} session=.* reason=denied on the phone")
        self.told(request_for(ENROLLED, flags=FOLLOWS | AGREED))
        self.broker.wait_for(f"caller={UID} reason=too many requests")


if __name__ == "__main__":
    unittest.main()
