"""A keyring's password that is sealed after a sign-in by it, and handed to the keyring's module after an approval.

pam_exec stands for the module of the keyring and for pam_unix: it gets PAM_AUTHTOK as they do.
"""

import base64
import contextlib
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import time
import unittest

from keyring_case import PASSWORD, UID, KeyringCase, shadow_print
from sign_in_case import world_with_a_phone
from Support.Service.world import ENROLLED, PATIENCE, SUCCESS, WITHOUT_TOKEN, read

#: A number that no user has.
NOBODYS = 4_000_000_123


def setUpModule():
    global world
    if not shutil.which("systemd-creds"):
        raise unittest.SkipTest("no systemd-creds")
    world = world_with_a_phone()
    KeyringCase.world = world


class Sealed(KeyringCase):
    def test_a_sign_in_by_password_seals_it_and_one_by_phone_hands_it_on(self):
        self.assertEqual(self.sign_in_by_password()["codes"], [SUCCESS, SUCCESS])
        self.assertEqual(self.kept(), [f"{UID}.host"])
        self.assertEqual(os.stat(world.path("state", "keyring", self.kept()[0])).st_mode & 0o7777, 0o600)
        self.phone("approve")
        self.assertEqual(self.sign_in("")["codes"], [SUCCESS])
        self.assertEqual(self.unlocked_with(), PASSWORD)

    def test_the_password_stands_in_no_file_and_no_line(self):
        result = self.sign_in_by_password()
        self.assertNotIn(PASSWORD, "\n".join(self.said + result["log"]))
        kept = pathlib.Path(world.path("state", "keyring", self.kept()[0])).read_bytes()
        for form in (PASSWORD.encode(), base64.b64encode(PASSWORD.encode())):
            self.assertNotIn(form, kept)
            self.assertNotIn(form, base64.b64decode(kept))

    def test_a_wrong_password_is_not_sealed(self):
        self.assertNotEqual(self.sign_in_by_password("a wrong one")["codes"][0], SUCCESS)
        self.assertEqual(self.kept(), [])

    def test_a_sign_in_whose_session_is_not_opened_seals_nothing(self):
        self.assertEqual(self.sign_in(PASSWORD)["codes"], [SUCCESS])
        self.assertEqual(self.kept(), [])

    def test_a_denial_hands_nothing_on(self):
        self.sign_in_by_password()
        self.phone("deny")
        self.assertNotEqual(self.sign_in("")["codes"], [SUCCESS])
        self.assertFalse(os.path.exists(world.path("unlocked-with")))

    def test_an_approval_of_an_earlier_pass_hands_nothing_on(self):
        self.sign_in_by_password()
        os.unlink(world.path("unlocked-with"))
        # A factor that takes no password, such as a finger.
        world.pam("lightdm", lines=read(world.path("pam.d/lightdm")).replace(
            f"expose_authtok {world.path('is-right')}", "/bin/true"))
        phone = self.phone("approve")
        # Enter comes at the second prompt once the phone is gone.
        answers = ["", {"file": world.path("pressed")}]
        with world.playing("lightdm", own=False, answers=answers, calls=("authenticate",) * 2) as results:
            self.wait_until_unlocked()
            phone.stop()
            os.unlink(world.path("unlocked-with"))
            world.answer("pressed")
        self.assertEqual(results[0]["codes"], [SUCCESS, SUCCESS])
        self.assertIn("not answered in time", "\n".join(results[0]["texts"]))
        self.assertEqual(self.unlocked_with(), "")

    def wait_until_unlocked(self):
        end = time.monotonic() + PATIENCE
        while not os.path.exists(world.path("unlocked-with")):
            self.assertLess(time.monotonic(), end, "no approval")
            time.sleep(0.01)

    def test_a_changed_password_is_forgotten(self):
        self.sign_in_by_password()
        self.seal(version=2, user=ENROLLED, print="0" * 64, password=base64.b64encode(b"old").decode())
        self.phone("approve")
        self.assertEqual(self.sign_in("")["codes"], [SUCCESS])
        self.assertEqual(self.unlocked_with(), "")
        self.assertEqual(self.kept(), [])
        self.wait_for_the_service()
        self.assertIn("the password was changed since", "\n".join(self.said))

    def test_another_users_file_does_not_open(self):
        self.sign_in_by_password()
        path = pathlib.Path(world.path("state", "keyring", f"{UID}.host"))
        path.write_bytes(subprocess.run(
            ["systemd-creds", "encrypt", "--with-key=host", "--name=iampass-keyring-0", "-", "-"],
            input=b"{}", capture_output=True, check=True).stdout)
        self.phone("approve")
        self.assertEqual(self.sign_in("")["codes"], [SUCCESS])
        self.assertEqual(self.unlocked_with(), "")

    def test_without_the_service_a_sign_in_goes_on(self):
        self.sign_in_by_password()
        os.unlink(world.path("run", "keyring"))
        self.phone("approve")
        self.assertEqual(self.sign_in("")["codes"], [SUCCESS])
        self.assertEqual(self.unlocked_with(), "")

    def test_only_greeters_get_it(self):
        self.sign_in_by_password()
        self.phone("approve")
        self.assertEqual(self.sign_in("", service="login")["codes"], [SUCCESS])
        self.assertEqual(self.unlocked_with(), "")

    def test_status_and_forget(self):
        self.sign_in_by_password()
        self.assertEqual(self.ctl("keyring", "status"), f"keyring = sealed\n{ENROLLED}: sealed with host\n")
        for expected in ("forgotten", "no password is sealed"):
            self.assertEqual(self.ctl("keyring", "forget", ENROLLED), f"{ENROLLED}: {expected}\n")
        self.assertEqual(self.kept(), [])


