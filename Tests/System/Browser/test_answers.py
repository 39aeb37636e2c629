"""The phone's page in a real browser: requests, and what is answered."""

import os
import unittest

from browser_world import PROGRAMS, run
from phone_page_case import PhonePageCase
from test_approvals import CHALLENGE


class Answers(PhonePageCase):
    def test_approves(self):
        self.register()
        sign_in = self.world.sign_in(
            self.user, remote_host="192.0.2.7", asked_by="mallory", command="apt upgrade", amount="10 EUR")
        facts = (self.user, "Asked by", "mallory", "pts/3", "192.0.2.7", "apt upgrade", "amount", "10 EUR")
        self.browser.says(".request", "sudo on desk", *facts, "s left")
        self.assertEqual(self.approve(sign_in), "active")
        self.browser.sees("#said", "Approved.")
        self.browser.sees("#no-requests")
        # Users who cannot see that the card is gone are told their place on the page.
        self.assertEqual(self.browser.focus(), "requests-title")

    def test_shows_every_pair_whatever_it_is_called(self):
        self.register()
        self.world.sign_in(self.user, constructor="1000 EUR", Computer="elsewhere")
        self.browser.says(".request", "sudo on desk", "“constructor”", "1000 EUR", "“Computer”", "elsewhere")
        self.browser.tap(".request .deny")

    def test_says_why_a_request_has_no_digits(self):
        self.register()
        sign_in = self.world.sign_in(self.user, shows_code=False)
        self.browser.says(".request", "sudo on desk", "Digits", "none: the program shows no text")
        self.assertEqual(self.approve(sign_in), "active")

    def test_denies(self):
        self.register()
        sign_in = self.world.sign_in(self.user)
        self.browser.tap(".request .deny")
        self.assertEqual(sign_in.becomes("cancelled", "failed", "closed"), "cancelled")
        self.browser.sees("#said", "Denied.")

    def test_says_not_me_and_ends_the_sessions(self):
        self.register()
        kept = self.approved(host="server")
        self.sessions_shown(1)
        stranger = self.world.sign_in(self.user, remote_host="198.51.100.9")
        self.browser.tap(".request .not-me")
        self.assertEqual(stranger.becomes("cancelled", "failed"), "cancelled")
        self.browser.sees("#blocked-text", "15 minutes")
        self.assertEqual(self.browser.focus(), "blocked-title")
        self.browser.tap("#blocked-end")
        self.assertEqual(kept.becomes("closed"), "closed")
        self.browser.sees("#said", "All sessions were ended.")
        # The stranger's next request does not start.
        self.assertIsNone(self.world.sign_in(self.user, remote_host="198.51.100.9").start.get("status_url"))

    def test_shows_how_many_more_are_held_back_as_they_come(self):
        self.register()
        self.world.sign_in(self.user)
        self.card()
        for count in (1, 2):
            self.world.sign_in(self.user)
            self.browser.sees(".more-blocked", f"{count} more held back.")
        self.browser.tap(".request .deny")

    def test_hears_of_a_request_in_words(self):
        self.register()
        self.world.sign_in(self.user, command="reboot")
        self.card()
        spoken = self.browser.find("#announcement")
        self.assertEqual(spoken.get_attribute("role"), "alert")
        self.assertIn("New request: sudo on desk", spoken.get_attribute("textContent"))
        self.assertIn("reboot", spoken.get_attribute("textContent"))

    def test_shows_requests_made_while_it_was_closed_and_takes_away_what_is_over(self):
        self.register()
        self.browser.open("about:blank")
        sign_in = self.world.sign_in(self.user)
        self.browser.open(self.world.address + "/phone/")
        self.card("sudo on desk")
        sign_in.log_out()
        self.browser.misses(".request")

    def test_comes_back_after_the_service_was_restarted(self):
        self.register()
        self.world.stop()
        self.browser.sees("#connection", "Connecting")
        self.browser.sees("#apart", "The service cannot be reached")
        self.assertEqual(self.browser.screenshot("apart"), [])
        self.world.start()
        self.connected()
        self.browser.misses("#apart")
        self.assertEqual(self.approve(self.world.sign_in(self.user)), "active")

    def test_what_failed_without_the_service_is_not_told_once_it_is_back(self):
        self.register()
        sign_in = self.world.sign_in(self.user)
        self.card()
        self.type_code(sign_in)
        self.world.stop()
        self.browser.tap(".request .approve")
        self.browser.sees(".request .failure", "The service cannot be reached")
        self.world.start()
        self.connected()
        self.browser.misses(".request .failure")

    def test_a_result_goes_when_the_next_request_comes(self):
        self.register()
        self.approve(self.world.sign_in(self.user))
        self.browser.sees("#said", "Approved.")
        sign_in = self.world.sign_in(self.user, host="next")
        self.card("next")
        self.browser.misses("#said")
        self.browser.tap(".request .deny")
        self.assertEqual(sign_in.becomes("cancelled", "failed", "closed"), "cancelled")

    def test_what_fails_on_a_card_leaves_its_warning_there(self):
        self.register(name="Helper")
        other = self.user + "-2"
        run(os.path.join(PROGRAMS, "iampass-phone"), "register", self.world.link(other), "--state",
            self.world.path("other.json"), "--ca", self.world.authority.file)
        run(os.path.join(PROGRAMS, "iampass-server"), "helpdesk", "approve", "office", other, "--by", self.user, "--data",
            self.world.path("data"))
        self.world.sign_in(other, challenge=CHALLENGE, match_code="42")
        self.browser.sees(".request .locum", f"You answer for {other}")
        self.browser.tap(".request .approve")
        self.browser.sees(".request .failure", "Type the two digits first")
        self.browser.sees(".request .locum", f"You answer for {other}")
        self.browser.tap(".request .deny")

    def test_the_digits_have_the_focus_unless_the_user_is_elsewhere(self):
        self.register()
        sign_in = self.world.sign_in(self.user)
        self.card()
        self.browser.until(lambda: self.browser.focus().startswith("code-"), "the focus in the digits")
        self.browser.driver.switch_to.active_element.send_keys(sign_in.code, "\ue007")
        self.assertEqual(sign_in.becomes("active"), "active")
        self.browser.misses(".request")
        self.browser.script("document.querySelector('.account summary').focus()")
        sign_in = self.world.sign_in(self.user)
        self.card()
        self.assertEqual(self.browser.script("return document.activeElement.tagName"), "SUMMARY")
        self.browser.tap(".request .deny")

    def test_shows_script_as_text(self):
        evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
        self.register(name=evil[:90])
        # What is signed must be written alike by browser and service.
        odd = evil + " \\ / \" ' \u00e9 \u2028 \U0001f980 \x7f {}"
        sign_in = self.world.sign_in(self.user, host=evil, command=odd, service="<b>sudo</b>")
        self.browser.says(".request", "<b>sudo</b> on <img src=x", "<script>document.title='owned'</script>")
        self.assertEqual(self.browser.all(".request img, .request script, .request b, #account-list img"), [])
        self.approve(sign_in)
        self.sessions_shown(1)
        self.browser.says(".sessions", "<img src=x")
        self.assertNotIn("owned", self.browser.driver.title)

    def test_leads_the_bare_address_to_the_page(self):
        self.browser.open(self.world.address)
        self.browser.sees("#welcome-title", "No account yet")
        self.assertEqual(self.browser.driver.current_url, self.world.address + "/phone/")


if __name__ == "__main__":
    unittest.main()
