"""The key that a browser may delete: the page asks for a promise to keep it, and says what follows without one."""

import unittest

from phone_page_case import PhonePageCase

# How this browser answers, and what it is. The page's own words to it are counted.
BROWSER = """
  globalThis.asked = [];
  for (const name of ["persist", "persisted"]) {
    StorageManager.prototype[name] = () => { asked.push(name); return %(answer)s; };
  }
  Object.defineProperty(Navigator.prototype, "vendor", { get: () => "%(vendor)s" });
  Object.defineProperty(Navigator.prototype, "standalone", { get: () => %(standalone)s });
"""
SEVEN_DAYS = "Otherwise Safari forgets this phone after seven days without a visit."


class KeptKey(PhonePageCase):
    """By Chromium's DevTools."""

    def is_browser(self, answer, vendor="Google Inc.", standalone="undefined"):
        """Pages that are loaded from now on are in such a browser."""
        source = BROWSER % {"answer": answer, "vendor": vendor, "standalone": standalone}
        added = self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=source)
        self.addCleanup(self.browser.cdp, "Page.removeScriptToEvaluateOnNewDocument", **added)

    def asked(self):
        return self.browser.script("return asked")

    def opened(self):
        self.browser.open(self.world.address + "/phone/")
        self.connected()

    def test_it_is_asked_for_as_a_phone_is_registered_and_at_each_visit(self):
        self.is_browser("Promise.resolve(true)")
        self.browser.open(self.world.address + "/phone/")
        self.browser.sees("#welcome")
        self.assertEqual(self.asked(), [])
        self.register()
        self.browser.until(lambda: self.asked() == ["persist"], "the browser asked to keep the key")
        self.opened()
        self.browser.until(lambda: self.asked() == ["persist"], "the browser asked again")
        self.browser.misses("#may-forget")

    def test_safari_that_promises_nothing_has_to_have_it_on_the_home_screen(self):
        self.is_browser("Promise.resolve(false)", vendor="Apple Computer, Inc.")
        self.register()
        said = self.browser.says("#may-forget", SEVEN_DAYS)
        self.assertIn("Add this page to the home screen", said)
        self.opened()
        self.browser.sees("#may-forget", SEVEN_DAYS)
        self.assertEqual(self.browser.screenshot("may-forget"), [])
        self.browser.tap(".account summary")
        self.browser.tap(".unregister")
        self.browser.tap("#sure-yes")
        self.browser.sees("#welcome")
        self.browser.misses("#may-forget")

    def test_on_the_home_screen_no_day_counts(self):
        self.is_browser("Promise.resolve(false)", vendor="Apple Computer, Inc.", standalone="true")
        self.register()
        self.assertNotIn("seven days", self.browser.says("#may-forget", "short of space"))

    def test_a_failure_is_not_a_promise(self):
        self.is_browser("Promise.reject(new TypeError('no storage'))")
        self.register()
        self.browser.sees("#may-forget", "This browser did not promise to keep this phone’s key")


if __name__ == "__main__":
    unittest.main()
