"""`iampassctl check` where approvals are verified: pinned phones against users, stacks and the service."""

import json
import os
import re
import unittest

from control import world_with_a_phone
from phone_case import another_key, key_off_the_curve
from Support.Service.world import ENROLLED, program, read, run
from test_check import SHIPPED


def setUpModule():
    global world
    world = world_with_a_phone()
    world.words = world.phone_status()["words"]


class Phones(unittest.TestCase):
    def setUp(self):
        world.settings = {
            "server": world.address, "ca_file": world.certificate, "signed_replies": "required",
            "signed_targets": "required", "services": "sudo", "approvals": "verified",
        }  # fmt: skip
        world.configure()
        world.pam("sudo", arguments="timeout=20s", lines=SHIPPED)
        self.assertEqual(world.ctl("phone", "trust", ENROLLED, "--words", world.words).code, 0)
        self.line = read(world.path("phones"))
        self.addCleanup(world.write, "phones", "", 0o644)

    def findings(self, area="users"):
        answer = world.ctl("check", "--json", "--pam-folder", world.path("pam.d"))
        return [finding for finding in json.loads(answer.out)["findings"] if finding["area"] == area]

    def assert_found(self, level, text, hint="", area="users"):
        found = [finding for finding in self.findings(area) if re.search(text, finding["text"])]
        self.assertEqual([finding["level"] for finding in found], [level], self.findings(area))
        self.assertIn(hint, found[0].get("hint") or "")

    def assert_not_found(self, text):
        self.assertEqual([finding for finding in self.findings() if re.search(text, finding["text"])], [])

    def test_the_service_has_the_pinned_phone(self):
        self.assert_found("ok", "^each user's phone is pinned, and the service has the same$")

    def test_a_user_without_a_pin_is_a_warning(self):
        world.write("phones", "", 0o644)
        self.assert_found(
            "warning", f"without a pinned phone, so the phone is not asked: {ENROLLED}$",
            f"iampassctl phone trust {ENROLLED}")

    def test_a_key_off_the_curve_is_a_problem(self):
        key = self.line.split(":")[2]
        world.write("phones", self.line.replace(key, key_off_the_curve()), 0o644)
        self.assert_found("problem", "phones:1: not the line of a phone: its user cannot sign in")

    def test_without_verified_approvals_pins_are_not_missed(self):
        world.write("phones", "", 0o644)
        world.configure(approvals="service")
        self.assert_not_found("pinned")
        self.assert_found("ok", "^approvals = service: whoever holds", "approvals = verified", area="service")

    def test_a_replaced_phone_is_a_warning(self):
        world.write("phones", self.line.replace(self.line.split(":")[2], another_key()), 0o644)
        self.assert_found(
            "warning", f"the service does not have the pinned phone any more, or has it with other keys: {ENROLLED}$",
            "otherwise take the service for broken into")

    def test_a_pin_without_a_token_is_a_warning(self):
        world.write("phones", self.line + self.line.replace(ENROLLED, "games"), 0o644)
        self.assert_found("warning", "with a pinned phone, but without a token: games$", "phone forget games")

    def test_a_bad_line_is_a_problem_where_pins_decide(self):
        world.write("phones", self.line + "games:nonsense\n", 0o644)
        self.assert_found("problem", "phones:2: not the line of a phone: its user cannot sign in", "phone forget USER")
        world.write("phones", self.line + f"{ENROLLED}:nonsense\n", 0o644)
        self.assert_found("problem", "phones:2: not the line of a phone: its user cannot sign in")
        self.assert_not_found("each user's phone is pinned|without a pinned phone")
        world.write("phones", "games:nonsense\n" + self.line, 0o644)
        self.assert_found("problem", "phones:1: not the line of a phone")
        world.configure(approvals="service")
        self.assert_found("warning", "phones:1: not the line of a phone")

    def test_a_phone_that_stands_twice_is_a_problem(self):
        world.write("phones", self.line * 2, 0o644)
        self.assert_found("problem", f"phones:2: .* for the second time: {ENROLLED} cannot sign in", "remove a line")

    def test_a_file_that_others_write_is_a_problem(self):
        os.chmod(world.path("phones"), 0o666)
        self.assert_found("problem", "phones is writable by group or others", "chmod go-w ")

    def test_a_tap_alone_gets_the_advice(self):
        self.assert_found("ok", f"sign a tap, which is enough for: {ENROLLED}$", "methods=device after pam_iampass.so")

    def test_a_stack_that_the_pinned_phone_cannot_answer_is_a_warning(self):
        world.pam("sudo", lines=SHIPPED.replace("MODULE", "MODULE methods=device", 1))
        self.assert_found(
            "warning", f"^sudo asks for a screen lock, which the pinned phone does not have.*: {ENROLLED}$",
            f"then: iampassctl phone trust {ENROLLED}")
        self.assert_not_found("an open page sign a tap")

    def test_verified_approvals_without_details_are_a_problem(self):
        world.configure(send_context="no")
        self.assert_found("problem", "approvals = verified needs the sign-in's details", area="configuration")

    def be_a_host(self):
        """Gives this computer a credential of its own; its lines."""
        before = read(world.path("credentials"))
        self.addCleanup(world.write, "credentials", before)
        words = ("host-credential", "create", "tests", self.id()[-40:], "--host", "laptop-7")
        lines = run(program("iampass-server"), *words, "--data", world.path("data")).splitlines(True)
        world.write("credentials", "".join(lines))
        return lines

    def test_a_host_credential_without_its_host_is_a_warning(self):
        lines = self.be_a_host()
        self.assertEqual([one for one in self.findings("service") if "which host" in one["text"]], [])
        world.write("credentials", "".join(line for line in lines if not line.startswith("host")))
        self.assert_found("warning", "does not say which host this credential is for", "host = NAME", area="service")

    def test_a_host_is_told_whether_a_pinned_phone_was_replaced(self):
        self.be_a_host()
        self.assert_found("ok", "^each user's phone is pinned, and the service has the same$")
        key = self.line.split(":")[2]
        for line in (self.line.replace(key, another_key()), re.sub(r"^(\w+):\w+", r"\1:another", self.line)):
            world.write("phones", line, 0o644)
            self.assert_found("warning", "the service does not have the pinned phone any more")


if __name__ == "__main__":
    unittest.main()
