"""What an operator needs: health, metrics, logs, a graceful stop, and backups that can be restored."""

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import threading
import time
import unittest

from Support.Service import ports
from Support.Service.never import assert_hidden
from Support.Service.server import CANNOT_CREATE, NO_INPUT, USAGE, ServerWorld
from Support.Service.world import PATIENCE, program, read

# What would be fields of its own, were it not in quotes.
FORGED = 'sudo  account=root address=10.0.0.9 "\\" host=other'


def fields(line):
    """The names and values of a line for people; quotes and backslashes are as a shell reads them."""
    return dict(word.split("=", 1) for word in shlex.split(line) if "=" in word)


#: The labels of a sample of OpenMetrics.
LABELS = r'\w+="\w+"(,\w+="\w+")*'


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_with_metrics()


class Health(unittest.TestCase):
    def test_a_service_that_works_says_so(self):
        code, headers, text = world.get("/healthz")
        self.assertEqual((code, json.loads(text), headers["Content-Type"]), (200, {"status": True}, "application/json"))

    def test_the_metrics_listener_says_so_too(self):
        self.assertEqual(world.get("/healthz", address=world.metrics)[::2], (200, "ok\n"))


class Metrics(unittest.TestCase):
    def metrics(self):
        code, headers, text = world.get("/metrics", address=world.metrics)
        self.assertEqual(code, 200)
        self.assertEqual(headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
        return text

    def value(self, sample, text=None):
        found = re.search(rf"(?m)^{re.escape(sample)} (\d+)$", text or self.metrics())
        return int(found.group(1)) if found else 0

    def test_they_are_openmetrics(self):
        text = self.metrics()
        self.assertTrue(text.endswith("# EOF\n"))
        families = re.findall(r"(?m)^# TYPE (\w+) (counter|gauge|histogram)$", text)
        self.assertEqual(len(families), len(set(families)))
        self.assertEqual({kind for _, kind in families}, {"counter", "gauge", "histogram"})
        forms = {
            "counter": rf"_total(\{{{LABELS}\}})? \d+", "gauge": rf"(\{{{LABELS}\}})? \d+",
            "histogram": rf'(_bucket\{{({LABELS},)?le="(\d+\.\d+|\+Inf)"\}} \d+|_count(\{{{LABELS}\}})? \d+|_sum(\{{{LABELS}\}})? \d+\.\d+)',
        }
        samples = [line for line in text.splitlines() if not line.startswith("#")]
        for name, kind in families:
            self.assertRegex(text, rf"(?m)^# HELP {name} \S")
            own = [line for line in samples if re.match(rf"{name}(_total|_bucket|_count|_sum)?[ {{]", line)]
            for line in own:
                self.assertRegex(line, rf"^{name}{forms[kind]}$")
            samples = [line for line in samples if line not in own]
        self.assertEqual(samples, [])

    def test_the_counts_of_a_histogram_grow_to_its_whole(self):
        text = self.metrics()
        for name in re.findall(r"(?m)^# TYPE (\w+) histogram$", text):
            points = {}
            for labels, end, count in re.findall(rf'(?m)^{name}_bucket\{{(.*?),?le="(.*)"\}} (\d+)$', text):
                points.setdefault(labels, []).append((float(end), int(count)))
            self.assertTrue(points, name)
            for labels, spans in points.items():
                self.assertEqual(spans, sorted(spans), name)
                self.assertEqual([count for _, count in spans], sorted(count for _, count in spans), name)
                whole = self.value(f"{name}_count" + (f"{{{labels}}}" if labels else ""), text)
                self.assertEqual(spans[-1], (float("inf"), whole), name)

    def test_they_tell_how_long_requests_and_the_database_take(self):
        world.started("timed-host")
        text = self.metrics()
        for sample in ('iampass_request_seconds_count{route="start",status="2xx"}',
                       'iampass_storage_wait_seconds_count{kind="write"}'):
            self.assertGreater(self.value(sample, text), 0, sample)

    def test_they_count(self):
        before = self.metrics()
        world.get("/management/has_registered_mobile_device/nobody/x")
        after = self.metrics()
        for sample in ('iampass_replies_total{status="404"}', 'iampass_refusals_total{reason="UNKNOWN_APPLICATION"}'):
            self.assertEqual(self.value(sample, after), self.value(sample, before) + 1, sample)

    def test_they_tell_how_many_there_are(self):
        text = self.metrics()
        for sample, number in (("iampass_users", 1), ("iampass_phones", 1), ("iampass_applications", 1)):
            self.assertEqual(self.value(sample, text), number, sample)
        self.assertGreater(self.value("iampass_certificate_end_timestamp_seconds", text), time.time())
        self.assertGreater(self.value("process_resident_memory_bytes", text), 1_000_000)

    def test_they_contain_no_names(self):
        world.started("named-host")
        text = self.metrics()
        for word in ("alice", "Alice", "named-host", "office", *world.application.values()):
            self.assertNotIn(word, text)

    def test_they_are_not_among_the_services_own_routes(self):
        self.assertEqual(world.get("/metrics")[0], 404)


class Stop(unittest.TestCase):
    def test_what_is_held_is_answered(self):
        session = world.started("held")
        answers = []
        thread = threading.Thread(target=lambda: answers.append(world.status(session, {"Prefer": "wait=60"})))
        thread.start()
        self.wait_until_held()
        world.restart_server("--metrics-listen", world.metrics.removeprefix("http://"))
        thread.join(PATIENCE)
        self.assertEqual(answers, ["pending"])

    def wait_until_held(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if "\niampass_requests_held 1\n" in world.get("/metrics", address=world.metrics)[2]:
                return
            time.sleep(0.02)
        self.fail("nothing is held")

    def test_a_signal_at_any_moment_of_the_start_ends_it(self):
        for delay in range(0, 400, 20):
            with self.subTest(milliseconds=delay):
                other = subprocess.Popen(
                    [program("iampass-server"), "serve", "--data", world.path("data-of-stop"), "--listen", "127.0.0.1:0",
                     "--tls-cert", world.certificate, "--tls-key", world.key],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
                time.sleep(delay / 1000)
                other.terminate()
                try:
                    self.assertIn(other.wait(PATIENCE), (0, -signal.SIGTERM))
                finally:
                    other.kill()

    def served_with_delay(self, seconds):
        """A server of its own with a drain delay: its process, its address and that of its numbers."""
        port, numbers = ports.take(), ports.take()
        other = world.start(
            program("iampass-server"), "serve", "--data", world.path("delayed"), "--listen", f"127.0.0.1:{port}",
            "--tls-cert", world.certificate, "--tls-key", world.key, "--metrics-listen", f"127.0.0.1:{numbers}",
            "--drain-delay", str(seconds))  # fmt: skip
        self.addCleanup(shutil.rmtree, world.path("delayed"), ignore_errors=True)
        self.addCleanup(other.stop)
        for line in ("metrics on", "listening on"):
            other.wait_for(line)
        return other, f"https://127.0.0.1:{port}", f"http://127.0.0.1:{numbers}"

    def test_with_a_drain_delay_it_serves_on_and_says_that_it_is_not_ready(self):
        other, address, numbers = self.served_with_delay(60)
        self.assertEqual(world.get("/readyz", address=numbers)[::2], (200, "ok\n"))
        other.process.terminate()
        other.wait_for("stopping in 60 seconds")
        self.assertEqual(world.get("/readyz", address=numbers)[::2], (503, "the service stops\n"))
        self.assertEqual(world.get("/healthz", address=address)[0], 200)
        self.assertIsNone(other.process.poll())
        other.process.terminate()
        # The delay is longer than this.
        self.assertEqual(other.process.wait(PATIENCE), 0)

    def test_after_the_drain_delay_it_ends_by_itself(self):
        other, _, _ = self.served_with_delay(1)
        other.process.terminate()
        other.wait_for("stopping in 1 seconds")
        self.assertEqual(other.process.wait(PATIENCE), 0)


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


class Console(unittest.TestCase):
    def test_the_link_leads_into_the_running_service(self):
        link = world.command("console-link").stdout.strip()
        self.assertRegex(link, rf"^{re.escape(world.address)}/console/enter/[0-9a-f]{{32}}$")
        code, headers, text = world.get(link.removeprefix(world.address), headers={"Accept": "text/html"})
        self.assertEqual(code, 200)
        self.assertIn("Sign in", text)
        self.assertIn("frame-ancestors 'none'", headers["Content-Security-Policy"])

    def test_another_address_is_taken(self):
        done = world.command("console-link", "--public-url", "https://iampass.example.org/base")
        self.assertRegex(done.stdout, r"^https://iampass\.example\.org/base/console/enter/[0-9a-f]{32}\n$")

    def test_without_an_address_it_says_what_is_missing(self):
        self.addCleanup(shutil.rmtree, world.path("fresh"))
        self.assertEqual(world.command("application", "create", "x", data="fresh").returncode, 0)
        done = world.command("console-link", data="fresh")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("--public-url", done.stderr)


class Backup(unittest.TestCase):
    def backup(self, name, **options):
        return world.command("backup", world.path(name), **options)

    def test_the_copy_is_put_back_and_works(self):
        session = world.approved("before")
        done = self.backup("copy")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertRegex(world.command("audit").stdout.splitlines()[-1], r"Z  backup made  by cli:[0-9]+")
        world.add_users("later")
        world.server.stop()
        os.rename(world.path("data"), world.path("old"))
        self.addCleanup(shutil.rmtree, world.path("old"))
        os.mkdir(world.path("data"), 0o700)
        shutil.copy2(world.path("copy"), world.path("data", "iampass.sqlite"))
        world.restart_server("--metrics-listen", world.metrics.removeprefix("http://"))
        self.assertEqual(world.status(session), "active")
        self.assertEqual(world.phone_status()["user"], "Alice")
        with world.database() as database:
            self.assertEqual(database.execute("SELECT name FROM user").fetchall(), [("alice",)])

    def test_the_copy_is_the_owners_alone(self):
        previous = os.umask(0)
        try:
            self.assertEqual(self.backup("private").returncode, 0)
        finally:
            os.umask(previous)
        self.assertEqual(stat.S_IMODE(os.stat(world.path("private")).st_mode), 0o600)

    def test_nothing_is_overwritten_and_nothing_left_behind(self):
        world.write("there", "precious")
        before = world.command("audit").stdout
        done = self.backup("there")
        self.assertEqual(done.returncode, CANNOT_CREATE)
        self.assertEqual(world.command("audit").stdout, before)
        self.assertIn("is there already", done.stderr)
        self.assertEqual(read(world.path("there")), "precious")
        self.assertEqual([name for name in os.listdir(world.folder) if "partial" in name], [])

    def test_a_folder_that_is_not_there_is_said(self):
        done = self.backup("nowhere/copy")
        self.assertEqual(done.returncode, CANNOT_CREATE)
        self.assertIn("cannot be written: No such file", done.stderr)

    def test_a_directory_without_a_service_is_said_and_not_made(self):
        done = self.backup("copy2", data="nothing")
        self.assertEqual(done.returncode, NO_INPUT)
        self.assertIn("there is no database", done.stderr)
        self.assertFalse(os.path.exists(world.path("nothing")))

    def test_it_works_while_the_service_is_written_to(self):
        running = True

        def write():
            number = 0
            while running:
                number += 1
                world.add_users(f"u{number}")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for number in range(5):
                done = self.backup(f"busy{number}")
                self.assertEqual(done.returncode, 0, done.stderr)
                with world.database(f"busy{number}") as database:
                    self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        finally:
            running = False
            writer.join(PATIENCE)
            world.signed(
                "POST", "/management/delete_users/" + world.application["application_id"], {"users": users_but_alice()})


def users_but_alice():
    with world.database() as database:
        return [name for name, in database.execute("SELECT name FROM user WHERE name != 'alice'")] or ["nobody"]


if __name__ == "__main__":
    unittest.main()
