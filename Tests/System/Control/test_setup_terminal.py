"""`iampassctl setup`, asked at a terminal."""

import subprocess
import unittest

from control import INTERRUPTED, NO_PERMISSION, read
from setup_case import ID, SECRET, SERVER, SetupCase, open_world
from Support.Service.never import assert_hidden
from Support.Service.server import until


def setUpModule():
    global world
    world = open_world()


class AtATerminal(SetupCase):
    def answer_up_to(self, last):
        child = world.terminal("setup")
        for prompt, answer in ((SERVER, world.address), (ID, self.id), (SECRET, self.secret)):
            child.expect_exact(prompt)
            if prompt == last:
                return child
            child.sendline(answer)
        return child

    def test_asks_for_what_is_missing_and_writes_it(self):
        child = self.answer_up_to(None)
        self.assertEqual(world.finish(child), 0, child.screen.getvalue())
        text = read(world.path("iampass.conf"))
        self.assertTrue(text.startswith(self.comment + "\n"), text)
        self.assertIn(f"server = {world.address}\nsigned_replies = required\nsigned_targets = required\n", text)
        self.assertEqual(read(world.path("credentials")), f"application_id = {self.id}\napplication_secret = {self.secret}\n")
        modes = {name: mode for name, (mode, _) in world.snapshot().items()}
        self.assertEqual(modes, {"iampass.conf": "0o644", "iampass.conf.bak": "0o644", "credentials": "0o600"})
        self.assertEqual(read(world.path("iampass.conf.bak")), self.comment)

    def test_the_secret_is_not_shown(self):
        child = self.answer_up_to(None)
        world.finish(child)
        assert_hidden(self.secret, child.screen.getvalue())

    def test_ctrl_c_at_each_prompt_changes_nothing(self):
        for prompt in (SERVER, ID, SECRET):
            with self.subTest(prompt=prompt):
                child = self.answer_up_to(prompt)
                child.sendintr()
                self.assertEqual(world.finish(child), INTERRUPTED)
                self.assertIn("interrupted; nothing was changed", child.screen.getvalue())
                self.assert_nothing_changed()

    def test_ctrl_c_at_the_secret_gives_the_echo_back(self):
        child = world.terminal("setup")
        for prompt, answer in ((SERVER, world.address), (ID, self.id)):
            child.expect_exact(prompt)
            child.sendline(answer)
        child.expect_exact(SECRET)
        self.assertTrue(child.waitnoecho(60))
        # Kept open here, since the terminal's state outlives the program.
        with open(f"/proc/{child.pid}/fd/0") as terminal:
            child.sendintr()
            # Not by the end of its output, which does not come while the terminal is open here.
            until(lambda: not child.isalive(), "the command did not end")
            flags = subprocess.run(["stty", "-a"], stdin=terminal, capture_output=True, text=True).stdout
        self.assertRegex(flags, r"(?<!-)\becho\b")

    def test_ctrl_d_ends_it(self):
        child = self.answer_up_to(ID)
        child.sendeof()
        self.assertEqual(world.finish(child), INTERRUPTED)
        self.assert_nothing_changed()

    def test_the_secret_is_in_no_argument(self):
        child = self.answer_up_to(SECRET)
        child.sendline(self.secret)
        found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        assert_hidden(self.secret, found)
        world.finish(child)

    def test_a_wrong_secret_changes_nothing(self):
        child = self.answer_up_to(SECRET)
        child.sendline("A" * 24)
        self.assertEqual(world.finish(child), NO_PERMISSION)
        self.assertIn("does not accept this id and secret", child.screen.getvalue())
        self.assert_nothing_changed()


if __name__ == "__main__":
    unittest.main()
