"""A sign-in on a host that has a credential of its own, through libpam, with signed replies required."""

import contextlib
import hashlib
import pathlib
import sqlite3
import unittest

from Support.Service.world import AUTHINFO_UNAVAIL, SUCCESS, World, program, run


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.register_phone()
    made = run(
        program("iampass-server"), "host-credential", "create", "tests", "laptop 7", "--host", "laptop-7", "--data", world.path("data"))
    world.write("credentials", made)
    world.configure(server=world.address, ca_file=world.certificate, signed_replies="required")
    world.pam("sudo")


def revoke():
    run(program("iampass-server"), "host-credential", "revoke", "tests", "laptop 7", "--data", world.path("data"))


def boots():
    """What the service knows of the boots that sessions were started in."""
    with contextlib.closing(sqlite3.connect(world.path("data", "iampass.sqlite"), timeout=30)) as database:
        return {boot for (boot,) in database.execute("SELECT boot_id FROM session")}


class HostCredential(unittest.TestCase):
    def test_a_sign_in_says_which_boot_it_is_from(self):
        phone = world.phone("approve")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        self.assertEqual(world.play()["codes"], [SUCCESS])
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        self.assertEqual(boots(), {hashlib.sha256(b"iampass boot " + boot.encode()).hexdigest()[:32]})
        self.assertNotIn(boot, str(boots()))

    def test_it_signs_in_and_once_revoked_no_more(self):
        phone = world.phone("approve")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        result = world.play(calls=["authenticate", "acct_mgmt"])
        self.assertEqual(result["codes"][0], SUCCESS)
        self.assertRegex(result["log"][-1], "approved user=daemon service=sudo")
        phone.wait_for("laptop-7")
        revoke()
        world.forget_attempts()
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("the server does not accept this computer", result["texts"][-1])
        self.assertEqual(phone.count("sign-in request"), 1)


if __name__ == "__main__":
    unittest.main()
