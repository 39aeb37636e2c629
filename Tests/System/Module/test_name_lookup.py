"""A name that cannot be looked up is not a user without a token, through libpam and glibc, with a name service of ours."""

import errno
import os
import pathlib
import re
import unittest
from unittest import mock

from broker_case import WithBroker
from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, MAXTRIES, SUCCESS, USER_UNKNOWN, WITHOUT_TOKEN, read, run

# nss.h
TRYAGAIN, UNAVAIL = -2, -1
# The name service leaves errno as it was.
UNSET = -1

# Each is a way in which real ones are away. ENOENT: a daemon's socket that is not there.
FAILURES = [
    *[(UNAVAIL, number) for number in (errno.ENOENT, errno.ECONNREFUSED, errno.EMFILE, errno.EIO, errno.EPERM, errno.EBADF,
                                       errno.ESRCH, errno.ERANGE, UNSET)],
    *[(TRYAGAIN, number) for number in (errno.EAGAIN, errno.ETIMEDOUT, errno.ENOMEM, errno.ERANGE, UNSET)],
]  # fmt: skip

TEXT = "IAMPASS: not asked: this computer cannot look up its users now"
# The manual's: users without a token get in by their password alone.
SECOND_FACTOR = "auth [success=ok user_unknown=ignore default=die] MODULE\nauth required pam_permit.so\n"
# In the directory alone, by its own spelling.
ALICE = "alice:x:4711:4711::/home/alice:/bin/sh\n"


def setUpModule():
    global world
    world = SignInCase.world = world_with_a_phone()
    os.mkdir(world.path("library"))
    run("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
        world.path("library", "libnss_iampasstest.so.2"), str(pathlib.Path(__file__).with_name("name_service.c")))


def failing(status, number, first=1, last=10**6):
    return f"{first} {last} {status} {number}"


class NameServiceCase(SignInCase):
    def setUp(self):
        super().setUp()
        # The directory knows everybody.
        self.names("iampasstest", read("/etc/passwd") + ALICE)
        self.lines = read(world.path("users"))
        self.addCleanup(world.write, "users", self.lines)

    def names(self, sources, users):
        world.write("nsswitch.conf", f"passwd: {sources}\ngroup: iampasstest\nshadow: files\nhosts: files dns\n", 0o644)
        world.write("names", users)

    def token(self):
        return re.search(f"^{ENROLLED}:(\\S+)$", self.lines, re.MULTILINE)[1]

    def play(self, fail=None, service="sudo", environment=None, **scene):
        """A scene with the name service; `fail`: which of its answers about users fail."""
        environment = {
            "NAMES": world.path("names"), "GROUPS": world.path("groups"), **({"NAMES_FAIL": fail} if fail else {}),
            **(environment or {}),
        }  # fmt: skip
        with mock.patch.dict(os.environ, LD_LIBRARY_PATH=world.path("library")):
            return world.play(
                service, environment=environment, files={"/etc/nsswitch.conf": world.path("nsswitch.conf")}, **scene)


class NameLookup(NameServiceCase):
    def test_the_name_service_of_this_test_is_asked(self):
        self.phone("approve")
        self.assertEqual(self.play()["codes"], [SUCCESS])
        world.write("names", "")
        world.write("users", "")
        self.assertEqual(self.play()["codes"], [USER_UNKNOWN])

    def test_a_lookup_that_fails_is_unavailable_and_no_phone_rings(self):
        phone = self.phone("approve")
        for status, number in FAILURES:
            with self.subTest(status=status, number=number):
                result = self.play(failing(status, number))
                self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], [TEXT + ". Use your password."]))
                self.assertIn("refused user=- service=sudo rhost=- reason=the system cannot look users up: ", result["log"][-1])
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_users_without_a_token_are_told_the_same(self):
        for user in (WITHOUT_TOKEN, "no-such-user"):
            with self.subTest(user=user):
                result = self.play(failing(UNAVAIL, errno.ECONNREFUSED), user=user)
                self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], [TEXT + ". Use your password."]))

    def test_whoever_is_not_there_is_unknown_still(self):
        for user in (WITHOUT_TOKEN, "no-such-user"):
            with self.subTest(user=user):
                self.assertEqual(self.play(user=user)["codes"], [USER_UNKNOWN])

    def test_the_second_factor_stays(self):
        world.pam("sudo", lines=SECOND_FACTOR)
        self.assertEqual(self.play(user=WITHOUT_TOKEN)["codes"], [SUCCESS])
        for status, number in FAILURES:
            with self.subTest(status=status, number=number):
                self.assertEqual(self.play(failing(status, number))["codes"], [AUTHINFO_UNAVAIL])

    def test_a_spelling_that_no_file_takes_does_not_pass_the_second_factor(self):
        """The directory finds john_doe by "john doe", too."""
        self.names("iampasstest", read("/etc/passwd") + "john_doe:x:4714:4714::/home/john_doe:/bin/sh\n")
        world.write("users", f"john_doe:{self.token()}\n")
        world.pam("sudo", lines=SECOND_FACTOR)
        phone = self.phone("deny")
        self.assertEqual(self.play(user="john doe")["codes"], [MAXTRIES])
        self.assertEqual(phone.count("sign-in request"), 1)
        phone.stop()
        world.forget_attempts()
        self.phone("approve")
        result = self.play(user="john doe")
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertIn("approved user=john_doe service=sudo", result["log"][-1])
        self.assertEqual(self.play(failing(UNAVAIL, errno.ECONNREFUSED), user="john doe")["codes"], [AUTHINFO_UNAVAIL])
        # Nobody has this one.
        world.pam("sudo")
        self.assertEqual(self.play(user="jane doe")["codes"], [USER_UNKNOWN])

    def test_it_is_not_an_outage_that_opens(self):
        world.pam("sudo", "prompt=push timeout=5s fail=open")
        world.configure(server="https://127.0.0.1:1")
        for status, number in FAILURES:
            with self.subTest(status=status, number=number):
                self.assertEqual(self.play(failing(status, number))["codes"], [AUTHINFO_UNAVAIL])

    def test_sshd_asks_as_always_and_then_refuses(self):
        for offline in (None, "recovery", "phone", "phone recovery"):
            with self.subTest(offline=offline):
                # After an outage nothing more is asked on a connection.
                world.forget_attempts()
                world.pam("sshd", "timeout=5s fail=open")
                world.configure(server="https://127.0.0.1:1", approvals="verified", methods_offline=offline)
                result = self.play(
                    failing(UNAVAIL, errno.ETIMEDOUT), "sshd", own=False, items={"rhost": "192.0.2.9", "tty": "ssh"},
                    answers=[""])  # fmt: skip
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                self.assertIn("Enter", result["texts"][0])

    def test_an_outage_that_glibc_hides_behind_another_source_is_seen_by_the_token(self):
        """A directory that is away, and behind it a source that does not know the name: glibc says "not found"."""
        self.names("iampasstest files", ALICE)
        world.write("users", f"alice:{self.token()}\n")
        world.pam("sudo", lines=SECOND_FACTOR)
        phone = self.phone("approve")
        for status, number in FAILURES:
            with self.subTest(status=status, number=number):
                result = self.play(failing(status, number), user="alice")
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(phone.count("sign-in request"), 0)
        self.assertEqual(self.play(user="alice")["codes"], [SUCCESS])

    def test_whether_a_token_is_roots_too_must_be_known(self):
        world.write("users", f"{ENROLLED}:{self.token()}\n{WITHOUT_TOKEN}:{self.token()}\n")
        world.configure(shared_tokens="allowed")
        phone = self.phone("approve")
        # The first question is whose sign-in it is; the others, whether one of the two is root.
        for number in (1, 2, 3):
            with self.subTest(question=number):
                result = self.play(failing(UNAVAIL, errno.ECONNREFUSED, number, number))
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(phone.count("sign-in request"), 0)
        self.assertEqual(self.play(failing(UNAVAIL, errno.ECONNREFUSED, 4))["codes"], [SUCCESS])


