"""Callers that cannot sign in by themselves: lockers of users, and polkit; through libpam, the broker and the service."""

import ctypes
import os
import pathlib
import time
import unittest

from broker_case import ASIDE, BUSY, LINE, PROMPT, RINGING, UID, BrokerCase, processes_of, read_all, request_for
from sign_in_case import world_with_a_phone
from Support.Service.ends import assert_ended
from Support.Service.world import AUTH_ERR, AUTHINFO_UNAVAIL, ENROLLED, MAXTRIES, PATIENCE, SUCCESS

#: unshare(2), prctl(2)
CLONE_NEWUSER = 0x1000_0000
PR_SET_DUMPABLE = 4


def enter_user_namespace():
    """As its root."""
    uid, outside = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None)
    # Otherwise the process's files are still root's, since another user began it.
    libc.prctl(PR_SET_DUMPABLE, 1)
    libc.unshare(CLONE_NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {outside} 1")):
        pathlib.Path("/proc/self", name).write_text(text)
    assert os.geteuid() == 0


def setUpModule():
    global world
    world = world_with_a_phone()
    BrokerCase.world = world


class Lockers(BrokerCase):
    def test_enter_and_an_approval_unlock_and_leave_no_session(self):
        self.phone("approve")
        result = self.lock("")
        self.assertEqual((result["codes"], result["texts"]), ([SUCCESS], [LINE, PROMPT, RINGING]))
        self.broker.wait_for(f"approved user={ENROLLED} service=swaylock .* caller={UID}")
        self.assert_nothing_is_left()

    def test_after_a_denial_the_next_try_on_the_same_handle_takes_the_password(self):
        phone = self.phone("deny")
        result = self.lock("", "the-password", calls=("authenticate", "authenticate"))
        self.assertEqual(result["codes"], [MAXTRIES, AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"], [LINE, PROMPT, RINGING, "IAMPASS: denied on your phone", LINE, PROMPT])
        self.assertEqual(phone.count("sign-in request"), 1)
        self.assertNotIn("the-password", "\n".join(self.broker.lines))

    def test_an_unanswered_request_goes_on_to_the_password(self):
        world.pam("swaylock", "timeout=5s")
        os.chmod(world.path("pam.d/swaylock"), 0o644)
        result = self.lock("")
        self.assertEqual(result["codes"], [AUTH_ERR])
        self.assertEqual(result["texts"][-1], "IAMPASS: not answered in time. Use your password.")

    def test_a_typed_password_rings_no_phone(self):
        phone = self.phone("approve")
        result = self.lock("the-password")
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], [LINE, PROMPT]))
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_a_locker_that_dies_takes_its_request_back(self):
        phone = self.phone("ask")
        closed = self.cancelled()
        missed = self.die_while_it_rings(phone, "swaylock", uid=UID)
        # It may have died before it was told that its phone is asked.
        self.broker.wait_for("refused .* reason=(interrupted|left while the phone was asked)")
        assert_ended(lambda: int(self.cancelled() > closed), missed)
        self.assertLessEqual(len(self.sessions_left()), missed)

    @staticmethod
    def cancelled():
        """Requests that the service closed since their computer took them back."""
        return world.server.count("answer=LOGGED_OUT")


