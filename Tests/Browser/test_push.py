"""Notifications while the page is closed, from the service through a stand-in push service to the service worker."""

import base64
import json
import time
import unittest
import urllib.request

import push_service
from office import until
from phone_page import PhonePageTest

# Stands for the browser's own subscription, which needs its maker's push service.
SUBSCRIBE = """
  const given = %s;
  const subscription = {
    endpoint: given.endpoint, toJSON: () => ({ endpoint: given.endpoint, keys: given.keys }),
    unsubscribe: async () => { localStorage.removeItem("subscribed"); return true; },
  };
  PushManager.prototype.subscribe = async (options) => {
    localStorage.setItem("subscribed", btoa(String.fromCharCode(...new Uint8Array(options.applicationServerKey))));
    return subscription;
  };
  PushManager.prototype.getSubscription = async () => (localStorage.getItem("subscribed") ? subscription : null);
"""


def setUpModule():
    push_service.use_packages()


class Worker:
    """The service worker of a browser, spoken to by the DevTools protocol."""

    def __init__(self, browser):
        import websocket

        self.browser = browser
        address = browser.driver.capabilities["goog:chromeOptions"]["debuggerAddress"]

        def find():
            with urllib.request.urlopen(f"http://{address}/json/list", timeout=30) as reply:
                return next((one for one in json.load(reply) if one["type"] == "service_worker"), None)

        target = until(find, "a service worker at work")
        self.socket = websocket.create_connection(
            target["webSocketDebuggerUrl"], timeout=60, suppress_origin=True)

    def run(self, text):
        """The value of an expression."""
        self.socket.send(json.dumps({
            "id": 1, "method": "Runtime.evaluate",
            "params": {"expression": text, "awaitPromise": True, "returnByValue": True},
        }))  # fmt: skip
        while True:
            reply = json.loads(self.socket.recv())
            if reply.get("id") == 1:
                if "exceptionDetails" in reply["result"]:
                    raise AssertionError(reply["result"]["exceptionDetails"])
                return reply["result"]["result"].get("value")

    def notifications(self):
        return self.run(
            "registration.getNotifications().then((all) => all.map((one) => ({ title: one.title, body: one.body,"
            " actions: one.actions.map(({ action }) => action), tag: one.tag })))")

    def choose(self, action):
        """What happens when an action of the notification is chosen."""
        self.run(
            "registration.getNotifications().then(([one]) =>"
            f" act({{ notification: one, action: {json.dumps(action)} }}))")

    def close(self):
        self.socket.close()


