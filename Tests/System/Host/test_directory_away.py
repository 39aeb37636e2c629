"""A directory of users that is away just behind the password: the phone, which is the second factor, is not skipped.
Real sshd, with a name service of ours."""

import errno
import pathlib
import re
import subprocess
import unittest

import pexpect
from second_factor_case import ENTER_PROMPT, SecondFactorCase
from Support.Hosts.testhost import password_of
from Support.Service.never import MustNeverHappen

#: Those of directory_service.c.
USERS, AWAY = "/etc/iampasstest-users", "/run/iampasstest-away"
#: What the directory does behind the password, if this file is there: it goes until the test or the stack brings it back.
LEAVES = "/run/iampasstest-leaves"
ACT = "/usr/local/sbin/directory-acts"
# nss.h
TRYAGAIN, UNAVAIL = -2, -1
#: How real ones are away: nobody listens, time is up, a daemon's socket is not there.
FAILURES = [(UNAVAIL, errno.ECONNREFUSED), (TRYAGAIN, errno.ETIMEDOUT), (UNAVAIL, errno.ENOENT)]
ALICE = r"(?m)^alice:.*\n"
OPENED = "a-shell-is-open"


class SecondFactor(SecondFactorCase):
    """The manual's stack, which lets users without a token in by their password alone. Lines around the phone's stand for
    what happens meanwhile: the directory leaves, and is there again."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        library = cls.host.run("sh", "-c", "dirname /usr/lib/*/libnss_compat.so.2").strip()
        source = pathlib.Path(__file__).with_name("directory_service.c")
        subprocess.run(
            ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o",
             str(cls.host.path(f"{library}/libnss_iampasstest.so.2")), str(source)], check=True, timeout=60)
        act = cls.host.path(ACT)
        act.write_text(f"#!/bin/sh\n[ ! -e {LEAVES} ] || case $1 in leave) cp {LEAVES} {AWAY} ;; *) rm -f {AWAY} ;; esac\n")
        act.chmod(0o755)
        cls.addClassCleanup(cls.host.run, "rm", "-f", USERS, ACT, f"{library}/libnss_iampasstest.so.2")

    def setUp(self):
        super().setUp()
        passwd = self.host.path("/etc/passwd").read_text()
        self.host.path(USERS).write_text(re.search(ALICE, passwd)[0])
        # alice is in the directory alone.
        self.enterContext(self.host.changed("/etc/passwd", lambda text: re.sub(ALICE, "", text)))
        self.enterContext(self.stack(
            "sshd", "auth requisite pam_unix.so", f"auth optional pam_exec.so quiet {ACT} leave",
            "auth [success=ok user_unknown=ignore default=die] pam_iampass.so",
            f"auth optional pam_exec.so quiet {ACT} come"))  # fmt: skip
        self.sources("files iampasstest")
        self.addCleanup(self.come_back)

    def sources(self, names):
        self.enterContext(self.host.changed(
            "/etc/nsswitch.conf", lambda text: re.sub(r"(?m)^passwd:.*", f"passwd: {names}", text)))

    def will_leave(self, status, number):
        self.host.path(LEAVES).write_text(f"{status} {number}\n")

    def come_back(self):
        self.host.run("rm", "-f", LEAVES, AWAY)

    def sign_in(self, user="alice"):
        """A sign-in over ssh, with the password given."""
        # With less, ssh does not show what PAM says without a question.
        options = "-o LogLevel=INFO -o NumberOfPasswordPrompts=2"
        child = self.ssh(user, options=options, command=f"echo {OPENED}")
        self.type_password(child, user)
        return child

    def assert_refused(self, failure):
        """What the terminal says, which sshd shows with its next question."""
        self.will_leave(*failure)
        try:
            with self.phone("approve") as phone:
                child = self.sign_in()
                if child.expect_exact([ENTER_PROMPT, OPENED]) == 0:
                    child.sendline("")
                    # pam_unix asks again, and does not know her either.
                    child.expect(["assword: ", pexpect.EOF])
                said = child.before
                child.sendline(password_of("alice"))
                status = child.finish()
                if status == 0 or OPENED in child.screen:
                    raise MustNeverHappen(f"a shell opened by the password alone: {child.screen}")
                self.assertEqual(phone.requests(), [])
        finally:
            self.come_back()
        return said

    def test_while_the_directory_is_there_password_and_phone_open(self):
        with self.phone("approve") as phone:
            child = self.sign_in()
            child.expect_exact(ENTER_PROMPT)
            child.sendline("")
            self.assertEqual(child.finish(), 0, child.screen)
            self.assertEqual(len(phone.requests()), 1)
        self.assertIn(OPENED, child.screen)

    def test_while_the_directory_is_there_a_user_without_a_token_needs_no_phone(self):
        """So that the line behind the phone's is the one that would open."""
        child = self.sign_in("bob")
        if child.expect_exact([ENTER_PROMPT, OPENED]) == 0:
            child.sendline("")
        self.assertEqual(child.finish(), 0, child.screen)
        self.assertIn(OPENED, child.screen)

    def test_a_directory_that_leaves_behind_the_password_opens_nothing(self):
        for failure in FAILURES:
            with self.subTest(failure=failure):
                self.assertIn("IAMPASS: not asked: this computer cannot look up its users now", self.assert_refused(failure))
        reason = "refused user=- service=sshd .*reason=the system cannot look users up: "
        self.assertEqual(len(re.findall(reason, self.journal())), len(FAILURES), self.module_lines())

    def test_glibc_hides_it_behind_another_source_and_it_opens_nothing(self):
        """The files stand behind the directory: glibc says "no such user", and there is a token for the name."""
        self.sources("iampasstest files")
        for failure in FAILURES:
            with self.subTest(failure=failure):
                self.assert_refused(failure)
        reason = "refused user=- service=sshd .*reason=alice has a token, and the system does not know the name"
        self.assertEqual(len(re.findall(reason, self.journal())), len(FAILURES), self.module_lines())


if __name__ == "__main__":
    unittest.main()
