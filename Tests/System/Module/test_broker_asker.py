"""Who asks through polkit: whose requests count, and for whom."""

import pwd
import unittest

from broker_case import AGREED, ASKED_FOR, FOLLOWS, UID, BrokerCase, request_for
from sign_in_case import world_with_a_phone
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, SUCCESS

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


class WhoAsks(BrokerCase):
    """On the phone."""

    def setUp(self):
        super().setUp()
        self.world.configure(send_context="yes")

    def asked_by(self, service, answer="approve", **scene):
        phone = self.phone(answer)
        self.world.play(service, own=False, answers=[""], **scene)
        phone.wait_for("sign-in request")
        phone.stop()
        return [line[16:] for line in phone.lines if line.startswith("  asked by ")]

    def test_the_phone_names_who_began_polkits_helper(self):
        self.assertEqual(self.asked_by("polkit-1", real_uid=STRANGER), ["games"])
        self.assertEqual(self.asked_by("polkit-1", real_uid=UID), [])
        self.assertEqual(self.asked_by("polkit-1"), ["unknown: polkit does not say"])
        self.assertEqual(self.asked_by("swaylock", uid=UID, screen=None), [])

    def test_the_phone_names_who_asks_by_sudo_and_su(self):
        self.world.configure(services="sudo su sshd")
        for service in ("su", "sshd"):
            self.world.pam(service, "timeout=20s")
        terminal = {"tty": "pts/7"}
        # As sudo -u and its targetpw and runaspw ask.
        self.assertEqual(self.asked_by("sudo", items={**terminal, "ruser": "games"}), ["games"])
        self.assertEqual(self.asked_by("sudo", items={**terminal, "ruser": ENROLLED}), [])
        self.assertEqual(self.asked_by("su", real_uid=STRANGER, items={**terminal, "ruser": ENROLLED}), ["games"])
        self.assertEqual(self.asked_by("sshd", items={"rhost": "192.0.2.1", "ruser": "games"}), [])

    def test_who_denies_a_stranger_is_still_asked_for_themselves(self):
        for _ in range(3):
            self.assertEqual(self.asked_by("polkit-1", "deny", real_uid=STRANGER), ["games"])
        self.phone("approve")
        refused = self.world.play("polkit-1", own=False, answers=[""], real_uid=STRANGER)
        self.assertIn("denied too often", refused["texts"][-1])
        allowed = self.world.play("polkit-1", own=False, answers=[""], real_uid=UID)
        self.assertEqual(allowed["codes"], [SUCCESS], allowed["texts"])


if __name__ == "__main__":
    unittest.main()
