"""Notifications for several accounts of one phone."""

import json
import unittest

from push_case import PushCase, setUpModule  # noqa: F401: what its tests need
from Support.Service import push_service

# The first attempt to tell the service where to ring fails.
ONCE = """
  const before = globalThis.fetch;
  globalThis.fetch = async (url, ...more) => {
    if (globalThis.hasFailed || !String(url).endsWith("/device/v1/push")) return before(url, ...more);
    globalThis.hasFailed = true;
    throw new TypeError("away");
  };
"""


class SeveralAccounts(PushCase):
    def register_two(self):
        """The users of both accounts, in the order in which the page has them."""
        for user in (self.user, self.user + "-2"):
            self.register(user)
        return self.browser.script("return (await iampass.accounts.all()).map(({ user }) => user)")

    def test_one_that_was_cut_off_keeps_no_other_from_ringing_at_a_new_address(self):
        cut_off, kept = self.register_two()
        self.browser.tap("#ringing-on")
        self.browser.sees("#ringing-text", "also while this page is closed")
        self.leave_page()
        self.world.link(cut_off, lost=True)
        # This begins the service worker.
        worker = self.deliver(json.dumps({"device": "none", "session": "none"}))
        moved = push_service.Subscription(self.service, "moved")
        given = json.dumps({"endpoint": moved.endpoint, "keys": moved.keys})
        worker.run(f"move({{ newSubscription: {{ toJSON: () => ({given}) }} }}).catch(() => null)")
        self.world.sign_in(kept)
        self.assertEqual(self.service.message()[0], "/wp/moved?token=a-capability")

    def test_one_that_cannot_be_told_keeps_no_other_from_being_told(self):
        self.run_first(ONCE)
        users = self.register_two()
        self.browser.tap("#ringing-on")
        self.browser.sees("#problem", "The service cannot be reached")
        rings = ["phone_page" not in self.world.sign_in(user).start for user in users]
        self.assertIn(True, rings)


if __name__ == "__main__":
    unittest.main()
