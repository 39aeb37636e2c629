"""What iampassctl says of the display managers and lockers of Debian 13, and whether it can try each."""

import re
import unittest

from desktop_case import DesktopCase
from Support.Hosts.testhost import password_of

GREETERS = ("lightdm", "sddm", "greetd")
LOCKERS = ("kde", "mate-screensaver", "xfce4-screensaver", "xsecurelock", "i3lock")
#: A greeter shows all in the prompt.
ASKS = r"asks +Password(, or Enter for phone)?: "
PAM_OF_A_LOCKER = "@include common-auth\n@include common-account\n"


class Known(DesktopCase):
    release = "13-greeters"

    def test_enable_says_what_each_will_do(self):
        said = self.host.run("iampassctl", "enable", "--desktop").splitlines()
        for name in GREETERS:
            self.assertIn(f"{name}: an approval signs in at the greeter; the keyring stays locked", said)
        for name in LOCKERS:
            code = "; it shows no digits, so the phone asks for none" if name == "i3lock" else ""
            self.assertIn(
                f"{name}: an approval unlocks the screen; without root's rights through iampass-broker{code}", said)
        self.assertIn("polkit-1: the administrator's dialog asks the phone, through iampass-broker", said)
        absent = [line for line in said if re.match("(gdm-password|gtklock|swaylock|physlock|vlock):", line)]
        self.assertEqual(absent, [])

    def test_check_finds_nothing_wrong_with_them(self):
        said = self.host.run("iampassctl", "check", check=False)
        self.assertIn(" 0 problems", said)
        for name in (*GREETERS, *LOCKERS, "polkit-1"):
            without = "without digits, since it shows none " if name == "i3lock" else ""
            self.assertRegex(said, rf"(?m)^ok +{name}: asks the phone {without}\(")
        through = "polkit-1, " + ", ".join(sorted(LOCKERS))
        self.assertIn(f"iampass-broker.socket listens: {through} ask the phone through it", said)

    def test_check_names_the_lockers_whose_lock_nobody_sees(self):
        said = self.host.run("iampassctl", "check", check=False)
        complaints = [line for line in said.splitlines() if line.startswith(("warning", "problem")) and "lock" in line]
        self.assertEqual(len(complaints), 2, complaints)
        for line, name in zip(complaints, ("mate-screensaver, xfce4-screensaver", "light-locker"), strict=True):
            self.assertRegex(line, f" {name} does not tell logind that the screen is locked")
        pam = self.host.path("/etc/pam.d/hyprlock")
        pam.write_text(PAM_OF_A_LOCKER)
        self.addCleanup(pam.unlink)
        self.assertRegex(self.host.run("iampassctl", "check", check=False), "(?m)^warning +hyprlock was not tried: ")

    def test_light_locker_is_known_by_its_program(self):
        """It has no PAM file."""
        self.assertFalse(self.host.path("/etc/pam.d/light-locker").exists())
        says = "light-locker brings lightdm's greeter, which asks the phone"
        self.assertRegex(self.host.run("iampassctl", "check", check=False), f"(?m)^ok +{says}$")
        self.assertIn(says.replace(" brings", ": brings"), self.host.run("iampassctl", "enable", "--desktop").splitlines())

    def test_debians_xsecurelock_asks_by_a_name_that_is_not_its_own(self):
        """So its row says; without a file it is known all the same."""
        self.assertFalse(self.host.path("/etc/pam.d/xsecurelock").exists())
        self.assertIn(b"\0common-auth\0", self.host.path("/usr/libexec/xsecurelock/authproto_pam").read_bytes())

    def test_a_locker_without_a_pam_file_is_named(self):
        pam = self.host.path("/etc/pam.d/i3lock")
        self.addCleanup(pam.write_text, pam.read_text())
        pam.unlink()
        said = "i3lock is installed, but there is no /etc/pam.d/i3lock: it asks for the password only"
        self.assertRegex(self.host.run("iampassctl", "check", check=False), f"(?m)^warning +{said}$")
        self.assertIn(f"warning: {said}\n", self.host.run("sh", "-c", "iampassctl enable --desktop 2>&1"))

    def test_login_test_asks_by_each(self):
        with self.phone("approve") as phone:
            for count, name in enumerate((*GREETERS, *LOCKERS, "polkit-1"), 1):
                with self.subTest(name):
                    self.host.forget_attempts()
                    child = self.host.terminal(f"iampassctl login-test alice --service {name}")
                    child.expect(ASKS)
                    child.sendline("")
                    self.assertEqual(child.finish(), 0, child.screen)
                    self.assertEqual(len(phone.requests()), count)
        self.assert_eventually("a session is left at the service", lambda: not self.live_sessions())

    def test_login_test_takes_the_password_by_a_file_of_the_vendor(self):
        child = self.host.terminal("iampassctl login-test alice --service kde")
        child.expect(ASKS)
        child.sendline(password_of("alice"))
        self.assertEqual(child.finish(), 0, child.screen)


if __name__ == "__main__":
    unittest.main()
