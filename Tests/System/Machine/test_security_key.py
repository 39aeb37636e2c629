"""Security keys by Debian's libpam-u2f beside the module, in real sudo, login, sshd and greetd: a key of software, the real
service and a phone."""

import unittest

import key_case
from key_case import ASKED, CHOOSE, CHOOSE_LINE, GREETER, KEYS, SERVICES, TOUCH, UNREACHABLE, KeyCase, KeyMachine

#: What a shell that was opened is to say, and then to leave.
SHELL = (r"\$ ", "id -un; exit")


def setUpModule():
    global machine
    machine = key_case.KeyCase.machine = KeyMachine()
    unittest.addModuleCleanup(machine.close)
    machine.set_up()
    machine.open_ways()
    machine.plug("one")
    machine.run("iampassctl enroll --security-key alice")
    machine.unplug()


class Instead(KeyCase):
    """A key, the phone and the password are three ways."""

    @classmethod
    def setUpClass(cls):
        machine.enable("--security-key")
        machine.phone("approve")

    def test_a_touch_signs_in_and_the_phone_is_not_asked(self):
        machine.plug("one")
        screen = self.assert_in(machine.sudo("alice"))
        self.assertIn(TOUCH, screen)
        self.assertNotIn(ASKED, screen)
        shown = machine.sudo("root", command="iampassctl login-test alice --service sudo")
        self.assertRegex(shown[1], rf"message  {TOUCH}\s+success after")

    def test_without_the_key_or_with_another_the_phone_is_asked(self):
        for key in (None, "two"):
            with self.subTest(key=key):
                if key:
                    machine.plug(key)
                screen = self.assert_in(machine.sudo("alice"))
                self.assertIn(ASKED, screen)
                self.assertNotIn(TOUCH, screen)

    def test_a_key_that_nobody_touches_leads_to_the_phone(self):
        machine.plug("one", "untouched")
        screen = self.assert_in(machine.sudo("alice"))
        self.assertLess(screen.index(TOUCH), screen.index(ASKED))

    def test_without_key_and_service_the_password_works(self):
        with machine.service_down():
            screen = self.assert_in(machine.sudo("alice", "sesame"))
            self.assertIn(UNREACHABLE, screen.lower())
            self.assert_out(machine.sudo("alice", "wrong"))

    def test_a_touch_signs_in_without_service_and_network(self):
        machine.plug("one")
        for name, outage in (("service", machine.service_down), ("interface", machine.interface_down)):
            with outage(), self.subTest(down=name):
                screen = self.assert_in(machine.sudo("alice"))
                self.assertIn(TOUCH, screen)
                self.assertNotIn(UNREACHABLE, screen.lower())
                self.assertIn(TOUCH, self.assert_in(machine.login("alice", SHELL), "alice"))
                self.assertIn(f"message: {TOUCH}\nsigned in\n", machine.greet("alice"))

    def test_without_the_package_phone_and_password_work(self):
        module = "/usr/lib/x86_64-linux-gnu/security/pam_u2f.so"
        machine.run(f"mv {module} /root")
        self.addCleanup(machine.run, f"mv /root/pam_u2f.so {module}")
        machine.plug("one")
        self.assertIn(ASKED, self.assert_in(machine.sudo("alice")))
        self.assert_in(machine.sudo("bob", "sesame"))
        said = machine.run("iampassctl check", check=False)
        self.assertIn("pam_u2f.so is not in the folder of PAM modules", said)

    def test_login_and_a_greeter_take_a_touch_or_the_phone(self):
        machine.plug("one")
        screen = self.assert_in(machine.login("alice", SHELL), "alice")
        self.assertIn(TOUCH, screen)
        self.assertNotIn(CHOOSE_LINE, screen)
        said = machine.greet("alice")
        self.assertIn(f"message: {TOUCH}\nsigned in\n", said)
        machine.unplug()
        self.assertIn(ASKED, self.assert_in(machine.login("alice", (CHOOSE, ""), SHELL), "alice"))
        self.assertRegex(machine.greet("alice", ""), rf"(?s)prompt: {GREETER}.*message: {ASKED}.*signed in")

    def test_a_greeter_goes_on_to_the_phone_without_a_touch(self):
        machine.plug("one", "untouched")
        said = machine.greet("alice", "")
        self.assertRegex(said, rf"(?s)message: {TOUCH}.*prompt: {GREETER}.*signed in")

    def test_sshd_asks_the_phone_and_never_a_key(self):
        machine.plug("one")
        screen = self.assert_in(machine.ssh("alice", (CHOOSE, ""), SHELL), "alice")
        self.assertNotIn(TOUCH, screen)

    def test_check_and_disable_know_of_it(self):
        said = machine.run("iampassctl check", check=False)
        self.assertIn("sudo: takes a security key, too", said)
        self.assertIn("security keys, also without the service: alice (1)", said)
        machine.run(f"chmod 666 {KEYS}")
        said = machine.run(f"iampassctl check; chmod 644 {KEYS}", check=False)
        self.assertIn(f"{KEYS} is writable by group or others", said)
        self.addCleanup(self.setUpClass)
        # As far as a command comes that is killed while it takes the key away.
        machine.run("pam-auth-update --package --disable iampass-key")
        said = machine.run("iampassctl check", check=False)
        self.assertIn("PAM does not have its lines: nobody is asked for a security key", said)
        machine.run("iampassctl disable")
        self.assertNotIn("pam_u2f", machine.run("cat /etc/pam.d/common-auth"))
        machine.run("! test -e /usr/share/pam-configs/iampass-key && test -s /etc/iampass/security-keys")


