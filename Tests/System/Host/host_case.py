"""The booted host that all tests of this folder share, and a second one with a desktop's programs."""

import atexit
import contextlib
import json
import os
import pathlib
import re
import time
import unittest

from Support.Hosts import testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, CODE_PROMPT, Phone
from Support.Service.never import assert_nobody_signed_in

PROJECT = pathlib.Path(__file__).resolve().parents[3]
_hosts = {}
_refusal = None


def shared_host(release):
    """Boots at the first call. Raises SkipTest if no host can be booted."""
    global _refusal
    if release not in _hosts and _refusal is None:
        built = os.environ.get("IAMPASS_BIN", str(PROJECT / ".build-product" / "release"))
        stack = contextlib.ExitStack()
        atexit.register(stack.close)
        try:
            _hosts[release] = stack.enter_context(testhost.Host(built, release=release))
        except testhost.CannotBoot as error:
            _refusal = unittest.SkipTest(str(error))
        except Exception as error:  # once, not again for each class
            _refusal = error
    if _refusal:
        raise _refusal
    return _hosts[release]


#: Seconds until something happens that a busy machine holds up. What would happen by itself in the end takes a minute.
PATIENCE = 45
#: Seconds until a locker or an agent does what is asked again and again, or never will. A round takes 15 s of them on a busy
#: machine: the journal is read, and keys are typed one by one.
BUSY = 180
#: Seconds in which a locker has taken what was typed, or will not.
REPEAT = 3
#: Seconds in which the phone is asked after Enter. A second Enter would answer the next question.
ASKED = 10


def expired(shadow):
    """The text of /etc/shadow with alice's password as `chage -d 0` leaves it."""
    return re.sub(r"(?m)^(alice:[^:]*):\d*:", r"\1:0:", shadow)


class HostCase(unittest.TestCase):
    """Each test starts with no unanswered requests remembered."""

    release = "12"

    @classmethod
    def setUpClass(cls):
        cls.host = shared_host(cls.release)

    def setUp(self):
        self.host.forget_attempts()
        self.began = time.time()
        # Lines of the same second belong to the test before.
        self.mark = f"mark of {self.id()}"
        self.host.run("logger", "--priority", "authpriv.info", "--tag", "test-host", self.mark)

    # Commands at a terminal

    def sudo(self, words="id -un", user="alice", **more):
        return self.host.terminal(f"sudo {words}", user=user, **more)

    def ssh(self, name="alice", options="", command="id -un", **more):
        return self.host.terminal(f"ssh {options} {name}@localhost {command}", user="visitor", **more)

    @contextlib.contextmanager
    def phone(self, answer, after=None):
        """Nobody signs in by a phone that denies, at no program."""
        before = self.approvals()
        with Phone(self.host, answer, after) as phone:
            yield phone
        if answer == "deny":
            assert_nobody_signed_in([0] * (self.approvals() - before))

    # What was said and done

    def journal(self):
        """The host's log since this test began."""
        return self.host.journal(int(self.began) - 1).split(self.mark, 1)[-1]

    def module_lines(self):
        return [line for line in self.journal().splitlines() if "pam_iampass" in line]

    def approvals(self):
        """Sign-ins that the module or the broker has approved."""
        return sum("approved user=" in line for line in self.journal().splitlines() if "iampass" in line)

    def requests_at_the_service(self):
        """Started sessions in the service's own log, at its level "debug"."""
        return len(re.findall(r"session started", self.journal()))

    def press_enter_for_the_phone(self, child):
        """Answers the choice with Enter, and the prompt that shows a code, if there is one."""
        child.expect_exact(CHOOSE_PROMPT)
        child.sendline("")
        self.pass_code_prompt(child)

    def pass_code_prompt(self, child):
        if child.expect([CODE_PROMPT, r"\n"]) == 0:
            child.sendline("")

    def again_until(self, done, act, claim, pause=REPEAT):
        """Does it again and again: a key that comes while a window is just being shown goes nowhere."""
        deadline = time.monotonic() + BUSY
        while not done():
            self.assertLess(time.monotonic(), deadline, f"{claim}: {self.journal()[-4_000:]}")
            act()
            end = time.monotonic() + pause
            while not done() and time.monotonic() < end:
                time.sleep(0.05)

    def assert_eventually(self, claim, check, patience=PATIENCE):
        """`check` becomes true; what happens after a command's end has no other sign."""
        deadline = time.monotonic() + patience
        while not check():
            if time.monotonic() > deadline:
                self.fail(f"{claim}; the host's log:\n{self.journal()[-6_000:]}")
            time.sleep(0.05)

    def live_sessions(self):
        """What the service calls alice's live sessions."""
        text = self.host.run("iampass-phone", "status", "--json", "--state", testhost.PHONE_STATE, user="phone")
        return json.loads(text)["sessions"]
