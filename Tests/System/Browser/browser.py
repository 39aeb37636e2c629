"""A phone's browser, whichever it is: what a test sees on the page and does there."""

import json
import os
import shutil
import tempfile
import time

from selenium.common.exceptions import (
    ElementClickInterceptedException, ElementNotInteractableException, NoSuchElementException,
    StaleElementReferenceException, WebDriverException,
)
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.command import Command
from selenium.webdriver.remote.remote_connection import RemoteConnection

from browser_world import run, until

# A folder for screenshots. Without it they are made, and deleted with the browser.
SCREENSHOTS = os.environ.get("IAMPASS_SCREENSHOTS")
SIZES = {
    "phone-320": (320, 640, True), "phone-390": (390, 844, True), "tablet": (768, 1024, False), "desktop": (1280, 900, False),
    "wide": (1920, 1080, False)}  # fmt: skip
# The words that are on two lines, but for those of a longer name such as an id or an address.
BROKEN = """
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    if (!parentElement.checkVisibility() || parentElement.closest("code, pre, noscript")) continue;
    for (const { 0: word, index } of data.matchAll(/(?<!\\S)\\p{L}+(?!\\S)/gu)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.add(word);
    }
  }
  return [...found];
"""

# Seconds for one command to the driver, which by itself has no bound. Longer than the bounds of pages and scripts.
COMMAND_TIME = 90


class PageHasGone(WebDriverException):
    """A page made way for the next one before a script there was over: Firefox's driver then has no value for it."""


NOT_YET = (
    ElementClickInterceptedException, ElementNotInteractableException, NoSuchElementException, PageHasGone,
    StaleElementReferenceException,
)  # fmt: skip
# So Chromium's driver names, at times, what WebDriver calls a stale element.
GONE = "Node with given id does not belong to the document"


def settled(look, otherwise=None):
    """What `look()` gives, or `otherwise` while one page makes way for the next."""
    try:
        return look()
    except NOT_YET:
        return otherwise
    except WebDriverException as error:
        if GONE not in str(error):
            raise
        return otherwise


def start_browser(authority, screen_lock=True):
    """The browser that IAMPASS_BROWSER names: chromium, which it is by itself, or firefox."""
    name = os.environ.get("IAMPASS_BROWSER", "chromium")
    if name == "firefox":
        from firefox import Firefox as kind
    elif name == "chromium":
        from chromium import Chromium as kind
    else:
        raise ValueError(f"IAMPASS_BROWSER={name} is neither chromium nor firefox")
    return kind(authority, screen_lock)