class AsksByAnotherName(BrokerCase):
    """Debian's xsecurelock, whose PAM service is common-auth."""

    def setUp(self):
        super().setUp()
        self.configure("swaylock polkit-1 xsecurelock")
        world.pam("common-auth", "timeout=20s")
        os.chmod(world.path("pam.d/common-auth"), 0o644)

    def configure(self, services, **more):
        world.configure(services=services, unlock_timeout="20s", send_context="yes", **more)

    def ask(self, *answers, **scene):
        return world.play("common-auth", **{"own": False, "answers": list(answers), "screen": None, **scene})

    def assert_aside(self, **scene):
        result = self.ask("", **scene)
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))
        return result

    def test_a_users_locker_is_unlocked_under_its_own_name(self):
        phone = self.phone("approve")
        result = self.ask("", uid=UID)
        self.assertEqual((result["codes"], result["texts"]), ([SUCCESS], [LINE, PROMPT, RINGING]))
        self.broker.wait_for(f"approved user={ENROLLED} service=xsecurelock .* caller={UID}")
        for line in (f"  user          {ENROLLED}", "  service       xsecurelock (says the user's own program)"):
            self.assertIn(line, phone.lines)
        self.assert_nothing_is_left()

    def test_an_approval_opens_no_session(self):
        self.phone("approve")
        result = self.ask("", uid=UID, calls=("authenticate", "open_session", "close_session"))
        self.assertEqual(result["codes"], [SUCCESS] * 3)
        self.assert_nothing_is_left()

    def test_after_a_denial_the_password_is_taken(self):
        self.phone("deny")
        result = self.ask("", "the-password", uid=UID, calls=("authenticate", "authenticate"))
        self.assertEqual(result["codes"], [MAXTRIES, AUTHINFO_UNAVAIL])
        self.assertIn("service=xsecurelock ", "\n".join(result["log"]))

    def test_a_program_of_roots_does_not_count_as_a_locker(self):
        phone = self.phone("approve")
        # Nor does one that root began, or that can become root again.
        for scene in ({}, {"real_uid": UID}, {"effective_uid": UID}):
            with self.subTest(scene=scene):
                self.assertNotIn("xsecurelock", "\n".join(self.assert_aside(**scene)["log"]))
        self.assertEqual(phone.count("sign-in request"), 0)

    def test_a_locker_that_is_not_listed_takes_the_password_silently(self):
        self.configure("swaylock polkit-1")
        self.assert_aside(uid=UID)

    def test_without_a_broker_it_takes_the_password_silently(self):
        self.broker.stop()
        self.assert_aside(uid=UID)

    def test_the_broker_answers_to_the_lockers_name_alone(self):
        for uid in (UID, 0):
            caller = self.connected(uid=uid)
            caller.sendall(request_for(ENROLLED, service="common-auth"))
            self.assertEqual(read_all(caller), ASIDE)

    def test_a_name_that_is_listed_as_it_is_stays(self):
        self.configure("common-auth xsecurelock")
        self.phone("approve")
        self.assertEqual(self.ask("", uid=UID)["codes"], [SUCCESS])
        self.broker.wait_for(f"approved user={ENROLLED} service=common-auth .* caller={UID}")


class Polkit(BrokerCase):
    def test_an_approval_through_the_broker_satisfies_polkit(self):
        self.phone("approve")
        result = world.play("polkit-1", own=False, answers=[""])
        self.assertEqual((result["codes"], result["texts"]), ([SUCCESS], [LINE, PROMPT, RINGING]))
        self.assert_nothing_is_left()

    def test_without_a_broker_polkit_takes_the_password_silently(self):
        self.broker.stop()
        result = world.play("polkit-1", own=False)
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))


class NotServed(BrokerCase):
    def assert_aside(self, **scene):
        result = self.lock("", **scene)
        self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))

    def test_a_user_asks_for_nobody_but_themselves(self):
        self.logind_says(uid=2)
        self.assert_aside(uid=2)
        self.broker.wait_for("only root may ask for another user")

    def test_a_user_without_an_active_local_session_is_not_served(self):
        for session in ({"active": 0}, {"remote": 1}, {"uid": 2}):
            with self.subTest(session=session):
                self.logind_says(**{"uid": UID, **session})
                self.assert_aside()

    def test_root_of_a_user_namespace_is_the_user_outside(self):
        caller = self.connected(before=enter_user_namespace)
        caller.sendall(request_for("root"))
        self.assertEqual(read_all(caller), ASIDE)
        self.broker.wait_for(f"caller={UID} reason=only root may ask for another user")

    def test_a_uid_without_a_session_here_gets_no_process(self):
        """Users of user namespaces have thousands of uids."""
        callers = [self.connected(uid=100_000 + number) for number in range(40)]
        self.assertEqual(processes_of(self.broker), 1)
        for caller in callers:
            self.assertEqual(read_all(caller), ASIDE)
        self.phone("approve")
        self.assertEqual(self.lock("")["codes"], [SUCCESS])

    def test_a_uid_without_a_session_here_does_not_fill_the_log(self):
        said = lambda: sum("refused caller=99999 " in line for line in self.broker.lines)
        for _ in range(200):
            self.assertEqual(read_all(self.connected(uid=99_999)), ASIDE)
        self.broker.wait_for("refused caller=99999 ")
        self.phone("approve")
        self.assertEqual(self.lock("")["codes"], [SUCCESS])
        self.assertLessEqual(said(), 2)

    def test_without_a_broker_a_locker_takes_the_password_silently(self):
        self.broker.stop()
        self.assert_aside()

    def test_only_roots_broker_is_believed(self):
        self.broker.stop()
        path = world.path("run-broker", "socket")
        os.unlink(path)
        os.chmod(world.path("run-broker"), 0o777)
        self.addCleanup(os.chmod, world.path("run-broker"), 0o755)
        # It approves whatever it is asked.
        impostor = (
            "import os, socket; os.setresuid(2, 2, 2); s = socket.socket(socket.AF_UNIX); s.bind(%r); s.listen(); print(1, flush=True)\n"
            "while True: c = s.accept()[0]; c.sendall(bytes([0, 2, 4, 1])); c.recv(4096)" % path)
        process = world.start("/usr/bin/python3", "-c", impostor)
        self.addCleanup(process.stop)
        process.wait_for("1")
        for service, scene in (("polkit-1", {}), ("swaylock", {"uid": UID})):
            result = world.play(service, own=False, **scene)
            self.assertEqual((result["codes"], result["texts"]), ([AUTHINFO_UNAVAIL], []))


