"""The phone's page in a real browser: approvals that computers verify, and the keys that they verify them by."""

import base64
import os
import unittest

from phone_page_case import PhonePageCase
from Support.Service import approvals

CHALLENGE = base64.b64encode(bytes(range(32))).decode()


class KeysTest(PhonePageCase):
    def phone(self):
        """The user's phone as the service tells an application of it."""
        [phone] = self.world.ask("GET", f"/management/user_phones/{self.world.application}/{self.user}")["phones"]
        return phone


class Approvals(KeysTest):
    def approval(self, **more):
        """What the computer is given after the page approved with its digits."""
        self.register()
        sign_in = self.world.sign_in(self.user, challenge=CHALLENGE, match_code="42", **more)
        self.assertEqual((sign_in.start["challenge"], sign_in.code), (CHALLENGE, "42"))
        self.assertEqual(self.approve(sign_in), "active")
        approval = sign_in.reply_now()["approval"]
        phone = self.phone()
        self.assertTrue(approvals.is_signed(approval, phone["public_key"]))
        self.assertEqual(approval["phone"], phone["id"])
        statement = approval["statement"]
        self.assertEqual(
            [statement[name] for name in ("answer", "challenge", "code", "session", "origin", "context_hash")],
            ["approve", CHALLENGE, "42", sign_in.id, self.world.origin, approvals.digest(sign_in.context)])
        return approval, phone

    def test_a_tap_can_be_verified(self):
        approval, _ = self.approval(methods="acceptance", amount="10 € ‹ é", command="echo '\u202e'")
        self.assertEqual(approval["statement"]["method"], "acceptance")
        self.assertNotIn("assertion", approval)

    def test_an_unlocked_phone_can_be_verified(self):
        approval, phone = self.approval(methods="device")
        self.assertEqual(approval["statement"]["method"], "device")
        self.assertTrue(approvals.is_unlocked(approval, phone["credential"]["public_key"], self.world.origin))

    def test_the_page_signs_nothing_with_a_challenge_that_is_not_one(self):
        self.register()
        answer = """
          const [account] = await iampass.accounts.all();
          const request = { session: "1", context: { host: "desk" }, nonce: "2", expires: 3, challenge: args[0] };
          return iampass.answerStatement(account, request, args[1]).then(
            (statement) => "signed " + statement.challenge, (error) => error.message);
        """
        for challenge in ("AAAA", "", 7, CHALLENGE[:-1], CHALLENGE + "AAAA", CHALLENGE.replace("=", ""), [CHALLENGE]):
            for word in ("approve", "deny"):
                self.assertIn("challenge is invalid", self.browser.script(answer, challenge, word))
        self.assertEqual(self.browser.script(answer, CHALLENGE, "approve"), "signed " + CHALLENGE)

    def test_without_a_challenge_nothing_is_given(self):
        self.register()
        sign_in = self.world.sign_in(self.user)
        self.assertEqual(self.approve(sign_in), "active")
        self.assertNotIn("approval", sign_in.reply_now())


class Pins(KeysTest):
    def open(self, secret):
        link = self.world.link(self.user)
        self.browser.open(link + approvals.fragment(secret))
        self.browser.sees("#registration", self.user)
        self.assertNotIn("pin=", self.browser.driver.current_url)
        return link

    def checked(self, link, secret):
        """The phone, once its pin and its words are right."""
        phone = self.phone()
        self.assertEqual(phone["pin_mac"], approvals.pin(phone, secret, self.world.origin, link))
        self.browser.sees("#said", approvals.words(phone))
        return phone

    def test_the_page_says_which_keys_are_its_own(self):
        secret = os.urandom(16)
        link = self.open(secret)
        self.browser.tap("#register")
        self.browser.sees("#said", "phone now.")
        phone = self.checked(link, secret)
        self.assertIsNotNone(phone["credential"])
        kept = self.browser.script(
            "return JSON.stringify([await iampass.accounts.all(), location.href, history.state, {...localStorage}, "
            "{...sessionStorage}])")
        self.assertNotIn(approvals.fragment(secret)[5:], kept)
        # A later visit still shows the words.
        self.browser.open(self.world.address + "/phone/")
        self.browser.tap(".account summary")
        self.browser.sees(".words", approvals.words(phone))

    def test_a_screen_lock_that_is_added_in_the_same_visit_is_pinned_too(self):
        secret = os.urandom(16)
        self.browser.unlocks(False)
        self.addCleanup(self.browser.unlocks, True)
        link = self.open(secret)
        self.browser.tap("#register")
        self.browser.sees("#said", "Its screen lock was not added.")
        self.assertIsNone(self.checked(link, secret)["credential"])
        self.browser.unlocks(True)
        self.browser.tap(".account summary")
        self.browser.tap(".add-lock")
        self.browser.sees("#said", "The screen lock was added.")
        self.assertIsNotNone(self.checked(link, secret)["credential"])

    def test_a_damaged_link_registers_nothing_also_once_reloaded(self):
        whole = approvals.fragment(os.urandom(16))
        for part in ("#", "#p", "#pin", "#pin=", "#pin=AAAA", whole[:-1], whole + "A", "#Pin=" + whole[5:]):
            with self.subTest(part):
                self.browser.open(self.world.link(self.user) + part)
                for _ in range(2):
                    self.browser.sees("#problem", "the link is damaged")
                    self.browser.misses("#register")
                    self.browser.driver.refresh()

    def test_a_page_that_is_reloaded_before_the_tap_is_pinned(self):
        secret = os.urandom(16)
        link = self.open(secret)
        self.browser.driver.refresh()
        self.tapped(link, secret)

    def test_a_page_that_was_left_and_is_gone_back_to_is_pinned(self):
        secret = os.urandom(16)
        link = self.open(secret)
        self.browser.open("about:blank")
        self.browser.driver.back()
        self.tapped(link, secret)

    def test_a_link_that_is_opened_again_in_its_tab_is_pinned(self):
        link = self.world.link(self.user)
        self.browser.open(link)
        self.browser.sees("#registration-pin", "This link has no secret.")
        secret = os.urandom(16)
        self.browser.script("location.hash = args[0]", approvals.fragment(secret))
        self.tapped(link, secret)

    def test_a_link_that_was_left_is_forgotten(self):
        self.open(os.urandom(16))
        self.browser.tap("#registration-leave")
        self.assertEqual(self.browser.script("return sessionStorage.length"), 0)

    def test_a_link_that_cannot_be_read_opens_nothing(self):
        self.register()
        self.browser.tap("#another summary")
        self.browser.type("#another-link", self.world.address + "/register/%zz")
        self.browser.tap("#another-form button")
        self.browser.sees("#another-problem", "This is not a registration link")

    def tapped(self, link, secret):
        self.browser.sees("#registration-facts", self.user)
        self.browser.misses("#registration-pin")
        self.assertNotIn("pin=", self.browser.driver.current_url)
        self.browser.tap("#register")
        self.browser.sees("#said", "phone now.")
        self.checked(link, secret)

    def test_a_link_that_is_typed_in_is_pinned(self):
        self.register()
        self.user += "-2"
        secret, link = os.urandom(16), self.world.link(self.user)
        self.browser.tap("#another summary")
        self.browser.type("#another-link", link + approvals.fragment(secret))
        self.browser.tap("#another-form button")
        self.browser.tap("#register")
        self.browser.sees("#said", f"{self.user}’s phone now.")
        self.checked(link, secret)


if __name__ == "__main__":
    unittest.main()
