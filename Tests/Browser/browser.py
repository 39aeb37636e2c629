"""A phone's browser: headless Chromium with a screen lock of its own, driven by WebDriver."""

import json
import os
import shutil
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, ElementNotInteractableException, NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions

from office import run, until

# Where screenshots go, for looking at them; else they are made, and thrown away with the browser.
SCREENSHOTS = os.environ.get("IAMPASS_SCREENSHOTS")
SIZES = {"phone-320": (320, 640, True), "phone-390": (390, 844, True), "desktop": (1280, 900, False)}

NOT_YET = (
    ElementClickInterceptedException, ElementNotInteractableException, NoSuchElementException,
    StaleElementReferenceException,
)  # fmt: skip


class Browser:
    """One browser with a profile of its own. Its home has the tests' authority, and nothing else of this machine's."""

    def __init__(self, authority, screen_lock=True):
        self.home = tempfile.mkdtemp(prefix="iampass-browser-home-")
        store = os.path.join(self.home, ".pki/nssdb")
        os.makedirs(store)
        run("certutil", "-N", "-d", "sql:" + store, "--empty-password")
        run("certutil", "-A", "-d", "sql:" + store, "-n", "tests", "-t", "C,,", "-i", authority)
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--lang=en-GB",
            f"--user-data-dir={self.home}/profile",
        ):  # fmt: skip
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service("/usr/bin/chromedriver", env={**os.environ, "HOME": self.home})
        self.driver = webdriver.Chrome(service=service, options=options)
        self.driver.set_page_load_timeout(60)
        self.driver.set_script_timeout(60)
        self.log = []
        self.screen_lock = screen_lock
        if screen_lock:
            self.add_screen_lock()
        self.resize("phone-390")

    def close(self):
        self.driver.quit()
        # Its last processes may still be writing.
        for _ in range(50):
            shutil.rmtree(self.home, ignore_errors=True)
            if not os.path.exists(self.home):
                return
            time.sleep(0.1)

    def forget(self, office):
        """Makes it as good as new for the next test."""
        self.open("about:blank")
        self.cdp("ServiceWorker.enable")
        self.cdp("ServiceWorker.unregister", scopeURL=office.address + "/phone/")
        self.cdp("ServiceWorker.stopAllWorkers")
        self.cdp("Storage.clearDataForOrigin", origin=office.origin, storageTypes="all")
        self.cdp("Browser.resetPermissions")
        if self.screen_lock:
            self.driver.remove_all_credentials()
            self.unlocks(True)
        self.dark(False)
        self.resize("phone-390")
        self.driver.get_log("browser")
        self.log = []

    # --- The phone ---

    def add_screen_lock(self):
        options = VirtualAuthenticatorOptions()
        options.transport = "internal"
        options.protocol = "ctap2"
        options.has_resident_key = True
        options.has_user_verification = True
        options.is_user_verified = True
        self.driver.add_virtual_authenticator(options)

    def unlocks(self, willing):
        """Whether the user unlocks the phone when asked."""
        self.driver.set_user_verified(willing)

    def resize(self, size):
        width, height, mobile = SIZES[size]
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1,
                 mobile=mobile)  # fmt: skip

    def dark(self, on):
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.cdp("Emulation.setEmulatedMedia", features=features)

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    # --- The page ---

    def open(self, url):
        self.driver.get(url)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def sees(self, selector, text=""):
        """Waits until an element that is shown has the text, and returns it."""

        def look():
            try:
                return next(
                    (one for one in self.all(selector) if one.is_displayed() and text in one.text), None)
            except StaleElementReferenceException:
                return None

        return until(look, f"{selector} with {text!r}; the page says {self.text()!r}")

    def misses(self, selector):
        """Waits until no such element is shown."""

        def look():
            try:
                return not any(one.is_displayed() for one in self.all(selector))
            except StaleElementReferenceException:
                return False

        until(look, f"nothing at {selector}; the page says {self.text()!r}")

    def tap(self, selector, text=""):
        """Taps a button once it can be tapped."""

        def attempt():
            for one in self.all(selector):
                if one.is_displayed() and one.is_enabled() and text in one.text:
                    one.click()
                    return True
            return False

        def patiently():
            try:
                return attempt()
            except NOT_YET:
                return False

        until(patiently, f"a button {selector} {text!r}; the page says {self.text()!r}")

    def type(self, selector, text):
        field = self.sees(selector)
        field.clear()
        field.send_keys(text)

    def text(self):
        try:
            return self.find("body").text
        except NOT_YET:
            return "(between two pages)"

    def focus(self):
        return self.driver.execute_script("return document.activeElement.id || document.activeElement.className")

    def script(self, text, *arguments):
        """The value that a function body with `await` returns."""
        reply = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1], args = [...arguments].slice(0, -1);"
            f"(async () => {{ {text} }})().then((value) => done([value]), (error) => done({{error: String(error)}}))",
            *arguments,
        )
        if isinstance(reply, dict):
            raise AssertionError(reply["error"])
        return reply[0]

    def width(self):
        """How wide the content is, beside how wide the window is."""
        return self.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")

    def screenshot(self, name):
        """Makes pictures at each size, light and dark, and returns the names of the sizes where the page is too wide."""
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
        self.dark(False)
        self.resize("phone-390")
        return wide

    # --- What it said ---

    def console(self):
        """Everything that the browser's console has said so far."""
        self.log += self.driver.get_log("browser")
        return self.log

    def violations(self):
        """Lines about the Content-Security-Policy, and scripts that failed."""
        bad = ("Content Security Policy", "Refused to", "Uncaught", "violat")
        return [json.dumps(line) for line in self.console() if any(word in line["message"] for word in bad)]
