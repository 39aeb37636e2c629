"""The log and the audit: forms, levels, request ids, and nothing that a value adds to a line."""

import json
import re
import shlex
import shutil
import unittest

from Support.Service.never import assert_hidden
from Support.Service.server import USAGE, ServerWorld
from Support.Service.world import program

# What would be fields of its own, were it not in quotes.
FORGED = 'sudo  account=root address=10.0.0.9 "\\" host=other'


def fields(line):
    """The names and values of a line for people; quotes and backslashes are as a shell reads them."""
    return dict(word.split("=", 1) for word in shlex.split(line) if "=" in word)


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_with_metrics()


class Logs(unittest.TestCase):
    def test_json_is_one_object_a_line(self):
        other = self.served("--log-format", "json", "--log-level", "debug")
        other.wait_for('"message":"replied"')
        lines = [json.loads(line) for line in other.lines]
        self.assertTrue(any(line["message"].startswith("listening on https://") for line in lines))
        replied = next(line for line in lines if line["message"] == "replied")
        self.assertEqual((replied["level"], replied["method"], replied["status"]), ("debug", "GET", "404"))
        self.assertRegex(replied["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")

    def test_in_text_a_value_makes_no_further_fields(self):
        world.denied("forged-log", {"service": FORGED})
        told = fields(world.server.wait_for("host=forged-log.* request ended$"))
        self.assertEqual(
            sorted(told),
            ["answer", "application", "host", "method", "phone", "request_id", "seconds", "service", "session", "status",
             "user"])
        self.assertEqual((told["host"], told["service"]), ("forged-log", FORGED))

    def ids_of(self, *words, sent):
        """The ids of a request that sends this one: in its reply's header, and in the log's line about it."""
        other = self.served("--log-format", "json", "--log-level", "debug", *words)
        address = re.search(r"https:\\?/\\?/[0-9.:]+", other.wait_for("listening on https")).group(0).replace("\\", "")
        code, headers, _ = world.get("/healthz", headers={"X-Request-Id": sent}, address=address)
        self.assertEqual(code, 200)
        line = json.loads(other.wait_for('"message":"replied".*"status":"200"'))
        return headers["X-Request-Id"], line["request_id"]

    def test_a_proxys_request_id_is_in_the_log_and_in_the_reply(self):
        self.assertEqual(self.ids_of("--trusted-proxy", "127.0.0.1", sent="1-ab.c"), ("1-ab.c", "1-ab.c"))

    def test_a_strangers_request_id_is_replaced(self):
        for words in (), ("--trusted-proxy", "192.0.2.1"):
            with self.subTest(words):
                told, logged = self.ids_of(*words, sent="forged")
                self.assertEqual(told, logged)
                self.assertRegex(told, "^[0-9a-f]{16}$")

    def test_a_level_leaves_out_what_is_below_it(self):
        other = self.served("--log-level", "warning", expect=None)
        # The tests' certificate is valid for two days.
        other.wait_for("the certificate ends soon")
        other.stop()
        self.assertEqual([line for line in other.lines if " warning iampass-server:" not in line], [])

    def test_an_unknown_level_is_refused(self):
        done = world.command(
            "serve", "--listen", "127.0.0.1:0", "--tls-cert", world.certificate, "--tls-key", world.key, "--log-level", "loud")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("there is no log level loud", done.stderr)

    def served(self, *words, expect="listening on https"):
        other = world.start(
            program("iampass-server"), "serve", "--data", world.path("other"), "--listen", "127.0.0.1:0", "--tls-cert",
            world.certificate, "--tls-key", world.key, *words)  # fmt: skip
        self.addCleanup(shutil.rmtree, world.path("other"), ignore_errors=True)
        self.addCleanup(other.stop)
        if expect is not None:
            address = re.search(r"https:\\?/\\?/[0-9.:]+", other.wait_for(expect)).group(0).replace("\\", "")
            world.get("/nothing", address=address)
        return other


class Audit(unittest.TestCase):
    def test_requests_with_their_source_and_answer(self):
        world.approved("audited")
        done = world.command("audit", "--json-lines")
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = [json.loads(line) for line in done.stdout.splitlines()]
        mine = [entry for entry in entries if entry.get("host") == "audited"]
        self.assertEqual([entry["event"] for entry in mine], ["asked", "approved"])
        for entry in mine:
            self.assertEqual((entry["application"], entry["phone"], entry["address"]), ("office", "Alice", "127.0.0.1"))
            self.assertRegex(entry["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(len(world.command("audit").stdout.splitlines()), len(entries))

    def test_in_text_a_value_makes_no_further_fields(self):
        world.denied("forged-audit", {"service": FORGED})
        lines = [line for line in world.command("audit").stdout.splitlines() if "host=forged-audit" in line]
        self.assertEqual([line.split("  ")[1] for line in lines], ["asked", "denied"])
        told = fields(lines[0])
        self.assertEqual(sorted(told), ["address", "application", "host", "phone", "service", "session", "user"])
        self.assertEqual((told["service"], told["address"]), (FORGED, "127.0.0.1"))

    def test_what_a_phone_signed_can_be_shown(self):
        world.approved("signed-for")
        done = world.command("audit", "--answers")
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = [json.loads(line) for line in done.stdout.splitlines()]
        mine = [answer for answer in kept if "signed-for" in answer["context"]]
        self.assertEqual(len(mine), 1, kept)
        self.assertIn(mine[0]["session"], mine[0]["statement"])
        self.assertIn("approve", mine[0]["statement"])
        self.assertRegex(mine[0]["signature"], "^[0-9A-Za-z+/_-]{86}(==)?$")
        self.assertEqual(json.loads(world.command("audit", "--json-lines").stdout.splitlines()[-1])["session"], mine[0]["session"])

    def test_no_secret_is_in_it(self):
        world.approved("secretive")
        for option in ("--json-lines", "--answers"):
            text = world.command("audit", option).stdout
            self.assertTrue(text)
            assert_hidden(world.application["application_secret"], text)


if __name__ == "__main__":
    unittest.main()
