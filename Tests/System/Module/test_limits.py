"""The limits on requests, the service's and the computer's, as a terminal shows them."""

import contextlib
import sqlite3
import subprocess
import time
import unittest

from Support.Service.world import AUTH_ERR, AUTHINFO_UNAVAIL, ENROLLED, MAXTRIES, World, program, read, run


UNANSWERED = r"^IAMPASS: too many requests went unanswered; try again in \d+ minutes"


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


class Unblocked(unittest.TestCase):
    def setUp(self):
        world.configure(max_requests=1)
        self.addCleanup(world.configure, max_requests=None)
        self.addCleanup(world.forget_attempts)
        world.forget_attempts()
        phone = world.phone("deny")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")

    def unblock(self, user):
        return subprocess.run(
            [program("iampassctl"), "user", "unblock", user, "--config", world.path("iampass.conf")],
            capture_output=True, text=True)

    def test_an_administrator_of_the_computer_lets_requests_through(self):
        for items in ({}, {"rhost": "192.0.2.7"}):
            self.assertEqual(world.play(own=not items, items=items)["codes"], [MAXTRIES])
            refused = world.play(own=not items, items=items)
            self.assertEqual(refused["codes"], [AUTHINFO_UNAVAIL])
            self.assertRegex(refused["texts"][-1], UNANSWERED)
        done = self.unblock(ENROLLED)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"{ENROLLED}: this computer holds nothing back\n", done.stdout)
        # The times have whole seconds: what is counted in the second of the command is lifted, too.
        time.sleep(1.1)
        for items in ({}, {"rhost": "192.0.2.7"}):
            self.assertEqual(world.play(own=not items, items=items)["codes"], [MAXTRIES])
            self.assertEqual(world.play(own=not items, items=items)["codes"], [AUTHINFO_UNAVAIL])

    def test_a_name_without_a_token_is_refused(self):
        done = self.unblock("nobody")
        self.assertEqual((done.returncode, done.stdout), (67, ""))
        self.assertIn("user nobody has no token", done.stderr)


class Storm(unittest.TestCase):
    """An editor that connects again and again by ssh, with the phone as the second factor; nobody answers."""

    def setUp(self):
        world.forget_attempts()
        self.addCleanup(world.forget_attempts)
        world.pam("sshd", "prompt=push password=none timeout=5s")

    def connect(self, host="192.0.2.30"):
        # A parent of its own, as each connection's sshd is: what one connection was told is remembered for that one.
        return world.play(
            "sshd", own=False, items={"rhost": host, "tty": "ssh"}, before=["/bin/sh", "-c", '"$0" "$@"; exit $?'])

    def asked(self):
        with contextlib.closing(sqlite3.connect(world.path("data", "iampass.sqlite"), timeout=30)) as database:
            return database.execute("SELECT count(*) FROM session").fetchone()[0]

    def test_the_sixth_is_told_when_the_next_one_is_possible_and_rings_nobody(self):
        before = self.asked()
        for _ in range(5):
            self.assertEqual(self.connect()["codes"], [AUTH_ERR])
        self.assertEqual(self.asked(), before + 5)
        result = self.connect()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
        self.assertRegex(result["texts"][-1], UNANSWERED)
        self.assertEqual(self.asked(), before + 5)
        # Another computer of the same user has requests of its own.
        self.assertEqual(self.connect("192.0.2.31")["codes"], [AUTH_ERR])


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
