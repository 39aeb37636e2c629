"""The database fails under the running service: full, locked, damaged, or put back as it was before.

Whatever happens, a request is answered with 503 or waits within a bound, what was answered with success is there
afterwards, and a session is active only where an approval is stored.
"""

import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import sqlite3
import ssl
import subprocess
import time
import unittest
import urllib.request

from Support.Hosts import signed_requests
from Support.Service import ports
from Support.Service.server import DATA, IO, ServerWorld, until
from Support.Service.world import PATIENCE, program, run

CROWD = 30
# Longer than the service waits for the database; see Storage.
LOCKED_SECONDS = 10
PAGE = 4096


class DatabaseCase(unittest.TestCase):
    def setUp(self):
        self.world = ServerWorld()
        self.addCleanup(self.world.close)
        self.prepare_disk()
        self.world.serve_alone()
        self.world.enroll_alice()

    def prepare_disk(self):
        """For what needs one of its own."""

    def open_database(self):
        """As another program does, for reading and writing."""
        return contextlib.closing(sqlite3.connect(self.world.path("data/iampass.sqlite"), isolation_level=None, timeout=30))

    def added(self, name):
        """Whether a user was added; else it was refused as it should be."""
        path = "/management/add_users/" + self.world.application["application_id"]
        return self.is_done(self.world.ask("POST", path, {"users": [name]}))

    def is_done(self, reply):
        code, headers, body = reply
        if code < 300:
            return True
        self.assertEqual((code, body["reason"]), (503, "STORAGE_UNAVAILABLE"))
        self.assertIn("Retry-After", headers)
        return False

    def assert_only_what_was_approved_is_active(self):
        with self.open_database() as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            unproven = database.execute("""
                SELECT count(*) FROM session LEFT JOIN answer ON answer.session = session.id
                WHERE session.status = 'active' AND (session.approved_at IS NULL OR answer.signature IS NULL)
                """).fetchone()
        self.assertEqual(unproven, (0,))

    def assert_users_are_there(self, names):
        with self.open_database() as database:
            there = {name for name, in database.execute("SELECT name FROM user")}
        self.assertEqual(set(names) - there, set())

    def assert_said_once(self, *lines):
        for line in lines:
            self.world.server.wait_for(line)
            self.assertEqual(self.world.server.count(line), 1, line)


class Full(DatabaseCase):
    def prepare_disk(self):
        folder = self.world.path("data")
        os.mkdir(folder, 0o700)
        words = ("mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", folder)
        if (done := subprocess.run(words, capture_output=True, text=True)).returncode != 0:
            self.skipTest("no small disk can be mounted here: " + done.stderr.strip())
        self.addCleanup(run, "umount", "--lazy", folder)

    def fill(self):
        """Leaves no page free."""
        with open(self.world.path("data/filler"), "ab", buffering=0) as filler, contextlib.suppress(OSError):
            while filler.write(bytes(PAGE)):
                pass

    def make_room(self):
        os.remove(self.world.path("data/filler"))

    def test_nothing_said_is_lost_and_it_recovers_by_itself(self):
        world = self.world
        session = world.started("desk-7")
        phone = world.phone("approve", "--after", "15")
        phone.wait_for("desk-7")
        self.fill()
        said = []
        while self.added(f"early {len(said)}"):
            said.append(f"early {len(said)}")
        # The phone answers while there is no room for it.
        phone.wait_for("the service is unavailable")
        for _ in range(20):
            self.is_done(world.ask_status(session))
        self.assertEqual(world.get("/healthz")[0], 200)
        with self.open_database() as database:
            self.assertEqual(database.execute("SELECT approved_at FROM session").fetchall(), [(None,)])
        self.make_room()
        until(lambda: self.added("later"), "a user added once there is room")
        world.becomes(session, "active")
        self.assert_only_what_was_approved_is_active()
        self.assert_users_are_there([*said, "later"])
        self.assert_said_once("the storage does not work", "the storage works again")

    def test_a_server_that_commands_cannot_see_says_so_once(self):
        world = self.world
        self.fill()
        # The database's files are there already, of the one that runs.
        second = world.start(
            program("iampass-server"), "serve", "--data", world.path("data"), "--listen", f"127.0.0.1:{ports.take()}",
            "--tls-cert", world.certificate, "--tls-key", world.key)  # fmt: skip
        said = "commands do not see that this server runs"
        self.assertIn("No space left on device", second.wait_for(said))
        second.wait_for("listening on https")
        self.assertEqual(second.count(said), 1)
        self.assertEqual(world.server.count(said), 0)
        self.assertEqual([name for name in os.listdir(world.path("data")) if name.endswith(".new")], [])

    def test_a_start_without_room_says_so(self):
        self.world.server.stop()
        # The last to close the database deletes the files that it would need again.
        with self.open_database() as database:
            database.execute("SELECT count(*) FROM user").fetchone()
        self.fill()
        done = self.world.serve_here()
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertRegex(done.stderr, r"iampass\.sqlite cannot be opened: .*\nhint: .*space")
        self.make_room()
        self.world.restart_server()
        self.assertTrue(self.added("later"))