class SpelledToTheBroker(WithBroker, NameServiceCase):
    def test_the_phone_is_that_of_the_user_whom_the_system_finds(self):
        world.configure(services="swaylock polkit-1")
        world.write("users", f"_apt:{self.token()}\n")
        variables = {"LD_LIBRARY_PATH": "library", "NAMES": "names", "GROUPS": "groups"}
        self.set_up_broker(
            "timeout=20s", "env", *[f"{name}={world.path(file)}" for name, file in variables.items()], "unshare", "--mount",
            "sh", "-c", 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"', world.path("nsswitch.conf"))  # fmt: skip
        self.phone("approve")
        result = self.play(service="polkit-1", user=" apt", own=False, answers=[""])
        self.assertEqual(result["codes"], [SUCCESS], self.broker.lines)
        self.broker.wait_for("approved user=_apt service=polkit-1 .* caller=0")


class GroupLookup(NameServiceCase):
    """`users_from_service` names a group."""

    def setUp(self):
        super().setUp()
        world.write("users", "")
        credential = re.search(r"^application_id\s*=\s*(\S+)$", read(world.path("credentials")), re.MULTILINE)[1]
        os.makedirs(world.path("state", "service"), 0o700, exist_ok=True)
        world.write("state/service/users", f"# iampass users for={credential} epoch=1 version=1\nalice:{self.token()}\n")
        world.configure(users="service", users_from_service="1000-59999 group:staff")
        world.write("groups", "staff:x:4712:alice\nguests:x:4713:\n")

    def test_a_group_that_cannot_be_looked_up_is_unavailable(self):
        phone = self.phone("approve")
        for status, number in FAILURES:
            with self.subTest(status=status, number=number):
                result = self.play(user="alice", environment={"GROUPS_FAIL": failing(status, number)})
                self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], [TEXT + ". Use your password."]))
        self.assertEqual(phone.count("sign-in request"), 0)
        self.assertEqual(self.play(user="alice")["codes"], [SUCCESS])

    def test_a_list_of_groups_that_is_not_whole_is_seen_by_the_groups_own(self):
        """getgrouplist(3) leaves out what it could not ask for, and does not say so."""
        result = self.play(user="alice", environment={"LISTS_FAIL": failing(UNAVAIL, errno.ECONNREFUSED)})
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])

    def test_a_group_that_is_not_there_is_no_group_without_members(self):
        world.configure(users_from_service="1000-59999 group:stuff")
        result = self.play(user="alice")
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("reason=the system does not know the group stuff", result["log"][-1])

    def test_whoever_is_in_none_of_the_groups_has_no_token(self):
        world.configure(users_from_service="1000-59999 group:guests")
        self.assertEqual(self.play(user="alice")["codes"], [USER_UNKNOWN])

    def test_a_listed_user_whom_the_system_does_not_know_is_not_let_by(self):
        world.write("names", "")
        self.assertEqual(self.play(user="alice")["codes"], [AUTHINFO_UNAVAIL])


if __name__ == "__main__":
    unittest.main()
