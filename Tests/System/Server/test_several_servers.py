"""Sign-ins by the module, a phone, and two servers behind one name, of which one fails."""

import json
import shutil
import signal
import threading
import time
import unittest
import urllib.parse

from Support.Hosts import signed_requests
from Support.Service.server import until
from Support.Service.two_servers import OneName
from Support.Service.world import ENROLLED, PATIENCE, SUCCESS, program, run


def setUpModule():
    global world
    world = OneName()
    unittest.addModuleCleanup(world.close)
    world.begin()
    run(program("iampassctl"), "user", "add", ENROLLED, "--config", world.path("iampass.conf"))
    world.register_phone()
    world.pam("sudo", "prompt=push timeout=30s")


class OneFails(unittest.TestCase):
    """The first address of the name is the first server's: that is where a computer asks."""

    def setUp(self):
        for number in (0, 1):
            if world.servers[number][0].process.poll() is not None:
                world.serve_at(number)
        world.forget_attempts()
        # No test finds what another one has left unanswered.
        world.postgresql.sql("DELETE FROM session WHERE status = 'pending'")

    def waiting_while(self, fail):
        """A sign-in that waits at the first server while `fail()` does something to that. The phone answers then."""
        with world.playing() as results:
            until(lambda: world.held(0) >= 1, "a sign-in that waits at the first server")
            fail()
            phone = world.phone("approve", "--once")
            try:
                phone.wait_for("^approved$")
            finally:
                phone.stop()
        self.assertEqual(results[0]["codes"], [SUCCESS], results[0])
        return results[0]

    def test_whoever_waits_at_a_server_that_is_killed_signs_in_at_the_other(self):
        self.waiting_while(lambda: world.kill(0))

    def test_whoever_waits_at_a_server_that_is_stopped_signs_in_at_the_other(self):
        self.waiting_while(lambda: world.servers[0][0].process.send_signal(signal.SIGTERM))

    def test_a_sign_in_begins_while_either_server_is_gone(self):
        for number in (0, 1):
            with self.subTest(gone=number):
                self.setUp()
                world.kill(number)
                phone = world.phone("approve")
                try:
                    result = world.play()
                    self.assertEqual(result["codes"], [SUCCESS], [result, phone.lines])
                finally:
                    phone.stop()

    def test_sign_ins_go_on_while_the_servers_are_killed_in_turn(self):
        phone, over, lost = world.phone("approve"), threading.Event(), []
        kills, failed = [], []

        def kill_in_turn():
            try:
                while not over.wait(1.5):
                    number = len(kills) % 2
                    world.kill(number)
                    kills.append(number)
                    time.sleep(0.5)
                    world.serve_at(number)
            except Exception as error:  # The test says it; a thread could not.
                failed.append(error)

        killing = threading.Thread(target=kill_in_turn)
        killing.start()
        try:
            number = 0
            # A quick machine plays more of them meanwhile.
            while number < 12 or len(kills) < 3 and not failed:
                number += 1
                result = world.play()
                if result["codes"] != [SUCCESS]:
                    lost.append(result)
        finally:
            over.set()
            killing.join(PATIENCE)
            phone.stop()
        self.assertEqual(failed, [])
        # Also when a server is killed while it begins a request: the other one knows the start again.
        self.assertEqual(lost, [])
        self.assertFalse(killing.is_alive())
        self.assertGreater(len(kills), 2)

    def test_a_server_that_is_stopped_answers_what_it_holds_and_is_not_ready(self):
        world.at(0)
        user = run(program("iampassctl"), "user", "show", ENROLLED, "--config", world.path("iampass.conf"))
        path = f"/authentication/authenticate_user/{world.application['application_id']}/" + self.token(user)
        session = world.signed("POST", path, {"context": {"host": "web-1"}})["authentication_status"]
        target = urllib.parse.urlsplit(session["status_url"]).path
        keys = (session["session_token"], session["session_secret"])
        self.assertEqual(world.ask("GET", target, by=keys)[0], 200)
        said, ready, over = {}, [], threading.Event()

        def wait():
            said["code"], _, said["reply"] = world.ask("GET", target, by=keys, headers={"Prefer": "wait=55"})

        def look():
            while not over.is_set():
                try:
                    ready.append(world.get("/readyz", address=world.servers[0][2])[0])
                except OSError:
                    return

        waiter, looker = threading.Thread(target=wait), threading.Thread(target=look)
        # Otherwise a test that fails would leave a looker that keeps this program from ending.
        self.addCleanup(over.set)
        waiter.start()
        until(lambda: world.held(0) >= 1, "a held request")
        looker.start()
        until(lambda: ready, "a first look")
        begun = time.monotonic()
        world.servers[0][0].process.send_signal(signal.SIGTERM)
        waiter.join(PATIENCE)
        self.assertLess(time.monotonic() - begun, 40)
        self.assertEqual((said["code"], said["reply"]["session_status"]), (200, "pending"))
        world.servers[0][0].process.wait(PATIENCE)
        over.set()
        looker.join(PATIENCE)
        self.assertEqual(ready[0], 200)
        self.assertIn(503, ready)

    @staticmethod
    def token(shown):
        with open(world.path("users"), encoding="utf-8") as file:
            return file.read().split(":")[1].split()[0]


