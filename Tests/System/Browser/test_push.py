"""Notifications while the page is closed, from the service through a stand-in push service to the service worker."""

import base64
import contextlib
import json
import time
import unittest
import urllib.request

from browser_world import LONGEST_ANSWER_TIME, until
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

# The service cannot be told where to ring, although everything else works.
AWAY = """
  const before = globalThis.fetch;
  globalThis.isAway = true;
  globalThis.attempts = 0;
  globalThis.fetch = async (url, ...more) => {
    if (!globalThis.isAway || !String(url).endsWith("/device/v1/push")) return before(url, ...more);
    globalThis.attempts += 1;
    throw new TypeError("away");
  };
"""

# The service worker takes long to begin.
LATE = """
  const begun = new Promise((resolve) => { globalThis.begin = resolve; });
  let hasBegun = false;
  begun.then(() => { hasBegun = true; });
  const { get } = Object.getOwnPropertyDescriptor(ServiceWorkerRegistration.prototype, "active");
  Object.defineProperty(ServiceWorkerRegistration.prototype, "active", {
    get() { return hasBegun ? get.call(this) : null; },
  });
"""

# The page that opens after a choice of the notification's approval.
OPENED = """
  iampass.notifications(registration).then(async ([one]) => {
    const all = [], before = clients.openWindow;
    clients.openWindow = (url) => all.push(url);
    await act({ notification: one, action: "approve" });
    clients.openWindow = before;
    return all;
  })
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

    def run(self, text):
        """The value of an expression."""
        result = self.command("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

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


class Push(PushCase):
    def test_the_terminal_names_the_page_until_the_phone_rings(self):
        self.register()
        named = self.world.sign_in(self.user, host="one").start
        self.assertEqual(named["phone_page"], self.world.address + "/phone/")
        self.assertEqual(self.world.fetch("/phone/")[0], 200)
        self.browser.tap("#ringing-on")
        self.browser.sees("#ringing-text", "also while this page is closed")
        self.assertNotIn("phone_page", self.world.sign_in(self.user, host="two").start)

    def test_is_turned_on_once_the_service_worker_has_begun(self):
        self.run_first(LATE)
        self.register()
        self.browser.tap("#ringing-on")
        time.sleep(2)
        self.assertFalse(self.browser.find("#ringing-on").is_enabled())
        self.assertNotIn("did not work", self.browser.text())
        self.browser.script("globalThis.begin()")
        self.browser.sees("#ringing-text", "also while this page is closed")

    def test_sends_what_only_the_browser_can_read(self):
        import py_vapid

        self.turn_on()
        sign_in = self.world.sign_in(self.user, command="a-secret-command")
        path, headers, body = self.service.message()
        self.assertEqual(path, "/wp/browser?token=a-capability")
        self.assertEqual(headers["Content-Encoding"], "aes128gcm")
        self.assertLessEqual(int(headers["TTL"]), LONGEST_ANSWER_TIME)
        self.assertGreater(int(headers["TTL"]), 0)
        self.assertEqual(headers["Topic"], sign_in.id)
        self.assertEqual(headers["Urgency"], "high")
        message = self.subscription.open(body)
        self.assertEqual(message["session"], sign_in.id)
        self.assertEqual(sorted(message), ["device", "session"])
        self.assertTrue(py_vapid.Vapid02.verify(headers["Authorization"]))
        token, key = (part.split("=", 1)[1] for part in headers["Authorization"].removeprefix("vapid ").split(","))
        _, shown, _ = self.world.fetch("/device/v1/push-key")
        self.assertEqual(key, json.loads(self.world.fetch("/device/v1/push-key")[2])["key"])
        subscribed = self.browser.script("return localStorage.getItem('subscribed')")
        self.assertEqual(push_service.base64url(base64.b64decode(subscribed)), key)
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        self.assertEqual(claims["aud"], self.service.address)
        self.assertTrue(time.time() < claims["exp"] <= time.time() + 86400)
        self.assertTrue(claims["sub"].startswith("https://"))

    def test_shows_a_notification_and_approves_on_it(self):
        # With digits to type, the page would be opened.
        self.world.use_application("plain", "--match-code", "off")
        self.addCleanup(self.world.use_application, "office")
        sign_in, worker = self.rung("acceptance", remote_host="192.0.2.7")
        [notification] = worker.notifications()
        self.assertEqual(notification["title"], "sudo on desk")
        self.assertIn("192.0.2.7", notification["body"])
        self.assertEqual(notification["actions"], ["approve", "deny"])
        worker.choose("approve")
        self.assertEqual(sign_in.becomes("active"), "active")
        until(lambda: worker.notifications() == [], "the notification's end")

    def test_opens_the_page_where_digits_must_be_typed(self):
        sign_in, worker = self.rung()
        self.assertRegex(sign_in.code, "^[0-9]{2}$")
        opened = worker.run(OPENED)
        self.assertEqual(opened, [f"{self.world.address}/phone/#session={sign_in.id}"])
        self.assertIn(sign_in.status(), ("pending", "identifying"))
        self.browser.open(opened[0])
        self.card()
        until(lambda: "#" not in self.browser.driver.current_url, "the request's id taken out of the address")
        self.assertEqual(self.approve(sign_in), "active")

    def test_what_a_notification_may_cut_is_approved_on_the_page(self):
        self.world.use_application("plain", "--match-code", "off")
        self.addCleanup(self.world.use_application, "office")
        sign_in, worker = self.rung("acceptance", command="apt upgrade")
        [notification] = worker.notifications()
        self.assertEqual(notification["actions"], ["deny"])
        # Even if an older page of this phone offered it.
        opened = worker.run(OPENED)
        self.assertEqual(opened, [f"{self.world.address}/phone/#session={sign_in.id}"])
        self.assertIn(sign_in.status(), ("pending", "identifying"))

    def test_denies_on_the_notification(self):
        sign_in, worker = self.rung()
        worker.choose("deny")
        self.assertEqual(sign_in.becomes("cancelled"), "cancelled")

    def test_tells_nothing_of_a_request_that_has_ended(self):
        self.turn_on()
        self.leave_page()
        sign_in = self.world.sign_in(self.user)
        _, _, body = self.service.message()
        sign_in.log_out()
        worker = self.deliver(json.dumps(self.subscription.open(body)))
        [notification] = until(worker.notifications, "a notification")
        self.assertEqual(notification["title"], "A request has ended")
        self.assertEqual(notification["actions"], [])

    def test_forgets_a_subscription_that_the_push_service_has_ended(self):
        self.turn_on()
        self.end_subscription()
        self.world.sign_in(self.user, host="two")
        time.sleep(2)
        self.assertEqual(len(self.service.messages), 1)
        self.assertNotIn("a-capability", "\n".join(self.world.lines))
        self.assertNotIn("/wp/", "\n".join(self.world.lines))

    def test_takes_the_notification_away_once_the_page_has_answered(self):
        sign_in, worker = self.rung()
        self.browser.open(self.world.address + "/phone/")
        self.connected()
        self.approve(sign_in)
        until(lambda: worker.notifications() == [], "no notification any more")

    def test_tells_the_service_again_where_it_is_rung(self):
        self.turn_on()
        self.end_subscription()
        self.service.status = 201
        self.browser.open(self.world.address + "/phone/")
        self.connected()
        self.browser.sees("#ringing-text", "also while this page is closed")
        until(self.is_told, "a sign-in that rings the phone")
        self.service.message(2)

    def test_tells_the_service_once_it_is_reached_again(self):
        self.turn_on()
        self.end_subscription()
        self.service.status = 201
        self.run_first(AWAY)
        self.browser.open(self.world.address + "/phone/")
        self.connected()
        self.browser.until(lambda: self.browser.script("return globalThis.attempts > 0"), "an attempt to tell")
        self.assertFalse(self.is_told())
        self.browser.script("globalThis.isAway = false")
        # The page's stream ends, and the page opens another one.
        self.world.stop()
        self.world.start()
        until(self.is_told, "a sign-in that rings the phone")

    def test_rings_once_for_a_storm_from_one_place(self):
        first, worker = self.rung(host="desk")

        def follows(count, **context):
            sign_in = self.world.sign_in(self.user, **context)
            message = json.dumps(self.subscription.open(self.service.message(count)[2]))
            self.deliver(message)
            shown = until(
                lambda: [one for one in worker.notifications() if one["tag"] == sign_in.id], "its own notification")
            return sign_in, shown[0]["silent"]

        [notification] = worker.notifications()
        self.assertFalse(notification["silent"])
        first.log_out()
        second, is_silent = follows(2, host="desk")
        self.assertTrue(is_silent)
        self.assertEqual([one["tag"] for one in worker.notifications()], [second.id])
        _, is_silent = follows(3, host="laptop")
        self.assertFalse(is_silent)
        second.log_out()
        worker.run("{ const now = Date.now; Date.now = () => now() + 30_000; }")
        _, is_silent = follows(4, host="desk")
        self.assertFalse(is_silent)

    def test_turns_notifications_off(self):
        self.turn_on()
        self.browser.tap("#ringing-off")
        self.browser.sees("#ringing-text", "keep this page open")
        self.world.sign_in(self.user)
        self.card()
        time.sleep(2)
        self.assertEqual(self.service.messages, [])


if __name__ == "__main__":
    unittest.main()
