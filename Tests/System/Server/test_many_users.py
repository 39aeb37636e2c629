"""Thousands of users are added and deleted at one server, while sign-ins begin at another one on the same database."""

import json
import threading
import unittest

from Support.Hosts import signed_requests
from Support.Service.server import until
from Support.Service.two_servers import TwoServers
from Support.Service.world import PATIENCE

NAMES = [f"{number:04}" for number in range(5000)]
#: Sign-ins that must have begun between the first and the last of these users. There are fifty portions, and whoever asks
#: for the database's one turn to write waits for one of them.
LEAST_BETWEEN = 8


class World(TwoServers):
    def ask_at(self, number, path, body, by=None):
        """The code and JSON of a signed request at this server, whichever one others ask meanwhile."""
        address = self.servers[number][1]
        client, secret = by or (self.application["application_id"], self.application["application_secret"])
        code, _, text = self.get(
            path, "POST", json.dumps(body).encode(), signed_requests.headers(client, secret, address + path), address=address)
        return code, json.loads(text)

    def manage(self, call, names):
        return self.ask_at(0, f"/management/{call}/{self.application['application_id']}", {"users": names})

    def start_at(self, number, host):
        """The code of a start, and of its end, which makes room for the next one."""
        path = f"/authentication/authenticate_user/{self.application['application_id']}/alice"
        code, reply = self.ask_at(number, path, {"context": {"host": host}})
        session = reply.get("authentication_status", {})
        if code >= 300 or "session_token" not in session:
            return code, reply
        keys = (session["session_token"], session["session_secret"])
        return code, self.ask_at(number, session["logout_url"].removeprefix(self.servers[number][1]), {}, keys)[0]

    def begun_between(self, event):
        """Sign-ins that the audit has between the first and the last entry of this kind."""
        found = self.postgresql.sql(
            "SELECT count(*) FROM audit WHERE event = 'asked' AND id BETWEEN "
            f"(SELECT min(id) FROM audit WHERE event = '{event}' AND id > {self.before}) "
            f"AND (SELECT max(id) FROM audit WHERE event = '{event}')")
        return int(found[0])

    @property
    def last_entry(self):
        return int(self.postgresql.sql("SELECT coalesce(max(id), 0) FROM audit")[0])


class ManyAtOnce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        cls.addClassCleanup(cls.world.close)
        cls.world.serve_twice()

    def beside_sign_ins(self, act, event):
        """What `act()` says, while sign-ins begin at the other server. None of them is refused."""
        world, codes, failed, over = self.world, [], [], threading.Event()
        world.before = world.last_entry

        def start():
            try:
                while not over.is_set():
                    codes.append(world.start_at(1, f"web-{len(codes) % 3}"))
            except Exception as error:  # The test says it; a thread could not.
                failed.append(error)

        starting = threading.Thread(target=start)
        starting.start()
        try:
            until(lambda: codes or failed, "a first sign-in")
            said = act()
        finally:
            over.set()
            starting.join(PATIENCE)
        self.assertEqual(failed, [])
        self.assertEqual([code for code in codes if code != (202, 200)], [])
        # Otherwise a start has waited for all of the users.
        self.assertGreaterEqual(world.begun_between(event), LEAST_BETWEEN)
        return said

    def test_sign_ins_begin_while_thousands_are_added_and_while_they_are_deleted(self):
        world = self.world
        code, reply = self.beside_sign_ins(lambda: world.manage("add_users", NAMES), "user added")
        self.assertEqual(code, 201, reply)
        self.assertEqual((reply["users"]["created"], reply["users"]["existing"]), (NAMES, []))
        self.assertEqual(world.manage("add_users", NAMES)[1]["users"], {"created": [], "existing": NAMES})
        code, reply = self.beside_sign_ins(lambda: world.manage("delete_users", NAMES), "user deleted")
        self.assertEqual(code, 200, reply)
        self.assertEqual(world.postgresql.sql("SELECT name FROM app_user"), ["alice"])


if __name__ == "__main__":
    unittest.main()
