"""How enroll, lost-device and `phone trust` pin a phone: the real service, `iampass-phone`, and a terminal."""

import json
import os
import unittest

from control import CONFIG, DATA, INTERRUPTED, NO_USER, USAGE
from enroll_case import open_world
from phone_case import PhoneCase, another_key, pin_of
from Support.Service.world import read


def setUpModule():
    open_world()


class Enroll(PhoneCase):
    def test_the_phone_that_opens_the_link_is_pinned(self):
        child, link = self.offered()
        self.register(link)
        child.expect_exact(f"{self.name}'s phone is registered")
        child.expect_exact("this computer has pinned the phone")
        self.finish_without_trial(child)
        [phone] = self.pinned()
        self.assertEqual((phone["user"], phone["name"], phone["words"]), (self.name, self.name, self.words()))
        self.assertEqual(phone["methods"], ["acceptance"])
        self.assertEqual(os.stat(self.world.path("phones")).st_mode & 0o777, 0o644)

    def test_the_secret_stays_in_the_link(self):
        child, link = self.offered()
        encoded = link.rpartition("=")[2]
        with open(f"/proc/{child.pid}/cmdline", "rb") as file:
            self.assertNotIn(encoded.encode(), file.read())
        self.register(link)
        screen = self.finish_without_trial(child)
        self.assertEqual(screen.count(encoded), 1)
        for name in ("data/iampass.sqlite", "data/iampass.sqlite-wal", "phones"):
            with open(self.world.path(name), "rb") as file:
                text = file.read()
            self.assertNotIn(encoded.encode(), text, name)
            self.assertNotIn(pin_of(link), text, name)

    def test_each_link_has_a_secret_of_its_own(self):
        secrets = set()
        for _ in range(3):
            child, link = self.offered()
            secrets.add(pin_of(link))
            child.sendintr()
            self.assertEqual(self.world.finish(child), INTERRUPTED)
        self.assertEqual({len(secret) for secret in secrets}, {16})
        self.assertEqual(len(secrets), 3)

    def test_a_link_that_nobody_waits_with_has_no_secret(self):
        for words in ((), ("--json",), ("--no-wait",)):
            self.assertNotIn("#", self.enroll(*words).out)
            self.assertNotIn("#", self.world.ctl("lost-device", self.name, *words).out)

    def test_a_phone_without_the_secret_is_registered_but_not_pinned(self):
        child, link = self.offered()
        self.register(link.partition("#")[0])
        screen = self.finish_without_trial(child)
        self.assertIn(f"{self.name}'s phone is registered\r\n", screen)
        self.assertIn("does not pin it: the phone has not proven its keys by the link's secret", screen)
        self.assertIn(f"hint: iampassctl phone trust {self.name}, which compares six words", screen)
        self.assertEqual(self.pinned(), [])

    def test_a_phone_with_another_secret_is_registered_but_not_pinned(self):
        child, link = self.offered()
        self.register(link.partition("#")[0] + "#pin=" + "A" * 22)
        screen = self.finish_without_trial(child)
        self.assertIn("the keys that the service tells are not those of a phone that opened this link", screen)
        self.assertEqual(self.pinned(), [])

    def test_a_phones_file_that_cannot_be_used_is_said(self):
        child, link = self.offered()
        os.chmod(self.world.path("phones"), 0o666)
        self.addCleanup(os.chmod, self.world.path("phones"), 0o644)
        self.register(link)
        self.assertEqual(self.world.finish(child), CONFIG)
        self.assertIn("phones is writable by group or others (mode 0666)", child.screen.getvalue())
        self.assertIn("hint: chmod go-w ", child.screen.getvalue())


