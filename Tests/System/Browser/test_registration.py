"""The phone's page in a real browser: how it becomes a phone, and stops being one."""

import json
import os
import unittest

from browser import start_browser
from phone_page_case import PhonePageCase

KEYS = """
  const opened = await new Promise((resolve, reject) => {
    const opening = indexedDB.open("iampass /");
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  const all = await new Promise((resolve) => {
    const request = opened.transaction("accounts").objectStore("accounts").getAll();
    request.onsuccess = () => resolve(request.result);
  });
  opened.close();
  return all.map(({ device, privateKey, methods }) => [device, privateKey.extractable, privateKey.algorithm.namedCurve, methods]);
"""


class Registrations(PhonePageCase):
    def test_says_whose_phone_it_would_become_and_registers_at_a_tap(self):
        link = self.world.link(self.user, "Alice Example")
        self.browser.open(link)
        self.browser.says("#registration", "Alice Example", "office", self.world.address.removeprefix("https://"))
        # Looking is not using: previews and scanners open links too.
        self.assertFalse(self.has_phone())
        self.browser.tap("#register")
        self.browser.sees("#said", "This is Alice Example’s phone now.")
        self.assertTrue(self.has_phone())
        code = link.rsplit("/", 1)[1]
        self.assertNotIn(code, self.browser.driver.current_url)
        self.assertNotIn(code, self.browser.script("return JSON.stringify([location.href, document.referrer, history.state])"))
        self.assertNotIn(code, json.dumps(self.browser.console()))

    def test_keeps_a_key_that_no_script_can_read(self):
        self.register()
        [[device, extractable, curve, _]] = self.browser.script(KEYS)
        self.assertEqual(len(device), 32)
        self.assertFalse(extractable)
        self.assertEqual(curve, "P-256")

    def test_is_the_same_phone_after_the_browser_reloads_it(self):
        self.register()
        self.browser.open(self.world.address + "/phone/")
        self.connected()
        self.assertEqual(self.approve(self.world.sign_in(self.user)), "active")

    def test_tells_why_a_link_is_not_taken(self):
        self.register()
        link = self.world.link(self.user)
        for address, words in ((self.world.address + "/register/" + "0" * 32, "invalid"), (link, "already has a phone")):
            self.browser.open(address)
            if "has a phone" in words:
                self.browser.tap("#register")
                self.browser.sees("#problem", words)
            else:
                self.browser.sees("#registration-text", words)

    def test_tells_of_a_link_that_was_used(self):
        link = self.world.link(self.user)
        self.browser.open(link)
        self.browser.tap("#register")
        self.browser.sees("#said", "phone now")
        self.browser.open(link)
        self.browser.sees("#registration-text", "already used")
        self.browser.tap("#registration-another")
        self.browser.until(lambda: self.browser.focus() == "another-link", "the focus where a link is put")
        self.browser.sees("#requests")
        self.browser.open(link)
        self.browser.sees("#registration-text", "already used")
        self.browser.misses("#registration-again")
        self.browser.tap("#registration-leave")
        self.browser.sees("#requests")

    def test_tries_a_link_again_once_the_service_is_back(self):
        self.register()
        link = self.world.link(self.user + "-2", "Alice at home")
        self.world.stop()
        self.browser.tap("#another summary")
        self.browser.type("#another-link", link)
        self.browser.tap("#another-form button")
        self.browser.sees("#registration-text", "The service cannot be reached")
        self.browser.misses("#registration-another")
        self.world.start()
        self.browser.tap("#registration-again")
        self.browser.says("#registration", "Alice at home")
        self.browser.misses("#registration-again")
        self.browser.tap("#register")
        self.browser.sees("#said", "This is Alice at home’s phone now.")

    def test_says_in_view_that_the_page_is_to_stay_open(self):
        self.register()
        sentence = self.browser.sees("#keep-open", "Keep this page open to be asked.")
        bottom, height = self.browser.driver.execute_script(
            "return [arguments[0].getBoundingClientRect().bottom + scrollY, innerHeight]", sentence)
        self.assertLess(bottom, height)

    def test_has_two_accounts_and_tells_whose_a_request_is(self):
        self.register(name="Alice")
        other = self.user + "-2"
        self.browser.tap("#another summary")
        self.browser.type("#another-link", "https://elsewhere.example/register/abc")
        self.browser.tap("#another-form button")
        self.browser.sees("#another-problem", "not a registration link")
        self.browser.type("#another-link", self.world.link(other, "Alice at home"))
        self.browser.tap("#another-form button")
        self.browser.tap("#register")
        self.browser.sees("#said", "This is Alice at home’s phone now.")
        self.connected()
        self.assertEqual(len(self.browser.all(".account")), 2)
        first, second = self.world.sign_in(self.user, host="one"), self.world.sign_in(other, host="two")
        self.card("sudo on one")
        self.browser.says(".request", "sudo on two", "For Alice at home at office")

        def fill(field):
            field.clear()
            field.send_keys(second.code)

        if second.code:
            self.on_card("sudo on two", ".code input", fill)
        self.on_card("sudo on two", ".approve", lambda button: button.click())
        second.becomes("active")
        self.assertIn(first.status(), ("pending", "identifying"))
        self.approve(first)

    def test_unregisters_only_when_it_is_sure(self):
        self.register()
        self.browser.tap(".account summary")
        self.browser.tap(".unregister")
        self.browser.tap("#sure-no")
        self.browser.misses("#sure")
        self.assertTrue(self.has_phone())
        self.browser.tap(".unregister")
        self.browser.tap("#sure-yes")
        self.browser.sees("#welcome-title", "No account yet")
        self.assertFalse(self.has_phone())
        self.assertEqual(self.browser.script(KEYS), [])

    def test_is_cut_off_when_another_phone_takes_its_place(self):
        self.register()
        other = start_browser(self.world.authority.file)
        self.addCleanup(other.close)
        other.open(self.world.link(self.user, lost=True))
        # The loss alone cuts it off.
        self.browser.sees("#problem", "another phone replaced it")
        self.browser.sees("#welcome")
        other.tap("#register")
        other.sees("#said", "phone now")

    def test_outlives_a_service_that_was_started_without_its_data(self):
        self.register()
        data, aside = self.world.path("data"), self.world.path("aside")
        self.world.stop()
        os.rename(data, aside)
        self.world.start()
        self.addCleanup(self.world.use_data, aside)
        said = self.browser.says(".account .unknown", "does not know this phone at the moment", "keeps its key")
        self.assertNotIn("another phone", said)
        self.browser.misses("#apart")
        self.browser.misses("#problem")
        self.world.use_data(aside)
        self.browser.script("window.dispatchEvent(new Event('online'))")
        self.connected()
        self.browser.misses(".account .unknown")
        self.assertEqual(self.approve(self.world.sign_in(self.user)), "active")


class BelowAPath(PhonePageCase):
    server_path = "/sign-in"

    def test_works_below_a_path(self):
        self.register()
        self.assertEqual(self.browser.driver.current_url, self.world.address + "/phone/")
        self.assertEqual(self.approve(self.world.sign_in(self.user)), "active")
        self.browser.open(self.world.address + "/")
        self.sessions_shown(1)


if __name__ == "__main__":
    unittest.main()
