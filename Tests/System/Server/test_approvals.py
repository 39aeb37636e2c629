"""Approvals that computers verify, and the keys that they verify them by: the real service and `iampass-phone`."""

import base64
import hashlib
import json
import os
import subprocess
import unittest

from Support.Service import approvals
from Support.Service.never import assert_hidden
from Support.Service.server import USAGE, ServerWorld
from Support.Service.world import PATIENCE, program, run

CHALLENGE = base64.b64encode(bytes(range(32))).decode()


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    world.enroll_alice()


def phones(user="alice"):
    return world.signed("GET", f"/management/user_phones/{world.application['application_id']}/{user}")["phones"]


def link_for(user):
    world.add_users(user)
    path = f"/management/device_registration_link/{world.application['application_id']}/{user}?display_name={user}"
    return world.signed("GET", path)["register_url"]


class StartTest(unittest.TestCase):
    def start(self, body, by=None):
        """A start for alice, which does not outlive its test: her phone answers what is open."""
        client = (by or (world.application["application_id"],))[0]
        code, headers, reply = world.ask("POST", f"/authentication/authenticate_user/{client}/alice", body, by=by)
        session = reply.get("authentication_status", {})
        if session.get("session_token"):
            keys = (session["session_token"], session["session_secret"])
            self.addCleanup(world.signed, "POST", session["logout_url"].removeprefix(world.address), by=keys)
        return code, headers, reply


class Approvals(StartTest):
    def test_the_computer_can_check_what_the_phone_signed(self):
        context = {"host": "web-1", "service": "sudo", "command": "apt upgrade é ‹", "amount": "10 €"}
        phone = world.phone("approve", "--once", "--code", "07")
        self.addCleanup(phone.stop)
        code, _, reply = self.start({"context": context, "challenge": CHALLENGE, "match_code": "07"})
        session = reply["authentication_status"]
        self.assertEqual((code, session["challenge"], session["match_code"]), (202, CHALLENGE, "07"))
        world.becomes(session, "active")
        _, _, status = world.ask_status(session)
        approval = status["approval"]
        [known] = phones()
        self.assertTrue(approvals.is_signed(approval, known["public_key"]))
        self.assertEqual((approval["phone"], approval["statement"]["device"]), (known["id"], known["id"]))
        expected = {
            "purpose": "answer", "answer": "approve", "challenge": CHALLENGE, "origin": world.address, "code": "07",
            "session": session["session_name"], "method": "acceptance", "context_hash": approvals.digest(context),
        }  # fmt: skip
        self.assertEqual({name: approval["statement"].get(name) for name in expected}, expected)
        self.assertNotIn("assertion", approval)
        # What the phone did not sign does not verify.
        for name in expected:
            changed = {**approval, "statement": {**approval["statement"], name: "another"}}
            self.assertFalse(approvals.is_signed(changed, known["public_key"]), name)

    def test_without_a_challenge_there_is_no_approval(self):
        session = world.approved("web-2")
        self.assertNotIn("challenge", session)
        self.assertNotIn("approval", world.ask_status(session)[2])

    def test_a_code_that_is_shown_is_not_asked_again(self):
        body = {"challenge": CHALLENGE, "match_code": "33"}
        self.assertEqual(self.start({"context": {"host": "web-3"}, **body})[0], 202)
        code, _, reply = self.start({"context": {"host": "web-4"}, **body})
        self.assertEqual((code, reply["authentication_status"]["reason"]), (200, "CODE_IN_USE"))

    def test_a_start_that_would_have_to_be_changed_is_refused(self):
        for body in (
            {"challenge": CHALLENGE}, {"challenge": "AAAA", "context": {"host": "a"}},
            {"challenge": CHALLENGE, "context": {"host": None}}, {"match_code": "12", "context": {"host": "a"}},
        ):  # fmt: skip
            code, _, reply = self.start(body)
            self.assertEqual((code, reply["reason"]), (400, "BAD_REQUEST"), body)


