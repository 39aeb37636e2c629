"""What an operator needs: health, metrics, a graceful stop, and a link to the console."""

import json
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

from Support.Service import ports
from Support.Service.server import USAGE, ServerWorld
from Support.Service.world import PATIENCE, program

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


if __name__ == "__main__":
    unittest.main()
