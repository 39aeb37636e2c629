"""The service's own limits, as a terminal shows them."""

import unittest

from world import AUTHINFO_UNAVAIL, MAXTRIES, World


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.register_phone()
    # Otherwise the service does not get host, service and remote host, by which sources differ.
    world.configure(signed_replies="required")
    world.pam("sudo")


class Denials(unittest.TestCase):
    def test_a_source_that_was_denied_three_times_is_told_so_and_rings_no_more(self):
        phone = world.phone("deny")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        for _ in range(3):
            result = world.play()
            self.assertEqual(result["codes"], [MAXTRIES], result)
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(
            result["texts"][-1],
            "IAMPASS: not asked: denied too often, try again later. Use your password.")
        self.assertEqual(phone.count("sign-in request"), 3)
        # The user's other ways in still work.
        self.assertEqual(world.play(own=False, items={"rhost": "192.0.2.1"})["codes"], [MAXTRIES])


if __name__ == "__main__":
    unittest.main()