class Browser:
    """One browser with a profile of its own. Its home has the tests' authority, and nothing else of this machine's.

    Each kind has `start()`, which returns its driver; `forget(world)`, which resets it for the next test;
    `resize(size)`, `dark(on)`, and `console()`, all lines of its console since the reset.
    """

    def __init__(self, authority, screen_lock):
        self.authority = authority
        self.screen_lock = screen_lock
        self.begin()

    def begin(self):
        self.home = tempfile.mkdtemp(prefix="iampass-browser-home-")
        RemoteConnection.set_timeout(COMMAND_TIME)
        try:
            self.driver = self.start(self.authority)
        except Exception as error:
            # A busy machine may need longer than a driver waits for its browser. Nothing of a test has begun yet.
            print(f"the browser is started a second time: {error!r}", flush=True)
            self.remove_home()
            self.home = tempfile.mkdtemp(prefix="iampass-browser-home-")
            self.driver = self.start(self.authority)
        self.driver.set_page_load_timeout(60)
        self.driver.set_script_timeout(60)
        if self.screen_lock:
            self.add_screen_lock()
        self.resize("phone-390")

    def trust(self, authority, store):
        """Makes a store of certificates in which the tests' authority is trusted."""
        os.makedirs(store, exist_ok=True)
        run("certutil", "-N", "-d", "sql:" + store, "--empty-password")
        run("certutil", "-A", "-d", "sql:" + store, "-n", "tests", "-t", "C,,", "-i", authority)

    def close(self):
        self.driver.quit()
        self.remove_home()

    def remove_home(self):
        # Its last processes may still be writing.
        for _ in range(50):
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                return
            time.sleep(0.1)

    # --- The phone ---

    # By WebDriver's commands: Selenium's own methods for them refuse all but Chromium.

    def add_screen_lock(self, **further):
        self.lock = self.driver.execute(Command.ADD_VIRTUAL_AUTHENTICATOR, {
            "transport": "internal", "protocol": "ctap2", "hasResidentKey": True, "hasUserVerification": True,
            "isUserConsenting": True, "isUserVerified": True, **further})["value"]  # fmt: skip

    def replace_screen_lock(self, is_synced):
        """Another screen lock, whose passkeys are synced to other devices or not."""
        self.driver.execute(Command.REMOVE_VIRTUAL_AUTHENTICATOR, {"authenticatorId": self.lock})
        self.add_screen_lock(defaultBackupEligibility=is_synced, defaultBackupState=is_synced)

    def unlocks(self, willing):
        """Whether the user unlocks the phone when asked."""
        self.driver.execute(Command.SET_USER_VERIFIED, {"authenticatorId": self.lock, "isUserVerified": willing})

    def renew_screen_lock(self):
        self.driver.execute(Command.REMOVE_ALL_CREDENTIALS, {"authenticatorId": self.lock})
        self.unlocks(True)

    # --- The page ---

    def open(self, url):
        self.driver.get(url)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def is_at(self, part):
        """Whether a page whose address has this part is there, whole."""
        return part in self.driver.current_url and self.driver.execute_script("return document.readyState") == "complete"

    def sees(self, selector, text=""):
        """Waits until an element that is shown has the text, and returns it."""

        def look():
            return next((one for one in self.all(selector) if one.is_displayed() and text in one.text), None)

        return self.until(look, f"{selector} with {text!r}")

    def says(self, selector, *texts):
        """Waits until an element that is shown has all the texts, and returns all that it says. Unlike the element, that stays
        when the page draws itself again."""

        def look():
            said = [one.text for one in self.all(selector) if one.is_displayed()]
            return next((one for one in said if one and all(text in one for text in texts)), None)

        return self.until(look, f"{selector} with {texts}")

    def each(self, selector):
        """What each of these elements says."""
        return self.until(lambda: [[one.text for one in self.all(selector)]], selector)[0]

    def misses(self, selector):
        """Waits until no such element is shown."""
        self.until(lambda: not any(one.is_displayed() for one in self.all(selector)), f"nothing at {selector}")

    def tap(self, selector, text=""):
        """Taps a button once it can be tapped."""

        def attempt():
            for one in self.all(selector):
                if one.is_displayed() and one.is_enabled() and text in one.text:
                    one.click()
                    return True
            return False

        self.until(attempt, f"a button {selector} {text!r}")

    def type(self, selector, text):
        """Fills in a field once there is one."""

        def attempt():
            field = self.sees(selector)
            field.clear()
            field.send_keys(text)
            return True

        self.until(attempt, f"a field {selector}")

    def until(self, look, what):
        """Waits until `look()` is true of the page, whatever page it is by then, and returns what it said."""
        return until(lambda: settled(look), lambda: f"{what}; the page says {self.text()!r}, and its console {self.console()[-5:]}")

    def text(self):
        return settled(lambda: self.find("body").text, "(between two pages)")

    def focus(self):
        return self.driver.execute_script("return document.activeElement.id || document.activeElement.className")

    def script(self, text, *arguments):
        """The value that a function body with `await` returns."""
        reply = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1], args = [...arguments].slice(0, -1);"
            f"(async () => {{ {text} }})().then((value) => done([value]), (error) => done({{error: String(error)}}))",
            *arguments,
        )
        if reply is None:
            raise PageHasGone(text)
        if isinstance(reply, dict):
            raise AssertionError(reply["error"])
        return reply[0]

    def read(self, text, *arguments):
        """The same of a script that changes nothing, by the page that is there for as long as it takes."""
        return self.until(lambda: [self.script(text, *arguments)], "a page that stays")[0]

    def width(self):
        """How wide the content is, beside how wide the window is."""
        return self.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")

    def screenshot(self, name, words=False):
        """Makes pictures at each size, light and dark, and returns the names of the sizes at which the page is too wide;
        with `words`, also those at which a word is broken."""
        wide = []
        for size in SIZES:
            self.resize(size)
            for dark in (False, True):
                self.dark(dark)
                time.sleep(0.4)
                picture = self.driver.get_screenshot_as_png()
                if SCREENSHOTS:
                    os.makedirs(SCREENSHOTS, exist_ok=True)
                    with open(f"{SCREENSHOTS}/{name}-{size}{'-dark' if dark else ''}.png", "wb") as file:
                        file.write(picture)
            content, window = self.width()
            if content > window:
                wide.append(f"{name} at {size}: {content} > {window}")
            if words and (broken := self.driver.execute_script(BROKEN)):
                wide.append(f"{name} at {size}: {broken}")
        self.dark(False)
        self.resize("phone-390")
        return wide

    # --- What it said ---

    def violations(self):
        """Lines about the Content-Security-Policy, and scripts that failed."""
        bad = ("Content Security Policy", "Content-Security-Policy", "Refused to", "Uncaught", "violat")
        return [json.dumps(line) for line in self.console() if any(word in json.dumps(line) for word in bad)]
