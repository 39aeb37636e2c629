"""Headless Chromium, by its own WebDriver and DevTools."""

import os

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from browser import SIZES, Browser


class Chromium(Browser):
    def start(self, authority):
        self.trust(authority, os.path.join(self.home, ".pki/nssdb"))
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in (
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--lang=en-GB",
            f"--user-data-dir={self.home}/profile",
        ):  # fmt: skip
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.log = []
        service = Service("/usr/bin/chromedriver", env={**os.environ, "HOME": self.home})
        return webdriver.Chrome(service=service, options=options)

    def forget(self, office):
        self.open("about:blank")
        self.cdp("ServiceWorker.enable")
        self.cdp("ServiceWorker.unregister", scopeURL=office.address + "/phone/")
        self.cdp("ServiceWorker.stopAllWorkers")
        self.cdp("Storage.clearDataForOrigin", origin=office.origin, storageTypes="all")
        self.cdp("Browser.resetPermissions")
        if self.screen_lock:
            self.renew_screen_lock()
        self.dark(False)
        self.resize("phone-390")
        self.driver.get_log("browser")
        self.log = []

    def resize(self, size):
        width, height, mobile = SIZES[size]
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1,
                 mobile=mobile)  # fmt: skip

    def dark(self, on):
        features = [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]
        self.cdp("Emulation.setEmulatedMedia", features=features)

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def console(self):
        self.log += self.driver.get_log("browser")
        return self.log
