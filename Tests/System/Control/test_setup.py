"""`iampassctl setup`: asked at a terminal, given by options, interrupted, killed, and run again."""

import os
import re
import shutil
import ssl
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from control import *

from hostile_replies import reply
from hostile_service import HostileService

SERVER, ID, SECRET = "Address of the service (https://…): ", "Application id: ", "Application secret (not shown): "


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()


class Case(unittest.TestCase):
    def setUp(self):
        for name in world.snapshot():
            os.unlink(world.path(name))
        self.comment = (
            "# kept by the admin\n"
            f"run_dir = {world.path('run')}\nworker = {world.path('iampass-https')}\nworker_user = nobody\n"
            f"  # indented\nca_file = {world.certificate}"
        )
        # Without a final newline, as some editors leave it.
        world.write("iampass.conf", self.comment, 0o644)
        self.id, self.secret = world.application()

    def secret_file(self, text=None, mode=0o600):
        world.write("secret", text or self.secret + "\n", mode)
        return world.path("secret")

    def setup(self, *words):
        return world.ctl("setup", *words)

    def setup_once(self):
        done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", self.secret_file())
        self.assertEqual(done.code, 0, done.text)
        return done

    def assert_nothing_changed(self):
        self.assertEqual(world.snapshot(), {"iampass.conf": ("0o644", self.comment)})


class AtATerminal(Case):
    def answer_up_to(self, last):
        child = world.terminal("setup")
        for prompt, answer in ((SERVER, world.address), (ID, self.id), (SECRET, self.secret)):
            child.expect_exact(prompt)
            if prompt == last:
                return child
            child.sendline(answer)
        return child

    def test_asks_for_what_is_missing_and_writes_it(self):
        child = self.answer_up_to(None)
        self.assertEqual(world.finish(child), 0, child.screen.getvalue())
        text = read(world.path("iampass.conf"))
        self.assertTrue(text.startswith(self.comment + "\n"), text)
        self.assertIn(f"server = {world.address}\nsigned_replies = required\nsigned_targets = required\n", text)
        self.assertEqual(read(world.path("credentials")), f"application_id = {self.id}\napplication_secret = {self.secret}\n")
        modes = {name: mode for name, (mode, _) in world.snapshot().items()}
        self.assertEqual(modes, {"iampass.conf": "0o644", "iampass.conf.bak": "0o644", "credentials": "0o600"})
        self.assertEqual(read(world.path("iampass.conf.bak")), self.comment)

    def test_the_secret_is_not_shown(self):
        child = self.answer_up_to(None)
        world.finish(child)
        self.assertNotIn(self.secret, child.screen.getvalue())

    def test_ctrl_c_at_each_prompt_changes_nothing(self):
        for prompt in (SERVER, ID, SECRET):
            with self.subTest(prompt=prompt):
                child = self.answer_up_to(prompt)
                child.sendintr()
                self.assertEqual(world.finish(child), INTERRUPTED)
                self.assertIn("interrupted; nothing was changed", child.screen.getvalue())
                self.assert_nothing_changed()

    def test_ctrl_c_at_the_secret_gives_the_echo_back(self):
        child = world.terminal("setup")
        for prompt, answer in ((SERVER, world.address), (ID, self.id)):
            child.expect_exact(prompt)
            child.sendline(answer)
        child.expect_exact(SECRET)
        self.assertTrue(child.waitnoecho(60))
        # Held open here: the terminal's state outlives the program.
        with open(f"/proc/{child.pid}/fd/0") as terminal:
            child.sendintr()
            child.expect(pexpect.EOF)
            flags = subprocess.run(["stty", "-a"], stdin=terminal, capture_output=True, text=True).stdout
        self.assertRegex(flags, r"(?<!-)\becho\b")

    def test_ctrl_d_ends_it(self):
        child = self.answer_up_to(ID)
        child.sendeof()
        self.assertEqual(world.finish(child), INTERRUPTED)
        self.assert_nothing_changed()

    def test_the_secret_is_in_no_argument(self):
        child = self.answer_up_to(SECRET)
        child.sendline(self.secret)
        found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn(self.secret, found)
        world.finish(child)

    def test_a_wrong_secret_changes_nothing(self):
        child = self.answer_up_to(SECRET)
        child.sendline("A" * 24)
        self.assertEqual(world.finish(child), NO_PERMISSION)
        self.assertIn("does not accept this id and secret", child.screen.getvalue())
        self.assert_nothing_changed()


