"""The audit as a collector of logs reads it: from a time or an entry on, and what comes while it reads."""

import json
import os
import signal
import subprocess
import threading
import unittest

from Support.Service.server import USAGE, ServerWorld
from Support.Service.world import PATIENCE, program

DATA_ERROR = 65


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_with_metrics()


class Audit(unittest.TestCase):
    def entries(self, *options):
        done = world.command("audit", "--json-lines", *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_it_begins_at_a_time_or_after_an_entry(self):
        world.approved("earlier")
        whole = self.entries()
        self.assertEqual([entry["id"] for entry in whole], sorted({entry["id"] for entry in whole}))
        self.assertEqual(self.entries("--after", str(whole[-2]["id"])), whole[-1:])
        self.assertEqual(self.entries("--after", str(whole[-1]["id"])), [])
        begin = whole[len(whole) // 2]["at"]
        self.assertEqual(self.entries("--since", begin), [entry for entry in whole if entry["at"] >= begin])
        self.assertEqual(self.entries("--since", whole[0]["at"][:10]), whole)
        self.assertEqual(self.entries("--since", "2200-01-01"), [])
        done = world.command("audit", "--after", str(whole[-1]["id"] + 1_000_000))
        self.assertEqual((done.returncode, done.stdout), (DATA_ERROR, ""))
        self.assertIn("--since", done.stderr)
        for word in ("yesterday", "2027-02-31", "2027-1-5", "2027-01-15T25:00:00Z"):
            self.assertEqual(world.command("audit", "--since", word).returncode, USAGE, word)

    def test_each_entry_says_who_did_it(self):
        world.approved("named")
        ours = {"kind": "cli", "id": str(os.getuid())}
        for words in (("host-credential", "create", "office", "desk-7", "--host", "desk-7"),
                      ("host-credential", "revoke", "office", "desk-7"),
                      ("openid-client", "create", "office", "till", "--shown", "A till"),
                      ("application", "set", "office", "--match-code", "off", "--phones", "2"),
                      ("administrator", "add", "ada", "--role", "admin"), ("join-code", "create", "office", "--certificate", world.certificate),
                      ("console-link",), ("signing-key", "rotate", "--now")):
            last = self.entries()[-1]["id"]
            done = world.command(*words)
            self.assertEqual(done.returncode, 0, (words, done.stderr))
            found = [{k: v for k, v in entry["actor"].items() if k != "login"} for entry in self.entries("--after", str(last))]
            self.assertEqual(found, [ours] * len(found), words)
            self.assertTrue(found, words)
        entries = self.entries()
        self.assertEqual([entry for entry in entries if not entry["actor"]], [])
        parties = {entry["event"]: entry["actor"] for entry in entries if entry.get("host") == "named"}
        self.assertEqual(parties["asked"], {"kind": "application", "id": world.application["application_id"]})
        self.assertEqual(parties["approved"]["kind"], "phone")
        for line in world.command("audit").stdout.splitlines():
            self.assertRegex(line, "  by (cli|application|phone|session|service)[^=]*( login=[0-9]+)?$")

    def test_who_signed_in_to_the_machine_is_named_besides(self):
        words = [program("iampass-server"), "console-link", "--data", world.path("data")]
        script = "echo 4242 > /proc/self/loginuid || exit 99; exec \"$@\""
        done = subprocess.run(["sh", "-c", script, "sh", *words], capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode == 99:
            self.skipTest("the kernel does not let this process set its loginuid")
        self.assertEqual(done.returncode, 0, done.stderr)
        actor = {"kind": "cli", "id": str(os.getuid()), "login": "4242"}
        self.assertEqual(self.entries()[-1]["actor"], actor)

    def following(self, *options, **more):
        words = [program("iampass-server"), "audit", "--data", world.path("data"), "--follow", "--json-lines", *options]
        following = subprocess.Popen(words, stdout=subprocess.PIPE, **more)
        self.addCleanup(following.stdout.close)
        self.addCleanup(following.wait, PATIENCE)
        self.addCleanup(following.kill)
        return following

    def test_what_comes_while_it_reads_is_printed_until_ctrl_c(self):
        following = self.following()
        # A line that never comes ends the test too.
        timer = threading.Timer(PATIENCE, following.kill)
        timer.start()
        self.addCleanup(timer.cancel)
        world.approved("followed")
        events = []
        for line in following.stdout:
            entry = json.loads(line)
            if entry.get("host") == "followed":
                events.append(entry["event"])
                if len(events) == 2:
                    break
        self.assertEqual(events, ["asked", "approved"])
        following.send_signal(signal.SIGINT)
        self.assertEqual(following.wait(PATIENCE), -signal.SIGINT)

    def test_it_ends_when_nobody_reads(self):
        following = self.following("--since", "2200-01-01")
        following.stdout.close()
        self.assertEqual(following.wait(PATIENCE), 0)
