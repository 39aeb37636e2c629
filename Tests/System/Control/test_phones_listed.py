"""`iampassctl phone list` and `phone forget`, and users who are removed: what is pinned on this computer."""

import os
import unittest

from control import CONFIG, DATA
from enroll_case import open_world
from phone_case import PhoneCase, another_key
from Support.Service.world import read


def setUpModule():
    open_world()


class ListAndForget(PhoneCase):
    def setUp(self):
        super().setUp()
        self.assertEqual(self.world.ctl("phone", "trust", self.name, "--words", self.registered()).code, 0)
        [self.phone] = self.pinned()

    def add_line(self, text):
        self.world.write("phones", read(self.world.path("phones")) + text + "\n", 0o644)

    def second(self):
        """A second phone of the user, with another key; the id."""
        self.add_line(f"{self.name}:second:{another_key()}:::5:Tablet")
        return "second"

    def test_the_list_is_for_people(self):
        lines = self.world.ctl("phone", "list").out.splitlines()
        self.assertEqual(lines[0].split(), ["USER", "NAME", "METHODS", "SINCE", "WORDS", "ID"])
        self.assertRegex(
            lines[1], rf"^{self.name}  {self.name}  acceptance +\d+s +{self.phone['words']}  {self.phone['id'][:8]}$")
        self.assertEqual(len(lines), 2)

    def test_nobody_pinned_is_said(self):
        self.assertEqual(self.world.ctl("phone", "list", "bin").out, "no pinned phones\n")
        self.assertEqual(self.world.ctl("phone", "list", "bin", "--json").out, "[]\n")
        os.unlink(self.world.path("phones"))
        self.assertEqual(self.world.ctl("phone", "list").out, "no pinned phones\n")

    def test_a_bad_line_is_said_and_hides_no_other_user(self):
        self.add_line("bin:nonsense")
        done = self.world.ctl("phone", "list")
        self.assertEqual(done.code, CONFIG)
        self.assertIn(self.phone["words"], done.out)
        self.assertIn("phones:2: not the line of a phone\n", done.err)
        self.assertEqual(self.world.ctl("phone", "list", self.name).code, 0)
        self.world.write("phones", "nonsense\n", 0o644)
        self.assertIn("phones:1: not the line of a phone\n", self.world.ctl("phone", "list").err)

    def test_forget_forgets_this_user_alone(self):
        line = read(self.world.path("phones"))
        self.add_line(line.strip().replace(self.name, "bin"))
        done = self.world.ctl("phone", "forget", self.name)
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out, f"{self.name}: this computer no longer trusts any phone of this user\n")
        self.assertEqual(read(self.world.path("phones")), line.replace(self.name, "bin"))

    def test_one_phone_of_two_can_be_forgotten(self):
        done = self.world.ctl("phone", "forget", self.name, "--phone", self.second()[:3])
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual([phone["id"] for phone in self.pinned()], [self.phone["id"]])

    def test_what_is_not_pinned_is_said_and_the_file_stays(self):
        before = os.stat(self.world.path("phones")).st_ino
        for words in (("bin",), (self.name, "--phone", "nothing"), (self.name, "--phone", "")):
            done = self.world.ctl("phone", "forget", *words)
            self.assertEqual((done.code, done.out), (DATA, ""), words)
            self.assertIn("hint: iampassctl phone list\n", done.err)
        self.assertEqual(os.stat(self.world.path("phones")).st_ino, before)

    def test_a_user_whose_lines_are_damaged_can_be_forgotten(self):
        self.add_line(f"{self.name}:nonsense")
        self.assertEqual(self.world.ctl("phone", "forget", self.name).code, 0)
        self.assertEqual(read(self.world.path("phones")), "")

    def test_a_removed_user_has_no_pinned_phone(self):
        for words in ((), ("--local",)):
            self.assertEqual(self.world.ctl("user", "remove", self.name, *words).code, 0)
            self.assertEqual(self.pinned(), [])
            self.setUp()
        self.world.write("users", "")
        self.assertEqual(self.world.ctl("user", "remove", self.name, "--force").code, 0)
        self.assertEqual(self.pinned(), [])

    def test_a_user_stays_whose_phones_cannot_be_forgotten(self):
        os.chmod(self.world.path("phones"), 0o666)
        done = self.world.ctl("user", "remove", self.name)
        os.chmod(self.world.path("phones"), 0o644)
        self.assertEqual((done.code, done.out), (CONFIG, ""))
        self.assertIn("phones is writable by group or others", done.err)
        self.assertIn("phone  registered", self.world.ctl("user", "show", self.name).out)


if __name__ == "__main__":
    unittest.main()