class ByOptions(Case):
    def test_needs_no_terminal(self):
        done = self.setup_once()
        for line in ("answers over TLS", "clock agrees", "signing = documented", "signed_replies = required",
                     "signed_targets = required", "application's own"):
            self.assertIn(line, done.out)

    def test_what_is_missing_without_a_terminal_is_named(self):
        done = self.setup("--server", world.address)
        self.assertEqual(done.code, USAGE)
        self.assertIn("--application-id is needed", done.err)
        self.assert_nothing_changed()

    def test_reads_id_and_secret_as_the_service_printed_them(self):
        path = self.secret_file(f"application_id = {self.id}\napplication_secret = {self.secret}\n")
        self.assertEqual(self.setup("--server", world.address, "--secret-file", path).code, 0)

    def test_a_secret_file_that_others_read_is_refused(self):
        done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", self.secret_file(mode=0o644))
        self.assertEqual(done.code, CONFIG)
        self.assertIn("hint: chmod 600", done.err)
        self.assert_nothing_changed()

    def test_a_secret_file_named_alone_is_in_the_folder_where_one_is(self):
        folder = world.path("answers")
        os.mkdir(folder)
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(folder, "secret"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(self.secret + "\n")
        words = ("setup", "--server", world.address, "--application-id", self.id, "--secret-file", "secret")
        # In it others could put a secret of theirs.
        os.chmod(folder, 0o777)
        done = world.ctl(*words, cwd=folder)
        self.assertEqual(done.code, CONFIG, done.text)
        self.assertIn("folder", done.err)
        os.chmod(folder, 0o700)
        done = world.ctl(*words, cwd=folder)
        self.assertEqual(done.code, 0, done.text)

    def test_a_secret_file_that_is_no_file_is_refused(self):
        os.mkfifo(world.path("fifo"))
        self.addCleanup(os.unlink, world.path("fifo"))
        for path in (world.path("fifo"), "/dev/zero", world.folder):
            done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", path)
            self.assertIn(done.code, (CONFIG, 74), done.text)
        self.assert_nothing_changed()

    def test_a_secret_that_would_break_its_line_is_refused(self):
        for text in ("a b\n", "\n", "a\x01b\n", "x" * 600, "é" * 24):
            path = self.secret_file(text)
            done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", path)
            self.assertEqual(done.code, DATA, text)
        self.assert_nothing_changed()

    def test_a_relative_configuration_is_a_usage_error(self):
        done = subprocess.run(
            [program("iampassctl"), "setup", "--config", "iampass.conf"], capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, USAGE)

    def test_a_folder_that_others_write_is_refused(self):
        os.chmod(world.folder, 0o777)
        self.addCleanup(os.chmod, world.folder, 0o700)
        done = self.setup("--server", world.address, "--application-id", self.id, "--secret-file", "/nonexistent")
        self.assertEqual(done.code, CONFIG)
        self.assertIn("is not root's alone to write", done.err)

    def test_plain_http_to_another_machine_is_refused(self):
        done = self.setup("--server", "http://iampass.example.com")
        self.assertEqual((done.code, done.err.splitlines()[0]), (USAGE, "iampassctl: http://iampass.example.com is not https"))
        self.assert_nothing_changed()

    def test_a_service_that_is_away_is_said_within_the_bound(self):
        began = time.monotonic()
        done = self.setup("--server", "https://127.0.0.1:1", "--application-id", "a", "--secret-file", self.secret_file())
        self.assertEqual(done.code, UNAVAILABLE)
        self.assertIn("https://127.0.0.1:1 cannot be asked: refused", done.err)
        self.assertLess(time.monotonic() - began, 16)
        self.assert_nothing_changed()

    def test_an_untrusted_certificate_names_the_option(self):
        world.write("iampass.conf", self.comment.rsplit("\n", 1)[0] + "\n", 0o644)
        done = self.setup("--server", world.address, "--application-id", "a", "--secret-file", self.secret_file())
        self.assertEqual(done.code, UNAVAILABLE)
        self.assertIn("certificate is not trusted\nhint: iampassctl setup --ca FILE", done.err)
        done = self.setup(
            "--server", world.address, "--application-id", self.id, "--secret-file", self.secret_file(),
            "--ca", world.certificate)  # fmt: skip
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"ca_file = {world.certificate}\n", read(world.path("iampass.conf")))

    def test_an_unknown_application_is_told_from_a_wrong_secret(self):
        done = self.setup("--server", world.address, "--application-id", "nobody", "--secret-file", self.secret_file())
        self.assertEqual(done.code, NO_PERMISSION)
        self.assertIn("does not know the application nobody", done.err)

    def test_run_again_it_changes_nothing_that_was_not_asked(self):
        self.setup_once()
        before = world.snapshot()
        done = self.setup()
        self.assertEqual((done.code, world.snapshot()), (0, before), done.text)
        self.assertIn("nothing to change", done.out)

    def test_run_again_with_another_application_keeps_the_rest(self):
        self.setup_once()
        before = read(world.path("iampass.conf"))
        other, secret = world.application()
        done = self.setup("--application-id", other, "--secret-file", self.secret_file(secret))
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(read(world.path("iampass.conf")), before)
        self.assertIn(other, read(world.path("credentials")))

    def test_no_copy_of_an_old_secret_stays(self):
        self.setup_once()
        other, secret = world.application()
        done = self.setup("--application-id", other, "--secret-file", self.secret_file(secret))
        self.assertEqual(done.code, 0, done.text)
        os.unlink(world.path("secret"))
        self.assertIn(f"wrote {world.path('credentials')}\n", done.out)
        words = ["grep", "-rlF", self.secret, "--exclude-dir=data", world.folder]
        self.assertEqual(subprocess.run(words, capture_output=True, text=True).stdout, "")

    def test_a_broken_configuration_is_not_overwritten(self):
        world.write("iampass.conf", "server = https://a\nserver = https://b\n", 0o644)
        done = self.setup("--server", world.address)
        self.assertEqual(done.code, CONFIG)
        self.assertIn("iampass.conf:2: server is set twice", done.err)

    def test_finds_the_scheme_of_a_secret_that_only_one_takes(self):
        world.write("iampass.conf", self.comment + "\nsigning = client\n", 0o644)
        self.setup_once()
        self.assertIn("signing = client\n", read(world.path("iampass.conf")))