class AnotherUser(KeyringCase):
    """What was sealed of somebody who had the user's number before. The print is right, as it is for all users of a
    directory."""

    def setUp(self):
        super().setUp()
        self.payload = {
            "version": 2, "user": ENROLLED, "print": shadow_print(ENROLLED),
            "password": base64.b64encode(b"sealed before").decode()}

    def sign_in_by_phone(self, **changes):
        self.seal(**{**self.payload, **changes})
        self.phone("approve")
        self.assertEqual(self.sign_in("")["codes"], [SUCCESS])
        self.wait_for_the_service()

    def assert_forgotten(self, why):
        self.assertEqual(self.unlocked_with(), "")
        self.assertEqual(self.kept(), [])
        self.assertIn(why, "\n".join(self.said))

    def test_the_users_own_is_handed_on(self):
        self.sign_in_by_phone()
        self.assertEqual(self.unlocked_with(), "sealed before")

    def test_another_name_is_forgotten(self):
        self.sign_in_by_phone(user=WITHOUT_TOKEN)
        self.assert_forgotten("it was sealed under another user's name")

    def test_one_without_a_name_is_forgotten(self):
        del self.payload["user"]
        self.sign_in_by_phone(version=1)
        self.assert_forgotten("does not say whose it is")


class WithoutToken(KeyringCase):
    def test_the_password_of_a_user_without_a_token_is_not_sealed(self):
        self.assertEqual(self.sign_in_by_password(user=WITHOUT_TOKEN)["codes"], [SUCCESS, SUCCESS])
        self.assertEqual(self.kept(), [])
        # The module does not even ask for it.
        self.assertNotIn("no token", "\n".join(self.said))

    def test_the_service_does_not_seal_it_either(self):
        sent = f"{WITHOUT_TOKEN}{shadow_print(WITHOUT_TOKEN)}{PASSWORD}"
        self.request(b"\1" + bytes([len(WITHOUT_TOKEN)]) + sent.encode())
        self.assertEqual(self.kept(), [])
        self.assertIn("the user has no token", "\n".join(self.said))

    def test_a_removed_user_leaves_no_sealed_password(self):
        users = read(world.path("users"))
        self.addCleanup(world.write, "users", users)
        self.sign_in_by_password()
        self.assertEqual(self.kept(), [f"{UID}.host"])
        self.assertIn(
            f"{ENROLLED}: the password that was sealed for the keyring is forgotten\n",
            self.ctl("user", "remove", "--local", ENROLLED))
        self.assertEqual(self.kept(), [])

    def test_check_names_users_without_a_token_and_those_who_are_gone(self):
        self.sign_in_by_password()
        for uid in (pwd.getpwnam(WITHOUT_TOKEN).pw_uid, NOBODYS):
            self.seal(uid)
        said = self.ctl("check", code=None)
        whose = {"users without a token": WITHOUT_TOKEN, "users whom this system does not know": NOBODYS}
        for users, name in whose.items():
            self.assertIn(f"login passwords of {users} are still sealed here: {name}\n", said)
            self.assertIn(f"iampassctl keyring forget {name}\n", said)
        self.assertEqual(
            self.ctl("keyring", "forget", WITHOUT_TOKEN, str(NOBODYS)),
            f"{WITHOUT_TOKEN}: forgotten\n{NOBODYS}: forgotten\n")
        self.assertEqual(self.kept(), [f"{UID}.host"])
        self.assertNotIn("still sealed", self.ctl("check", code=None))


class Off(KeyringCase):
    def test_what_is_left_is_named_and_forgotten_by_a_command(self):
        self.sign_in_by_password()
        self.seal(NOBODYS)
        self.configure("off")
        self.assertIn(
            f"keyring is off, but login passwords are still sealed here: {ENROLLED}, {NOBODYS}\n",
            self.ctl("check", code=None))
        self.request(b"\2" + bytes([len(ENROLLED)]) + ENROLLED.encode())
        self.assertIn(f"refused: keyring = off; still sealed: {ENROLLED}, {NOBODYS}", "\n".join(self.said))
        self.assertEqual(
            self.ctl("keyring", "forget", "--all"),
            f"keyring: forgot the sealed passwords of {ENROLLED}, {NOBODYS}\n")
        self.assertEqual(self.kept(), [])
        self.assertEqual(self.ctl("keyring", "forget", "--all"), "no password is sealed\n")

    def test_nothing_is_sealed_or_handed_on(self):
        self.sign_in_by_password()
        self.configure("off")
        self.phone("approve")
        self.assertEqual(self.sign_in("")["codes"], [SUCCESS])
        self.assertEqual(self.unlocked_with(), "")
        self.ctl("keyring", "forget", "--all")
        self.sign_in_by_password()
        self.assertEqual(self.kept(), [])


class Strangers(KeyringCase):
    def test_what_is_not_a_request_is_not_answered(self):
        self.sign_in_by_password()
        for sent in (b"", b"\1", b"\2\xff", b"\2\4root", b"\3\6daemon", b"\2\6daemonx", b"x" * 2_000):
            with self.subTest(sent=sent), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
                caller.connect(world.path("run", "keyring"))
                with contextlib.suppress(BrokenPipeError):
                    caller.sendall(sent)
                    caller.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    self.assertEqual(caller.recv(1_024), b"")


if __name__ == "__main__":
    unittest.main()
