"""The phone without a network: the page that the browser has kept opens a computer's link, and its digits sign in."""

import base64
import json
import os
import re
import time
import unittest

import test_verified
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, PATIENCE, SUCCESS, read

LINK = r"https://\S+/phone/#offline=\S+"
VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Support/Service/offline-vectors.json")


class Offline(test_verified.VerifiedCase):
    """A computer that has met the page's phone, and a service that is gone."""

    def setUp(self):
        super().setUp()
        self.computer.configure(methods_offline="phone")
        self.enrolled()
        self.assertEqual(self.signed_in("approve"), [SUCCESS])
        self.browser.until(lambda: self.kept() >= 17, "the page's files, kept")
        self.world.stop()
        self.addCleanup(self.world.start)

    def kept(self):
        return self.browser.script("return (await (await caches.open('iampass page')).keys()).length")

    def link(self):
        end = time.monotonic() + PATIENCE
        while not (found := re.findall(LINK, read(self.computer.path("screen")))):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return found[-1]

    def played(self, act):
        """A sign-in without the service; `act` gets the link, and says what is typed."""
        with self.computer.playing(answers=[{"file": self.computer.path("typed")}, ""]) as results:
            text = act(self.link())
            self.computer.answer("typed", text)
        return results[0]

    def approved(self, link):
        self.browser.open("about:blank")
        self.browser.open(link)
        facts = self.browser.says("#offline-facts", ENROLLED)
        for text in ("Service\nsudo", "Terminal\npts/7", "Computer\n", "Asked\n"):
            self.assertIn(text, facts)
        self.browser.sees("#offline-needs", "unlock this phone")
        self.browser.tap("#offline-approve")
        digits = self.browser.says("#offline-digits")
        self.assertRegex(digits, r"^\d{4} \d{4}$")
        return digits


class Page(Offline):
    def test_the_kept_page_approves_with_the_service_stopped(self):
        result = self.played(self.approved)
        self.assertEqual(result["codes"], [SUCCESS], result)
        self.browser.tap("#offline-done")
        self.browser.misses("#offline")
        self.assertNotIn("offline=", self.browser.script("return location.href"))
        self.assert_vectors()

    def assert_vectors(self):
        with open(VECTORS) as file:
            vectors = json.load(file)
        for vector in vectors:
            fragment = vector["link"].partition("#")[2]
            found = self.browser.script(
                """
                const { digitsFor, questionIn } = await import("./offline.js");
                const [fragment, origin, jwk, publicKey] = args;
                const question = questionIn(`${location.origin}/phone/#${fragment}`);
                const privateKey = await crypto.subtle.importKey(
                  "jwk", jwk, { name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]);
                return digitsFor({ agreement: { privateKey, publicKey } }, question, origin);""",
                fragment, vector["origin"], vector["phone_jwk"], vector["phone_public"])  # fmt: skip
            self.assertEqual(found, vector["digits"])

    def test_a_denial_and_a_locked_phone_have_no_digits(self):
        def act(link):
            self.browser.open("about:blank")
            self.browser.open(link)
            self.browser.unlocks(False)
            self.addCleanup(self.browser.unlocks, True)
            self.browser.tap("#offline-approve")
            self.browser.sees("#offline-problem", "not unlocked")
            self.browser.misses("#offline-digits")
            self.browser.tap("#offline-deny")
            self.browser.sees("#said", "Denied")
            self.browser.misses("#offline-digits")
            return "00000000"

        self.assertEqual(self.played(act)["codes"], [AUTHINFO_UNAVAIL])

    def test_a_link_that_is_not_whole_shows_nothing(self):
        def act(link):
            self.browser.open("about:blank")
            address, _, context = link.rpartition(".")
            extra = base64.urlsafe_b64encode(json.dumps({"a": {"b": "c"}}).encode()).decode().rstrip("=")
            for changed in (link[:-3] + "!", address, f"{address}.{extra}", link.replace("phone/#", "phone/x#")):
                self.browser.open(changed) if "/x#" not in changed else self.typed_in(changed)
                self.browser.sees("#problem", "The link is not whole")
                self.browser.misses("#offline")
            return ""

        self.played(act)

    def typed_in(self, link):
        self.browser.tap("#another summary")
        self.browser.type("#another-link", link)
        self.browser.tap("#another-form button")

    def test_a_page_that_is_not_kept_whole_is_said(self):
        forget = "return (await caches.open('iampass page')).delete(location.origin + '/phone/phone.webmanifest')"
        self.assertTrue(self.browser.script(forget))
        self.browser.open("about:blank")
        self.browser.open(self.world.address + "/phone/")
        self.browser.sees("#not-kept", "has not kept this page")
        self.world.start()
        try:
            self.browser.open("about:blank")
            self.browser.open(self.world.address + "/phone/")
            self.browser.until(lambda: self.kept() >= 17, "the page's files, kept again")
            self.browser.misses("#not-kept")
        finally:
            self.world.stop()

    def test_one_of_two_tabs_gives_the_key(self):
        # Firefox has the worker load nothing for a page that was there before it.
        self.browser.open("about:blank")
        self.browser.open(self.world.address + "/phone/")
        self.browser.until(lambda: self.browser.script("return !!globalThis.iampass?.accounts"), "the kept page")
        keys = self.browser.script("""
            const { accounts } = globalThis.iampass;
            for (const account of await accounts.all()) { delete account.agreement; await accounts.put(account); }
            const { registeredAccounts } = await import("./registration.js");
            const both = await Promise.all([registeredAccounts(), registeredAccounts()]);
            return [...both, await accounts.all()].map(([{ agreement }]) => agreement.publicKey);""")
        self.assertEqual(len(keys), 3)
        self.assertEqual(len(set(keys)), 1, keys)

    def test_an_account_of_an_older_page_gets_its_key_when_the_page_opens(self):
        self.browser.script("""
            const { accounts } = globalThis.iampass;
            for (const account of await accounts.all()) { delete account.agreement; await accounts.put(account); }""")
        self.browser.open("about:blank")
        self.browser.open(self.world.address + "/phone/")
        self.browser.until(lambda: self.browser.script("""
            const all = await globalThis.iampass.accounts.all();
            return all.length > 0 && all.every(({ agreement }) => agreement && !agreement.privateKey.extractable)"""),
            "a key that cannot be read")  # fmt: skip
        # The computer knows the former key alone.
        self.assertEqual(self.played(self.approved)["codes"], [AUTHINFO_UNAVAIL])


if __name__ == "__main__":
    unittest.main()
