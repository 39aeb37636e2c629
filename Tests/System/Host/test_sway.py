"""A desktop of Wayland whose phone leaves: sway, swayidle and swaylock of Debian 13, without a monitor."""

import time
import unittest

from desktop_case import PROMPT, DesktopCase
from helper_case import HelperCase
from Support.Hosts.terminal import PATIENCE

#: As a display manager says of its sessions; login says tty.
SESSION_TYPE = "pam_systemd.so type=wayland"
#: A program that the desktop does not wait for.
DETACHED = "sleep 4244"


class Sway(HelperCase, DesktopCase):
    release = "13-desktop"

    def sign_in(self, locker="/home/alice/lock-screen"):
        """By phone. Returns the terminal and logind's session."""
        with self.host.changed("/etc/pam.d/common-session", lambda text: text.replace("pam_systemd.so", SESSION_TYPE)):
            terminal = self.login_shell()
        self.begin_sway(terminal)
        self.begin_swayidle(terminal, locker)
        return terminal, next(one["logind_session"] for one in self.sessions() if one["watched"])

    def of_logind(self, session, name):
        return self.host.run("loginctl", "show-session", session, f"--property={name}", "--value").strip()

    def test_leaving_locks_the_screen_where_that_is_configured(self):
        with self.configured("on_walkaway = lock"):
            terminal, session = self.sign_in()
            self.assertEqual(self.of_logind(session, "Type"), "wayland")
            self.leave()
            self.assert_eventually("it is not locked", lambda: self.of_logind(session, "LockedHint") == "yes")
            self.assertTrue(self.processes("^swaylock"))
            self.come_back()
            self.assert_eventually("the helper sees it back", lambda: self.watched_count() == 1)
            self.assertEqual(self.of_logind(session, "LockedHint"), "yes")
            terminal.sendline("exit")

    def assert_seen(self, locker, command):
        """Whoever looks sees that it runs: it does not tell logind."""
        with self.configured("on_walkaway = lock"):
            terminal, session = self.sign_in(command)
            self.leave()
            self.assert_eventually("it is not locked", lambda: f", since {locker} runs" in self.journal())
            self.assertTrue(self.processes(f"^{locker}"))
            self.assertEqual(self.of_logind(session, "LockedHint"), "no")
            self.assertIn(session, self.logind_sessions())
            terminal.sendline("exit")

    def test_swaylock_is_seen_to_run(self):
        self.assert_seen("swaylock", "swaylock -f")

    def test_gtklock_is_seen_to_run(self):
        self.assert_seen("gtklock", "gtklock -d")

    def test_a_locker_that_fails_shows_nothing(self):
        with self.configured("on_walkaway = lock"):
            terminal, session = self.sign_in("WAYLAND_DISPLAY=none swaylock -f")
            self.leave()
            self.assert_over(terminal)
            self.assertNotIn(session, self.logind_sessions())

    def test_leaving_ends_the_session_and_what_runs_in_it(self):
        terminal, session = self.sign_in()
        terminal.sendline(f"setsid --fork {DETACHED}")
        terminal.expect(PROMPT)
        end = time.monotonic() + PATIENCE
        while not self.processes(f"^{DETACHED}") and time.monotonic() < end:
            time.sleep(0.05)
        self.assertTrue(self.processes(f"^{DETACHED}"))
        self.leave()
        self.assert_over(terminal)
        self.assertNotIn(session, self.logind_sessions())
        self.assertEqual(self.processes(f"^sway|^{DETACHED}"), [])


if __name__ == "__main__":
    unittest.main()