class Locked(DatabaseCase):
    def test_requests_wait_within_a_bound_and_it_recovers_by_itself(self):
        world = self.world
        session = world.started("desk")
        with self.open_database() as other, concurrent.futures.ThreadPoolExecutor(CROWD) as crowd:
            other.execute("BEGIN EXCLUSIVE")
            try:
                began = time.monotonic()
                phone = world.phone("approve")
                names = [f"user {number}" for number in range(CROWD)]
                replies = [crowd.submit(self.added, name) for name in names]
                status = crowd.submit(world.ask_status, session)
                # One after the other, each with its whole time, they would wait for minutes.
                waiting = concurrent.futures.wait([*replies, status], timeout=60).not_done
                self.assertEqual(world.get("/healthz")[0], 200)
                phone.wait_for("the service is unavailable")
                time.sleep(max(0, began + LOCKED_SECONDS - time.monotonic()))
            finally:
                other.execute("COMMIT")
        self.assertEqual(len(waiting), 0)
        self.assertEqual([reply.result() for reply in replies], [False] * CROWD)
        self.assertFalse(self.is_done(status.result()))
        world.becomes(session, "active")
        self.assertTrue(self.added("later"))
        self.assert_only_what_was_approved_is_active()
        self.assert_said_once("the storage does not work", "the storage works again")


