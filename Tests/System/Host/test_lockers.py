"""Real screen lockers of Debian 13, run by their user on screens without a monitor, and typed at by virtual keyboards."""

import json
import unittest

from desktop_case import RUNTIME, DesktopCase
from host_case import ASKED
from Support.Hosts import testhost
from Support.Hosts.testhost import password_of


class Lockers:
    """What holds for each locker. A class that has this is of one locker."""

    #: The command that returns once the screen is locked.
    command = ""
    #: The name of its process, by which it is listed.
    name = ""
    #: Its PAM service, if that is not its name.
    asks_as = ""
    #: As a new application has them, where the locker shows none; at the others nobody reads them from the screen here.
    match_codes = "off"
    #: Where the password is taken after the phone was asked in vain: in the same conversation or in the next.
    after_denial = "next"
    after_silence = "next"

    @property
    def process(self):
        """The kernel keeps 15 letters of a name."""
        return self.name[:15]

    @property
    def pam_service(self):
        return self.asks_as or self.name

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.set_match_codes(cls.match_codes)
        cls.addClassCleanup(cls.host.set_match_codes, "off")
        cls.desktop()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", self.process, check=False)
        self.lock()

    def lock(self):
        # What runs on behind the command must not keep our pipe.
        try:
            self.alice("sh", "-c", f"exec >/dev/null 2>&1; {self.command}")
        except RuntimeError as error:
            said = self.host.run("sh", "-c", "ps -eo pid,ppid,stat,wchan:20,args; tail -n 40 /home/alice/*.log", check=False)
            raise AssertionError(f"{error}{said}") from None
        self.assertTrue(self.is_locked())

    def is_locked(self):
        return bool(self.host.run("pgrep", "-x", self.process, check=False).strip())

    def assert_unlocked(self):
        self.assert_eventually("the screen stays locked", lambda: not self.is_locked())

    def press_enter(self):
        self.enter_for_the_phone(self.name, lambda: self.type(""))

    def unlock_by_password(self, taken):
        """Types it until it is taken: a locker takes nothing while it waits for an earlier answer.

        `taken`: "same", if the conversation that has asked the phone takes it, "next", if another one does; by what
        their modules say.
        """
        before = len(self.passwords(self.pam_service))
        self.again_until(
            lambda: not self.is_locked(), lambda: self.type(password_of("alice")), "the password unlocks nothing")
        self.assert_taken(self.pam_service, before, taken)

    def unlock_after_silence(self):
        if self.after_silence == "next":
            # What was typed for the phone is the answer to the password's question, too.
            self.assert_eventually("the first conversation goes on", lambda: self.passwords(self.pam_service) == ["refused"])
        self.unlock_by_password(self.after_silence)

    def test_an_approval_unlocks(self):
        with self.phone("approve") as phone:
            self.press_enter()
            self.assert_unlocked()
            self.assertEqual(len(phone.requests()), 1)
            if self.match_codes == "on":
                self.assertIn("none: the program shows no text", phone.printed)
        self.assertEqual(len(self.broker_lines(f"approved user=alice service={self.name} ")), 1)
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())
        self.assertEqual(self.host.run("ls", "/run/iampass/sessions"), "")

    def test_a_wrong_password_is_refused_once_and_asks_no_phone(self):
        with self.phone("approve") as phone:
            self.again_until(
                lambda: "refused" in self.passwords(self.pam_service), lambda: self.type("wrong"), "it is not refused", ASKED)
            # It answers the choice of password and phone, and one try of pam_unix's is all that it costs.
            self.assertEqual(self.passwords(self.pam_service), ["next", "refused"])
            self.assertEqual(phone.requests(), [])
            self.assertEqual(self.requests_at_the_service(), 0)
            self.assertTrue(self.is_locked())
            self.unlock_by_password("next")

    def test_after_a_denial_the_password_unlocks(self):
        with self.phone("deny") as phone:
            self.press_enter()
            self.assert_eventually("it is not denied", lambda: self.broker_lines("reason=denied on the phone"))
            self.assertTrue(self.is_locked())
            self.unlock_by_password(self.after_denial)
            self.assertEqual(len(phone.requests()), 1)

    def test_after_nobody_answered_the_password_unlocks(self):
        with self.short_time():
            self.press_enter()
            self.assert_eventually("somebody answered", lambda: self.broker_lines("reason=not answered"))
            self.assertTrue(self.is_locked())
            self.unlock_after_silence()
        self.end_what_is_left()

    def test_while_the_service_is_down_the_password_unlocks(self):
        with self.host.service_down():
            self.press_enter()
            self.assert_eventually("it was reached", lambda: self.broker_lines("reason=unavailable"))
            self.assertTrue(self.is_locked())
            self.unlock_after_silence()

    def test_without_a_broker_the_password_unlocks(self):
        with self.broker_down():
            self.unlock_by_password("same")

    def test_after_the_broker_was_killed_the_password_or_the_phone_unlocks(self):
        with self.time_to_act(), self.phone("ask") as phone:
            self.press_enter()
            phone.wait_for_requests(1)
            self.kill_broker()
            self.assert_the_request_ends()
        self.assert_password_unlocks_and_then_phone()

    def test_an_upgrade_leaves_the_broker_that_asks_the_phone(self):
        with self.time_to_act(), self.phone("ask") as phone:
            self.press_enter()
            phone.wait_for_requests(1)
            self.upgrade()
            phone.type("y")
            self.assert_unlocked()

    def time_to_act(self):
        """A locker that waits for the phone as long as others do: what happens meanwhile takes its time."""
        return self.host.changed(testhost.CONFIGURATION, lambda text: text + "unlock_timeout = 60s\n")

    def end_what_is_left(self):
        """Nothing is, except where lockers take up a request again."""

    def assert_the_request_ends(self):
        """Nobody waits for it any more: the next broker ends it at the service."""
        self.assert_eventually("the request stays open", lambda: self.broker_lines("ended 1 of 1 requests"))
        self.assertIn("request ended", self.journal())

    def assert_password_unlocks_and_then_phone(self):
        self.assertTrue(self.is_locked())
        self.unlock_after_silence()
        self.lock()
        with self.phone("approve"):
            self.press_enter()
            self.assert_unlocked()


