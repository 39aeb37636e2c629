"""`kill -9` at any moment, under load: nothing that was said is lost, and nothing that was spent can be used again."""

import http.client
import json
import random
import signal
import threading
import time
import unittest

from Support.Hosts import signed_requests
from Support.Service.server import ServerWorld
from Support.Service.world import PATIENCE

ROUNDS = 6


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


class Load:
    """Requests as fast as they go, and what the service said to each."""

    def __init__(self):
        self.users = []  # acknowledged
        self.replays = []  # (method, path, body, headers) of acknowledged requests
        self.approved = []  # sessions whose client was told "active"
        self.ended = []  # sessions whose logout was acknowledged
        self.links = []
        self.problems = []
        self.running = True
        self.count = 0
        self.lock = threading.Lock()

    def signed(self, method, path, body=None, by=None):
        """The reply's JSON; None if the service was gone."""
        client, secret = by or (world.application["application_id"], world.application["application_secret"])
        data = None if body is None else json.dumps(body).encode()
        headers = signed_requests.headers(client, secret, world.address + path)
        try:
            status, _, text = world.get(path, method, data if method == "POST" else None, headers)
        except (OSError, http.client.HTTPException):
            return None
        if status in (401, 404, 429):
            self.problems.append(f"{method} {path}: {status} {text}")
        if status >= 300:
            return None
        with self.lock:
            self.replays.append((method, path, data if method == "POST" else None, headers))
        return json.loads(text)

    def name(self):
        with self.lock:
            self.count += 1
            return f"user {self.count}"

    def add_users(self):
        while self.running:
            name = self.name()
            if self.signed("POST", "/management/add_users/" + world.application["application_id"], {"users": [name]}):
                self.users.append(name)

    def sign_in(self, user, host):
        """One sign-in after the other: approved by the phone, told, and every second one ended."""
        path = f"/authentication/authenticate_user/{world.application['application_id']}/{user}"
        while self.running:
            reply = self.signed("POST", path, {"context": {"host": host}})
            session = reply and reply["authentication_status"]
            if not session or not session["authenticated"]:
                time.sleep(0.02)
                continue
            self.follow(session)

    def follow(self, session):
        keys = (session["session_token"], session["session_secret"])
        status_path = session["status_url"].removeprefix(world.address)
        while self.running:
            reply = self.signed("GET", status_path, by=keys)
            status = reply and reply["session_status"]
            if status == "active":
                self.approved.append((status_path, keys))
                if random.random() < 0.5:
                    if self.signed("POST", session["logout_url"].removeprefix(world.address), {}, by=keys):
                        self.ended.append((status_path, keys))
                return
            if status in ("timeout", "closed", "cancelled"):
                return
            time.sleep(0.02)


class Killed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        load, application = Load(), world.application["application_id"]
        load.signed("POST", f"/management/add_users/{application}", {"users": ["alice"]})
        link = load.signed("GET", f"/management/device_registration_link/{application}/alice?display_name=Alice")
        world.phone_registered(link["register_url"])

    def setUp(self):
        self.load = Load()

    def kill_under_load(self):
        """Lets the load run for a while of any length, kills the service, and starts it again."""
        load = self.load
        replays, approved = len(load.replays), len(load.approved)
        # Everybody is at work again before the service goes, the phone too.
        end = time.monotonic() + PATIENCE
        while (len(load.replays) < replays + 20 or len(load.approved) <= approved) and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.3))
        world.server.process.send_signal(signal.SIGKILL)
        world.server.process.wait()
        world.restart_server()

    def assert_nothing_is_lost(self, phone):
        load = self.load
        with world.database() as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            users = {name for name, in database.execute("SELECT name FROM user")}
            answered, = database.execute("SELECT count(*) FROM session WHERE approved_at IS NOT NULL").fetchone()
        self.assertEqual(set(load.users) - users, set())
        self.assertGreaterEqual(answered, phone.count("^approved$"))

    def assert_sessions_are_what_was_said(self):
        load, ended = self.load, {path for path, _ in self.load.ended}
        for path, keys in load.approved:
            reply = load.signed("GET", path, by=keys)
            self.assertIsNotNone(reply, path)
            if path in ended:
                self.assertEqual(reply["session_status"], "closed")
            else:
                # Its logout may have been done, and the word of it lost.
                self.assertIn(reply["session_status"], ("active", "closed"))

    def assert_no_nonce_works_twice(self, replays):
        # Fewer than the limit at which the service stops checking a client's signatures. Each start resets the count.
        for method, path, body, headers in random.sample(replays, min(20, len(replays))):
            status, _, text = world.get(path, method, body, headers)
            self.assertEqual((status, json.loads(text)["reason"]), (401, "NONCE_REPLAYED"), path)

    def test_nothing_said_is_lost_and_nothing_spent_works_again(self):
        load = self.load
        phone = world.phone("approve")
        self.addCleanup(phone.stop)
        jobs = [(load.add_users,), (load.add_users,)] + [(load.sign_in, "alice", f"web-{number}") for number in range(3)]
        threads = [threading.Thread(target=job[0], args=job[1:], daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        try:
            for _ in range(ROUNDS):
                self.kill_under_load()
                with load.lock:
                    replays = list(load.replays)
                self.assert_no_nonce_works_twice(replays)
        finally:
            load.running = False
            for thread in threads:
                thread.join(PATIENCE)
        self.assertGreater(len(load.users), ROUNDS)
        self.assertGreaterEqual(len(load.approved), ROUNDS)
        self.assert_nothing_is_lost(phone)
        self.assert_sessions_are_what_was_said()
        self.assertEqual(load.problems, [])

    def test_the_phone_and_the_application_are_there_after(self):
        world.server.process.send_signal(signal.SIGKILL)
        world.server.process.wait()
        world.restart_server()
        self.assertEqual(world.phone_status()["user"], "Alice")


if __name__ == "__main__":
    unittest.main()