class Damaged(DatabaseCase):
    def checkpoint(self):
        """Everything is in the one file then."""
        with self.open_database() as database:
            self.assertEqual(database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone(), (0, 0, 0))

    def position(self, name):
        """Where a table's or index's first page begins."""
        with self.open_database() as database:
            self.assertEqual(database.execute("PRAGMA page_size").fetchone(), (PAGE,))
            root, = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [name]).fetchone()
        return (root - 1) * PAGE

    def overwrite(self, position, new, data="data"):
        with open(self.world.path(data, "iampass.sqlite"), "r+b") as file:
            file.seek(position)
            file.write(new)

    def assert_nobody_is_told_active(self, session):
        # A write has every reader look at the file again.
        self.assertTrue(self.added("a"))
        for _ in range(5):
            self.assertFalse(self.is_done(self.world.ask_status(session)))
        self.assertTrue(self.added("b"))
        self.assertIsNone(self.world.server.process.poll())
        self.assert_said_once("the storage does not work")

    def test_a_damaged_page_fails_what_needs_it_and_nothing_else(self):
        session = self.world.approved("desk")
        self.checkpoint()
        self.overwrite(self.position("session"), bytes(PAGE))
        self.assert_nobody_is_told_active(session)

    def test_a_damaged_index_fails_what_needs_it_and_nothing_else(self):
        session = self.world.approved("desk")
        self.checkpoint()
        self.overwrite(self.position("sqlite_autoindex_session_1"), bytes(PAGE))
        self.assert_nobody_is_told_active(session)

    def test_a_damaged_row_does_not_end_the_service(self):
        session = self.world.approved("desk")
        self.checkpoint()
        start = self.position("session")
        with open(self.world.path("data/iampass.sqlite"), "rb") as file:
            file.seek(start)
            page = file.read(PAGE)
        # Before its values a row has their types: first those of four texts of 32 characters, of which the second
        # becomes a NULL, where the table allows none, and the next two have what it had: otherwise SQLite would notice.
        values = page.index(session["status_url"].rsplit("/", 1)[1].encode())
        types = page.rindex(b"\x4d\x4d\x4d\x4d", 0, values)
        self.overwrite(start + types + 1, b"\0\x7f\x5b")
        self.assert_nobody_is_told_active(session)

    def damage_unseen(self, position):
        """As a disk does by itself: the file's time stays."""
        file = self.world.path("data/iampass.sqlite")
        times = os.stat(file)
        self.overwrite(position, b"\xff" * PAGE)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def test_after_a_stop_in_order_it_is_found_while_the_service_works(self):
        world, mark = self.world, self.world.path("data/clean-stop")
        self.assertFalse(os.path.exists(mark))
        self.checkpoint()
        # No start reads this table.
        place = self.position("signing_key")
        world.server.stop()
        self.assertTrue(os.path.exists(mark))
        self.damage_unseen(place)
        world.start_server("--metrics-listen", f"127.0.0.1:{ports.take()}")
        self.assertFalse(os.path.exists(mark))
        metrics = re.search(r"http://[0-9.:]+", world.server.wait_for("metrics on")).group(0)
        world.server.wait_for("hint=.*the database is damaged, or cannot be read")
        self.assertEqual(world.get("/readyz", address=metrics)[::2], (503, "the database's file is damaged\n"))
        self.assertIn("\niampass_database_damaged 1\n", world.get("/metrics", address=metrics)[2])
        self.assertTrue(self.added("later"))
        # It leaves no mark, and the next start refuses the file.
        world.server.stop()
        self.assertEqual(world.serve_here().returncode, DATA)

    def test_after_a_crash_it_is_found_before_anybody_is_answered(self):
        self.checkpoint()
        place = self.position("signing_key")
        self.world.server.process.kill()
        self.world.server.process.wait(PATIENCE)
        self.assertFalse(os.path.exists(self.world.path("data/clean-stop")))
        self.damage_unseen(place)
        done = self.world.serve_here()
        self.assertEqual(done.returncode, DATA, done.stderr)
        self.assertRegex(done.stderr, r"iampass\.sqlite is damaged: .*\nhint: .*backup")

    def test_at_the_start_it_is_said_and_what_to_do(self):
        self.world.approved("desk")
        self.world.server.stop()
        self.checkpoint()
        page, size = self.position("session"), os.path.getsize(self.world.path("data/iampass.sqlite"))
        damages = {
            "page": lambda data: self.overwrite(page, b"\xff" * PAGE, data),
            "head": lambda data: self.overwrite(0, b"\xff" * PAGE, data),
            "end": lambda data: os.truncate(self.world.path(data, "iampass.sqlite"), size // 2),
        }
        for name, damage in damages.items():
            with self.subTest(name):
                shutil.copytree(self.world.path("data"), self.world.path(name))
                damage(name)
                done = self.world.serve_here(data=name)
                self.assertEqual(done.returncode, DATA, done.stderr)
                self.assertRegex(done.stderr, r"iampass\.sqlite is damaged: .*\nhint: .*backup")
        # The same, undamaged.
        self.world.restart_server()
        self.assertTrue(self.added("later"))


class Restored(DatabaseCase):
    def put_back(self, name):
        """As the manual says."""
        self.world.server.stop()
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.world.path("data/iampass.sqlite" + end))
        shutil.copy2(self.world.path(name), self.world.path("data/iampass.sqlite"))
        self.world.restart_server()

    def test_what_came_later_is_not_known_and_not_active(self):
        world = self.world
        live, asked = world.approved("live"), world.started("asked")
        self.assertEqual(world.command("backup", world.path("copy")).returncode, 0)
        phone = world.phone("approve")
        world.becomes(asked, "active")
        later = world.started("later")
        world.becomes(later, "active")
        phone.stop()
        self.put_back("copy")
        self.assertEqual(world.status(live), "active")
        # It is asked again, since its answer is lost.
        self.assertIn(world.status(asked), ("pending", "identifying", "timeout"))
        code, _, reply = world.ask_status(later)
        self.assertEqual((code, reply["reason"]), (404, "UNKNOWN_SESSION"))
        self.assert_only_what_was_approved_is_active()
        self.assert_said_once("a copy of the database was put back")
        self.assertTrue(self.added("later"))

    def test_what_was_spent_since_the_copy_does_not_work_again(self):
        world = self.world
        self.assertEqual(world.command("backup", world.path("copy")).returncode, 0)
        path = "/management/add_users/" + world.application["application_id"]
        signing = signed_requests.headers(
            world.application["application_id"], world.application["application_secret"], world.address + path)
        request = (path, "POST", json.dumps({"users": ["mallory"]}).encode(), signing)
        self.assertEqual(world.get(*request)[0], 201)
        # Signatures name the second.
        time.sleep(1.1)
        self.put_back("copy")
        for _ in range(2):
            code, _, text = world.get(*request)
            self.assertEqual((code, json.loads(text)["reason"]), (401, "NONCE_REPLAYED"))
            # Nor after another start.
            world.restart_server()
        self.assertTrue(self.added("later"))

    def enter(self, link):
        """What the console answers to a sign-in by its link."""
        code = link.rpartition("/")[2]
        request = urllib.request.Request(
            self.world.address + "/console/enter", method="POST", data=("code=" + code).encode(),
            headers={"Origin": self.world.address, "Content-Type": "application/x-www-form-urlencoded"})
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.world.certificate)), NoRedirect)
        try:
            with opener.open(request, timeout=PATIENCE) as reply:
                return reply.status, reply.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers

    def test_what_may_have_been_used_or_signed_out_since_the_copy_works_no_more(self):
        world = self.world
        world.add_users("bob")
        path = f"/management/device_registration_link/{world.application['application_id']}/bob?display_name=Bob"
        link = world.signed("GET", path)["register_url"].removeprefix(world.address)
        in_console, unused = (world.command("console-link").stdout.strip() for _ in range(2))
        status, headers = self.enter(in_console)
        self.assertEqual(status, 303)
        cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
        self.assertEqual(world.get("/console", headers=cookie)[0], 200)
        self.assertEqual(world.get(link)[0], 200)
        self.assertEqual(world.command("backup", world.path("copy")).returncode, 0)
        self.put_back("copy")
        self.assertEqual(world.get("/console", headers=cookie)[0], 401)
        self.assertEqual(world.get(link)[0], 404)
        self.assertEqual(self.enter(unused)[0], 404)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


if __name__ == "__main__":
    unittest.main()