class Trouble(BrokerCase):
    def test_a_broker_that_is_killed_while_the_phone_is_asked_leads_to_the_password(self):
        phone = self.phone("ask")
        with world.playing("swaylock", own=False, uid=UID, answers=["", "the-password"], calls=("authenticate",) * 2, screen=None) as results:
            phone.wait_for("sign-in request")
            # systemd keeps the socket: there is no moment without one.
            self.start_broker()
            self.broker.process.kill()
            self.broker.process.wait()
        self.assertEqual(results[0]["codes"], [AUTHINFO_UNAVAIL] * 2)
        # The phone may ring before the locker is told so.
        *_, said, line, asked = results[0]["texts"]
        self.assertIn("the broker of this computer stopped", said)
        self.assertEqual((line, asked), (LINE, PROMPT))

    def test_the_next_broker_ends_what_the_one_before_asked(self):
        phone = self.phone("ask")
        with world.playing("swaylock", own=False, uid=UID, answers=["", "the-password"], calls=("authenticate",), screen=None):
            phone.wait_for("sign-in request")
            self.wait_for_the_services_reply()
            self.assertEqual(len(self.asked()), 1)
            # One that is asked by a broker that runs is left alone.
            another = self.start_broker()
            self.assertEqual(self.told(b"\0\0"), b"")
            self.assertEqual(len(self.asked()), 1)
            another.process.kill()
            self.broker.process.kill()
            self.broker.process.wait()
        self.assertEqual(len(self.asked()), 1)
        told = self.start_broker().wait_for("ended [01] of 1 requests that a broker before had left open")
        self.assertEqual(self.asked(), [])
        missed = "ended 0" in told
        assert_ended(lambda: not missed, missed)
        if missed:
            return
        # It keeps nobody from asking again.
        phone.stop()
        self.phone("approve")
        self.assertEqual(self.lock("")["codes"], [SUCCESS])

    def test_the_next_broker_removes_what_was_not_written_to_its_end(self):
        old, fresh = (pathlib.Path(world.path("run", "asked", letter * 32 + ".new")) for letter in "ab")
        old.parent.mkdir(0o700, parents=True, exist_ok=True)
        for path in (old, fresh):
            path.write_bytes(b"{")
            self.addCleanup(path.unlink, missing_ok=True)
        os.utime(old, (time.time() - 120,) * 2)
        self.start_broker()
        end = time.monotonic() + PATIENCE
        while old.exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual((old.exists(), fresh.exists()), (False, True))

    def test_a_flood_of_one_user_costs_nobody_elses_prompt(self):
        self.phone("approve")
        began = time.monotonic()
        flood = [self.connected() for _ in range(100)]
        # One a time has two seconds to say what it wants. The others are told at once that the broker is busy.
        in_turn = 1 + int((time.monotonic() - began) / 2)
        result = world.play("polkit-1", own=False, answers=[""])
        self.assertEqual(result["codes"], [SUCCESS])
        said = [read_all(caller) for caller in flood]
        self.assertEqual(said[0], b"")
        self.assertLessEqual(said.count(b""), in_turn)
        self.assertEqual(said.count(BUSY), len(said) - said.count(b""))

    def test_what_is_not_a_request_is_not_answered(self):
        for sent in (b"\0\0", b"\4\1" + b"x" * 1025, b"\0\2\2a", b"\xff\xff", b"\0\5\1\0\0\0\0", b"\0"):
            with self.subTest(sent=sent):
                self.assertEqual(self.told(sent), b"")
        self.phone("approve")
        self.assertTrue(self.unlocked())


if __name__ == "__main__":
    unittest.main()
