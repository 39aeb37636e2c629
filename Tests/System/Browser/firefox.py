"""Headless Firefox. Debian has no geckodriver: Selenium speaks to Firefox's own Marionette here."""

import json
import os
import socket
import subprocess

from selenium.webdriver.remote.command import Command
from selenium.webdriver.remote.file_detector import UselessFileDetector
from selenium.webdriver.remote.webdriver import WebDriver

from browser import SIZES, Browser
from browser_world import PATIENCE, until

PREFERENCES = {
    # A free port, which it writes into its profile.
    "marionette.port": 0,
    # A screen lock in software, which WebDriver adds.
    "security.webauth.webauthn_enable_softtoken": True,
    "security.webauth.webauthn_enable_usbtoken": False,
    # Nothing is asked of its maker.
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.push.connection.enabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.server": "",
    "intl.accept_languages": "en-GB",
}

# What WebDriver's commands are called there.
COMMANDS = {
    Command.NEW_SESSION: "WebDriver:NewSession",
    Command.SET_TIMEOUTS: "WebDriver:SetTimeouts",
    Command.GET: "WebDriver:Navigate",
    Command.GET_CURRENT_URL: "WebDriver:GetCurrentURL",
    Command.GET_TITLE: "WebDriver:GetTitle",
    Command.GET_PAGE_SOURCE: "WebDriver:GetPageSource",
    Command.FIND_ELEMENT: "WebDriver:FindElement",
    Command.FIND_ELEMENTS: "WebDriver:FindElements",
    Command.FIND_CHILD_ELEMENT: "WebDriver:FindElement",
    Command.W3C_GET_ACTIVE_ELEMENT: "WebDriver:GetActiveElement",
    Command.GET_ELEMENT_TEXT: "WebDriver:GetElementText",
    Command.IS_ELEMENT_ENABLED: "WebDriver:IsElementEnabled",
    Command.IS_ELEMENT_SELECTED: "WebDriver:IsElementSelected",
    Command.CLICK_ELEMENT: "WebDriver:ElementClick",
    Command.CLEAR_ELEMENT: "WebDriver:ElementClear",
    Command.SEND_KEYS_TO_ELEMENT: "WebDriver:ElementSendKeys",
    Command.W3C_EXECUTE_SCRIPT: "WebDriver:ExecuteScript",
    Command.W3C_EXECUTE_SCRIPT_ASYNC: "WebDriver:ExecuteAsyncScript",
    Command.SCREENSHOT: "WebDriver:TakeScreenshot",
    Command.GET_ALL_COOKIES: "WebDriver:GetCookies",
    Command.DELETE_ALL_COOKIES: "WebDriver:DeleteAllCookies",
    Command.ADD_VIRTUAL_AUTHENTICATOR: "WebAuthn:AddVirtualAuthenticator",
    Command.SET_USER_VERIFIED: "WebAuthn:SetUserVerified",
    Command.REMOVE_ALL_CREDENTIALS: "WebAuthn:RemoveAllCredentials",
    Command.REFRESH: "WebDriver:Refresh",
    Command.GO_BACK: "WebDriver:Back",
    Command.QUIT: "Marionette:Quit",
    "context": "Marionette:SetContext",
}

# On Linux Firefox takes no authenticator for the platform's own, not even the one in software that it then says it has.
ANY_AUTHENTICATOR = """
  if (navigator.credentials && !window.takesAny) {
    window.takesAny = true;
    const create = CredentialsContainer.prototype.create;
    CredentialsContainer.prototype.create = function (options) {
      delete options.publicKey.authenticatorSelection.authenticatorAttachment;
      return create.call(this, options);
    };
  }
"""