class ShowingNothing:
    """Lockers that show no line of PAM's, and take no key while they wait: they wait a short time, as it is set at first,
    and the phone asks for no digits, as the application is at first."""

    match_codes = "on"

    def wait_is_over(self, phone):
        self.press_enter()
        phone.wait_for_requests(1)
        self.assert_eventually("it waits on", lambda: self.broker_lines("reason=not answered"))
        self.assertTrue(self.is_locked())

    def test_an_approval_after_the_wait_unlocks_at_the_next_enter(self):
        with self.phone("ask") as phone:
            self.wait_is_over(phone)
            phone.type("y")
            phone.wait_for("approved")
            self.again_until(
                lambda: not self.is_locked(), lambda: self.type(""), "the approval unlocks nothing", ASKED)
            self.assertEqual(len(phone.requests()), 1)

    def test_the_password_unlocks_while_the_phone_still_has_the_request(self):
        with self.phone("ask") as phone:
            self.wait_is_over(phone)
            self.unlock_after_silence()
            phone.type("n")
            phone.wait_for("denied")

    def end_what_is_left(self):
        """The next test's phone would answer the request that waits for the next Enter."""
        with self.phone("deny") as phone:
            # Its time may be over by now.
            if phone.wait_for_requests(1):
                phone.wait_for("denied")


class Wayland:
    def test_after_the_broker_was_restarted_the_password_unlocks_and_the_phone_the_next_time(self):
        with self.time_to_act(), self.phone("ask") as phone:
            self.press_enter()
            phone.wait_for_requests(1)
            self.host.run("systemctl", "restart", "iampass-broker")
            self.assert_the_request_ends()
        self.assert_password_unlocks_and_then_phone()

    def type(self, text):
        # GTK 3 has no shortcut for the last key of a keymap, and wtype's has the keys that it types: Return must not be
        # the last of them.
        self.alice("wtype", "-s", "200", *([text] if text else []), "-s", "100", "-k", "Return", "-k", "Shift_L")

    def outputs(self, *words):
        """sway's monitors, after a command to it."""
        answer = self.alice("sh", "-c", f"set -- {RUNTIME}/sway-ipc.*.sock; swaymsg -s $1 '{' '.join(words)}' >/dev/null"
                                        " && swaymsg -s $1 --raw -t get_outputs")
        return [one["name"] for one in json.loads(answer)]

    def test_a_second_monitor_changes_nothing(self):
        before = self.outputs("nop")
        added, = set(self.outputs("create_output")) - set(before)
        self.addCleanup(self.outputs, "output", added, "unplug")
        # It was plugged in while the screen was locked.
        with self.phone("approve"):
            self.press_enter()
            self.assert_unlocked()
        self.lock()
        self.assertEqual(self.outputs("nop"), [*before, added])
        self.unlock_by_password("next")


