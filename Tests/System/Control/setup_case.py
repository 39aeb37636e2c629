"""What the tests of `iampassctl setup` have in common: a service, and a folder with a configuration to write to."""

import os
import unittest

from control import ControlWorld

SERVER, ID, SECRET = "Address of the service (https://…): ", "Application id: ", "Application secret (not shown): "


def open_world():
    """A world with a service, until the tests of the calling file are over."""
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    SetupCase.world = world
    return world


class SetupCase(unittest.TestCase):
    world = None

    def setUp(self):
        for name in self.world.snapshot():
            os.unlink(self.world.path(name))
        self.comment = (
            "# kept by the admin\n"
            f"run_dir = {self.world.path('run')}\nworker = {self.world.path('iampass-https')}\nworker_user = nobody\n"
            f"  # indented\nca_file = {self.world.certificate}"
        )
        # Without a final newline, as some editors leave it.
        self.world.write("iampass.conf", self.comment, 0o644)
        self.id, self.secret = self.world.application()

    def secret_file(self, text=None, mode=0o600):
        self.world.write("secret", text or self.secret + "\n", mode)
        return self.world.path("secret")

    def setup(self, *words):
        return self.world.ctl("setup", *words)

    def setup_once(self):
        done = self.setup("--server", self.world.address, "--application-id", self.id, "--secret-file", self.secret_file())
        self.assertEqual(done.code, 0, done.text)
        return done

    def assert_nothing_changed(self):
        self.assertEqual(self.world.snapshot(), {"iampass.conf": ("0o644", self.comment)})
