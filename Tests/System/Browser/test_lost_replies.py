"""The phone's page when the service has done what it asked for, and the reply does not arrive. By Chromium's DevTools."""

import unittest

from phone_page_case import PhonePageCase

# Loses the first reply to this call, once the service has sent it.
LOSING = """
  const whole = globalThis.fetch;
  globalThis.fetch = async (url, ...more) => {
    const reply = await whole(url, ...more);
    if (!String(url).endsWith("/device/v1/%s") || localStorage.getItem("lost")) return reply;
    localStorage.setItem("lost", "yes");
    throw new TypeError("the reply was lost");
  };
"""
STORED = "return (await iampass.accounts.all()).map(({ credential }) => credential?.id)"
PHONES = "SELECT count(*) FROM phone JOIN user ON user.id = phone.user WHERE user.name = ?"


class LostReplies(PhonePageCase):
    def loses(self, call):
        added = self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=LOSING % call)
        self.addCleanup(self.browser.cdp, "Page.removeScriptToEvaluateOnNewDocument", **added)

    def lost_registration(self):
        """The link of a phone that the service has registered, and whose page does not know."""
        self.loses("register")
        link = self.world.link(self.user)
        self.browser.open(link)
        self.browser.tap("#register")
        self.browser.sees("#problem", "The service cannot be reached")
        self.assertTrue(self.has_phone())
        return link

    def is_the_phone(self):
        self.browser.sees("#said", f"This is {self.user}’s phone now.")
        self.connected()
        self.assertEqual(self.world.database(PHONES, self.user), [(1,)])
        self.assertEqual(self.approve(self.world.sign_in(self.user, methods="device")), "active")
        self.assertEqual(len(self.browser.script("return iampass.accounts.all()")), 1)

    def test_a_second_tap_registers_the_same_phone(self):
        self.lost_registration()
        self.browser.tap("#register")
        self.is_the_phone()

    def test_a_link_that_is_opened_again_takes_its_phone_up(self):
        self.browser.open(self.lost_registration())
        self.is_the_phone()

    def test_a_page_that_is_opened_later_takes_its_phone_up(self):
        self.lost_registration()
        self.browser.open(self.world.address + "/phone/")
        self.is_the_phone()

    def test_a_page_that_is_opened_later_uses_no_link(self):
        link = self.world.link(self.user)
        self.browser.open(link)
        self.browser.sees("#register")
        self.world.stop()
        self.browser.tap("#register")
        self.browser.sees("#problem", "The service cannot be reached")
        self.world.start()
        self.browser.open(self.world.address + "/phone/")
        self.browser.sees("#welcome")
        # The page has asked for the link by then.
        code = link.rsplit("/", 1)[1]
        self.browser.script("for (let time = 0; time < 3; time++) await iampass.get('register/' + args[0]);", code)
        self.assertFalse(self.has_phone())
        self.browser.open(link)
        self.browser.tap("#register")
        self.browser.sees("#said", f"This is {self.user}’s phone now.")

    def test_a_screen_lock_that_was_added_is_kept(self):
        self.loses("credential")
        self.browser.unlocks(False)
        self.browser.open(self.world.link(self.user))
        self.browser.tap("#register")
        self.browser.sees("#said", "Its screen lock was not added.")
        self.browser.unlocks(True)
        self.browser.tap(".account summary")
        self.browser.tap(".add-lock")
        # The service tells the page by its events.
        self.browser.misses(".add-lock")
        words = self.browser.says(".account .words", "Six words")
        [(credential,)] = self.world.database(
            "SELECT credential FROM phone_credential JOIN phone ON phone.id = phone_credential.phone"
            " JOIN user ON user.id = phone.user WHERE user.name = ?", self.user)
        self.assertEqual(self.browser.script(STORED), [credential])
        self.browser.open(self.world.address + "/phone/")
        self.browser.tap(".account summary")
        self.assertEqual(self.browser.says(".account .words", "Six words"), words)


if __name__ == "__main__":
    unittest.main()