class Stripping(HostileService):
    """Carries everything to the real service and back, but for its signatures and what it announces."""

    def __init__(self):
        super().__init__()
        self.behaviour["*"] = self.carry

    def carry(self, stream, request):
        headers = {name: value for name, value in request.headers if name.lower() != "content-length"}
        asked = urllib.request.Request(
            world.address + request.path, method=request.method, headers=headers, data=request.body or None)
        context = ssl.create_default_context(cafile=world.certificate)
        try:
            answer = urllib.request.urlopen(asked, timeout=PATIENCE, context=context)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            is_announcement = request.path == "/.well-known/iampass"
            reply(404 if is_announcement else answer.status, b"{}" if is_announcement else answer.read(), ())(stream, request)


class SignedReplies(Case):
    def setUp(self):
        super().setUp()
        self.relay = Stripping().start()
        self.addCleanup(self.relay.stop)
        self.elsewhere = ("--server", self.relay.url, "--ca", self.relay.ca_file)

    def issued(self, more=""):
        """A file as the service prints it."""
        words = ("application", "create", f"issued{time.monotonic()}", "--data", world.path("data"), "--match-code", "off")
        return self.secret_file(run(program("iampass-server"), *words) + more)

    def test_they_are_not_given_up_for_another_address(self):
        self.setup_once()
        before = world.snapshot()
        done = self.setup(*self.elsewhere)
        self.assertEqual(done.code, PROTOCOL, done.text)
        self.assertIn("answer is not signed\nhint: somebody may be in between", done.err)
        self.assertIn("iampassctl setup --unsigned\n", done.err)
        self.assertEqual(world.snapshot(), before)

    def test_they_are_given_up_by_word_alone(self):
        self.setup_once()
        done = self.setup(*self.elsewhere, "--unsigned")
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("the service does not sign its replies: signed_replies = off\n", done.out)
        self.assertIn("signed_replies = off\n", read(world.path("iampass.conf")))

    def test_where_the_service_signs_the_word_gives_up_nothing(self):
        self.setup_once()
        self.assertEqual(self.setup("--unsigned").code, 0)
        self.assertIn("signed_replies = required\n", read(world.path("iampass.conf")))

    def test_the_services_own_file_requires_them_from_the_first_call(self):
        for word in ((), ("--unsigned",)):
            done = self.setup(*self.elsewhere, "--secret-file", self.issued(), *word)
            self.assertEqual(done.code, PROTOCOL, done.text)
            self.assertIn("the service says that it signs: somebody may be in between", done.err)
            self.assert_nothing_changed()

    def test_a_secret_alone_requires_nothing_and_that_is_said(self):
        done = self.setup(*self.elsewhere, "--application-id", self.id, "--secret-file", self.secret_file())
        self.assertEqual(done.code, 0, done.text)
        self.assertIn("signed_replies = off", done.out)

    def test_the_address_in_the_file_is_taken_where_none_is_given(self):
        done = self.setup("--secret-file", self.issued(f"server = {world.address}\n"))
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"server = {world.address}\n", read(world.path("iampass.conf")))

    def test_a_bad_line_in_the_file_is_named(self):
        for line in ("server = nonsense", "server = http://iampass.example.com"):
            done = self.setup("--secret-file", self.issued(line + "\n"))
            self.assertEqual(done.code, CONFIG, done.text)
            self.assertRegex(done.err, r"secret:\d: bad server")
        path = self.secret_file(f"application_id = {self.id}\napplication_secret = {self.secret}\nsigned_replies = maybe\n")
        self.assertIn("secret:3: bad signed_replies", self.setup("--server", world.address, "--secret-file", path).err)
        self.assert_nothing_changed()


