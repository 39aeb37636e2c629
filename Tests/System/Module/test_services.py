"""Programs like sudo: those that open no login session, by the table or by an administrator's file, and `-n`."""

import json
import os
import shutil
import unittest

from broker_case import UID
from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.world import AUTHINFO_UNAVAIL, SERVICE_ERR, SUCCESS, read

#: As doas(1) does: the target's name is set before the session is opened.
CALLS = ("authenticate", "user=root", "open_session", "close_session")


def setUpModule():
    global world
    SignInCase.world = world = world_with_a_phone()


class Case(SignInCase):
    def setUp(self):
        super().setUp()
        world.configure(services="sudo doas sudo-phone")
        for service in ("doas", "sudo-phone"):
            world.pam(service)
        self.folder = world.path("services.d")
        os.makedirs(self.folder, 0o755, exist_ok=True)
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def name(self, text, file="sudo-phone.conf"):
        world.write("services.d/" + file, text, 0o644)

    def assert_opens(self, service, **scene):
        self.phone("approve")
        result = world.play(service, calls=CALLS, **scene)
        self.assertEqual(result["codes"], [SUCCESS] * len(CALLS), result["texts"])
        return result


class Sessionless(Case):
    def test_doas_opens_nothing_that_is_watched(self):
        self.assert_opens("doas")

    def test_a_service_of_an_administrators_file_opens_nothing_that_is_watched(self):
        self.name("# as sudo\nkind = sudo-like\n")
        self.assert_opens("sudo-phone")

    def test_a_logind_session_of_the_program_is_not_of_the_sign_in(self):
        # pam_systemd may have opened one, by common-session in the service's file.
        self.name("kind = sudo-like\n")
        os.makedirs(world.path("logind"), exist_ok=True)
        self.assert_opens("sudo-phone", sessions=world.path("logind"), own_uid=UID)

    def test_the_record_says_that_no_session_follows(self):
        self.name("kind = sudo-like\n")
        self.phone("approve")
        world.play("sudo-phone", calls=("authenticate", "open_session"), leave_open=True)
        records = [os.path.join(world.path("run", "sessions"), name) for name in os.listdir(world.path("run", "sessions"))]
        [record] = [json.loads(read(path)) for path in records if "." not in os.path.basename(path)]
        for path in records:
            os.unlink(path)
        self.assertEqual((record["service"], record["opens_session"]), ("sudo-phone", False))


class Broken(Case):
    """One wrong file, and no service asks the phone: the row that is missing may be the one that counts."""

    FILES = {
        "sudo-phone.conf": ("", "kind = greeter\n", "kind\n", "kind = sudo-like\nkind = sudo-like\n", "shell = yes\n",
                            "kind = sudo-like\nshell = yes\n"),
        "login.conf": ("kind = sudo-like\n",), "sshd.conf": ("kind = sudo-like\n",),
        "gdm-fingerprint.conf": ("kind = sudo-like\n",), "@x.conf": ("kind = sudo-like\n",),
        "a b.conf": ("kind = sudo-like\n",),
    }  # fmt: skip

    def assert_refused(self, told):
        result = world.play("sudo")
        self.assertEqual(result["codes"], [SERVICE_ERR], result["texts"])
        self.assertIn(told, "\n".join(result["log"]))

    def test_a_wrong_file_refuses_every_sign_in_and_is_named(self):
        for file, texts in self.FILES.items():
            for text in texts:
                with self.subTest(file=file, text=text):
                    self.name(text, file)
                    self.assert_refused("services.d/" + file)
                    os.unlink(os.path.join(self.folder, file))

    def test_a_file_or_folder_that_others_write_refuses_every_sign_in(self):
        self.name("kind = sudo-like\n")
        for path in (os.path.join(self.folder, "sudo-phone.conf"), self.folder):
            mode = os.stat(path).st_mode & 0o7777
            os.chmod(path, 0o777)
            self.assert_refused("sudo-phone.conf")
            os.chmod(path, mode)

    def test_what_an_editor_left_behind_is_not_read(self):
        self.name("nonsense", "sudo-phone.conf~")
        self.name("nonsense", ".sudo-phone.conf")
        self.assert_opens("doas")


class AskingNothing(Case):
    """`sudo -n` of sudo-rs runs PAM, and so does sudo's with noninteractive_auth."""

    #: Python takes `-c` and its value as sudo takes a login class; what follows is the host's own to read.
    AS_SUDO = ("-c", "import runpy, sys; runpy.run_path(sys.argv[2], run_name='__main__')")

    def setUp(self):
        super().setUp()
        self.ringing = self.phone("approve")

    def play(self, option, **scene):
        return world.play(**{"options": (*self.AS_SUDO, option), **scene})

    def assert_rings_nobody(self, result):
        # The next module asks for the password, and sudo refuses that by itself.
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))
        self.assertEqual(self.ringing.count("sign-in request"), 0)

    def test_n_rings_no_phone_and_says_nothing(self):
        self.assert_rings_nobody(self.play("-n"))
        self.assert_rings_nobody(self.play("--non-interactive"))

    def test_n_rings_no_phone_where_the_phone_rings_without_a_question(self):
        for prompt in ("auto", "push", "choose"):
            with self.subTest(prompt=prompt):
                world.pam("sudo", f"prompt={prompt} timeout=20s fail=open")
                self.assert_rings_nobody(self.play("-n"))

    def test_it_counts_as_no_request(self):
        for _ in range(6):
            self.assert_rings_nobody(self.play("-n"))
        self.assertEqual(self.play("-k")["codes"], [SUCCESS])

    def test_other_options_ring(self):
        self.assertEqual(self.play("-k")["codes"], [SUCCESS])

    def test_n_of_the_command_rings(self):
        self.assertEqual(world.play(arguments=("-n",))["codes"], [SUCCESS])

    def test_n_of_another_kind_of_program_rings(self):
        world.configure(services="sudo su")
        world.pam("su")
        self.assertEqual(self.play("-n", service="su")["codes"], [SUCCESS])


if __name__ == "__main__":
    unittest.main()
