"""The phone's page in a real browser, and the phone as a command: live sessions and presence."""

import hashlib
import json
import os
import subprocess
import unittest

from browser_world import PATIENCE, PROGRAMS, run, until
from phone_page_case import PhonePageCase
from test_looks import AUDIT

PHONE = os.path.join(PROGRAMS, "iampass-phone")


class Sessions(PhonePageCase):
    def set_application(self, column, value, afterwards):
        """As the console would."""
        self.addCleanup(self.world.database, f"UPDATE application SET {column} = {afterwards}")
        self.world.database(f"UPDATE application SET {column} = {value}")

    def command(self):
        """The state of a user's phone that is a command."""
        state = self.world.path(self.user + ".json")
        run(PHONE, "register", self.world.link(self.user), "--state", state, "--ca", self.world.authority.file)
        return state

    def leave(self):
        self.browser.tap(".leave")
        self.browser.sees("#sure-text", "sign you out")
        self.browser.tap("#sure-yes")

    def test_asks_before_it_leaves(self):
        self.register()
        sign_in = self.approved()
        self.sessions_shown(1)
        self.browser.tap(".leave")
        self.browser.sees("#sure-text", "Your computers then sign you out of a live session.")
        self.browser.tap("#sure-no")
        self.browser.until(lambda: self.browser.focus() == "leave", "the focus where it was")
        self.assertEqual(sign_in.status(), "active")

    def test_leaves_and_returns(self):
        self.register()
        sign_in = self.approved()
        self.leave()
        self.assertEqual(sign_in.becomes("walkaway"), "walkaway")
        self.browser.sees(".presence", "You are away. Sessions marked “away” are signed out.")
        self.browser.sees("#said", "your computers sign you out")
        self.browser.misses(".leave")
        self.browser.until(lambda: self.browser.focus() == "return main", "the focus on what undoes it")
        self.browser.tap(".return")
        self.assertEqual(sign_in.becomes("active"), "active")
        self.browser.sees(".presence", "You are here")
        self.browser.until(lambda: self.browser.focus() == "leave", "the focus on what undoes it")

    def report_use(self, **more):
        """A computer tells that its user signed in without the service."""
        context = {"host": "train", "service": "login", "user": self.user, "tty": "tty1"}
        body = {"use": "use-1", "way": "phone", "used_at": 1_700_000_000, "context": context, **more}
        digest = hashlib.sha256(json.dumps(body).encode()).hexdigest()
        path = f"/authentication/code_use/{self.world.application}/{self.user}?body_sha256={digest}"
        return self.world.ask("POST", path, body)

    def test_asks_whose_a_session_is_that_was_opened_without_the_service(self):
        self.register()
        self.assertNotIn("disowned", self.report_use(open=True))
        self.browser.sees(".codes-used", "Still signed in there. Was that you?")
        self.browser.sees(".open-uses", "train")
        self.assertEqual(self.browser.screenshot("open-use"), [])
        self.browser.tap(".open-uses button")
        self.browser.sees("#said", "Will be logged out within a minute")
        self.browser.misses(".open-uses")
        self.assertIs(self.report_use(open=True)["disowned"], True)

    def test_leaves_what_was_approved_while_away(self):
        self.register()
        far = self.approved(host="far")
        self.leave()
        self.assertEqual(far.becomes("walkaway"), "walkaway")
        near = self.approved(host="near")
        self.browser.sees(".presence", "You are away. Sessions marked “away” are signed out, the others go on.")
        self.browser.sees(".return")
        self.assertEqual(far.status(), "walkaway")
        self.assertEqual(self.browser.screenshot("approved-while-away"), [])
        self.leave()
        self.assertEqual(near.becomes("walkaway"), "walkaway")
        self.browser.misses(".leave")
        self.browser.tap(".return")
        self.assertEqual([far.becomes("active"), near.becomes("active")], ["active", "active"])

    def test_offers_no_leaving_that_signs_nobody_out(self):
        self.set_application("walkaway", 0, afterwards=1)
        self.register()
        self.approved()
        self.sessions_shown(1)
        self.browser.sees(".stays", "At office, leaving does not sign you out. Log out of each session instead.")
        self.browser.misses(".leave")
        self.browser.misses(".return")
        self.assertEqual(self.browser.screenshot("stays-signed-in"), [])
        self.assertEqual(self.browser.read(AUDIT), [])

    def test_the_command_claims_no_sign_out_either(self):
        state = self.command()
        said = run(PHONE, "leave", "--state", state)
        self.assertEqual(said, "left: 0 sessions are walkaway\n")
        self.set_application("walkaway", 0, afterwards=1)
        done = subprocess.run([PHONE, "leave", "--state", state], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (77, ""))
        self.assertIn("no session ends: walkaway is off for office", done.stderr)

    def test_the_command_is_heard_while_it_asks_its_user(self):
        self.set_application("silence_leaves", 1, afterwards=0)
        # Its first look comes at once.
        self.world.stop()
        self.world.start()
        state = self.command()
        heard_at = "SELECT heard_at FROM phone JOIN user ON user.id = phone.user WHERE user.name = ?"
        words = [PHONE, "watch", "--state", state, "--answer", "ask"]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as phone:
            try:
                sign_in = self.world.sign_in(self.user)
                sign_in.becomes("identifying")
                listed = self.world.database(heard_at, self.user)
                self.assertNotEqual(listed, [(None,)])
                # It says a word every 40 s; its request waits for longer.
                until(lambda: self.world.database(heard_at, self.user) != listed, "a word while it asks")
                self.assertEqual(sign_in.status(), "identifying")
                phone.stdin.write(b"n\n")
                phone.stdin.flush()
                sign_in.becomes("cancelled")
            finally:
                phone.terminate()

    def test_the_page_tells_when_it_is_looked_at(self):
        looked_at = (
            "SELECT coalesce(looked_at, 0) FROM phone JOIN user ON user.id = phone.user WHERE user.name = ?")  # fmt: skip
        self.register()
        until(lambda: self.world.database(looked_at, self.user) > [(0,)], "the first look")
        self.world.database("UPDATE phone SET looked_at = NULL")
        self.browser.open(self.world.address + "/phone/")
        self.connected()
        until(lambda: self.world.database(looked_at, self.user) > [(0,)], "a look at the page that was opened again")

    def test_logs_one_session_out_and_no_other(self):
        self.register()
        first, second = self.approved(host="one"), self.approved(host="two")
        self.sessions_shown(2)
        self.browser.tap(".log-out[aria-label='Log out sudo on one']")
        self.browser.sees("#sure-title", "Log out: sudo on one?")
        self.browser.tap("#sure-no")
        self.browser.misses("#sure")
        self.assertEqual([first.status(), second.status()], ["active", "active"])
        self.browser.tap(".log-out[aria-label='Log out sudo on one']")
        self.browser.tap("#sure-yes")
        self.assertEqual(first.becomes("closed"), "closed")
        self.sessions_shown(1)
        self.assertEqual(second.status(), "active")

    def test_shows_the_end_of_a_session_that_its_computer_ended(self):
        self.register()
        sign_in = self.approved()
        self.sessions_shown(1)
        sign_in.log_out()
        self.sessions_shown(0)
        self.browser.sees(".no-sessions", "No live sessions.")


if __name__ == "__main__":
    unittest.main()
