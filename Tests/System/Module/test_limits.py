"""The limits on requests, the service's and the computer's, as a terminal shows them."""

import unittest

from world import AUTHINFO_UNAVAIL, ENROLLED, MAXTRIES, World, program, read, run


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.register_phone()
    # Otherwise the service does not get host, service and remote host, by which sources differ.
    world.configure(signed_replies="required")
    world.pam("sudo")


def token():
    return dict(line.split(":", 1) for line in read(world.path("users")).splitlines())[ENROLLED]


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
            "IAMPASS: not asked: requests from here were denied too often, or answered with wrong digits; "
            "try again 15 minutes after the last one. Use your password.")
        self.assertEqual(phone.count("sign-in request"), 3)
        # The user's other ways in still work.
        self.assertEqual(world.play(own=False, items={"rhost": "192.0.2.1"})["codes"], [MAXTRIES])
        # An administrator of the service lifts it.
        told = run(
            program("iampass-server"), "helpdesk", "unblock", "tests", token(), "--data", world.path("data"))
        self.assertTrue(told.endswith("requests reach the phone again\nforgotten: denials and wrong answers 4, reported places 0\n"), told)
        self.assertEqual(world.play()["codes"], [MAXTRIES])
        self.assertEqual(phone.count("sign-in request"), 5)


class Hosts(unittest.TestCase):
    def setUp(self):
        world.configure(max_requests=1)
        self.addCleanup(world.configure, max_requests=None)
        world.forget_attempts()
        phone = world.phone("deny")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")

    def codes(self, host):
        return world.play(own=False, items={"rhost": host})["codes"]

    def test_an_ipv4_address_written_as_ipv6_counts_as_that_address(self):
        self.assertEqual(self.codes("::ffff:192.0.2.1"), [MAXTRIES])
        self.assertEqual(self.codes("192.0.2.1"), [AUTHINFO_UNAVAIL])
        # Another host still reaches the phone.
        self.assertEqual(self.codes("::ffff:192.0.2.2"), [MAXTRIES])


if __name__ == "__main__":
    unittest.main()
