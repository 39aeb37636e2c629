"""One phone's page in two tabs of its browser. By Chromium's DevTools."""

import unittest

from browser_world import until
from phone_page_case import PhonePageCase
from push_case import Tab, setUpModule  # noqa: F401: what DevTools need


class TwoTabs(PhonePageCase):
    def tab(self):
        """A second tab with the page."""
        tab = Tab(self.browser)
        self.addCleanup(tab.close)
        tab.command("Page.navigate", url=self.world.address + "/phone/")
        until(lambda: tab.run("document.getElementById('connection')?.textContent") == "Connected", "the second tab")
        self.browser.cdp("Page.bringToFront")
        return tab

    def test_a_tab_that_was_frozen_keeps_what_another_one_stored(self):
        self.browser.unlocks(False)
        self.browser.open(self.world.link(self.user))
        self.browser.tap("#register")
        self.browser.sees("#said", "Its screen lock was not added.")
        self.browser.unlocks(True)
        tab = self.tab()
        tab.command("Page.setWebLifecycleState", state="frozen")
        self.browser.tap(".account summary")
        self.browser.tap(".add-lock")
        self.browser.sees("#said", "The screen lock was added.")
        words = self.browser.says(".account .words", "Six words")
        tab.command("Page.setWebLifecycleState", state="active")
        until(lambda: "screen lock" in tab.run("document.querySelector('.methods').textContent"), "what the service says now")
        # What the second tab stores then is stored before this is read.
        tab.run("iampass.accounts.all().then(() => iampass.accounts.all()).then(() => null)")
        self.browser.open(self.world.address + "/phone/")
        self.browser.tap(".account summary")
        self.assertEqual(self.browser.says(".account .words", "Six words"), words)


if __name__ == "__main__":
    unittest.main()
