"""Sign-ins ask the phone, and who walks away is logged out."""

import machine
from machine import Phone, finish, press_enter_for_the_phone, run, terminal, wait_until
from stage import SSH, SUDO, Stage


class MustNeverHappen(AssertionError):
    """Has no second try in packaging/test."""


class SignIns(Stage):
    def assert_sessions_of_alice(self, count):
        wait_until(f"{count} sessions of alice", lambda: len(machine.sessions("alice")) == count)

    def test_10_enable_has_sudo_ask_the_phone(self):
        run("iampassctl", "enable", "--services", "sudo,login,sshd,su", "--sshd")
        self.assert_sudo_asks_the_phone()

    def test_11_a_denial_refuses_and_rings_once(self):
        with Phone("deny") as phone:
            status, shown = finish(terminal(SUDO, user="alice"))
            if status == 0:
                raise MustNeverHappen("a denied sudo ran its command")
            self.assertIn("denied", shown)
            self.assertEqual(phone.rings(), 1)

    def test_12_ssh_login_and_su_ask_the_phone(self):
        with Phone("approve"):
            child = terminal(SSH + " id -un", user="visitor")
            press_enter_for_the_phone(child)
            status, shown = finish(child)
            self.assertEqual((status, "alice" in shown), (0, True), shown)
            child = terminal("su alice -c 'id -un'", user="visitor")
            press_enter_for_the_phone(child)
            self.assertEqual(finish(child)[0], 0)
            child = terminal("systemd-run --quiet --pty --collect --wait --service-type=exec login")
            child.expect("login: ")
            child.sendline("alice")
            press_enter_for_the_phone(child)
            child.expect(r"alice@[^\n]*\$ ")
            child.sendline("exit")
            finish(child)

    def test_13_who_walks_away_is_logged_out(self):
        self.assert_sessions_of_alice(0)
        with Phone("approve"):
            child = terminal(SSH, user="visitor")
            press_enter_for_the_phone(child)
            child.expect(r"alice@[^\n]*\$ ")
            self.assert_sessions_of_alice(1)
            child.sendline("sudo echo $((6 * 7))")
            child.expect(r"\n42\r?\n")
        self.assertNotEqual(machine.sudo_tickets("alice"), [])
        machine.leave()
        self.assertIn("Signed out", finish(child)[1])
        self.assert_sessions_of_alice(0)
        wait_until("alice has no ticket of sudo's", lambda: machine.sudo_tickets("alice") == [])
        run("iampass-phone", "return", "--state", machine.PHONE_STATE, user="phone")
