"""`iampassctl enroll` and `lost-device`: the link, its QR code read back, the wait for the phone, and a test sign-in."""

import json
import os
import re
import ssl
import subprocess
import unittest
import urllib.request

import pexpect

from control import CONFIG, INTERRUPTED, IO_ERROR, NO_USER, PROTOCOL, USAGE, ControlWorld
from world import PATIENCE, program, read, run

import signed_requests

LINK = r"https://127\.0\.0\.1:\d+/register/\w+"


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.configure(signed_replies="required")


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


class Case(unittest.TestCase):
    """Each test with a user who is new to the service."""

    def setUp(self):
        self.name = f"guest{id(self) % 1_000_000}"
        world.write("users", "")
        self.assertEqual(world.ctl("user", "add", "--force", self.name).code, 0)

    def register(self, link, state="phone.json"):
        if os.path.exists(world.path(state)):
            os.unlink(world.path(state))
        run(program("iampass-phone"), "register", link, "--state", world.path(state), "--ca", world.certificate)

    def enroll(self, *words, **options):
        return world.ctl("enroll", self.name, *words, **options)


class Link(Case):
    def test_a_script_gets_the_link_and_is_not_kept_waiting(self):
        done = self.enroll()
        self.assertEqual(done.code, 0)
        self.assertRegex(done.out, rf"\AOpen this link on {self.name}'s phone; it works once:\n{LINK}\n\Z")

    def test_json(self):
        answer = json.loads(self.enroll("--json").out)
        self.assertEqual(answer["user"], self.name)
        self.assertRegex(answer["register_url"], LINK)

    def test_the_picture_in_the_terminal_is_the_link(self):
        child = world.terminal("enroll", self.name, "--no-wait")
        self.assertEqual(world.finish(child), 0)
        screen = child.screen.getvalue()
        world.write("code.pbm", rendering(screen))
        self.assertEqual(zbar(world.path("code.pbm")), re.search(LINK, screen).group(0))

    def test_a_window_that_is_too_small_gets_the_link_alone(self):
        for size in ({"columns": 40}, {"rows": 12}):
            child = world.terminal("enroll", self.name, "--no-wait", **size)
            world.finish(child)
            screen = child.screen.getvalue()
            self.assertIn("too small for the QR code", screen)
            self.assertRegex(screen, LINK)
            self.assertNotIn("█", screen)

    def test_no_picture_without_block_characters(self):
        for environment in ({"LC_ALL": "C"}, {"TERM": "dumb"}):
            child = world.terminal("enroll", self.name, "--no-wait", environment=environment)
            world.finish(child)
            self.assertNotIn("█", child.screen.getvalue())
            self.assertRegex(child.screen.getvalue(), LINK)

    def test_the_png_is_the_link_and_roots_alone(self):
        done = self.enroll("--png", world.path("code.png"))
        self.assertEqual(zbar(world.path("code.png")), re.search(LINK, done.out).group(0))
        self.assertEqual(os.stat(world.path("code.png")).st_mode & 0o777, 0o600)

    def test_a_picture_that_cannot_be_opened_asks_the_service_for_nothing(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        for path in ("/nonexistent/code.png", world.folder):
            for words in ((), ("--json",)):
                for verb in ("enroll", "lost-device"):
                    done = world.ctl(verb, self.name, "--png", path, *words)
                    self.assertIn(done.code, (IO_ERROR, CONFIG), done.text)
                    self.assertEqual(done.out, "")
        self.assertIn("phone  registered", world.ctl("user", "show", self.name).out)

    def test_the_link_is_there_where_the_picture_fails(self):
        folder = world.path("full")
        os.mkdir(folder)
        self.addCleanup(os.rmdir, folder)
        run("mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "tmpfs", folder)
        self.addCleanup(run, "umount", folder)
        world.write("full/filler", "x" * 4096)
        for verb in ("enroll", "lost-device"):
            for words in ((), ("--json",)):
                done = world.ctl(verb, self.name, "--png", world.path("full/code.png"), *words)
                self.assertEqual(
                    (done.code, done.err), (IO_ERROR, f"iampassctl: {folder}/code.png.new: No space left on device\n"))
                self.assertRegex(done.out, LINK)
        self.assertEqual(os.listdir(folder), ["filler"])

    def test_a_link_that_nobody_saw_is_said(self):
        for verb in ("enroll", "lost-device"):
            for words in ((), ("--json",)):
                done = world.ctl_to_a_full_disk(verb, self.name, *words)
                self.assertEqual((done.code, done.err), (IO_ERROR, "iampassctl: standard output: No space left on device\n"))

    def test_who_has_no_phone_has_none_cut_off(self):
        done = world.ctl("lost-device", self.name)
        self.assertTrue(done.out.startswith(f"{self.name} had no phone to cut off\n"), done.out)
        self.assertFalse(json.loads(world.ctl("lost-device", self.name, "--json").out)["phone_cut_off"])

    def test_who_has_one_is_told_in_json_too(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        self.assertTrue(json.loads(world.ctl("lost-device", self.name, "--json").out)["phone_cut_off"])

    def test_who_has_no_token_is_said(self):
        world.write("users", "")
        done = self.enroll()
        self.assertEqual((done.code, done.err), (NO_USER, f"iampassctl: user {self.name} has no token\nhint: iampassctl user add {self.name}\n"))

    def test_a_number_without_country_code_is_a_usage_error(self):
        for number in ("015112345678", "+49 151", "+1", "+1234567890123456"):
            self.assertEqual(self.enroll("--sms", number).code, USAGE)

    def test_a_service_without_sms_says_so(self):
        done = self.enroll("--sms", "+4915112345678")
        self.assertEqual((done.code, done.err), (PROTOCOL, "iampassctl: the service refused: the server cannot send text messages\n"))


class SharedToken(Case):
    """A phone that registers for a shared token would sign in as each user who has the token."""

    def share_with(self, other):
        world.write("users", f"{self.name}:{world.users()[self.name]}\n{other}:{world.users()[self.name]}\n")

    def allow(self):
        world.configure(shared_tokens="allowed")
        self.addCleanup(world.configure, shared_tokens=None)

    def refused(self, other):
        for words in ((), ("--json",), ("--sms", "+4915112345678")):
            done = self.enroll(*words)
            self.assertEqual((done.code, done.out), (CONFIG, ""))
            self.assertEqual(
                done.err, f"iampassctl: {world.path('users')}: {self.name} and {other} have the same token\n"
                "hint: give each a token of their own: iampassctl user remove, add and enroll\n")  # fmt: skip

    def test_is_refused_before_the_service_makes_a_link(self):
        link = json.loads(self.enroll("--json").out)["register_url"]
        self.share_with("daemon")
        self.refused("daemon")
        # A second link would have ended the first one.
        self.register(link)

    def test_is_refused_for_the_other_user_too(self):
        self.share_with("daemon")
        done = world.ctl("enroll", "daemon")
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
        self.assertTrue(json.loads(world.ctl("lost-device", self.name, "--json").out)["phone_cut_off"])


class Waiting(Case):
    def waiting(self, *words, **options):
        child = world.terminal(*(words or ("enroll", self.name)), timeout=30, **options)
        # To the line's end: a piece of the line would match too early.
        child.expect(rf"({LINK})\r?\n")
        link = child.match.group(1)
        child.expect_exact("waiting for ")
        return child, link

    def test_waits_for_the_phone_and_tries_it(self):
        child, link = self.waiting()
        self.register(link)
        child.expect_exact(f"{self.name}'s phone is registered")
        child.expect_exact("Try a sign-in on it now? [y/N] ")
        phone = world.phone("approve")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        child.sendline("y")
        child.expect_exact("approved: the phone works")
        self.assertEqual(world.finish(child), 0)
        self.assertEqual(world.phone_status()["sessions"], [])

    def test_the_waiting_line_fits_the_terminal(self):
        child, _ = self.waiting(columns=40)
        # Some turns of the waiting line.
        for _ in range(8):
            child.expect(r"\r[|/\\-] ")
        child.sendintr()
        self.assertEqual(world.finish(child), INTERRUPTED)
        turns = re.findall(r"\r([|/\\-] [^\r\n]*)", child.screen.getvalue())
        self.assertGreater(len(turns), 8)
        # The last line contains the echo of Ctrl-C.
        self.assertEqual({len(turn) for turn in turns[:-1]}, {39})

    def test_where_no_cursor_moves_the_wait_is_said_once(self):
        for environment in ({"TERM": "dumb"}, {"LC_ALL": "C"}):
            with self.subTest(environment=environment):
                child, _ = self.waiting(environment=environment)
                # Longer than some polls of the service.
                with self.assertRaises(pexpect.TIMEOUT):
                    child.expect_exact("waiting for ", timeout=3)
                child.sendintr()
                self.assertEqual(world.finish(child), INTERRUPTED)
                self.assertIn(f"waiting for {self.name}'s phone (Ctrl-C leaves the link as it is)\r\n", child.screen.getvalue())

    def test_a_denied_trial_is_said(self):
        child, link = self.waiting()
        self.register(link)
        child.expect_exact("[y/N] ")
        phone = world.phone("deny")
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        child.sendline("y")
        self.assertEqual(world.finish(child), 75)
        self.assertIn("the sign-in was not approved: ", child.screen.getvalue())

    def test_no_trial_without_a_yes(self):
        child, link = self.waiting()
        self.register(link)
        child.expect_exact("[y/N] ")
        child.sendline("")
        self.assertEqual(world.finish(child), 0)
        self.assertNotIn("approve the sign-in", child.screen.getvalue())

    def test_ctrl_c_leaves_a_link_that_works(self):
        child, link = self.waiting()
        child.sendintr()
        self.assertEqual(world.finish(child), INTERRUPTED)
        self.assertIn("the link stays good", child.screen.getvalue())
        self.register(link)

    def test_a_user_with_a_phone_is_warned(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"])
        done = self.enroll()
        self.assertIn(f"warning: {self.name} has a phone already", done.err)
        self.assertIn(f"hint: iampassctl lost-device {self.name}", done.err)

    def test_a_lost_phone_is_cut_off_and_a_new_one_takes_its_place(self):
        self.register(json.loads(self.enroll("--json").out)["register_url"], "old.json")
        child, link = self.waiting("lost-device", self.name)
        self.assertIn(f"{self.name}'s phone is cut off", child.screen.getvalue())
        old = subprocess.run(
            [program("iampass-phone"), "status", "--state", world.path("old.json")], capture_output=True)  # fmt: skip
        self.assertNotEqual(old.returncode, 0)
        self.register(link)
        child.expect_exact("phone is registered")
        child.sendline("")
        self.assertEqual(world.finish(child), 0)


class LostSessions(Case):
    """What the lost phone approved ends with it."""

    def setUp(self):
        super().setUp()
        self.register(json.loads(self.enroll("--json", "--display-name", "Guest of honour").out)["register_url"])
        self.sessions = [self.approved(host) for host in ("web-1", "web-2")]

    def ask(self, method, url, client, secret, **body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(
            url, method=method, data=data, headers=signed_requests.headers(client, secret, url))
        context = ssl.create_default_context(cafile=world.certificate)
        with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as reply:
            return json.loads(reply.read())

    def approved(self, host):
        settings = dict(line.split(" = ") for line in read(world.path("credentials")).splitlines())
        client, secret = settings["application_id"], settings["application_secret"]
        url = f"{world.address}/authentication/authenticate_user/{client}/{world.users()[self.name]}"
        session = self.ask("POST", url, client, secret, context={"host": host})["authentication_status"]
        run(program("iampass-phone"), "watch", "--state", world.path("phone.json"), "--answer", "approve", "--once")
        self.assertEqual(self.status(session), "active")
        return session

    def status(self, session):
        return self.ask("GET", session["status_url"], session["session_token"], session["session_secret"])["session_status"]

    def statuses(self):
        return [self.status(session) for session in self.sessions]

    def recorded(self, session):
        """As a sign-in that this test runs under leaves it."""
        me = {"pid": os.getpid(), "start": read(f"/proc/{os.getpid()}/stat").rpartition(")")[2].split()[19]}
        record = {
            "version": 1, "id": "0123456789abcdef" * 2, "user": self.name, "uid": 0, "service": "sudo",
            "status_url": session["status_url"], "logout_url": session["logout_url"],
            "session_token": session["session_token"], "session_secret": session["session_secret"], "process": me,
            "parent": me, "created": 1, "duration": 60, "claimed": False, "released": False, "condemned": False,
        }  # fmt: skip
        os.makedirs(world.path("run", "sessions"), 0o700, exist_ok=True)
        world.write("run/sessions/" + record["id"], json.dumps(record))
        self.addCleanup(os.unlink, world.path("run", "sessions", record["id"]))

    def test_they_end_and_are_counted(self):
        done = world.ctl("lost-device", self.name)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"\n2 sessions of {self.name} ended\n", done.out)
        self.assertEqual(self.statuses(), ["closed", "closed"])

    def test_the_one_that_the_command_runs_in_goes_on(self):
        self.recorded(self.sessions[0])
        done = world.ctl("lost-device", self.name, "--json")
        self.assertEqual(json.loads(done.out)["sessions_ended"], 1, done.text)
        self.assertEqual(self.statuses(), ["active", "closed"])

    def test_a_service_that_is_not_known_to_be_ours_ends_none_and_that_is_said(self):
        world.configure(signed_replies=None)
        self.addCleanup(world.configure, signed_replies="required")
        done = world.ctl("lost-device", self.name)
        self.assertEqual(done.code, 0)
        self.assertIn("warning: the service has not ended what the phone approved\n", done.err)
        self.assertEqual(self.statuses(), ["active", "active"])

    def test_they_go_on_where_that_is_wanted(self):
        done = world.ctl("lost-device", self.name, "--keep-sessions")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertNotIn("sessions of", done.out)
        self.assertEqual(self.statuses(), ["active", "active"])

    def test_the_next_phone_has_the_lost_ones_name(self):
        link = json.loads(world.ctl("lost-device", self.name, "--json").out)["register_url"]
        context = ssl.create_default_context(cafile=world.certificate)
        with urllib.request.urlopen(link, timeout=PATIENCE, context=context) as reply:
            self.assertEqual(json.loads(reply.read())["user"], "Guest of honour")


if __name__ == "__main__":
    unittest.main()