class HostCredentials(StartTest):
    def test_the_file_names_the_host_and_another_host_is_refused(self):
        made = world.command("host-credential", "create", "office", "desk", "--host", "desk.example")
        lines = dict(line.split(" = ") for line in made.stdout.splitlines())
        self.assertEqual(lines["host"], "desk.example")
        by = (lines["application_id"], lines["application_secret"])
        for host, expected in (("web-1", (400, "WRONG_HOST")), ("desk.example", (202, None))):
            code, _, reply = self.start({"context": {"host": host}, "challenge": CHALLENGE}, by)
            self.assertEqual((code, reply.get("reason")), expected)

    def test_an_applications_own_file_names_no_host(self):
        made = world.command("application", "create", "another")
        self.assertNotIn("host", made.stdout)

    def test_a_host_is_not_told_the_keys_of_phones(self):
        made = json.loads(world.command("host-credential", "create", "office", "spy", "--host", "spy", "--json").stdout)
        by = (made["application_id"], made["application_secret"])
        code, _, reply = world.ask("GET", f"/management/user_phones/{by[0]}/alice", by=by)
        self.assertEqual((code, reply["reason"]), (403, "HOST_MAY_NOT_MANAGE"))


class Pins(unittest.TestCase):
    def register(self, link, state):
        return subprocess.run(
            [program("iampass-phone"), "register", link, "--state", world.path(state), "--ca", world.certificate],
            capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip

    def test_the_phone_says_which_keys_are_its_own(self):
        secret, link = os.urandom(16), link_for("bob")
        done = self.register(link + approvals.fragment(secret), "bob.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        [phone] = phones("bob")
        self.assertEqual(phone["pin_mac"], approvals.pin(phone, secret, world.address, link))
        self.assertEqual((phone["name"], phone["credential"]), ("bob", None))
        status = run(program("iampass-phone"), "status", "--state", world.path("bob.json"))
        self.assertRegex(status, rf"(?m)^  words +{approvals.words(phone)}$")
        status = run(program("iampass-phone"), "status", "--state", world.path("bob.json"), "--json")
        self.assertEqual(json.loads(status)["words"], approvals.words(phone))

    def test_without_a_secret_there_is_no_pin(self):
        self.assertEqual([phone["pin_mac"] for phone in phones()], [None])

    def test_a_link_with_half_its_secret_registers_nothing(self):
        link = link_for("carol")
        for end in ("#", "#pin=", "#pin=AAAA", approvals.fragment(bytes(17)), "#session=1", "#pin=" + "é" * 22):
            done = self.register(link + end, "carol.json")
            self.assertEqual(done.returncode, USAGE, end)
            self.assertIn("the link was not copied whole", done.stderr)
            self.assertNotIn(end[5:] or link, done.stderr)
        self.assertEqual(phones("carol"), [])

    def test_the_secret_is_in_no_request(self):
        secret, link = os.urandom(16), link_for("dave")
        self.register(link + approvals.fragment(secret), "dave.json")
        for name in ("data/iampass.sqlite", "data/iampass.sqlite-wal"):
            with open(world.path(name), "rb") as file:
                text = file.read()
            self.assertNotIn(approvals.fragment(secret)[5:].encode(), text)
            assert_hidden(secret, text)


class PageDigests(unittest.TestCase):
    def test_they_are_those_of_what_is_served(self):
        lines = run(program("iampass-server"), "page-digest").splitlines()
        listed = dict(reversed(line.split("  ")) for line in lines)
        self.assertIn("phone/", listed)
        self.assertIn("phone/app.js", listed)
        for path, expected in listed.items():
            code, _, text = world.get("/" + path) if not path.endswith(".png") else (200, None, None)
            if text is not None:
                self.assertEqual((code, hashlib.sha256(text.encode()).hexdigest()), (200, expected), path)
        # Each file that the page loads is listed.
        page = world.get("/phone/")[2]
        for name in ("app.js", "phone.css"):
            self.assertIn(f"../phone/{name}", page)
            self.assertIn(f"phone/{name}", listed)


if __name__ == "__main__":
    unittest.main()