class AtOnce(unittest.TestCase):
    def setUp(self):
        OneFails.setUp(self)

    def test_one_of_two_answers_at_two_servers_counts(self):
        """One phone approves at one server and denies at the other, at the same moment."""
        shutil.copy(world.path("phone.json"), world.path("twin.json"))
        world.write("twin-hosts", f"{world.ADDRESSES[1]} {world.NAME}\n", 0o644)
        there = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc/hosts && shift && exec "$@"', "sh",
                 world.path("twin-hosts")]  # fmt: skip
        phone = world.phone("approve")
        twin = world.start(*there, program("iampass-phone"), "watch", "--state", world.path("twin.json"), "--answer", "deny")
        try:
            for answering in (phone, twin):
                answering.wait_for("waiting for sign-ins")
            codes = []
            # On a busy machine one of them may be the first many times.
            while len(codes) < 6 or len(codes) < 60 and [SUCCESS] not in codes:
                codes.append(world.play()["codes"])
                self.assertIn(codes[-1], [[SUCCESS], [11]])
                world.postgresql.sql("UPDATE session SET ended_at = ended_at - 3600000 WHERE ending = 'DENIED'")
                world.forget_attempts()
            self.assertIsNone(twin.process.poll(), twin.lines)
            self.assertIsNone(phone.process.poll(), phone.lines)
        finally:
            phone.stop()
            twin.stop()
        twice = world.postgresql.sql(
            "SELECT session FROM audit WHERE event IN ('approved', 'denied') GROUP BY session HAVING count(*) > 1")
        self.assertEqual(twice, [])
        self.assertIn([SUCCESS], codes)


class Limits(unittest.TestCase):
    def setUp(self):
        OneFails.setUp(self)

    def test_refused_signatures_are_counted_over_all_servers(self):
        identity = world.application["application_id"]
        path = f"/management/has_registered_mobile_device/{identity}/nobody"
        codes = []
        for number in range(36):
            address = world.servers[number % 2][1]
            headers = signed_requests.headers(identity, "0123456789abcdef01234567", address + path)
            codes.append(world.get(path, headers=headers, address=address)[0])
        # 30 are told why; then both servers say to wait.
        self.assertEqual(codes, [401] * 30 + [429] * 6)

    def test_a_program_that_asks_both_servers_is_as_slow_as_one(self):
        made = world.command("openid-client", "create", "tests", "till", "--shown", "A till", "--json")
        self.assertEqual(made.returncode, 0, made.stderr)
        secret = json.loads(made.stdout)

        def post(number, path, **fields):
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            body = urllib.parse.urlencode({**secret, **fields}).encode()
            return json.loads(world.get(path, "POST", body, kind, address=world.servers[number][1])[2])

        asked = post(0, "/bc-authorize", scope="openid", login_hint=OneFails.token(None), binding_message="7 EUR")
        grant = {"grant_type": "urn:openid:params:grant-type:ciba", "auth_req_id": asked["auth_req_id"]}
        self.assertEqual(post(0, "/token", **grant)["error"], "authorization_pending")
        self.assertEqual(post(1, "/token", **grant)["error"], "slow_down")


if __name__ == "__main__":
    unittest.main()
