"""What the tests of `iampassctl enroll` and `lost-device` share."""

import os
import unittest

from control import ControlWorld
from Support.Service.world import program, run


def open_world():
    """For one module's tests: a service, and a computer that requires its signed replies."""
    EnrollCase.world = ControlWorld()
    unittest.addModuleCleanup(EnrollCase.world.close)
    EnrollCase.world.serve()
    EnrollCase.world.configure(signed_replies="required")


class EnrollCase(unittest.TestCase):
    """Each test with a user who is new to the service."""

    def setUp(self):
        self.name = f"guest{id(self) % 1_000_000}"
        self.world.write("users", "")
        self.assertEqual(self.world.ctl("user", "add", "--force", self.name).code, 0)

    def register(self, link, state="phone.json", authority=None):
        if os.path.exists(self.world.path(state)):
            os.unlink(self.world.path(state))
        authority = authority or self.world.certificate
        run(program("iampass-phone"), "register", link, "--state", self.world.path(state), "--ca", authority)

    def enroll(self, *words, **options):
        return self.world.ctl("enroll", self.name, *words, **options)
