"""greetd of Debian 13, with a greeter and a session of the tests' own."""

import pathlib
import re
import unittest

import greeter_case
from greeter_case import FOLDER, GreeterCase, Scripted
from offline_case import LINK, OFFER, OPEN, OfflineCase
from Support.Hosts.testhost import GREETER_PROMPT, PUSH_LINE, PUSH_LINE_WITH_CODE, password_of
from Support.Service.late_line import without_late_line

CONFIGURATION = """[terminal]
vt = "none"
[default_session]
command = "/usr/local/bin/test-greeter"
user = "_greetd"
"""


FILES = {
    "/etc/greetd/config.toml": CONFIGURATION,
    "/usr/local/bin/test-greeter": pathlib.Path(__file__).with_name("greetd_greeter.py").read_text(),
    "/usr/local/bin/test-desktop": "#!/bin/sh\nexec sleep 1000\n",
}


class Offline(OfflineCase, Scripted, GreeterCase):
    """Sign-ins at the greeter without the service."""

    service = "greetd"
    desktop = "^sleep 1000$"
    files = FILES

    def test_each_way_at_the_greeter(self):
        self.in_each_cell(self.assert_session)

    def assert_session(self, way):
        self.host.run("sh", "-c", f"> {FOLDER}/said")
        self.assert_eventually("there is no greeter", self.greeter_is_there)
        self.type_line("user alice")
        self.wait_for(f"prompt: {GREETER_PROMPT}")
        self.type_line("answer ")
        self.wait_for(f"prompt: {OFFER}")
        self.assertIn(f"message: {OPEN}", self.said())
        link = re.search(f"message: ({LINK})", "\n".join(self.said()))
        self.assertTrue(link, self.said())
        self.type_line(f"answer {way(link[1])}")
        self.wait_for("signed in")
        session = self.assert_signed_in()
        self.assert_offline()
        self.host.run("loginctl", "terminate-session", session)
        # The greeter, which comes back, has a session of its own.
        self.assert_eventually("the session is left", lambda: not self.alice_sessions())
        self.assert_eventually("a record is left", lambda: not self.records())


class Greetd(Scripted, greeter_case.Greeters, GreeterCase):
    service = "greetd"
    desktop = "^sleep 1000$"
    files = FILES

    def begin(self):
        self.host.run("sh", "-c", f"> {FOLDER}/said")
        self.assert_eventually("there is no greeter", self.greeter_is_there)
        self.type_line("user alice")
        self.wait_for(f"prompt: {GREETER_PROMPT}")

    def answer(self, text):
        self.type_line(f"answer {text}")

    def answer_next(self, text):
        """In the same conversation."""
        self.wait_for("prompt: Password: ")
        self.answer(text)

    def assert_refused(self):
        self.wait_for("refused")
        self.assertIn("message: IAMPASS: denied on your phone", self.said())

    def test_one_conversation_shows_each_line(self):
        with self.phone("approve"):
            self.begin()
            self.answer("")
            self.wait_for("signed in")
            self.assert_signed_in()
        said = without_late_line(self.said())
        self.assertEqual(said[:3], [f"prompt: {GREETER_PROMPT}", f"message: {PUSH_LINE}", "signed in"])

    def test_a_line_of_its_own_has_the_digits(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            self.begin()
            self.answer("")
            phone.wait_for_requests(1)
            digits = re.search(f"message: {PUSH_LINE_WITH_CODE}", "\n".join(self.said()))
            self.assertTrue(digits, self.said())
            phone.type(digits[1])
            self.wait_for("signed in")
            self.assert_signed_in()

    def test_after_nobody_answered_a_wrong_password_is_refused(self):
        with self.short_time():
            self.begin()
            self.answer("")
            self.answer_next("wrong")
            self.wait_for("refused")
            self.begin()
            self.answer(password_of("alice"))
            self.assert_signed_in()


if __name__ == "__main__":
    unittest.main()
