"""A computer that believes the phone alone: enrolled by iampassctl, the page pinned, and sign-ins verified."""

import json
import os
import unittest

import pexpect

from phone_page_case import PhonePageCase
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, PATIENCE, SUCCESS, World, program, read, run


class Computer(World):
    """A computer that asks this world and verifies what it says."""

    def __init__(self, world):
        super().__init__()
        made = {"application_id": world.application, "application_secret": world.secret}
        self.write("credentials", "".join(f"{name} = {value}\n" for name, value in made.items()))
        self.configure(
            server=world.origin, ca_file=world.authority.file, signed_replies="required", signed_targets="required",
            approvals="verified")  # fmt: skip
        self.pam("sudo", "prompt=push timeout=60s methods=device")

    def ctl(self, *words):
        return run(program("iampassctl"), *words, "--config", self.path("iampass.conf"))

    def terminal(self, *words):
        return pexpect.spawn(
            program("iampassctl"), [*words, "--config", self.path("iampass.conf")], timeout=PATIENCE, encoding="utf-8",
            dimensions=(60, 120), env={"PATH": os.environ["PATH"], "TERM": "xterm"})  # fmt: skip

    def pinned(self):
        return json.loads(self.ctl("phone", "list", "--json", ENROLLED))


class VerifiedCase(PhonePageCase):
    def setUp(self):
        super().setUp()
        self.computer = Computer(self.world)
        self.addCleanup(self.computer.close)
        self.computer.ctl("user", "add", ENROLLED)
        self.addCleanup(self.computer.ctl, "user", "remove", ENROLLED)

    def offered(self, *words):
        """The command that waits, and its link, opened in the browser."""
        child = self.computer.terminal(*words, ENROLLED)
        child.expect(r"(https://localhost:\d+/register/\w+#pin=[\w-]{22})\r\n")
        self.browser.open(child.match.group(1))
        self.browser.sees("#registration", ENROLLED)
        self.browser.tap("#register")
        return child

    def enrolled(self, *words):
        child = self.offered(*(words or ("enroll",)))
        child.expect_exact("this computer has pinned the phone")
        child.sendline("")
        child.expect(pexpect.EOF)
        child.close()
        self.assertEqual(child.exitstatus, 0)
        self.browser.sees("#said", "phone now.")
        self.connected()
        return self.computer.pinned()

    def signed_in(self, act):
        with self.computer.playing() as results:
            code = self.computer.code_on_the_screen()
            self.card()
            self.browser.type(".request .code input", code)
            self.browser.tap(f".request .{act}")
        return results[0]["codes"]


class VerifiedSignIn(VerifiedCase):
    def test_an_unlocked_phone_that_enroll_pinned_signs_in(self):
        [phone] = self.enrolled()
        self.assertEqual(phone["methods"], ["acceptance", "device"])
        self.assertEqual(self.signed_in("approve"), [SUCCESS])

    def test_a_phone_that_was_replaced_signs_in_again_only_after_its_words(self):
        [old] = self.enrolled()
        lines = read(self.computer.path("phones"))
        [new] = self.enrolled("lost-device")
        # Another computer has not heard of it.
        self.computer.write("phones", lines, 0o644)
        result = None
        with self.computer.playing() as results:
            code = self.computer.code_on_the_screen()
            self.card()
            self.browser.type(".request .code input", code)
            self.browser.tap(".request .approve")
        result = results[0]
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL], result)
        self.assertIn("the service does not have the pinned phone any more", self.checked())
        self.browser.open(self.world.address + "/phone/")
        self.browser.tap(".account summary")
        words = self.browser.says(".words", "Six words").rstrip(".").rpartition(": ")[2]
        self.assertEqual(words, new["words"])
        self.computer.ctl("phone", "trust", ENROLLED, "--words", words)
        self.assertEqual([phone["words"] for phone in self.computer.pinned()], [words])
        self.assertNotEqual(words, old["words"])
        self.connected()
        self.assertEqual(self.signed_in("approve"), [SUCCESS])

    def checked(self):
        child = self.computer.terminal("check", "--pam-folder", self.computer.path("pam.d"))
        child.expect(pexpect.EOF)
        child.close()
        return child.before


if __name__ == "__main__":
    unittest.main()
