"""`iampassctl enable --trial` of what is not off, and its end."""

import fcntl
import os
import pathlib
import re
import signal
import subprocess
import unittest

import join_case
from control import CANNOT_CREATE, CONFIG, INTERRUPTED
from enable_case import Enabled, open_world
from setup_case import SECRET
from Support.Service.world import PATIENCE, read


def setUpModule():
    global world
    world = join_case.JoinCase.world = open_world()


class Trial(Enabled):
    def setUp(self):
        super().setUp()
        self.write_pam("sudo", "@include common-auth\n")

    def edit(self):
        """As an administrator does, so that pam-auth-update leaves the file alone from then on."""
        own = r"auth\trequired\tpam_faildelay.so delay=1\n\1"
        self.write_pam("common-auth", re.sub(r"(?m)^(auth.*pam_unix)", own, self.common()))
        self.assertIn("pam_faildelay", self.common())


class OfWhatIsOn(Trial):

    def assert_refused(self, named):
        """Even if forced, without a change."""
        before = self.common(), world.snapshot()
        answer = self.ctl("enable", "--force", "--no-security-key", "--services", "login", "--trial", "10m")
        self.assertEqual((answer.code, (self.common(), world.snapshot())), (CONFIG, before), answer.text)
        self.assertRegex(answer.err, rf"(?m)^already there: {named}")
        self.assertIn("a trial begins only if sign-in by phone is off, and PAM has the lines above\n", answer.err)

    def test_what_is_on_is_on_after_a_trial_that_was_refused(self):
        self.assertEqual(self.ctl("enable", "--force").code, 0)
        self.assert_refused(r"/etc/pam\.d/common-auth:\d+: auth.*pam_iampass\.so")
        self.assertIn("pam_iampass.so", self.common())

    def test_a_security_key_alone_is_on_too(self):
        self.write_pam("sudo", "auth required pam_u2f.so origin=pam://iampass\n@include common-auth\n")
        self.assert_refused(r"/etc/pam\.d/sudo:1: auth required pam_u2f\.so")

    def test_a_line_by_hand_is_named_and_no_end_is_promised(self):
        self.write_pam("sudo", "auth required pam_iampass.so\n@include common-auth\n")
        self.assert_refused(r"/etc/pam\.d/sudo:1: auth required pam_iampass\.so")

    def test_lines_that_enable_told_to_add_by_hand_have_no_trial(self):
        self.edit()
        answer = self.ctl("enable", "--force")
        self.assertEqual(answer.code, CANNOT_CREATE, answer.text)
        self.assertIn("add the lines above by hand, without a trial", answer.err)
        line = re.search(r"(?m)^  (auth \[.*pam_iampass\.so)$", answer.err)[1]
        self.write_pam("common-auth", f"{line}\n{self.common()}")
        self.assert_refused(r"/etc/pam\.d/common-auth:1: auth \[")

    def test_join_offers_no_trial_of_what_is_on(self):
        self.assertEqual(self.ctl("enable", "--force").code, 0)
        self.addCleanup(world.write, "credentials", read(world.path("credentials")))
        code, _ = join_case.new_code("--unattended")
        done = self.ctl("join", world.address, code, "--name", "desk-that-is-on", "--yes", "--again")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("next: iampassctl check\n", done.out)


class Ending(Trial):
    """Sign-in by phone is on. What all terminals are shown is in a file."""

    def setUp(self):
        super().setUp()
        self.addCleanup(pathlib.Path(world.path("iampass-trial-ended")).unlink, missing_ok=True)
        self.shown = pathlib.Path(self.root, "shown")
        self.lay_over("/usr/bin/wall", f'#!/bin/sh\necho "$1" >>{self.shown}\n')
        self.assertEqual(self.ctl("enable", "--force").code, 0)


