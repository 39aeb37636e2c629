"""What holds at GDM, of either version. test_gdm_43 and test_gdm_48 run it."""

from gdm_case import PASSWORD_PROMPT, PROMPT, SERVICE
from Support.Hosts import testhost
from Support.Hosts.testhost import password_of


def without_desktop(text):
    return text.replace("@desktop", "")


class Greeter:
    def test_an_approval_opens_a_desktop_and_leaving_ends_it(self):
        session = self.sign_in()
        self.assertEqual(self.of_logind(session, "Service"), SERVICE)
        self.assertEqual(self.of_logind(session, "Class"), "user")
        self.assertEqual(len(self.live_sessions()), 1)
        self.leave()
        self.assert_eventually("the desktop is left", lambda: not self.desktops())
        self.assert_eventually("the session is left", lambda: session not in self.logind_sessions())
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())
        self.assertEqual(self.screen("greeter").begin("alice"), PROMPT)

    def test_every_line_has_the_digits(self):
        with self.host.with_match_codes(), self.phone("approve") as phone:
            self.assertEqual(self.greeter.begin("alice"), PROMPT)
            self.greeter.answer("")
            code = self.greeter.expect_text(r"\b(\d\d)\b")[1]
            self.greeter.expect_text(rf"\b{code}\b")
            phone.wait_for_requests(1)
            phone.type(code)
            self.greeter.expect("VerificationComplete")

    def test_after_a_denial_it_asks_again_and_takes_the_password(self):
        with self.phone("deny"):
            self.greeter.begin("alice")
            self.greeter.answer("")
            self.greeter.expect_text("denied on your phone")
            self.greeter.expect("VerificationFailed")
            self.greeter.expect("ConversationStopped")
        self.take_the_password(self.greeter)

    def test_after_nobody_answered_the_same_conversation_takes_the_password(self):
        with self.short_time():
            self.greeter.begin("alice")
            self.greeter.answer("")
            self.greeter.expect_text("not answered in time")
            self.assertEqual(self.greeter.question(), PASSWORD_PROMPT)
            self.greeter.answer(password_of("alice"))
            self.greeter.expect("VerificationComplete")

    def test_while_the_service_is_down_the_same_conversation_takes_the_password(self):
        with self.host.service_down():
            self.greeter.begin("alice")
            self.greeter.answer("")
            self.greeter.expect_text("Use your password")
            self.assertEqual(self.greeter.question(), PASSWORD_PROMPT)
            self.greeter.answer(password_of("alice"))
            self.greeter.expect("VerificationComplete")

    def test_a_wrong_password_costs_what_it_costs_without_the_phone(self):
        def refused(prompt):
            self.assertEqual(self.greeter.begin("alice"), prompt)
            before = len(self.greeter.said())
            self.greeter.answer("wrong")
            self.greeter.expect("ConversationStopped")
            return self.greeter.said()[before:]

        with self.host.changed(testhost.CONFIGURATION, without_desktop):
            alone = refused(PASSWORD_PROMPT)
        self.assertEqual(refused(PROMPT), alone)
        self.assertEqual(self.journal().count(f"pam_unix({SERVICE}:auth): authentication failure"), 2)
        self.assertEqual(self.requests_at_the_service(), 0)

    def test_without_a_user_the_name_is_asked_for_first(self):
        """As behind "Not listed?"."""
        with self.phone("approve"):
            self.assertEqual(self.greeter.begin(), "Username:")
            self.greeter.answer("alice")
            self.assertEqual(self.greeter.question(), PROMPT)
            self.greeter.answer("")
            self.greeter.expect("VerificationComplete")

    def test_one_user_after_another_at_the_same_greeter(self):
        with self.phone("approve") as phone:
            self.greeter.begin("alice")
            self.greeter.cancel()
            # Who has no phone.
            self.take_the_password(self.greeter, "bob", PASSWORD_PROMPT)
            self.greeter.cancel()
            self.assertEqual(phone.requests(), [])
            self.approve(self.greeter)

    def test_a_second_user_at_a_second_greeter_keeps_their_desktop(self):
        session = self.sign_in()
        second = self.second_greeter()
        self.addCleanup(self.host.run, "loginctl", "terminate-user", "bob", check=False)
        self.take_the_password(second, "bob", PASSWORD_PROMPT)
        self.start(second, "bob")
        self.assertTrue(self.desktops("alice"))
        self.leave()
        self.assert_eventually("alice's desktop is left", lambda: not self.desktops("alice"))
        # logind forgets a session a moment after its last process.
        self.assert_eventually("alice's session is left", lambda: session not in self.logind_sessions())
        self.assertTrue(self.desktops("bob"))

    def test_whoever_leaves_the_dialog_takes_the_request_back(self):
        with self.phone("ask") as phone:
            self.greeter.begin("alice")
            self.greeter.answer("")
            phone.wait_for_requests(1)
            self.greeter.cancel()
            self.assert_eventually("the request is open", lambda: not self.live_sessions())
            self.take_the_password(self.greeter)

    def test_the_broker_may_end_at_any_time(self):
        """GDM is root's and does without it."""
        self.addCleanup(self.host.run, "systemctl", "start", "iampass-broker.socket")
        with self.phone("ask") as phone:
            for count in (1, 2):
                self.greeter.begin("alice")
                self.greeter.answer("")
                phone.wait_for_requests(count)
                self.host.run("systemctl", "stop", "iampass-broker.socket", "iampass-broker.service")
                phone.type("y")
                self.greeter.expect("VerificationComplete")
                self.greeter.cancel()

    def test_gdm_takes_maxtries_for_a_broken_service(self):
        """What a denial must not be: gnome-shell asks nobody again."""
        def broken(text):
            return "auth requisite pam_debug.so auth=maxtries\n" + text

        with self.host.changed(testhost.COMMON_AUTH, broken):
            self.greeter.call("BeginVerificationForUser", SERVICE, "alice")
            self.greeter.expect("ServiceUnavailable")
            self.screens.remove(self.greeter)


