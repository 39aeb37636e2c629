"""What the tests of `iampassctl user …` share."""

import unittest

from control import ControlWorld


def open_world():
    """For one module's tests: a service, and a computer that is set up for it."""
    UserCase.world = ControlWorld()
    unittest.addModuleCleanup(UserCase.world.close)
    UserCase.world.serve()


class UserCase(unittest.TestCase):
    def setUp(self):
        self.world.write("users", "")
        self.addCleanup(self.world.configure, server=self.world.address, ca_file=self.world.certificate)

    def user(self, *words, **options):
        return self.world.ctl("user", *words, **options)

    def has_token_at_the_service(self, token):
        """Whether the service knows it: a token that it knows is `existing`."""
        self.world.write("users", f"games:{token}\n")
        shown = self.user("show", "games")
        return shown.code == 0
