"""FAULT L17: OpenSSH's server under another PAM service than its usual one, known by its program."""

import shutil
import unittest
import unittest.mock

from caller import START, CallerWorld, ServedCase, asked
from Support.Service.world import MAXTRIES


def setUpModule():
    global world
    world = CallerWorld()
    unittest.addModuleCleanup(world.close)


class AnotherService(ServedCase):
    def requests_of_two_tries(self, program):
        """How many come of two tries with the same parent, as sshd's children have on one connection. Both are denied."""
        service = self.serve("cancelled")
        world.configure(services="ssh2")
        world.pam("ssh2", "prompt=push timeout=60s")
        with unittest.mock.patch.object(world, "host", shutil.copy(world.host, world.path(program))):
            for _ in range(2):
                self.assertEqual(world.log_in(service="ssh2").codes, [MAXTRIES])
        return asked(service, START)

    def test_a_connection_of_sshd_has_one_request(self):
        for program in ("sshd", "sshd-session"):
            with self.subTest(program=program):
                self.assertEqual(self.requests_of_two_tries(program), 1)

    def test_another_program_has_a_request_for_each_try(self):
        self.assertEqual(self.requests_of_two_tries("sshd-agent"), 2)


if __name__ == "__main__":
    unittest.main()
