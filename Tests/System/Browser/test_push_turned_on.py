"""Notifications are turned on and off, and the service learns again where to ring."""

import time
import unittest

from browser_world import until
from push_case import PushCase, setUpModule  # noqa: F401: what its tests need

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


class TurnedOn(PushCase):
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

    def test_forgets_a_subscription_that_the_push_service_has_ended(self):
        self.turn_on()
        self.end_subscription()
        self.world.sign_in(self.user, host="two")
        time.sleep(2)
        self.assertEqual(len(self.service.messages), 1)
        self.assertNotIn("a-capability", "\n".join(self.world.lines))
        self.assertNotIn("/wp/", "\n".join(self.world.lines))

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