class X11:
    screen = {"DISPLAY": ":7"}

    def type(self, text):
        if text:
            self.alice("xdotool", "type", "--delay", "20", text)
        self.alice("xdotool", "key", "Return")


class Swaylock(ShowingNothing, Wayland, Lockers, DesktopCase):
    name = "swaylock"
    command = "swaylock -f -c 000000"

    def test_with_methods_offline_it_is_offered_the_password_alone(self):
        with self.host.changed(
                testhost.CONFIGURATION, lambda text: f"{text}methods_offline = phone recovery swaylock:phone\n"), self.host.service_down():
            before = self.offline_files()
            self.press_enter()
            self.assert_eventually("it was reached", lambda: self.broker_lines("reason=unavailable"))
            self.assertTrue(self.is_locked())
            self.unlock_after_silence()
            self.assertEqual(self.offline_files(), before)
        self.assertNotRegex(self.journal(), "by=(offline-phone|recovery-code)")

    def offline_files(self):
        """What a way without the service leaves: questions, uses, used codes, and what the broker asks."""
        return self.host.run(
            "sh", "-c", "find /var/lib/iampass/offline /var/lib/iampass/recovery /run/iampass/asked -type f 2>/dev/null; true")


class Gtklock(Wayland, Lockers, DesktopCase):
    name = "gtklock"
    # A try that comes before sway has a screen fails, or waits for good; what is left of it would lock the next one out.
    command = ("timeout 25 sh -c 'until timeout 5 gtklock -d; do pkill -KILL -x gtklock; sleep 0.2; done'"
               " 2>>/home/alice/gtklock.log")


class I3lock(ShowingNothing, X11, Lockers, DesktopCase):
    name = "i3lock"
    command = "i3lock"


class LoginTest(DesktopCase):
    def test_it_asks_by_each(self):
        with self.phone("approve") as phone:
            for count, name in enumerate(("swaylock", "gtklock"), 1):
                with self.subTest(name):
                    self.host.forget_attempts()
                    child = self.host.terminal(f"iampassctl login-test alice --service {name}")
                    child.expect("asks +Password: ")
                    child.sendline("")
                    self.assertEqual(child.finish(), 0, child.screen)
                    self.assertEqual(len(phone.requests()), count)
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_it_takes_the_password(self):
        for name in ("swaylock", "gtklock"):
            with self.subTest(name):
                child = self.host.terminal(f"iampassctl login-test alice --service {name}")
                child.expect("asks +Password: ")
                child.sendline(password_of("alice"))
                self.assertEqual(child.finish(), 0, child.screen)
        self.assertEqual(self.requests_at_the_service(), 0)


class LockedHint(DesktopCase):
    """What logind is told, which `on_walkaway = lock` goes by."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.terminal = cls.desktop()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", "swaylock", check=False)
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", "swayidle", check=False)
        lines = self.host.run("loginctl", "list-sessions", "--no-legend").splitlines()
        self.session = next(words[0] for words in map(str.split, lines) if words[2] == "alice" and words[5] == "user")

    def hint(self):
        return self.host.run("loginctl", "show-session", self.session, "--property=LockedHint", "--value").strip()

    def lock_by(self, command):
        """As logind asks, through swayidle in the session."""
        self.begin_swayidle(self.terminal, command)
        self.host.run("loginctl", "lock-session", self.session)
        self.assert_eventually(
            "it is not locked", lambda: self.host.run("pgrep", "-x", "swaylock", check=False).strip())

    def test_swaylock_does_not_tell_logind(self):
        self.lock_by("swaylock -f -c 000000")
        self.assertEqual(self.hint(), "no")
        # The helper looks for it: see test_sway.
        self.assertNotIn("does not tell logind", self.host.run("iampassctl", "check", check=False))

    def test_the_script_of_the_manual_tells_logind(self):
        self.lock_by("/home/alice/lock-screen")
        self.assert_eventually("the hint is not set", lambda: self.hint() == "yes")
        self.again_until(
            lambda: self.hint() == "no",
            lambda: self.alice("wtype", "-s", "200", password_of("alice"), "-k", "Return", check=False), "the hint stays")


if __name__ == "__main__":
    unittest.main()
