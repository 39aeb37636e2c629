"""Locked screens that ask the phone although `services` does not list them: `unlock` of iampass.conf."""

import errno
import hashlib
import json
import os
import pathlib
import time
import unittest

from broker_case import UID, WithBroker
from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.world import AUTHINFO_UNAVAIL, PATIENCE, SUCCESS, read

LINE, PROMPT = "Press Enter alone to approve on your phone", "Password: "
RINGING = "Approve the sign-in on your phone"
#: The hierarchy of systemd's, or the only one (cgroups(7)).
GROUPS = next(path for path in map(pathlib.Path, (
    "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")) if (path / "cgroup.procs").exists())


def setUpModule():
    global world
    world = world_with_a_phone()
    UnlockCase.world = world


class UnlockCase(WithBroker, SignInCase):
    def setUp(self):
        super().setUp()
        self.unlock("approved")
        # The root of control groups, as the broker sees them. Another run of these tests has one of its own.
        self.groups = GROUPS / f"iampass-tests-{os.getpid()}"
        self.addCleanup(self.remove_groups)
        self.enter(self.groups)
        world.write("first-groups", "1:name=systemd:/init.scope\n0::/init.scope\n", 0o644)
        self.set_up_broker(
            "timeout=20s", "unshare", "--cgroup", "--mount", "sh", "-c", 'mount --bind "$0" /proc/1/cgroup && exec "$@"',
            world.path("first-groups"))
        world.pam("waylock", "timeout=20s")
        os.chmod(world.path("pam.d/waylock"), 0o644)
        self.run_in("session-3.scope")

    def unlock(self, policy):
        world.configure(services="sudo", unlock=policy, unlock_timeout="20s")

    def run_in(self, unit):
        """Programs of this test are then in this unit of the user's for the kernel."""
        self.enter(self.groups / "user.slice" / f"user-{UID}.slice" / unit)

    def enter(self, group):
        group.mkdir(parents=True, exist_ok=True)
        before = GROUPS / self.group().lstrip("/") / "cgroup.procs"
        (group / "cgroup.procs").write_text(str(os.getpid()))
        self.addCleanup(before.write_text, str(os.getpid()))

    def remove_groups(self):
        """A worker that is about to end is in one for another moment."""
        end = time.monotonic() + PATIENCE
        for folder, _, _ in os.walk(self.groups, topdown=False):
            while os.path.exists(folder):
                try:
                    os.rmdir(folder)
                except OSError as error:
                    if error.errno != errno.EBUSY or time.monotonic() > end:
                        raise
                    time.sleep(0.05)

    @staticmethod
    def group():
        lines = [line.split(":", 2) for line in read("/proc/self/cgroup").splitlines()]
        name = {"systemd": "name=systemd", "unified": ""}.get(GROUPS.name, "")
        return next(path for _, kind, path in lines if kind == name)

    def note(self, session="3", uid=UID):
        """As the helper leaves it after it locked this session because the phone left."""
        start = int(read("/proc/1/stat").rsplit(")", 1)[1].split()[19])
        name = hashlib.sha256(f"{uid} {session} 1 {start}".encode()).hexdigest()[:32]
        folder = pathlib.Path(world.path("run", "locked"))
        for path in (folder.parent, folder):
            path.mkdir(mode=0o700, exist_ok=True)
        note = folder / name
        note.write_text(json.dumps({
            "version": 1, "uid": uid, "logind_session": session, "leader": {"pid": 1, "start": str(start)}}))
        note.chmod(0o600)
        self.addCleanup(note.unlink, missing_ok=True)
        return note

    def lock(self, *answers, service="swaylock", **scene):
        scene = {"uid": UID, "own": False, "answers": list(answers), "screen": None, **scene}
        return world.play(service, **scene)

    def assert_unlocked(self, **scene):
        result = self.lock("", **scene)
        self.assertEqual((result["codes"], result["texts"]), ([SUCCESS], [LINE, PROMPT, RINGING]))

    def assert_aside(self, **scene):
        result = self.lock("", **scene)
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))


class Approved(UnlockCase):
    def test_an_approval_opens_a_locker_that_nobody_listed(self):
        self.phone("approve")
        self.assert_unlocked()
        self.broker.wait_for(f"approved .* service=swaylock .* caller={UID}")

    def test_a_password_rings_no_phone(self):
        phone = self.phone("approve")
        self.assertEqual(self.lock("the-password")["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_a_denial_opens_nothing(self):
        self.phone("deny")
        self.assertNotIn(SUCCESS, self.lock("")["codes"])

    def test_a_request_of_another_session_is_not_asked(self):
        phone = self.phone("approve")
        self.run_in("session-5.scope")
        self.assert_aside()
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_a_group_that_only_has_a_units_name_is_not_asked(self):
        phone = self.phone("approve")
        # Users make groups of any name below their own.
        for group in ("session-5.scope/session-3.scope", f"session-5.scope/user@{UID}.service"):
            with self.subTest(group=group):
                self.run_in(group)
                self.assert_aside()
        self.enter(self.groups / "cron.service" / "user.slice" / f"user-{UID}.slice" / "session-3.scope")
        self.assert_aside()
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_a_locker_in_the_users_service_manager_is_asked(self):
        self.phone("approve")
        self.run_in(f"user@{UID}.service")
        self.assert_unlocked()

    def test_a_user_who_is_not_at_the_screen_is_not_asked(self):
        for session in ({"active": 0}, {"remote": 1}):
            with self.subTest(session=session):
                self.logind_says(**{"uid": UID, **session})
                self.assert_aside()

    def test_a_locker_that_nobody_knows_needs_the_helpers_note(self):
        self.phone("approve")
        self.assert_aside(service="waylock")
        self.note()
        self.assert_unlocked(service="waylock")


class Off(UnlockCase):
    def test_nobody_is_asked(self):
        self.unlock("off")
        self.note()
        self.assert_aside()


class AfterAWalkaway(UnlockCase):
    def setUp(self):
        super().setUp()
        self.unlock("walkaway")

    def test_the_first_unlock_asks_and_the_next_does_not(self):
        self.phone("approve")
        note = self.note()
        self.assert_unlocked()
        self.assertFalse(note.exists())
        self.assert_aside()

    def test_no_screen_asks_without_a_walkaway(self):
        self.assert_aside()

    def test_a_walkaway_of_another_session_asks_nobody(self):
        for other in ({"session": "4"}, {"uid": 2}):
            with self.subTest(other=other):
                self.note(**other)
                self.assert_aside()

    def test_a_denial_and_a_password_leave_the_note(self):
        self.phone("deny")
        note = self.note()
        self.assertNotIn(SUCCESS, self.lock("")["codes"])
        self.assertEqual(self.lock("the-password")["codes"], [AUTHINFO_UNAVAIL])
        self.assertTrue(note.exists())

    def test_a_damaged_note_asks_nobody(self):
        self.note().write_text("{")
        self.assert_aside()


if __name__ == "__main__":
    unittest.main()