class Killed(Case):
    def test_killed_at_any_moment_leaves_old_or_new_files(self):
        """`kill -9` at 40 moments; the next run, of any kind that takes the lock, finishes or forgets."""
        self.setup_once()
        old = world.snapshot()
        other, secret = world.application()
        words = [program("iampassctl"), "setup", "--config", world.path("iampass.conf"), "--application-id", other,
                 "--secret-file", self.secret_file(secret)]  # fmt: skip
        seen = set()
        whole = 0.0
        for step in range(41):
            for name in list(world.snapshot()):
                os.unlink(world.path(name))
            for name, (mode, text) in old.items():
                world.write(name, re.sub("signed_.* = required\n", "", text), int(mode, 8))
            began = time.monotonic()
            process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # The first run is left alone, and says how long one takes here.
            if whole:
                time.sleep(whole * step / 32)
                process.kill()
            process.wait()
            whole = whole or time.monotonic() - began
            # Takes the lock, and changes nothing by itself.
            world.ctl("user", "remove", "nobody-of-this-name", "--force")
            is_new = other in read(world.path("credentials"))
            for key in ("signed_replies", "signed_targets"):
                self.assertEqual(f"{key} = required" in read(world.path("iampass.conf")), is_new)
            self.assertEqual(os.stat(world.path("credentials")).st_mode & 0o777, 0o600)
            self.assertEqual([name for name in os.listdir(world.folder) if name.endswith(".pending")], [])
            seen.add(is_new)
        self.assertEqual(seen, {True, False}, "the moments were all before, or all after")

    def test_two_at_once_wait_with_a_message(self):
        child = world.terminal("setup")
        child.expect_exact(SERVER)
        second = world.start(program("iampassctl"), "setup", "--config", world.path("iampass.conf"), "--server",
                             "http://nonsense.example")  # fmt: skip
        second.wait_for("waiting for another iampassctl to end")
        self.assertIsNone(second.process.poll())
        child.sendintr()
        world.finish(child)
        self.assertEqual(second.process.wait(60), USAGE)


if __name__ == "__main__":
    unittest.main()
