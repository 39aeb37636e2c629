"""Each fault on each management route: a clear line, a code that says what it was, and nothing half written."""

import concurrent.futures
import json
import os
import re
import subprocess
import time
import unittest

from control import NO_PERMISSION, PROTOCOL, UNAVAILABLE, Answer, ControlWorld
from Support.Service.world import PATIENCE, program, read

from Support.HostileService.hostile_replies import FAULTS, reply
from Support.HostileService.hostile_service import SERVICES, HostileService
from Support.Service.never import assert_hidden

SECRET = "yNGfB51YbmwxAscRuzOl8G5U"
# A call's bound is 15 s. The longest command makes two calls (an addition that may have arrived is taken back),
# `check` some more; the rest is for a slow machine, where twelve at once have taken 32 s. A call without a bound would never
# end. Seconds.
BOUND, BOUND_OF_CHECK = 90, 90
# They mostly wait, so that they run at once.
AT_ONCE = 12
NONSENSE = {
    "wrong_types": b'{"status":"true","users":[],"register_url":7,"device_registered":"no"}',
    "null": b'{"status":null,"users":null,"register_url":null,"device_registered":null}',
    "twice": b'{"status":true,"status":true,"users":{"created":[],"existing":[]},"register_url":"https://a/","device_registered":true}',
    "nul": b'{"status":true,"register_url":"https://a/\\u0000","device_registered":true}',
    "not_utf8": b'{"status":true,"register_url":"https://a/\xff","device_registered":true}',
    "deep": b"[" * 60_000, "trailing": b'{"status":true}x', "array": b"[]", "text": b'"yes"', "page": b"<html>",
}  # fmt: skip
REPLIES = {**FAULTS, **{name: reply(200, body) for name, body in NONSENSE.items()}}
CHANGES = {
    "user add": ("user", "add", "bin"), "user remove": ("user", "remove", "daemon"),
    "enroll": ("enroll", "daemon", "--no-wait"), "lost-device": ("lost-device", "daemon", "--no-wait"),
    "phone trust": ("phone", "trust", "daemon", "--words", "badu badu badu badu badu badu"),
}  # fmt: skip


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)


class Configuration:
    """A configuration of its own, with this service."""

    made = 0

    def __init__(self, service):
        Configuration.made += 1
        self.folder = world.path(f"configuration-{Configuration.made}")
        os.mkdir(self.folder)
        self.write("ca.pem", read(service.ca_file), 0o644)
        settings = {
            "server": service.url.replace("http:", "https:"), "ca_file": self.path("ca.pem"), "run_dir": self.path("run"),
            "worker": world.path("iampass-https"), "worker_user": "nobody",
        }  # fmt: skip
        self.write("iampass.conf", "".join(f"{key} = {value}\n" for key, value in settings.items()), 0o644)
        self.write("credentials", f"application_id = application\napplication_secret = {SECRET}\n")
        self.write("users", "daemon:canary-token-1\n")
        self.before = self.files()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def files(self):
        names = (name for name in os.listdir(self.folder) if os.path.isfile(self.path(name)) and not name.endswith(".lock"))
        return {name: (os.stat(self.path(name)).st_mode, read(self.path(name))) for name in names}

    def run(self, words):
        began = time.monotonic()
        done = subprocess.run(
            [program("iampassctl"), *words, "--config", self.path("iampass.conf")], capture_output=True, text=True,
            timeout=PATIENCE, stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"]})
        return Answer(done), time.monotonic() - began


class Case(unittest.TestCase):
    def for_each(self, jobs, check):
        """`check(*job)` for each as a sub-test, many at once."""
        jobs = list(jobs)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            ends = [pool.submit(check, *job) for job in jobs]
        for job, end in zip(jobs, ends):
            with self.subTest(job=job):
                end.result()

    def service(self, kind="good", fault=None):
        service = HostileService(**SERVICES[kind])
        service.start()
        self.addCleanup(service.stop)
        service.behaviour = {"*": fault}
        return service

    def assert_changed_nothing(self, configuration, words, answer, seconds, bound):
        self.assertLess(seconds, bound)
        self.assertEqual(configuration.files(), configuration.before)
        self.assertNotRegex(answer.text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]")
        for secret in (SECRET, "canary-token-1"):
            assert_hidden(secret, answer.text)

    def assert_refused(self, words, service):
        configuration = Configuration(service)
        answer, seconds = configuration.run(words)
        self.assert_changed_nothing(configuration, words, answer, seconds, BOUND)
        self.assertIn(answer.code, (UNAVAILABLE, PROTOCOL, NO_PERMISSION), answer.text)
        said = answer.err
        if words[0] == "lost-device":
            # What was done here all the same comes first.
            said = re.sub(r"\Athis computer no longer trusts [^\n]+\nwarning: [^\n]+\nhint: [^\n]+\n", "", said)
        self.assertRegex(said, r"^iampassctl: [^\n]{10,300}\n(hint: [^\n]+\n)?$")
        self.assertNotIn("Open this link", answer.out)


class Changes(Case):
    def test_every_reply_fault_is_refused_by_every_command_that_changes_something(self):
        self.for_each(
            ((fault, command) for command in CHANGES for fault in REPLIES),
            lambda fault, command: self.assert_refused(CHANGES[command], self.service(fault=REPLIES[fault])))

    def test_every_reply_fault_about_phones_keys_pins_nothing(self):
        def check(fault):
            service = self.service(fault=reply(200, b'{"status":true,"device_registered":true}'))
            service.behaviour["/management/user_phones/application/canary-token-1"] = REPLIES[fault]
            self.assert_refused(CHANGES["phone trust"], service)
            self.assertGreaterEqual(len(service.requests), 2)

        self.for_each(((fault,) for fault in REPLIES), check)

    def test_every_fault_below_http_is_refused(self):
        kinds = [kind for kind in SERVICES if kind not in ("good", "no_address")]

        def check(kind, command):
            service = self.service(kind)
            self.assert_refused(CHANGES[command], service)
            self.assertEqual(service.requests, [], "something was sent")

        self.for_each(((kind, command) for kind in kinds for command in ("user add", "lost-device")), check)

    def test_nobody_listening_is_refused(self):
        service = self.service()
        service.stop()
        for words in CHANGES.values():
            self.assert_refused(words, service)


class Check(Case):
    def test_whatever_the_service_does_is_a_finding(self):
        def check(fault):
            configuration = Configuration(self.service(fault=REPLIES[fault]))
            answer, seconds = configuration.run(("check",))
            self.assert_changed_nothing(configuration, "check", answer, seconds, BOUND_OF_CHECK)
            self.assertEqual(answer.code, 2, answer.text)
            self.assertRegex(answer.out, r"(?m)^problem  ")
            self.assertEqual(answer.err, "")

        self.for_each(((fault,) for fault in REPLIES), check)

    def test_json_stays_json(self):
        for fault in ("close", "not_http", "too_great_body", "deep", "not_utf8"):
            with self.subTest(fault=fault):
                answer, _ = Configuration(self.service(fault=REPLIES[fault])).run(("check", "--json"))
                self.assertIn("findings", json.loads(answer.out))


class Words(Case):
    def test_what_a_service_says_is_plain_text_on_one_line(self):
        nasty = "no\x1b[2J\x1b]0;owned\x07%n%s\u202e\u2028\r\nline" + "x" * 30_000
        for command, words in CHANGES.items():
            with self.subTest(command=command):
                body = json.dumps({"status": False, "reason": nasty}).encode()
                self.assert_refused(words, self.service(fault=reply(200, body)))


if __name__ == "__main__":
    unittest.main()