class Ends(Ending):
    def test_an_end_that_fails_again_and_again_is_on_all_terminals_once(self):
        self.edit()
        for _ in range(2):
            answer = self.ctl("trial-end")
            self.assertEqual(answer.code, CANNOT_CREATE, answer.text)
            self.assertIn("the trial is over, but lines of pam_iampass.so are still in force", answer.out)
        self.assertEqual(len(self.shown.read_text().splitlines()), 1)

    def test_a_forgotten_question_of_another_command_does_not_hold_it_up(self):
        child = world.terminal("setup", "--application-id", "another")
        child.expect_exact(SECRET)
        answer = self.ctl("trial-end")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertNotIn("another iampassctl", answer.err)
        self.assertNotIn("pam_iampass", self.common())
        child.sendintr()
        self.assertEqual(world.finish(child), INTERRUPTED)

    def test_a_command_that_holds_the_lock_for_long_does_not_keep_it_on(self):
        with open(world.path("iampassctl.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            answer = self.ctl("disable")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertIn("warning: another iampassctl is still running; going on without the lock\n", answer.err)
        self.assertNotIn("pam_iampass", self.common())


class KilledAtItsEnd(Ending):
    """The end is killed as it removes the trial's units. The service at boot then runs it again."""

    UNITS = "/etc/systemd/system"

    def setUp(self):
        super().setUp()
        os.makedirs(self.root + self.UNITS)
        self.mounted.append(self.UNITS)
        for kind in ("service", "timer"):
            pathlib.Path(self.root + self.UNITS, f"iampass-trial.{kind}").write_text("# A trial's.\n")
        self.notes = pathlib.Path(world.path("iampass-trial"))
        self.addCleanup(self.notes.unlink, missing_ok=True)
        world.write(self.notes.name, "daemon sudo\n")
        self.lay_over("/usr/bin/systemctl", '#!/bin/sh\n[ "$1" != stop ] || kill -KILL "$PPID"\n')

    def killed(self, *words):
        answer = self.ctl(*words)
        self.assertEqual(answer.code, -signal.SIGKILL, answer.text)
        self.assertIn("iampass-trial.service", os.listdir(self.root + self.UNITS))

    def ended(self):
        """What it says at boot. Nothing is left of it then."""
        self.lay_over("/usr/bin/systemctl", "#!/bin/sh\n")
        answer = self.ctl("trial-end")
        self.assertEqual((answer.code, os.listdir(self.root + self.UNITS)), (0, []), answer.text)
        self.assertFalse(self.notes.exists())
        return answer.out

    def test_it_stays_on_as_the_trials_user_has_signed_in(self):
        self.killed("trial-end")
        self.assertIn("sign-in by phone stays on", self.ended())
        self.assertIn("pam_iampass", self.common())

    def test_what_was_switched_off_is_not_said_to_stay_on(self):
        self.killed("disable")
        self.assertIn("sign-in by phone is off again", self.ended())
        self.assertNotIn("pam_iampass", self.common())


class UnderSystemd(Trial):
    """With programs of the test's in the place of systemctl and pam-auth-update."""

    def setUp(self):
        super().setUp()
        for name in ("iampass-trial", "iampass-trial-ended"):
            self.addCleanup(pathlib.Path(world.path(name)).unlink, missing_ok=True)
        self.units = pathlib.Path(self.root, "etc/systemd/system")
        # systemd seems to run this computer.
        for folder in (self.units, pathlib.Path(self.root, "run/systemd/system")):
            folder.mkdir(parents=True)
        self.mounted += ["/etc/systemd/system", "/run"]
        for path in ("/usr/bin/systemctl", "/usr/bin/wall"):
            self.lay_over(path, "#!/bin/sh\n")

    def update(self, enable, disable):
        self.lay_over(
            "/usr/sbin/pam-auth-update",
            f'#!/bin/sh\ncase "$*" in *--enable*) {enable} ;; *--disable*) {disable} ;; esac\n')  # fmt: skip


class InAPowerCut(UnderSystemd):
    """The folders' flushes stand for it."""

    def test_what_ends_the_trial_is_on_the_disk_before_pam_changes(self):
        wanted = "/etc/systemd/system/multi-user.target.wants"
        self.lay_over("/usr/bin/systemctl", f'#!/bin/sh\n[ "$1" != enable ] || mkdir {wanted}\n')
        # It changes nothing, so that enable takes the trial back.
        self.update("exit 0", "exit 0")
        trace = world.path("trace")
        words = self.words("enable", "--force", "--trial", "10m")
        place = words.index("--") + 1
        words[place:place] = ["strace", "-f", "-y", "-qq", "-o", trace, "-e", "trace=execve,fsync"]
        subprocess.run(words, capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
        found = re.findall(r'execve\("([^"]+)"|fsync\(\d+<([^>]+)>\) += 0', read(trace))
        steps = [begun or "flush " + flushed for begun, flushed in found]
        before = steps[:steps.index("/usr/sbin/pam-auth-update")]
        linked = max(place for place, step in enumerate(before) if step == "/usr/bin/systemctl")
        self.assertIn("flush /etc/systemd/system", before[linked:])
        self.assertIn(f"flush {wanted}", before[linked:])


class OnAFullDisk(UnderSystemd):
    """pam-auth-update writes one of its files, and has no room for the next one."""

    WRITES = "sed -i '1i auth sufficient pam_iampass.so' /etc/pam.d/common-auth; exit 1"
    TAKES_BACK = "sed -i /pam_iampass/d /etc/pam.d/common-auth"

    def began(self):
        answer = self.ctl("enable", "--force", "--trial", "10m")
        self.assertNotEqual(answer.code, 0, answer.text)
        self.assertIn("/usr/sbin/pam-auth-update", answer.err)
        return answer

    def test_the_trial_ends_what_enable_could_not_take_back(self):
        self.update(self.WRITES, "exit 1")
        answer = self.began()
        self.assertIn("pam_iampass", self.common())
        self.assertIn("the trial goes on, and its end switches it off\nhint: ", answer.err)
        self.assertEqual(sorted(path.name for path in self.units.iterdir()), ["iampass-trial.service", "iampass-trial.timer"])
        # No sign-in by what is half on is noted.
        self.assertFalse(os.path.exists(world.path("iampass-trial")))
        self.update("exit 1", self.TAKES_BACK)
        answer = self.ctl("trial-end")
        self.assertEqual((answer.code, list(self.units.iterdir())), (0, []), answer.text)
        self.assertIn("sign-in by phone is off again", answer.out)
        self.assertNotIn("pam_iampass", self.common())

    def test_nothing_is_left_of_the_trial_if_all_is_taken_back(self):
        self.update(self.WRITES, self.TAKES_BACK)
        answer = self.began()
        self.assertNotIn("the trial goes on", answer.err)
        self.assertNotIn("pam_iampass", self.common())
        self.assertEqual(list(self.units.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