class Verified(PhoneCase):
    """Where a sign-in needs a pinned phone."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.world.configure, approvals=None)
        self.world.configure(approvals="verified")

    def test_the_pinned_phone_signs_in(self):
        child, link = self.offered()
        self.register(link)
        child.expect_exact("this computer has pinned the phone")
        child.expect_exact("[y/N] ")
        child.sendline("y")
        child.expect(r"code (\d\d): approve the sign-in on the phone")
        phone = self.world.phone("approve", "--once", "--code", child.match.group(1))
        self.addCleanup(phone.stop)
        child.expect_exact("approved: the phone works")
        self.assertEqual(self.world.finish(child), 0)

    def test_a_phone_that_is_not_pinned_is_not_asked(self):
        child, link = self.offered()
        self.register(link.partition("#")[0])
        child.expect_exact("[y/N] ")
        child.sendline("y")
        self.assertEqual(self.world.finish(child), CONFIG)
        self.assertIn(f"this computer trusts no phone of {self.name}", child.screen.getvalue())

    def test_a_phone_that_is_forgotten_or_replaced_while_it_is_asked_approves_nothing(self):
        for key, told in (
            (None, f"this computer trusts no phone of {self.name}"),
            (another_key(), f"this computer stopped trusting {self.name}'s phone"),
        ):
            with self.subTest(told=told):
                child, link = self.offered()
                self.register(link)
                child.expect_exact("[y/N] ")
                child.sendline("y")
                child.expect(r"code (\d\d): approve the sign-in on the phone")
                line = read(self.world.path("phones"))
                changed = line.replace(self.pinned()[0]["public_key"], key) if key else ""
                self.world.write("phones", changed, 0o644)
                phone = self.world.phone("approve", "--once", "--code", child.match.group(1))
                self.addCleanup(phone.stop)
                self.assertEqual(self.world.finish(child), CONFIG)
                self.assertIn(told, child.screen.getvalue())
                self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)

    def test_without_a_wait_the_next_step_is_said(self):
        for command in ("enroll", "lost-device"):
            done = self.world.ctl(command, self.name, "--json")
            self.assertEqual(
                done.err, "hint: once the phone is registered: "
                f"iampassctl phone trust {self.name}, which compares six words\n")  # fmt: skip


class LostDevice(PhoneCase):
    def enrolled(self):
        child, link = self.offered()
        self.register(link)
        self.finish_without_trial(child)
        [phone] = self.pinned()
        return phone

    def test_the_new_phone_is_the_pinned_one(self):
        old = self.enrolled()
        child, link = self.offered("lost-device", self.name)
        # Cut off here too, before any other phone is there.
        self.assertEqual(self.pinned(), [])
        self.register(link)
        child.expect_exact("this computer has pinned the phone")
        self.finish_without_trial(child)
        [new] = self.pinned()
        self.assertNotEqual((new["id"], new["public_key"]), (old["id"], old["public_key"]))
        self.assertEqual(new["words"], self.words())

    def test_a_script_forgets_the_lost_phone(self):
        self.enrolled()
        self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)
        self.assertEqual(self.pinned(), [])

    def test_the_lost_phone_is_forgotten_without_the_service(self):
        self.enrolled()
        self.world.configure(server="https://127.0.0.1:9", ca_file=self.world.certificate)
        self.addCleanup(self.world.configure, server=self.world.address, ca_file=self.world.certificate)
        self.assertNotEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)
        self.assertEqual(self.pinned(), [])

    def test_a_named_phone_is_forgotten_without_the_service(self):
        phone = self.enrolled()
        self.world.configure(server="https://127.0.0.1:9", ca_file=self.world.certificate)
        self.addCleanup(self.world.configure, server=self.world.address, ca_file=self.world.certificate)
        done = self.world.ctl("lost-device", self.name, "--phone", "another")
        self.assertNotEqual(done.code, 0)
        self.assertNotIn("no longer trusts", done.err)
        self.assertEqual([one["id"] for one in self.pinned()], [phone["id"]])
        done = self.world.ctl("lost-device", self.name, "--phone", phone["id"][:8])
        self.assertNotEqual(done.code, 0)
        self.assertEqual(self.pinned(), [])
        self.assertIn(f"this computer no longer trusts {self.name}'s phone", done.err)
        self.assertIn("the service was not told", done.err)
        self.assertIn("hint: the same command again, once the service answers", done.err)

    def test_the_lost_phone_is_forgotten_for_each_user_who_has_its_token(self):
        phone = self.enrolled()
        self.share_token_with("daemon")
        line = read(self.world.path("phones"))
        self.world.write("phones", line + line.replace(self.name, "daemon") + line.replace(self.name, "bin"), 0o644)
        self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)
        listed = json.loads(self.world.ctl("phone", "list", "--json").out)
        self.assertEqual([(entry["user"], entry["id"]) for entry in listed], [("bin", phone["id"])])

    def test_the_link_is_shown_if_the_phone_cannot_be_forgotten(self):
        self.enrolled()
        os.chmod(self.world.path("phones"), 0o666)
        self.addCleanup(os.chmod, self.world.path("phones"), 0o644)
        done = self.world.ctl("lost-device", self.name)
        self.assertEqual(done.code, CONFIG)
        self.assertIn("phones is writable by group or others", done.err)
        self.assertIn("/register/", done.out)


class Trust(PhoneCase):
    def trust(self, *words):
        return self.world.ctl("phone", "trust", self.name, *words)

    def asked(self):
        child = self.world.terminal("phone", "trust", self.name, timeout=90)
        child.expect_exact("Six words: ")
        return child

    def test_the_words_of_the_phone_pin_it(self):
        words = self.registered()
        child = self.asked()
        self.assertNotIn(words.split()[0], child.screen.getvalue())
        child.sendline(words)
        self.assertEqual(self.world.finish(child), 0)
        self.assertIn(f"{self.name}'s phone {self.name} is pinned", child.screen.getvalue())
        self.assertEqual([phone["words"] for phone in self.pinned()], [words])

    def test_case_and_spaces_do_not_matter(self):
        words = self.registered()
        done = self.trust("--words", "  " + words.upper().replace(" ", "   ") + "\t")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertEqual(len(self.pinned()), 1)

    def test_wrong_words_may_be_typed_again(self):
        words = self.registered()
        child = self.asked()
        child.sendline("badu badu badu badu badu badu")
        child.expect_exact("the phone that the service has shows other words; 2 more tries")
        child.expect_exact("Six words: ")
        child.sendline(words[:-1])
        child.expect_exact("shows other words; one more try")
        child.expect_exact("Six words: ")
        child.sendline(words)
        self.assertEqual(self.world.finish(child), 0)
        self.assertEqual(len(self.pinned()), 1)

    def test_three_times_wrong_words_pin_nothing(self):
        words = self.registered()
        child = self.asked()
        for typed in ("", words + " badu", " ".join(reversed(words.split()))):
            child.sendline(typed)
        self.assertEqual(self.world.finish(child), DATA)
        screen = child.screen.getvalue()
        self.assertEqual(screen.count("Six words: "), 3)
        self.assertIn(f"the phone that the service has for {self.name} shows other words; it is not pinned", screen)
        self.assertIn("hint: read them from the phone again; if they still differ, take the service", screen)
        self.assertEqual(self.pinned(), [])

    def test_a_script_has_one_try(self):
        words = self.registered()
        done = self.trust("--words", "badu " + words.partition(" ")[2])
        self.assertEqual((done.code, done.out), (DATA, ""))
        self.assertEqual(self.pinned(), [])

    def test_ctrl_c_pins_nothing(self):
        self.registered()
        child = self.asked()
        child.sendintr()
        self.assertEqual(self.world.finish(child), INTERRUPTED)
        self.assertEqual(self.pinned(), [])

    def test_without_a_terminal_the_words_are_needed(self):
        self.registered()
        done = self.trust()
        self.assertEqual((done.code, done.out), (USAGE, ""))
        self.assertEqual(
            done.err, "iampassctl: the six words are needed, and there is no terminal to ask at\n"
            f"hint: iampassctl phone trust {self.name} --words 'WORD WORD WORD WORD WORD WORD'\n")  # fmt: skip

    def test_a_user_without_a_phone_is_said(self):
        done = self.trust("--words", "a b c d e f")
        self.assertEqual(
            (done.code, done.err),
            (NO_USER, f"iampassctl: user {self.name} does not have a phone\nhint: iampassctl enroll {self.name}\n"))

    def test_a_token_that_no_sign_in_takes_is_refused(self):
        words = self.registered()
        self.share_token_with("daemon")
        done = self.trust("--words", words)
        self.assertEqual(done.code, CONFIG)
        self.assertIn("have the same token", done.err)

    def test_a_phone_that_took_the_pinned_ones_place_is_the_only_one(self):
        words = self.registered("old.json")
        self.assertEqual(self.trust("--words", words).code, 0)
        # At another computer.
        line = read(self.world.path("phones"))
        self.register(json.loads(self.world.ctl("lost-device", self.name, "--json").out)["register_url"])
        self.world.write("phones", line, 0o644)
        self.assertEqual(self.trust("--words", self.words()).code, 0)
        self.assertEqual([phone["words"] for phone in self.pinned()], [self.words()])


if __name__ == "__main__":
    unittest.main()