class Lock:
    """A locked screen asks GDM for another channel, and GDM opens no other session."""

    def setUp(self):
        super().setUp()
        self.session = self.sign_in()
        self.at_the_service = self.live_sessions()
        self.kept = self.records()

    def assert_nothing_new(self):
        """Alice's one session is watched as before, and no other request is open."""
        self.assert_eventually("a record is left", lambda: self.records() == self.kept)
        self.assert_eventually("the request is open", lambda: self.live_sessions() == self.at_the_service)
        self.assertEqual([one["logind_session"] for one in self.sessions() if one["watched"]], [self.session])
        self.assertTrue(self.desktops())

    def test_an_approval_unlocks_and_leaves_nothing(self):
        lock = self.lock_screen()
        with self.phone("approve"):
            self.approve(lock)
            self.assert_nothing_new()

    def test_after_a_denial_it_asks_again_and_takes_the_password(self):
        lock = self.lock_screen()
        with self.phone("deny"):
            self.assertEqual(lock.begin("alice"), PROMPT)
            lock.answer("")
            lock.expect("VerificationFailed")
            lock.expect("ConversationStopped")
        self.take_the_password(lock)
        self.assert_nothing_new()

    def test_after_nobody_answered_the_same_conversation_takes_the_password(self):
        lock = self.lock_screen()
        with self.short_time():
            lock.begin("alice")
            lock.answer("")
            self.assertEqual(lock.question(), PASSWORD_PROMPT)
            lock.answer(password_of("alice"))
            lock.expect("VerificationComplete")
        self.assert_nothing_new()

    def test_while_the_service_is_down_the_same_conversation_takes_the_password(self):
        lock = self.lock_screen()
        with self.host.service_down():
            self.assertEqual(lock.begin("alice"), PROMPT)
            lock.answer("")
            self.assertEqual(lock.question(), PASSWORD_PROMPT)
            lock.answer(password_of("alice"))
            lock.expect("VerificationComplete")
        self.assertTrue(self.desktops())

    def test_a_greeter_goes_back_to_the_desktop_that_is_there(self):
        greeter = self.second_greeter()
        greeter.call("Reauthenticate", "alice")
        greeter.expect("Reauthenticate")
        with self.phone("approve"):
            self.approve(greeter)
            self.assert_nothing_new()


class Commands:
    def said(self, *words):
        return self.host.run("iampassctl", *words, check=False)

    def test_check_finds_nothing_wrong(self):
        lines = [line for line in self.said("check").splitlines() if SERVICE in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], rf"^ok +{SERVICE}: asks the phone \(")

    def test_check_warns_of_a_line_of_before(self):
        with self.host.changed(testhost.COMMON_AUTH, lambda text: text.replace("perm_denied=die ", "")):
            self.assertIn("perm_denied", self.said("check"))
            with self.phone("deny"):
                self.greeter.begin("alice")
                self.greeter.answer("")
                self.greeter.expect_text("denied on your phone")
                self.assertEqual(self.greeter.question(), PASSWORD_PROMPT)

    def test_login_test_knows_it(self):
        with self.phone("approve"):
            child = self.host.terminal(f"iampassctl login-test alice --service {SERVICE}")
            child.expect_exact(PROMPT)
            child.sendline("")
            self.assertEqual(child.finish(), 0)