class Push(PhonePageTest):
    # The stand-in has a certificate of the office's own authority.
    server_options = ("--push-ca", "CA-FILE")

    def setUp(self):
        super().setUp()
        self.service = push_service.PushService(self.office.authority)
        self.addCleanup(self.service.close)
        self.subscription = push_service.Subscription(self.service)
        given = {"endpoint": self.subscription.endpoint, "keys": self.subscription.keys}
        added = self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=SUBSCRIBE % json.dumps(given))
        self.addCleanup(self.browser.cdp, "Page.removeScriptToEvaluateOnNewDocument", **added)
        self.browser.cdp("Browser.grantPermissions", permissions=["notifications"], origin=self.office.address)

    def turn_on(self):
        self.register()
        self.browser.tap("#ringing-on")
        self.browser.sees("#ringing-text", "also while this page is closed")

    def leave_page(self):
        """A page of the same origin that is not the phone's."""
        self.browser.open(self.office.address + "/.well-known/iampass")

    def deliver(self, text):
        """Brings a message to the service worker as the browser's maker would."""
        self.browser.cdp("ServiceWorker.enable")
        self.browser.cdp(
            "ServiceWorker.deliverPushMessage", origin=self.office.address, registrationId="0", data=text)
        worker = Worker(self.browser)
        self.addCleanup(worker.close)
        return worker

    def rung(self, **context):
        """A sign-in of which the phone was told while its page was closed: it, and the service worker."""
        self.turn_on()
        self.leave_page()
        sign_in = self.office.sign_in(self.user, **context)
        _, _, body = self.service.message()
        worker = self.deliver(json.dumps(self.subscription.open(body)))
        until(worker.notifications, "a notification")
        return sign_in, worker

    def test_sends_what_only_the_browser_can_read(self):
        import py_vapid

        self.turn_on()
        sign_in = self.office.sign_in(self.user, command="a-secret-command")
        path, headers, body = self.service.message()
        self.assertEqual(path, "/wp/browser?token=a-capability")
        self.assertEqual(headers["Content-Encoding"], "aes128gcm")
        self.assertLessEqual(int(headers["TTL"]), 60)
        self.assertGreater(int(headers["TTL"]), 0)
        self.assertEqual(headers["Topic"], sign_in.id)
        self.assertEqual(headers["Urgency"], "high")
        message = self.subscription.open(body)
        self.assertEqual(message["session"], sign_in.id)
        self.assertEqual(sorted(message), ["device", "session"])
        self.assertTrue(py_vapid.Vapid02.verify(headers["Authorization"]))
        token, key = (part.split("=", 1)[1] for part in headers["Authorization"].removeprefix("vapid ").split(","))
        _, shown, _ = self.office.fetch("/device/v1/push-key")
        self.assertEqual(key, json.loads(self.office.fetch("/device/v1/push-key")[2])["key"])
        subscribed = self.browser.script("return localStorage.getItem('subscribed')")
        self.assertEqual(push_service.base64url(base64.b64decode(subscribed)), key)
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
        self.assertEqual(claims["aud"], self.service.address)
        self.assertTrue(time.time() < claims["exp"] <= time.time() + 86400)
        self.assertTrue(claims["sub"].startswith("https://"))

    def test_shows_a_notification_and_approves_on_it(self):
        # With digits to type, the page would be opened.
        self.office.use_application("plain", "--match-code", "off")
        self.addCleanup(self.office.use_application, "office")
        sign_in, worker = self.rung(remote_host="192.0.2.7")
        [notification] = worker.notifications()
        self.assertEqual(notification["title"], "sudo on desk")
        self.assertIn("192.0.2.7", notification["body"])
        self.assertEqual(notification["actions"], ["approve", "deny"])
        worker.choose("approve")
        self.assertEqual(sign_in.becomes("active"), "active")
        self.assertEqual(worker.notifications(), [])

    def test_denies_on_the_notification(self):
        sign_in, worker = self.rung()
        worker.choose("deny")
        self.assertEqual(sign_in.becomes("cancelled"), "cancelled")

    def test_tells_nothing_of_a_request_that_has_ended(self):
        self.turn_on()
        self.leave_page()
        sign_in = self.office.sign_in(self.user)
        _, _, body = self.service.message()
        sign_in.log_out()
        worker = self.deliver(json.dumps(self.subscription.open(body)))
        [notification] = until(worker.notifications, "a notification")
        self.assertEqual(notification["title"], "A sign-in request has ended")
        self.assertEqual(notification["actions"], [])

    def test_forgets_a_subscription_that_the_push_service_has_ended(self):
        self.turn_on()
        self.service.status = 410
        self.office.sign_in(self.user, host="one")
        self.service.message()
        until(lambda: any("can be rung no more" in line for line in self.office.lines), "the service's own word for it")
        self.office.sign_in(self.user, host="two")
        time.sleep(2)
        self.assertEqual(len(self.service.messages), 1)
        self.assertNotIn("a-capability", "\n".join(self.office.lines))
        self.assertNotIn("/wp/", "\n".join(self.office.lines))

    def test_turns_notifications_off(self):
        self.turn_on()
        self.browser.tap("#ringing-off")
        self.browser.sees("#ringing-text", "keep this page open")
        self.office.sign_in(self.user)
        self.card()
        time.sleep(2)
        self.assertEqual(self.service.messages, [])


if __name__ == "__main__":
    unittest.main()