class Marionette:
    """What Selenium speaks to instead of a driver program: `length:[0, id, command, parameters]` over TCP, and back
    `length:[1, id, error, value]`."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=2 * PATIENCE)
        self.stream = self.socket.makefile("rb")
        self.receive()
        self.number = 0

    def close(self):
        self.stream.close()
        self.socket.close()

    def receive(self):
        length = 0
        while (byte := self.stream.read(1)) != b":":
            if not byte:
                raise EOFError("Firefox is gone")
            length = length * 10 + int(byte)
        return json.loads(self.stream.read(length))

    def execute(self, command, parameters):
        parameters = {name: value for name, value in (parameters or {}).items() if name != "sessionId"}
        if command == Command.NEW_SESSION:
            parameters = parameters["capabilities"]
        elif command == Command.FIND_CHILD_ELEMENT:
            parameters["element"] = parameters.pop("id")
        elif command == Command.SCREENSHOT:
            parameters["full"] = False
        self.number += 1
        text = json.dumps([0, self.number, COMMANDS[command], parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, value = self.receive()
        assert number == self.number, (number, self.number)
        if error:
            return {"status": 500, "value": json.dumps({"value": error})}
        return {"value": value["value"] if isinstance(value, dict) and set(value) == {"value"} else value}


class Firefox(Browser):
    def start(self, authority):
        profile = os.path.join(self.home, "profile")
        self.trust(authority, profile)
        with open(os.path.join(profile, "user.js"), "w") as file:
            for name, value in PREFERENCES.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = subprocess.Popen(
            ["/usr/bin/firefox-esr", "--headless", "--marionette", "--remote-allow-system-access", "--no-remote",
             "--profile", profile],
            env={"HOME": self.home, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MOZ_CRASHREPORTER_DISABLE": "1"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            self.connection = Marionette(until(lambda: self.port(profile), "Firefox's port"))
            # Otherwise a text that names a file counts as an upload.
            return WebDriver(self.connection, file_detector=UselessFileDetector())
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def port(self, profile):
        if self.process.poll() is not None:
            raise AssertionError(f"Firefox ended with {self.process.returncode}")
        try:
            with open(os.path.join(profile, "MarionetteActivePort")) as file:
                return int(file.read() or 0)
        except FileNotFoundError:
            return None

    def close(self):
        try:
            self.driver.execute(Command.QUIT, {"flags": ["eForceQuit"]})
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self.connection.close()
        self.remove_home()

    def forget(self, world):
        self.open("about:blank")
        self.privileged("""
          const done = arguments[arguments.length - 1];
          Services.clearData.deleteData(Ci.nsIClearDataService.CLEAR_ALL, () => { Services.console.reset(); done(); });
        """)
        if self.screen_lock:
            self.renew_screen_lock()
        self.dark(False)
        self.resize("phone-390")

    def open(self, url):
        super().open(url)
        self.driver.execute_script(ANY_AUTHENTICATOR)

    def privileged(self, script, *arguments):
        """Runs a script with the rights of the browser itself, until it calls the last of its arguments."""
        self.driver.execute("context", {"value": "chrome"})
        try:
            return self.driver.execute_async_script(script, *arguments)
        finally:
            self.driver.execute("context", {"value": "content"})

    def resize(self, size):
        width, height, _ = SIZES[size]
        self.privileged("""
          const [width, height, done] = arguments, browser = gBrowser.selectedBrowser;
          window.resizeTo(Math.max(width, 500) + 100, height + 300);
          for (const [name, value] of [["width", width], ["height", height]]) {
            for (const which of ["min-", "max-", ""]) browser.style.setProperty(which + name, value + "px");
          }
          const look = () => (browser.clientWidth === width && browser.clientHeight === height ? done() : setTimeout(look, 20));
          look();
        """, width, height)  # fmt: skip

    def dark(self, on):
        self.privileged("""
          const [scheme, done] = arguments;
          gBrowser.selectedBrowser.browsingContext.prefersColorSchemeOverride = scheme;
          done();
        """, "dark" if on else "light")  # fmt: skip

    def console(self):
        return self.privileged("""
          const done = arguments[arguments.length - 1];
          done(Services.console.getMessageArray().filter((one) => one instanceof Ci.nsIScriptError)
            .filter(({ sourceName }) => /^https:/.test(sourceName))
            .map(({ flags, errorMessage }) => (flags & Ci.nsIScriptError.warningFlag ? "" : "Uncaught: ") + errorMessage));
        """)
