"""What the tests of the administrator's console share: a service, a browser, and its taps."""

import os
import unittest

from accessibility import complaints
from browser import start_browser
from browser_world import PROGRAMS, BrowserWorld, run
from test_looks import AUDIT

NASTY = "Büro <b>& 'Söhne'</b>"


def open_console():
    """For one module's tests: a service, and a browser."""
    ConsoleCase.world = BrowserWorld()
    unittest.addModuleCleanup(ConsoleCase.world.close)
    ConsoleCase.browser = start_browser(ConsoleCase.world.authority.file)
    unittest.addModuleCleanup(ConsoleCase.browser.close)
    return ConsoleCase.world, ConsoleCase.browser


def server(*words):
    return run(os.path.join(PROGRAMS, "iampass-server"), *words, "--data", ConsoleCase.world.path("data"))


class ConsoleCase(unittest.TestCase):
    """Each test in a browser that has signed in by a link."""

    def setUp(self):
        self.browser.open(server("console-link").strip())
        self.press("Sign in")
        self.on("Overview")

    def tearDown(self):
        # Whatever was shown, nothing of it ran, and nothing came from elsewhere.
        self.assertEqual([one.get_attribute("src") for one in self.browser.all("script")], [self.world.address + "/console/times.js"])
        self.assertEqual(self.browser.violations(), [])

    def on(self, title):
        self.browser.sees("h1", title)

    def press(self, text):
        self.browser.tap("button", text)

    def unfold(self, text):
        self.browser.tap("summary", text)

    def follow(self, text):
        self.browser.tap("a", text)

    def fill(self, name, text):
        self.browser.type(f"input[name={name}]", text)

    def notice(self, text):
        self.browser.sees(".notice[role=status]", text)

    def looks_well(self, name):
        self.assertEqual(self.browser.screenshot("console-" + name, words=True), [])
        for dark in (False, True):
            self.browser.dark(dark)
            self.assertEqual(self.browser.read(AUDIT), [], f"{name}, dark: {dark}")
            self.assertEqual(complaints(self.browser), [], f"{name}, dark: {dark}")
        self.browser.dark(False)

    def open_office(self):
        self.browser.open(self.world.address + "/console/applications")
        self.follow("office")
        self.on("office")

    def open_user(self, name):
        """The page of a user, whom the list names."""
        self.open_office()
        self.follow(name)
        self.on("User")

    def registered(self, user, name):
        """A user with a phone, which is a command."""
        state = self.world.path(user + ".json")
        phone = os.path.join(PROGRAMS, "iampass-phone")
        run(phone, "register", self.world.link(user, name), "--state", state, "--ca", self.world.authority.file)
        return phone, state

    def approved(self, user, name, **context):
        phone, state = self.registered(user, name)
        sign_in = self.world.sign_in(user, **context)
        code = ["--code", sign_in.code] if sign_in.code else []
        run(phone, "watch", "--state", state, "--answer", "approve", "--once", *code)
        sign_in.becomes("active")
        return sign_in
