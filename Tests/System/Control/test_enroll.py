"""`iampassctl enroll`: the link, its QR code read back, the wait for the phone, and a test sign-in."""

import json
import os
import re
import socket
import subprocess
import time
import unittest

import pexpect
from Support.Service import ends

from control import CONFIG, DATA, INTERRUPTED, IO_ERROR, NO_USER, PROTOCOL, USAGE
from enroll_case import EnrollCase, open_world
from Support.Service.world import program, run

LINK = r"https://127\.0\.0\.1:\d+/register/\w+"


def setUpModule():
    open_world()


def zbar(path):
    """What a reader of QR codes sees in a picture; None: nothing."""
    done = subprocess.run(["zbarimg", "--quiet", "--raw", path], capture_output=True, text=True)
    return done.stdout.strip() or None


def rendering(screen):
    """The code's half blocks as a picture, as a terminal shows black on white."""
    lines = re.findall(r"\x1b\[30;107m([█▀▄ ]+)\x1b\[0m", screen)
    rows = []
    for line in lines:
        rows.append([cell in "█▀" for cell in line])
        rows.append([cell in "█▄" for cell in line])
    scale = 6
    text = "".join(("".join(("1" if dark else "0") * scale for dark in row) + "\n") * scale for row in rows)
    return f"P1\n{len(rows[0]) * scale} {len(rows) * scale}\n{text}"


