"""README's set-up, typed as it is printed, on a host that has nothing but Debian and the packages' files."""

import re
import unittest

import printed_shells
from host_case import PROJECT
from own_host import own_host

README = (PROJECT / "README.md").read_text()
#: On another machine, with Swift, and a quarter of an hour long; other jobs run it.
NOT_HERE = ("packaging/build-deb --out debs",)
#: apt has words of its own.
QUIET = ("apt install --yes ./debs/*.deb",)
#: Up to the first sudo by phone, with it.
MOST_COMMANDS = 10


def section(title):
    return re.search(rf"^## {title}\n(.*?)^## ", README, re.MULTILINE | re.DOTALL)[1]


class AsPrinted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = own_host()
        cls.addClassCleanup(cls.host.stop)
        # What README takes for granted: an account that may use sudo.
        cls.host.run("bash", "-c", "useradd --create-home --shell /bin/bash alice; echo 'alice ALL=(ALL) ALL' >/etc/sudoers.d/alice")

    def test_each_command_shows_what_is_printed_and_asks_nothing_else(self):
        printed = [(name, [line for line in lines if line[2:] not in NOT_HERE]) for name, lines in
                   printed_shells.blocks(section("Set up"))]
        reader = printed_shells.Reader(self.host, QUIET)
        self.addCleanup(reader.close)
        reader.work_through(printed)
        # Nobody who sees a warning after each set-up hears another one.
        self.assertIn(" 0 warnings, 0 problems", self.host.run("iampassctl", "check"))

    def test_few_commands_lead_to_the_first_sudo_by_phone(self):
        typed = printed_shells.commands(section("Set up"))
        first = next(number for number, command in enumerate(typed) if command.startswith("sudo "))
        self.assertLessEqual(first + 1, MOST_COMMANDS, typed)


if __name__ == "__main__":
    unittest.main()
