"""`iampass-server setup`, asked at a terminal."""

import re
import subprocess
import unittest

from setup_world import INTERRUPTED, SetupCase
from Support.Service.world import program

NAME = "Public name of the service, such as iampass.example.org: "
SOURCE = "Certificate: of an own authority (o), from files (f), certbot's (c) [o]: "
APPLICATION = "First application: computers that share their users [office]: "
ADMINISTRATOR = "First administrator's name (Enter: none yet): "
SECOND = "Second administrator's name, if the first one's phone gets lost (Enter: none): "
AGREE = "Set up the service like this? [y/N] "
USUAL = ((NAME, "localhost"), (SOURCE, ""), (APPLICATION, ""), (ADMINISTRATOR, "alice"), (SECOND, "bob"), (AGREE, "y"))


class AtATerminal(SetupCase):
    def asked(self, *words, **size):
        return self.world.terminal("--listen", f"127.0.0.1:{self.world.port}", *self.world.own_file, *words, **size)

    def answered(self, child, answers, last=None):
        for prompt, answer in answers:
            child.expect_exact(prompt)
            if prompt == last:
                return child
            child.sendline(answer)
        return child

    def test_asks_for_what_is_missing_and_sets_it_up(self):
        child = self.answered(self.asked(), USUAL)
        self.assertEqual(self.world.finish(child), 0, child.screen.getvalue())
        shown = child.screen.getvalue()
        self.assertIn("certificate    of an authority of the service's own", shown)
        self.assertIn(f"iampassctl join {self.world.url}", shown)
        for name in ("alice", "bob"):
            self.assertIn(f"administrator {name}: open this link", shown)
        self.assertNotIn("only administrator", shown)
        self.assertRegex(shown, "\x1b\\[30;107m[ ▀▄█]+")
        self.assertEqual(set(self.world.applications()), {"office", "administrators"})
        self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_one_administrators_recovery_key_is_shown_once(self):
        done = self.set_up(*self.world.usual, "--administrator", "alice")
        self.world.serve()
        self.world.register(done.stdout, "phone.json")
        for is_first in (True, False):
            child = self.world.terminal("--administrator", "alice")
            self.answered(child, ((AGREE, "y"),))
            self.assertEqual(self.world.finish(child), 0, child.screen.getvalue())
            shown = child.screen.getvalue().replace("\r\n", "\n")
            self.assertEqual("The recovery key counts from now on." in shown, is_first, shown)
            self.assertEqual("IRK1" in shown, is_first)
            if is_first:
                key, words = re.search(r"shown this one time:\n  (IRK1\S+)\n.* names it as: ([\w ]+)\n", shown).groups()
        self.assertIn(f"recovery key  {words}\n", self.world.server("administrator", "list"))
        self.world.register(self.world.server("administrator", "link", "alice", "--lost"), "new.json")
        said = subprocess.run(
            [program("iampass-server"), "administrator", "sign", "--recovery-key", "-", "--yes", "--data", self.world.path("data")],
            input=key + "\n", capture_output=True, text=True, check=True).stdout  # fmt: skip
        self.assertIn("number 2", said)

    def test_a_small_window_has_the_link_alone(self):
        child = self.answered(self.asked(rows=20), USUAL)
        self.assertEqual(self.world.finish(child), 0, child.screen.getvalue())
        self.assertIn("(this window is too small for the QR code)", child.screen.getvalue())
        self.assertIn(f"{self.world.url}/register/", child.screen.getvalue())

    def test_a_bad_answer_is_told_and_asked_for_again(self):
        child = self.asked()
        for answer, told in (("https://x", "is not a name of a service"), ("nothing.invalid", "does not resolve")):
            child.expect_exact(NAME)
            child.sendline(answer)
            child.expect_exact(told)
        self.answered(child, ((NAME, "localhost"), (SOURCE, "x"), (SOURCE, "f")))
        for prompt in ("Certificate with its chain, in PEM: ",) * 2:
            child.expect_exact(prompt)
            child.sendline("/nowhere")
        child.sendintr()
        self.assertEqual(self.world.finish(child), INTERRUPTED)
        self.assert_nothing_written()

    def test_what_is_set_up_is_not_asked_again(self):
        self.set_up(*self.world.usual, "--administrator", "alice")
        before = self.world.files()
        child = self.world.terminal()
        child.expect_exact(AGREE)
        for prompt in (NAME, SOURCE, APPLICATION, ADMINISTRATOR):
            self.assertNotIn(prompt, child.screen.getvalue())
        child.sendline("y")
        self.assertEqual(self.world.finish(child), 0, child.screen.getvalue())
        self.assertEqual(self.world.files(), before)

    def test_the_proxy_stands_among_what_is_agreed_to(self):
        child = self.answered(self.asked("--push-proxy", "http://proxy.lan:3128"), USUAL[:-1])
        child.expect_exact(AGREE)
        self.assertIn("push proxy     http://proxy.lan:3128\r\n", child.screen.getvalue())
        child.sendline("n")
        self.assertEqual(self.world.finish(child), 1)
        self.assert_nothing_written()

    def test_with_yes_nothing_is_asked(self):
        child = self.asked("--name", "localhost", "--yes")
        self.assertEqual(self.world.finish(child), 0, child.screen.getvalue())
        self.assertNotIn(": \r\n", child.screen.getvalue().replace("console, for one browser, within ten minutes:", ""))
        self.assertEqual(set(self.world.applications()), {"office"})

    def test_whoever_does_not_agree_changes_nothing(self):
        for answer in ("", "n"):
            child = self.answered(self.asked(), (*USUAL[:-1], (AGREE, answer)))
            self.assertEqual(self.world.finish(child), 1)
            self.assert_nothing_written()

    def test_ctrl_c_at_each_question_changes_nothing(self):
        for prompt, _ in USUAL:
            with self.subTest(prompt=prompt):
                child = self.answered(self.asked(), USUAL, last=prompt)
                child.sendintr()
                self.assertEqual(self.world.finish(child), INTERRUPTED)
                self.assertIn("interrupted; nothing was changed", child.screen.getvalue())
                self.assert_nothing_written()

    def test_ctrl_d_ends_it(self):
        child = self.answered(self.asked(), USUAL, last=SOURCE)
        child.sendeof()
        self.assertEqual(self.world.finish(child), INTERRUPTED)
        self.assert_nothing_written()


if __name__ == "__main__":
    unittest.main()