class Second(KeyCase):
    """Users who have a key need it besides."""

    @classmethod
    def setUpClass(cls):
        machine.enable("--security-key-second")
        machine.phone("approve")

    def test_phone_and_key_sign_in_together(self):
        machine.plug("one")
        screen = self.assert_in(machine.sudo("alice"))
        self.assertLess(screen.index(ASKED), screen.index(TOUCH))

    def test_without_the_right_key_neither_phone_nor_password_is_enough(self):
        self.assertIn(ASKED, self.assert_out(machine.sudo("alice")))
        machine.plug("two")
        self.assertIn(ASKED, self.assert_out(machine.sudo("alice")))

    def test_without_service_and_network_password_and_key_sign_in_together(self):
        for name, outage in (("service", machine.service_down), ("interface", machine.interface_down)):
            with outage(), self.subTest(down=name):
                machine.plug("one")
                screen = self.assert_in(machine.sudo("alice", "sesame"))
                self.assertLess(screen.lower().index(UNREACHABLE), screen.index(TOUCH))
                machine.unplug()
                self.assert_out(machine.sudo("alice", "sesame"))

    def test_others_sign_in_as_before(self):
        self.assertNotIn(TOUCH, self.assert_in(machine.sudo("bob", "sesame")))

    def test_check_says_whom_it_asks(self):
        said = machine.run("iampassctl check", check=False)
        self.assertIn("sudo: asks for a security key besides, from users who have one", said)
        self.assertRegex(machine.run("cat /etc/pam.d/common-auth"), r"pam_succeed_if.so quiet uid notin \d+\n")
        machine.run("usermod --uid 4711 alice")
        self.addCleanup(machine.run, "usermod --uid 1000 alice; iampassctl enable --security-key-second --force")
        said = machine.run("iampassctl check", check=False)
        self.assertIn("sudo: does not ask users with a key and these ids for it: 4711", said)
        machine.run("iampassctl enable --security-key-second --force")
        self.assertIn("notin 4711\n", machine.run("cat /etc/pam.d/common-auth"))

    def test_another_spelling_of_the_name_is_asked_for_the_key_too(self):
        # As a directory that folds case has it: another name of the same user.
        machine.run("sed -n s/^alice/ALICE/p /etc/passwd >>/etc/passwd; sed -n s/^alice/ALICE/p /etc/shadow >>/etc/shadow")
        self.addCleanup(machine.run, "sed -i /^ALICE:/d /etc/passwd /etc/shadow")
        machine.plug("one")
        self.assert_out(machine.login("ALICE", ("[Pp]assword", "sesame"), ("incorrect", None)), "alice")

    def test_login_and_a_greeter_ask_for_both(self):
        machine.plug("one")
        screen = self.assert_in(machine.login("alice", (CHOOSE, ""), SHELL), "alice")
        self.assertLess(screen.index(ASKED), screen.index(TOUCH))
        self.assertRegex(machine.greet("alice", "sesame"), rf"(?s)prompt: {GREETER}.*message: {TOUCH}.*signed in")
        machine.unplug()
        self.assert_out(machine.login("alice", (CHOOSE, "sesame"), ("incorrect", None)), "alice")
        self.assertIn("refused", machine.greet("alice", "sesame"))

    def test_a_key_that_nobody_touches_signs_nobody_in(self):
        machine.plug("one", "untouched")
        self.assertIn(TOUCH, self.assert_out(machine.sudo("alice")))
        said = machine.greet("alice", "")
        self.assertIn(TOUCH, said)
        self.assertIn("refused", said)

    def test_sshd_asks_the_phone_alone(self):
        screen = self.assert_in(machine.ssh("alice", (CHOOSE, ""), SHELL), "alice")
        self.assertNotIn(TOUCH, screen)

    def test_an_error_of_the_key_ends_it(self):
        module = "/usr/lib/x86_64-linux-gnu/security/pam_u2f.so"
        machine.run(f"mv {module} /root")
        self.addCleanup(machine.run, f"mv /root/pam_u2f.so {module}")
        machine.plug("one")
        self.assert_out(machine.sudo("alice"))
        self.assertNotIn(TOUCH, self.assert_in(machine.sudo("bob", "sesame")))

    def test_a_second_users_key_is_asked_for_from_then_on(self):
        machine.plug("two")
        machine.run("iampassctl enroll --security-key bob")
        machine.unplug()
        self.assert_out(machine.sudo("bob", "sesame"))
        machine.run("iampassctl lost-device --security-key bob")
        self.assert_in(machine.sudo("bob", "sesame"))
        self.assert_out(machine.sudo("alice"))

    def test_a_lost_key_is_taken_away_by_root(self):
        machine.run(f"cp -a {KEYS} /root && iampassctl lost-device --security-key alice")
        self.addCleanup(machine.run, f"cp -a /root/security-keys {KEYS} && iampassctl enable --security-key-second --force")
        self.assertNotIn(TOUCH, self.assert_in(machine.sudo("alice")))
        self.assertNotIn(TOUCH, self.assert_in(machine.login("alice", (CHOOSE, ""), SHELL), "alice"))


class Trial(KeyCase):
    """An approval before the key was touched does not prove that the key works."""

    def test_an_approval_before_the_key_ends_no_trial(self):
        machine.phone("approve")
        # A trial begins only from there.
        machine.run("iampassctl disable")
        machine.run(f"iampassctl enable --services {SERVICES} --sshd --security-key-second --force --trial 10m")
        self.assertIn(ASKED, self.assert_out(machine.sudo("alice")))
        machine.run("systemctl start --wait iampass-trial.service", check=False)
        self.assertNotIn("pam_u2f", machine.run("cat /etc/pam.d/common-auth"))
        self.assertNotIn("pam_iampass", machine.run("cat /etc/pam.d/common-auth"))


if __name__ == "__main__":
    unittest.main()
