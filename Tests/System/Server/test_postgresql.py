"""Two servers on one PostgreSQL database: whatever began at one goes on at the other."""

import json
import os
import threading
import time
import unittest
import urllib.parse

from Support.Hosts import signed_requests
from Support.Service.server import UNAVAILABLE, USAGE, until
from Support.Service.two_servers import TwoServers
from Support.Service.world import PATIENCE


def setUpModule():
    global world
    world = TwoServers()
    unittest.addModuleCleanup(world.close)
    world.serve_twice()


class Together(unittest.TestCase):
    def setUp(self):
        world.at(0)

    def test_an_openid_client_asks_at_one_and_gets_its_token_once_at_either(self):
        made = world.command("openid-client", "create", "office", "till", "--shown", "A till", "--json")
        secret = json.loads(made.stdout)

        def post(path, **fields):
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            body = urllib.parse.urlencode({**secret, **fields}).encode()
            return json.loads(world.get(path, "POST", body, kind)[2])

        def poll():
            return post("/token", grant_type="urn:openid:params:grant-type:ciba", auth_req_id=asked["auth_req_id"])

        phone = world.phone("approve", "--once")
        try:
            asked = post("/bc-authorize", scope="openid", login_hint="alice", binding_message="7 EUR")
            phone.wait_for("^approved$")
        finally:
            phone.stop()
        world.at(1)
        self.assertIn("id_token", poll())
        world.at(0)
        self.assertEqual(poll()["error"], "invalid_grant")
        self.assertRegex(world.command("openid-client", "list", "office").stdout, "^till  shown=A till  id=.*used=")
        self.assertEqual(world.command("host-credential", "list", "office").stdout, "")
        self.assertEqual(world.command("openid-client", "revoke", "office", "till").returncode, 0)
        self.assertEqual(poll()["error"], "invalid_client")

    def test_a_sign_in_that_began_at_one_is_answered_at_the_other(self):
        # The phone has its page open at the first server.
        phone = world.phone("approve", "--once")
        try:
            world.at(1)
            session = world.started("web-1")
            world.becomes(session, "active")
            world.at(0)
            self.assertEqual(world.status(world.elsewhere(session)), "active")
        finally:
            phone.stop()

    def test_who_waits_at_one_is_woken_by_a_change_at_the_other(self):
        self.assertLess(self.seconds_until_woken("web-2"), 40)

    def test_who_waits_is_woken_if_the_message_of_it_is_lost(self):
        world.postgresql.sql("ALTER TABLE session DISABLE TRIGGER told_changed")
        try:
            self.assertLess(self.seconds_until_woken("web-7"), 40)
        finally:
            world.postgresql.sql("ALTER TABLE session ENABLE TRIGGER told_changed")

    def seconds_until_woken(self, host):
        """A request that would be held for 55 seconds, while the session ends at the other server."""
        session = world.started(host)
        waited = {}

        def wait():
            begun = time.monotonic()
            waited["status"] = world.status(session, headers={"Prefer": "wait=55"})
            waited["seconds"] = time.monotonic() - begun

        # The first look tells "pending"; the second is held until that changes.
        self.assertEqual(world.status(session), "pending")
        waiter = threading.Thread(target=wait)
        waiter.start()
        until(lambda: world.held(0) >= 1, "a held request")
        keys = (session["session_token"], session["session_secret"])
        path = session["logout_url"].removeprefix(world.address)
        world.at(1)
        code, _, reply = world.ask("POST", path, by=keys)
        self.assertEqual(code, 200, reply)
        waiter.join(PATIENCE)
        self.assertEqual(waited["status"], "closed")
        return waited["seconds"]

    def test_a_nonce_that_was_spent_at_one_is_refused_at_the_other(self):
        first, second = world.servers[0][1], world.servers[1][1]
        path = f"/management/has_registered_mobile_device/{world.application['application_id']}/alice"
        headers = signed_requests.headers(
            world.application["application_id"], world.application["application_secret"], first + path)
        self.assertEqual(world.get(path, headers=headers, address=first)[0], 200)
        # The signature is for the first address, as if both servers were behind one name.
        again = {**headers, "Host": first.removeprefix("https://")}
        code, _, text = world.get(path, headers=again, address=second)
        self.assertEqual(code, 401, text)
        self.assertIn("NONCE_REPLAYED", text)

    def test_one_of_two_servers_that_get_one_nonce_at_once_accepts_it(self):
        first = world.servers[0][1]
        path = f"/management/has_registered_mobile_device/{world.application['application_id']}/alice"
        keys = (world.application["application_id"], world.application["application_secret"])
        codes = []
        together = threading.Barrier(2, timeout=PATIENCE)

        def send(headers, address):
            together.wait()
            codes.append(world.get(path, headers=headers, address=address)[0])

        for _ in range(20):
            headers = {**signed_requests.headers(*keys, first + path), "Host": first.removeprefix("https://")}
            threads = [threading.Thread(target=send, args=(headers, server[1])) for server in world.servers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
            self.assertEqual(sorted(codes), [200, 401])
            codes.clear()

    def test_sql_in_a_text_of_a_user_or_a_computer_stays_a_text(self):
        texts = ["a'); DROP TABLE session; --", "b\\'; DELETE FROM audit; --", "c$1$$; COMMIT; --", 'd"; ROLLBACK; --']
        phone = world.phone("approve")
        try:
            for text in texts:
                world.becomes(world.started(text, {"command": text}), "active")
                world.add_users(text)
        finally:
            phone.stop()
        kept = world.postgresql.sql("SELECT DISTINCT host FROM audit WHERE event = 'asked'")
        users = world.postgresql.sql("SELECT name FROM app_user")
        for text in texts:
            self.assertIn(text, kept)
            self.assertIn(text, users)

    def test_one_of_many_logouts_at_once_ends_the_session(self):
        session = world.approved("web-3")
        keys = (session["session_token"], session["session_secret"])
        path = session["logout_url"].removeprefix(world.address)

        def leave(number):
            address = world.servers[number % 2][1]
            signing = signed_requests.headers(*keys, address + path)
            code, _, text = world.get(path, "POST", b"{}", signing, address=address)
            self.assertEqual(code, 200, text)

        threads = [threading.Thread(target=leave, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        ended = world.postgresql.sql("SELECT count(*) FROM audit WHERE event = 'ended' AND host = 'web-3'")
        self.assertEqual(ended, ["1"])

    def test_a_server_that_is_killed_costs_nobody_a_session(self):
        session = world.approved("web-4")
        third = world.served()
        third[0].process.kill()
        third[0].process.wait(PATIENCE)
        for number in (0, 1):
            world.at(number)
            self.assertEqual(world.status(world.elsewhere(session)), "active")


class Failover(unittest.TestCase):
    """A primary and a standby, both in the address."""

    def setUp(self):
        self.world = TwoServers()
        self.addCleanup(self.world.close)
        self.world.serve_twice(standby=True)

    def test_a_standby_that_is_promoted_goes_on_where_the_primary_was(self):
        world = self.world
        first = world.address.removeprefix("https://")
        # A request that was answered; what is said after it brings its nonce to the standby.
        asked = f"/management/has_registered_mobile_device/{world.application['application_id']}/alice"
        signing = signed_requests.headers(
            world.application["application_id"], world.application["application_secret"], world.address + asked)
        self.assertEqual(world.get(asked, headers=signing)[0], 200)
        before, ended = world.approved("web-1"), world.approved("web-2")
        path = ended["logout_url"].removeprefix(world.address)
        self.assertEqual(world.ask("POST", path, by=(ended["session_token"], ended["session_secret"]))[0], 200)
        world.postgresql.stop("immediate")
        code, _, reply = world.ask_status(before)
        self.assertEqual((code, reply["reason"]), (503, "STORAGE_UNAVAILABLE"))
        # A standby takes no writes: nothing is answered from it.
        self.assertEqual(world.get("/readyz", address=world.metrics)[0], 503)
        world.standby.promote()
        for number in (0, 1):
            world.at(number)
            until(lambda: world.ask_status(world.elsewhere(before))[0] == 200, "an answer after the promotion")
            self.assertEqual(world.status(world.elsewhere(before)), "active")
            self.assertEqual(world.status(world.elsewhere(ended)), "closed")
        code, _, text = world.get(asked, headers={**signing, "Host": first}, address=world.address)
        self.assertEqual(code, 401, text)
        self.assertIn("NONCE_REPLAYED", text)
        self.assertEqual(world.status(world.approved("web-3")), "active")

    def test_a_standby_that_lagged_begins_a_higher_epoch_once(self):
        world = self.world
        kept = world.approved("web-1")
        # From now on nothing waits for the standby, and it hears of nothing.
        world.postgresql.set(synchronous_standby_names="")
        world.standby.stop()
        lost = [world.approved(f"lost-{number}") for number in range(2)]
        epoch = "SELECT epoch FROM service_mark"
        before = int(world.postgresql.sql(epoch)[0])
        world.postgresql.stop("immediate")
        world.standby.start()
        world.standby.promote()
        for number in (0, 1):
            world.at(number)
            until(lambda: world.ask_status(world.elsewhere(kept))[0] == 200, "an answer after the promotion")
            self.assertEqual(world.status(world.elsewhere(kept)), "active")
            for session in lost:
                code, _, reply = world.ask_status(world.elsewhere(session))
                self.assertEqual((code, reply["reason"]), (404, "UNKNOWN_SESSION"))
        after = int(world.standby.sql(epoch)[0])
        self.assertGreater(after, before)
        told = "a standby of the database was promoted, or a copy was put back"
        until(lambda: sum(server.count(told) for server, *_ in world.servers) == 1, "the line of one server")
        # The next start finds the usual place.
        world.servers.append(world.served())
        world.at(2)
        self.assertEqual(world.status(world.approved("web-2")), "active")
        self.assertEqual(int(world.standby.sql(epoch)[0]), after)
        self.assertEqual(sum(server.count(told) for server, *_ in world.servers), 1)

    def test_a_server_begins_while_the_first_host_is_gone(self):
        world = self.world
        world.postgresql.stop("immediate")
        world.standby.promote()
        world.servers.append(world.served())
        world.at(2)
        self.assertEqual(world.status(world.approved("web-1")), "active")


class Gone(unittest.TestCase):
    def setUp(self):
        world.at(0)

    def test_while_the_database_is_gone_nothing_is_said_and_then_all_goes_on(self):
        session = world.approved("web-5")
        world.postgresql.stop("immediate")
        try:
            code, _, reply = world.ask_status(session)
            self.assertEqual((code, reply["reason"]), (503, "STORAGE_UNAVAILABLE"))
            self.assertEqual(world.get("/readyz", address=world.metrics)[0], 503)
            code, _, text = world.get("/metrics", address=world.metrics)
            self.assertEqual(code, 200, text)
            self.assertIn("\niampass_stock_readable 0\n", text)
            self.assertRegex(text, r"\niampass_storage_failures_total [1-9]")
            self.assertNotIn("iampass_users", text)
        finally:
            world.postgresql.start()
        for number in (0, 1):
            world.at(number)
            until(lambda: world.get("/readyz", address=world.metrics)[0] == 200, "a server that is ready")
            self.assertEqual(world.status(world.elsewhere(session)), "active")
            self.assertIn("\niampass_stock_readable 1\n", world.get("/metrics", address=world.metrics)[2])
        world.at(0)
        world.approved("web-6")
        world.server.wait_for("the storage works again")


class Addresses(unittest.TestCase):
    def test_what_cannot_be_used_is_said_and_no_password_is_shown(self):
        for url, code, message in (
            ("postgresql://u:geheim@127.0.0.1/x", USAGE, "has a password"),
            ("iampass.sqlite", USAGE, "does not begin with postgresql://"),
            ("postgresql:///x?host=/nonexistent", UNAVAILABLE, "cannot be used"),
        ):
            said = world.command("audit", url=url)
            self.assertEqual(said.returncode, code, said.stderr)
            self.assertIn(message, said.stderr)
            self.assertNotIn("geheim", said.stdout + said.stderr)

    def test_the_audit_is_printed(self):
        said = world.command("audit")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("application made", said.stdout)

    def test_one_of_both_places_is_needed(self):
        said = world.command("audit", "--data", os.path.join(world.folder, "data"))
        self.assertEqual(said.returncode, USAGE, said.stderr)
        self.assertIn("give one of --data and --database", said.stderr)


if __name__ == "__main__":
    unittest.main()
