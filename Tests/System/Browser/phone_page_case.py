"""What the tests of the phone's page have in common: a world, a browser, and its taps."""

import unittest

from browser import start_browser
from browser_world import LONGEST_ANSWER_TIME, BrowserWorld


class PhonePageCase(unittest.TestCase):
    server_options = ()
    server_path = ""
    screen_lock = True

    #: The world and the browser that classes of one file share, by what they begin with.
    shared = {}

    @classmethod
    def setUpClass(cls):
        kind = (cls.server_options, cls.server_path, cls.screen_lock)
        if kind not in cls.shared:
            world = BrowserWorld(*cls.server_options, path=cls.server_path, answer_time=LONGEST_ANSWER_TIME)
            unittest.addModuleCleanup(world.close)
            browser = start_browser(world.authority.file, screen_lock=cls.screen_lock)
            unittest.addModuleCleanup(browser.close)
            cls.shared[kind] = world, browser
            unittest.addModuleCleanup(cls.shared.pop, kind)
        cls.world, cls.browser = cls.shared[kind]

    def setUp(self):
        self.addCleanup(self.browser.forget, self.world)
        # Each test has a user of its own, so that none waits for another's block.
        self.user = "u" + self.id().rsplit(".", 1)[1].removeprefix("test_").replace("_", "-")[:40]

    def tearDown(self):
        self.assertEqual(self.browser.violations(), [])

    # --- Taps ---

    def register(self, user=None, name=None, lost=False):
        """Registers the browser as the user's phone."""
        user = user or self.user
        self.browser.open(self.world.link(user, name, lost))
        self.browser.tap("#register")
        self.browser.sees("#said", f"This is {name or user}’s phone now.")
        self.connected()

    def connected(self):
        self.browser.sees("#connection", "Connected")

    def card(self, text=""):
        return self.browser.sees(".request", text)

    def on_card(self, text, selector, act):
        """Does `act` to an element of the card with this text, whichever it is by then, once no card moves."""

        def attempt():
            if self.browser.all(".moving"):
                return False
            for card in self.browser.all(".request"):
                if text in card.text:
                    act(card.find_element("css selector", selector))
                    return True
            return False

        self.browser.until(attempt, f"{selector} of the card with {text!r}")

    def type_code(self, sign_in):
        """Types the digits that the computer shows, if it shows any."""
        if sign_in.code:
            self.browser.type(".request .code input", sign_in.code)

    def approve(self, sign_in):
        self.card()
        self.type_code(sign_in)
        self.browser.tap(".request .approve")
        return sign_in.becomes("active")

    def approved(self, **context):
        """A sign-in that was approved on the page."""
        sign_in = self.world.sign_in(self.user, **context)
        self.approve(sign_in)
        self.browser.misses(".request")
        return sign_in

    def has_phone(self, user=None):
        reply = self.world.ask(
            "GET", f"/management/has_registered_mobile_device/{self.world.application}/{user or self.user}")
        return reply["device_registered"]

    def sessions_shown(self, count):
        self.browser.until(lambda: len(self.browser.all(".sessions li")) == count, f"{count} live sessions")
