"""Headless Chromium, by its own WebDriver and DevTools."""

import contextlib
import os
import pathlib
import signal

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from urllib3.exceptions import HTTPError

from browser import SIZES, Browser


def descendants(ancestor):
    """Process ids below this one, parents before their children."""
    parents = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # proc_pid_stat(5): the name ends with the last bracket, and the parent is the second field behind it.
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [ancestor]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found[1:]


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

    def forget(self, world):
        try:
            self.reset(world)
        except (HTTPError, WebDriverException) as error:
            # Chromium has left ServiceWorker.stopAllWorkers without a reply. A new browser has forgotten everything, too.
            print(f"Chromium is started again, since it did not reset: {error}", flush=True)
            self.close()
            self.begin()

    def close(self):
        # Its driver's `quit` waits for Chromium, which may have stopped answering.
        for process in [*descendants(self.driver.service.process.pid), self.driver.service.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.driver.service.process.wait()
        self.remove_home()

    def reset(self, world):
        self.open("about:blank")
        self.cdp("ServiceWorker.enable")
        # In this order: Chromium often loses the reply about a worker that `unregister` is stopping already.
        self.cdp("ServiceWorker.stopAllWorkers")
        self.cdp("ServiceWorker.unregister", scopeURL=world.address + "/phone/")
        self.cdp("Storage.clearDataForOrigin", origin=world.origin, storageTypes="all")
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
