"""Notifications while the page is closed, from the service through a stand-in push service to the service worker."""

import base64
import json
import time
import unittest

from browser_world import LONGEST_ANSWER_TIME, until
from push_case import PushCase, setUpModule  # noqa: F401: what its tests need
from Support.Service import push_service

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


class Push(PushCase):
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

    def test_takes_the_notification_away_once_the_page_has_answered(self):
        sign_in, worker = self.rung()
        self.browser.open(self.world.address + "/phone/")
        self.connected()
        self.approve(sign_in)
        until(lambda: worker.notifications() == [], "no notification any more")

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


if __name__ == "__main__":
    unittest.main()
