"""What the tests of notifications share: a stand-in push service, and DevTools that deliver its messages."""

import contextlib
import json
import time
import urllib.request

from browser_world import until
from phone_page_case import PhonePageCase
from Support.Service import push_service

# Stands for the browser's own subscription, which needs its maker's push service.
SUBSCRIBE = """
  const given = %s;
  const subscription = {
    endpoint: given.endpoint, toJSON: () => ({ endpoint: given.endpoint, keys: given.keys }),
    unsubscribe: async () => { localStorage.removeItem("subscribed"); return true; },
  };
  PushManager.prototype.subscribe = async (options) => {
    const { active } = await navigator.serviceWorker.getRegistration("/phone/");
    if (!active) throw new DOMException("no active Service Worker", "AbortError");
    localStorage.setItem("subscribed", btoa(String.fromCharCode(...new Uint8Array(options.applicationServerKey))));
    return subscription;
  };
  PushManager.prototype.getSubscription = async () => (localStorage.getItem("subscribed") ? subscription : null);
"""


def setUpModule():
    push_service.use_packages()


class DevTools:
    """A target of a browser, spoken to by the DevTools protocol: WebDriver hands on no events."""

    def __init__(self, browser, find):
        import websocket

        self.address = browser.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]
        self.target = until(lambda: find(self.http), "a target to speak to")
        self.events = []
        self.socket = websocket.create_connection(
            self.target["webSocketDebuggerUrl"], timeout=60, suppress_origin=True)

    def http(self, path, method="GET"):
        request = urllib.request.Request(f"http://{self.address}/json/{path}", method=method)
        with urllib.request.urlopen(request, timeout=30) as reply:
            text = reply.read()
        return json.loads(text) if text.startswith((b"{", b"[")) else None

    def close(self):
        self.socket.close()

    def receive(self):
        message = json.loads(self.socket.recv())
        if "method" in message:
            self.events.append(message)
        return message

    def command(self, method, **parameters):
        self.socket.send(json.dumps({"id": 1, "method": method, "params": parameters}))
        while (reply := self.receive()).get("id") != 1:
            pass
        if "error" in reply:
            raise AssertionError(f"{method}: {reply['error']}")
        return reply["result"]

    def run(self, text):
        """The value of an expression."""
        result = self.command("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")


class Tab(DevTools):
    """A tab of its own, since leaving WebDriver's tab removes its screen lock."""

    def __init__(self, browser):
        super().__init__(browser, lambda http: http("new?about:blank", "PUT"))

    def close(self):
        super().close()
        self.http("close/" + self.target["id"])


class Worker(DevTools):
    """The service worker of a browser."""

    def __init__(self, browser):
        super().__init__(
            browser, lambda http: next((one for one in http("list") if one["type"] == "service_worker"), None))

    def notifications(self):
        return self.run(
            "iampass.notifications(registration).then((all) => all.map((one) => ({ title: one.title, body: one.body,"
            " actions: one.actions.map(({ action }) => action), tag: one.tag, silent: one.silent })))")

    def choose(self, action):
        """What happens when an action of the notification is chosen."""
        self.run(
            "iampass.notifications(registration).then(([one]) =>"
            f" act({{ notification: one, action: {json.dumps(action)} }}))")


class PushCase(PhonePageCase):
    # The stand-in has a certificate of the world's own authority.
    server_options = ("--push-ca", "CA-FILE")

    def setUp(self):
        super().setUp()
        self.service = push_service.PushService(self.world.authority)
        self.addCleanup(self.service.close)
        self.subscription = push_service.Subscription(self.service)
        given = {"endpoint": self.subscription.endpoint, "keys": self.subscription.keys}
        self.run_first(SUBSCRIBE % json.dumps(given))
        self.browser.cdp("Browser.grantPermissions", permissions=["notifications"], origin=self.world.origin)

    def run_first(self, script):
        """Runs this on every page before the page's own."""
        added = self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=script)
        self.addCleanup(self.browser.cdp, "Page.removeScriptToEvaluateOnNewDocument", **added)

    def turn_on(self):
        self.register()
        self.browser.tap("#ringing-on")
        self.browser.sees("#ringing-text", "also while this page is closed")

    def end_subscription(self):
        """The push service has ended it, and the service has seen that."""
        said = "a push subscription has ended"
        before = sum(said in line for line in self.world.lines)
        self.service.status = 410
        self.world.sign_in(self.user, host="one").log_out()
        self.service.message()
        until(lambda: sum(said in line for line in self.world.lines) > before, "the service's own word for it")

    def is_told(self):
        """Whether the service knows where to ring: the terminal names the page unless the phone rings."""
        sign_in = self.world.sign_in(self.user, host=f"host-{time.monotonic()}")
        sign_in.log_out()
        return "phone_page" not in sign_in.start

    def leave_page(self):
        """A page of the same origin that is not the phone's."""
        self.browser.open(self.world.address + "/.well-known/iampass")

    def deliver(self, text):
        """Brings a message to the service worker as the browser's maker would."""
        tab = Tab(self.browser)
        # While it is open, the page's own tab stands behind it.
        with contextlib.closing(tab):
            tab.command("ServiceWorker.enable")
            registration = until(lambda: self.registration(tab), "the service worker's registration")
            tab.command(
                "ServiceWorker.deliverPushMessage", origin=self.world.origin, registrationId=registration, data=text)
        return until(self.worker, "the service worker")

    def worker(self):
        """The service worker that has begun; None if the one that is found is an earlier test's, which is ending."""
        worker = Worker(self.browser)
        if worker.run("self.serviceWorker.state") != "activated":
            worker.close()
            return None
        self.addCleanup(worker.close)
        return worker

    def registration(self, tab):
        """The id of the registration that lives."""
        updates = [one for one in tab.events if one["method"] == "ServiceWorker.workerRegistrationUpdated"]
        seen = [one for update in updates for one in update["params"]["registrations"]]
        # The last word about each; those of earlier tests are deleted.
        last = {one["registrationId"]: one["isDeleted"] for one in seen}
        living = [id for id, is_deleted in last.items() if not is_deleted]
        if len(living) == 1:
            return living[0]
        tab.receive()
        return None

    def rung(self, methods=None, **context):
        """A sign-in of which the phone was told while its page was closed: it, and the service worker."""
        self.turn_on()
        self.leave_page()
        sign_in = self.world.sign_in(self.user, methods, **context)
        _, _, body = self.service.message()
        worker = self.deliver(json.dumps(self.subscription.open(body)))
        until(worker.notifications, "a notification")
        return sign_in, worker