class Link(EnrollCase):
    def test_a_script_gets_the_link_and_is_not_kept_waiting(self):
        done = self.enroll()
        self.assertEqual(done.code, 0)
        self.assertRegex(done.out, rf"\AOpen this link on {self.name}'s phone; it works once:\n{LINK}\n\Z")

    def test_json(self):
        answer = json.loads(self.enroll("--json").out)
        self.assertEqual(answer["user"], self.name)
        self.assertRegex(answer["register_url"], LINK)

    def test_the_picture_in_the_terminal_is_the_link(self):
        child = self.world.terminal("enroll", self.name, "--no-wait")
        self.assertEqual(self.world.finish(child), 0)
        screen = child.screen.getvalue()
        self.world.write("code.pbm", rendering(screen))
        self.assertEqual(zbar(self.world.path("code.pbm")), re.search(LINK, screen).group(0))

    def test_a_window_that_is_too_small_gets_the_link_alone(self):
        for size in ({"columns": 40}, {"rows": 12}):
            child = self.world.terminal("enroll", self.name, "--no-wait", **size)
            self.world.finish(child)
            screen = child.screen.getvalue()
            self.assertIn("too small for the QR code", screen)
            self.assertRegex(screen, LINK)
            self.assertNotIn("█", screen)

    def test_no_picture_without_block_characters(self):
        for environment in ({"LC_ALL": "C"}, {"TERM": "dumb"}):
            child = self.world.terminal("enroll", self.name, "--no-wait", environment=environment)
            self.world.finish(child)
            self.assertNotIn("█", child.screen.getvalue())
            self.assertRegex(child.screen.getvalue(), LINK)

    def test_the_png_is_the_link_and_roots_alone(self):
        done = self.enroll("--png", self.world.path("code.png"))
        self.assertEqual(zbar(self.world.path("code.png")), re.search(LINK, done.out).group(0))
        self.assertEqual(os.stat(self.world.path("code.png")).st_mode & 0o777, 0o600)

    def test_a_picture_that_cannot_be_opened_asks_the_service_for_nothing(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        for path in ("/nonexistent/code.png", self.world.folder):
            for words in ((), ("--json",)):
                for verb in ("enroll", "lost-device"):
                    done = self.world.ctl(verb, self.name, "--png", path, *words)
                    self.assertIn(done.code, (IO_ERROR, CONFIG), done.text)
                    self.assertEqual(done.out, "")
        self.assertIn("phone  registered", self.world.ctl("user", "show", self.name).out)

    def test_the_link_is_there_where_the_picture_fails(self):
        folder = self.world.path("full")
        os.mkdir(folder)
        self.addCleanup(os.rmdir, folder)
        run("mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", folder)
        self.addCleanup(run, "umount", folder)
        self.world.write("full/filler", "x" * 4096)
        for verb in ("enroll", "lost-device"):
            for words in ((), ("--json",)):
                done = self.world.ctl(verb, self.name, "--png", self.world.path("full/code.png"), *words)
                self.assertEqual(
                    (done.code, done.err), (IO_ERROR, f"iampassctl: {folder}/code.png.new: No space left on device\n"))
                self.assertRegex(done.out, LINK)
        self.assertEqual(os.listdir(folder), ["filler"])

    def test_a_link_that_nobody_saw_is_said(self):
        for verb in ("enroll", "lost-device"):
            for words in ((), ("--json",)):
                done = self.world.ctl_to_a_full_disk(verb, self.name, *words)
                self.assertEqual((done.code, done.err), (IO_ERROR, "iampassctl: standard output: No space left on device\n"))

    def test_who_has_no_phone_has_none_cut_off(self):
        done = self.world.ctl("lost-device", self.name)
        self.assertTrue(done.out.startswith(f"{self.name} had no phone to cut off\n"), done.out)
        self.assertFalse(json.loads(self.world.ctl("lost-device", self.name, "--json").out)["phone_cut_off"])

    def test_who_has_one_is_told_in_json_too(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        self.assertTrue(json.loads(self.world.ctl("lost-device", self.name, "--json").out)["phone_cut_off"])

    def test_who_has_no_token_is_said(self):
        self.world.write("users", "")
        done = self.enroll()
        self.assertEqual((done.code, done.err), (NO_USER, f"iampassctl: user {self.name} has no token\nhint: iampassctl user add {self.name}\n"))

    def test_a_number_without_country_code_is_a_usage_error(self):
        for number in ("015112345678", "+49 151", "+1", "+1234567890123456"):
            self.assertEqual(self.enroll("--sms", number).code, USAGE)

    def test_a_service_without_sms_says_so(self):
        done = self.enroll("--sms", "+4915112345678")
        self.assertEqual((done.code, done.err), (PROTOCOL, "iampassctl: the service refused: the server cannot send text messages\n"))


class SharedToken(EnrollCase):
    """A phone that registers for a shared token would sign in as each user who has the token."""

    def share_with(self, other):
        self.world.write("users", f"{self.name}:{self.world.users()[self.name]}\n{other}:{self.world.users()[self.name]}\n")

    def allow(self):
        self.world.configure(shared_tokens="allowed")
        self.addCleanup(self.world.configure, shared_tokens=None)

    def refused(self, other):
        for words in ((), ("--json",), ("--sms", "+4915112345678")):
            done = self.enroll(*words)
            self.assertEqual((done.code, done.out), (CONFIG, ""))
            self.assertEqual(
                done.err, f"iampassctl: {self.world.path('users')}: {self.name} and {other} have the same token\n"
                "hint: give each a token of their own: iampassctl user remove, add and enroll\n")  # fmt: skip

    def test_is_refused_before_the_service_makes_a_link(self):
        link = json.loads(self.enroll("--json").out)["register_url"]
        self.share_with("daemon")
        self.refused("daemon")
        # A second link would have ended the first one.
        self.register(link)

    def test_is_refused_for_the_other_user_too(self):
        self.share_with("daemon")
        done = self.world.ctl("enroll", "daemon")
        self.assertEqual((done.code, done.out), (CONFIG, ""))
        self.assertIn(f"daemon and {self.name} have the same token", done.err)

    def test_gets_a_link_if_the_configuration_allows_it(self):
        self.share_with("daemon")
        self.allow()
        done = self.enroll()
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertRegex(done.out, LINK)

    def test_is_refused_with_root_even_if_the_configuration_allows_it(self):
        self.share_with("root")
        self.allow()
        self.refused("root")

    def test_does_not_keep_a_lost_phone_from_being_cut_off(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        self.share_with("daemon")
        self.assertTrue(json.loads(self.world.ctl("lost-device", self.name, "--json").out)["phone_cut_off"])


class Waiting(EnrollCase):
    def waiting(self, *words, **options):
        child = self.world.terminal(*(words or ("enroll", self.name)), timeout=90, **options)
        # To the line's end: a piece of the line would match too early.
        child.expect(rf"({LINK}#pin=[\w-]{{22}})\r?\n")
        link = child.match.group(1)
        child.expect_exact("waiting for ")
        return child, link

    def test_waits_for_the_phone_and_tries_it(self):
        child, link = self.waiting()
        self.register(link)
        child.expect_exact(f"{self.name}'s phone is registered")
        child.expect_exact("Try a sign-in on it now? [y/N] ")
        phone = self.world.phone("approve")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        child.sendline("y")
        # The first request that the user sees names the computer, as all do.
        phone.wait_for(rf"host +{re.escape(socket.gethostname())}$")
        child.expect_exact("approved: the phone works")
        approved = time.monotonic()
        self.assertEqual(self.world.finish(child), 0)
        # The command gives up after two seconds, too.
        missed = int(time.monotonic() - approved >= ends.END)
        ends.assert_ended(lambda: 1 - len(self.world.phone_status()["sessions"]), missed)

    def test_the_waiting_line_fits_the_terminal(self):
        child, _ = self.waiting(columns=40)
        # Some turns of the waiting line.
        for _ in range(8):
            child.expect(r"\r[|/\\-] ")
        child.sendintr()
        self.assertEqual(self.world.finish(child), INTERRUPTED)
        turns = re.findall(r"\r([|/\\-] [^\r\n]*)", child.screen.getvalue())
        self.assertGreater(len(turns), 8)
        # The last line contains the echo of Ctrl-C.
        self.assertEqual({len(turn) for turn in turns[:-1]}, {39})

    def test_the_wait_is_said_once_if_no_cursor_moves(self):
        for environment in ({"TERM": "dumb"}, {"LC_ALL": "C"}):
            with self.subTest(environment=environment):
                child, _ = self.waiting(environment=environment)
                # Longer than some polls of the service.
                with self.assertRaises(pexpect.TIMEOUT):
                    child.expect_exact("waiting for ", timeout=3)
                child.sendintr()
                self.assertEqual(self.world.finish(child), INTERRUPTED)
                self.assertIn(f"waiting for {self.name}'s phone (Ctrl-C leaves the link as it is)\r\n", child.screen.getvalue())

    def test_a_denied_trial_is_said(self):
        child, link = self.waiting()
        self.register(link)
        child.expect_exact("[y/N] ")
        phone = self.world.phone("deny")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        child.sendline("y")
        self.assertEqual(self.world.finish(child), 75)
        self.assertIn("the sign-in was not approved: ", child.screen.getvalue())

    def test_no_trial_without_a_yes(self):
        child, link = self.waiting()
        self.register(link)
        child.expect_exact("[y/N] ")
        child.sendline("")
        self.assertEqual(self.world.finish(child), 0)
        self.assertNotIn("approve the sign-in", child.screen.getvalue())

    def test_ctrl_c_leaves_a_link_that_works(self):
        child, link = self.waiting()
        child.sendintr()
        self.assertEqual(self.world.finish(child), INTERRUPTED)
        self.assertIn("the link stays good", child.screen.getvalue())
        self.register(link)

    def test_a_user_with_a_phone_gets_no_link_that_cannot_work(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        for words in ((), ("--json",), ("--sms", "+4915112345678")):
            done = self.enroll(*words)
            self.assertEqual((done.code, done.out), (DATA, ""))
            self.assertRegex(
                done.err, rf"\Aiampassctl: {self.name} has a phone already: \w+\n"
                rf"hint: if it is gone, iampassctl lost-device {self.name}; for a second one, "
                r"iampass-server application set APPLICATION --phones 2\n\Z")  # fmt: skip
        # What the hint names works.
        self.register(json.loads(self.world.ctl("lost-device", self.name, "--json").out)["register_url"])

    def test_who_may_have_a_second_phone_gets_a_link_for_it_and_none_for_a_third(self):
        self.phones(2)
        self.addCleanup(self.phones, 1)
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        done = self.enroll("--json")
        self.assertIn(f"{self.name} has a phone (", done.err)
        self.register(json.loads(done.out)["register_url"], "second.json")
        done = self.enroll()
        self.assertEqual((done.code, done.out), (DATA, ""))
        self.assertIn(f"{self.name} has 2 phones already: ", done.err)
        self.assertIn(f"hint: if one is gone, iampassctl lost-device {self.name} --phone NAME\n", done.err)

    def phones(self, count):
        run(program("iampass-server"), "application", "set", "tests", "--phones", str(count), "--data", self.world.path("data"))

    def test_a_lost_phone_is_cut_off_and_a_new_one_takes_its_place(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"], "old.json")
        child, link = self.waiting("lost-device", self.name)
        self.assertIn(f"{self.name}'s phone is cut off", child.screen.getvalue())
        old = subprocess.run(
            [program("iampass-phone"), "status", "--state", self.world.path("old.json")], capture_output=True)  # fmt: skip
        self.assertNotEqual(old.returncode, 0)
        self.register(link)
        child.expect_exact("phone is registered")
        child.sendline("")
        self.assertEqual(self.world.finish(child), 0)


if __name__ == "__main__":
    unittest.main()
