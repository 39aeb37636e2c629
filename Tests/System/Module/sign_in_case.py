"""What tests of sign-ins share: a world with a service and a phone, and a look at what is left."""

import contextlib
import os
import subprocess
import unittest

from Support.Service.ends import assert_ended, given_up
from Support.Service.world import World, run


def world_with_a_phone(**service):
    """For a module's setUpModule; it is closed after the module's tests. `service`: as for `World.serve`."""
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve(**service)
    world.register_phone()
    return world


def world_with_codes():
    """The same, with match codes, and the sign-in's context on the phone."""
    world = world_with_a_phone(match_code="on")
    world.configure(send_context="yes")
    return world


class SignInCase(unittest.TestCase):
    #: The module sets it.
    world = None

    def setUp(self):
        self.world.settings = {"server": self.world.address, "ca_file": self.world.certificate}
        self.world.configure()
        self.world.pam("sudo")
        self.world.forget_attempts()
        # One that could not be ended in time lives on.
        self.known = self.world.phone_status()["sessions"]

    def phone(self, answer, *words):
        phone = self.world.phone(answer, *words)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    @contextlib.contextmanager
    def state_on_a_disk(self, options, folder, *inner):
        """The state's `folder` is on a disk of its own, with these folders in it. The disk is `full`, or is mounted with
        these options."""
        state = self.world.path("state")
        os.rename(state, state + ".away")
        os.mkdir(state)
        try:
            run("mount", "-t", "tmpfs", "-o", "mode=700,size=64k", folder, state)
            run("cp", "-a", os.path.join(state + ".away", folder), state)
            for name in inner:
                os.makedirs(os.path.join(state, folder, name), 0o700, exist_ok=True)
            if options == "full":
                subprocess.run(["dd", "if=/dev/zero", f"of={state}/ballast", "bs=4k"], stderr=subprocess.DEVNULL, check=False)
            else:
                run("mount", "-o", "remount," + options, state)
            yield
        finally:
            run("umount", state)
            os.rmdir(state)
            os.rename(state + ".away", state)

    def sessions_left(self):
        known = {session["session"] for session in self.known}
        return [one for one in self.world.phone_status()["sessions"] if one["session"] not in known]

    def assert_no_session_is_left(self, result, asked=1, waited=0):
        """What the scene asked of the service `asked` times has ended there and here, except for what the module gave up;
        `waited`: as for `given_up`."""
        missed = given_up(result, waited)
        assert_ended(lambda: asked - len(self.sessions_left()), missed, asked)
        folder = self.world.path("run", "sessions")
        files = os.listdir(folder) if os.path.isdir(folder) else []
        # Such a record waits for the helper; what became of it stands beside it.
        records = [name for name in files if "." not in name]
        self.assertLessEqual(len(records), len(result["not_ended"]), records)
        for name in files:
            os.unlink(os.path.join(folder, name))
        self.known = self.world.phone_status()["sessions"]
