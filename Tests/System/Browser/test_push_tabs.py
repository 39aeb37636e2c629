"""A page that was open before another tab registered the phone."""

import contextlib
import unittest

from browser_world import until
from push_case import PushCase, Tab, setUpModule  # noqa: F401: what its tests need

# Chromium lets a worker bring a page to the front only after a real tap.
OPEN = 'iampass.notifications(registration).then(([one]) => act({ notification: one, action: "" }).catch(() => null))'
DEAF = "delete globalThis.BroadcastChannel;"


class EarlierTab(PushCase):
    def earlier_tab(self, script=None):
        """A tab with the page, which has no account yet."""
        tab = Tab(self.browser)
        self.addCleanup(tab.close)
        if script:
            tab.command("Page.enable")
            tab.command("Page.addScriptToEvaluateOnNewDocument", source=script)
        tab.command("Page.navigate", url=self.world.address + "/phone/")
        self.shows(tab, "document.getElementById('welcome')?.hidden === false", "a page without an account")
        self.browser.cdp("Page.bringToFront")
        return tab

    def shows(self, tab, claim, what):
        """Waits until this is true of the tab. Between two of its pages nothing is."""

        def look():
            with contextlib.suppress(AssertionError):
                return tab.run(claim)
            return False

        until(look, what)

    def test_hears_of_the_phone_that_another_tab_registers(self):
        tab = self.earlier_tab()
        self.register()
        self.shows(tab, "document.getElementById('connection').textContent === 'Connected'", "the account in the other tab")
        self.assertTrue(tab.run("document.getElementById('welcome').hidden"))
        self.world.sign_in(self.user)
        self.card("sudo on desk")
        self.shows(tab, "document.querySelectorAll('.request').length === 1", "the request in the other tab")

    def test_shows_the_request_of_a_notification_though_it_did_not_hear(self):
        tab = self.earlier_tab(DEAF)
        sign_in, worker = self.rung()
        self.assertEqual(tab.run("document.querySelectorAll('.account').length"), 0)
        worker.run(OPEN)
        self.shows(tab, "document.querySelectorAll('.request').length === 1", "the request in the other tab")
        self.shows(tab, "location.hash === ''", "the request's id taken out of the address")
        self.assertIn(sign_in.status(), ("pending", "identifying"))


if __name__ == "__main__":
    unittest.main()
