"""What the commands of `iampass-server` and `iampass-phone` print, and what they say after a failure."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

from Support.Service.server import IO, NO_INPUT, PACKAGING, UNAVAILABLE, USAGE, ServerWorld
from Support.Service.world import PATIENCE, program

#: root as a stranger: without these the modes of others' folders hold for it too (capabilities(7)).
AS_A_STRANGER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    world.enroll_alice()
    world.approved("desk")


def told(output, *words):
    """A program that prints into `output`; its standard error is text."""
    return subprocess.run(words, stdout=output, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)


def server(*words, data="data"):
    return (program("iampass-server"), *words, "--data", world.path(data))


def status(*words):
    return (program("iampass-phone"), "status", "--state", world.path("phone.json"), *words)


@contextlib.contextmanager
def closed_pipe():
    """Its reader is gone."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


class FullDisk(unittest.TestCase):
    def refused(self, *words):
        with open("/dev/full", "wb") as full:
            done = told(full, *words)
        self.assertEqual(done.returncode, IO, (words, done.stderr))
        self.assertRegex(done.stderr, r"^iampass-\w+: the \w+ cannot be written: No space left on device.*\nhint: .*\n$")

    def test_what_cannot_be_printed_is_said(self):
        for words in (
            server("audit"), server("audit", "--json-lines"), server("audit", "--answers"), server("console-link"),
            server("application", "set", "office", "--match-code", "off"),
            (program("iampass-server"), "--help"), (program("iampass-server"), "--version"),
            (program("iampass-server"), "--generate-completion-script", "bash"),
            status(), status("--json"), (program("iampass-phone"), "--help"),
        ):  # fmt: skip
            with self.subTest(words=words[1:3]):
                self.refused(*words)

    def test_an_application_whose_secret_nobody_saw_is_taken_back(self):
        for more in ((), ("--json",)):
            self.refused(*server("application", "create", "unseen", *more))
            with world.database() as database:
                found = database.execute("SELECT count(*) FROM application WHERE name = 'unseen'").fetchone()
            self.assertEqual(found, (0,))
        self.assertIn("application taken back  application=unseen", world.command("audit").stdout)
        self.assertEqual(world.command("application", "create", "unseen").returncode, 0)

    def test_a_host_credential_whose_secret_nobody_saw_is_revoked(self):
        words = ("host-credential", "create", "office", "unseen", "--host", "desk")
        self.refused(*server(*words))
        with world.database() as database:
            found = database.execute("SELECT revoked_at IS NULL FROM host_credential WHERE name = 'unseen'").fetchall()
        self.assertEqual(found, [(0,)])
        self.refused(*server("host-credential", "list", "office"))
        self.assertEqual(world.command(*words).returncode, 0)


class ClosedPipe(unittest.TestCase):
    def test_who_reads_no_further_is_told_nothing(self):
        for words in (server("audit"), status()):
            with closed_pipe() as pipe:
                done = told(pipe, *words)
            self.assertEqual(done.stderr, "", words)
            self.assertIn(done.returncode, (0, -signal.SIGPIPE), words)

    def test_a_secret_that_nobody_reads_is_taken_back(self):
        with closed_pipe() as pipe:
            done = told(pipe, *server("application", "create", "unread"))
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn("the secret cannot be written: Broken pipe", done.stderr)
        self.assertEqual(world.command("application", "create", "unread").returncode, 0)


class ApplicationSettings(unittest.TestCase):
    def test_what_is_given_changes_and_nothing_else(self):
        for words, said in (
            (("--faces", "apps"), "apps of office vouch for faces\n"),
            (("--faces", "off"), "apps of office do not vouch for faces\n"),
            (("--phones", "2"), "users of office may register 2 phones\n"),
            (("--phones", "1"), "users of office may register one phone\n"),
        ):
            done = world.command("application", "set", "office", *words)
            self.assertEqual((done.returncode, done.stdout), (0, said), done.stderr)
        with world.database() as database:
            told = [row[0] for row in database.execute("SELECT reason FROM audit WHERE event = 'settings changed'")]
        self.assertEqual(told[-4:], ["face=apps", "face=off", "phones=2", "phones=1"])

    def test_at_least_one_setting_is_given(self):
        done = world.command("application", "set", "office")
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("give --match-code, --faces, --phones, --hold-clones or --synced-passkeys", done.stderr)


class Administrators(unittest.TestCase):
    def done(self, *words):
        done = world.command("administrator", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def refused(self, message, *words):
        done = world.command("administrator", *words)
        self.assertNotEqual(done.returncode, 0, words)
        self.assertIn(message, done.stderr)
        self.assertIn("hint: ", done.stderr)

    def test_a_lost_phone_is_replaced_by_a_link(self):
        link = self.done("add", "ada", "--role", "helpdesk").split()[-1]
        world.phone_registered(link, "ada.json")
        self.assertEqual(self.done("list"), "ada  helpdesk  phone\n")
        self.refused("has a phone already", "link", "ada")
        link = self.done("link", "ada", "--lost").split()[-1]
        cut_off = told(subprocess.PIPE, program("iampass-phone"), "status", "--state", world.path("ada.json"))
        self.assertNotEqual(cut_off.returncode, 0)
        world.phone_registered(link, "ada-again.json")
        self.assertEqual(self.done("set", "ada", "--role", "admin"), "ada: is admin now\n")
        self.refused("there is an administrator ada already", "add", "ada", "--role", "admin")
        self.refused("there is no administrator bo", "remove", "bo")
        self.assertEqual(self.done("remove", "ada"), "ada: removed\n")
        self.assertEqual(self.done("list"), "")
        audit = world.command("audit").stdout
        for event in ("added", "changed", "removed"):
            self.assertIn(f"administrator {event}", audit)


class Helpdesk(unittest.TestCase):
    def asked(self):
        """Why alice's phone is not asked; None if it is."""
        path = f"/authentication/authenticate_user/{world.application['application_id']}/alice"
        return world.signed("POST", path, {"context": {"host": "denied"}})["authentication_status"].get("reason")

    def test_what_denials_hold_back_is_let_through_and_stands_in_the_audit(self):
        nothing = world.command("helpdesk", "unblock", "office", "alice")
        self.assertEqual((nothing.returncode, nothing.stdout), (0, "alice: the service holds nothing back\n"), nothing.stderr)
        for _ in range(3):
            world.denied("denied")
        self.assertEqual(self.asked(), "TOO_MANY_DENIALS")
        done = world.command("helpdesk", "unblock", "office", "alice")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("alice: requests reach the phone again\n", done.stdout)
        self.assertIsNone(self.asked())
        entries = [json.loads(line) for line in world.command("audit", "--json-lines").stdout.splitlines()]
        lifted = [one for one in entries if one["event"] == "block lifted"]
        self.assertEqual([(one["application"], one["phone"]) for one in lifted], [("office", "Alice")])

    def test_a_user_or_an_application_that_is_not_there_is_said(self):
        for application, user, message in (
            ("office", "nobody", "the application has no user nobody"), ("nothing", "alice", "nothing"),
        ):  # fmt: skip
            done = world.command("helpdesk", "unblock", application, user)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn(message, done.stderr)


class DataDirectory(unittest.TestCase):
    def test_one_that_cannot_be_looked_into_is_not_called_empty(self):
        # Its owner is root, who would otherwise become the owner.
        os.mkdir(world.path("others"), 0o000)
        done = told(subprocess.DEVNULL, *AS_A_STRANGER, *server("audit", data="others"))
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn("iampass.sqlite cannot be opened: Permission denied\nhint: look at its owner", done.stderr)

    def test_one_that_is_not_there_is_said_and_not_made(self):
        for words in (
            ("audit",), ("console-link",), ("application", "set", "office", "--match-code", "off"),
            ("host-credential", "list", "office"),
        ):  # fmt: skip
            done = world.command(*words, data="typo")
            self.assertEqual(done.returncode, NO_INPUT, done.stderr)
            self.assertIn("there is no database", done.stderr)
            self.assertFalse(os.path.exists(world.path("typo")))

    def test_a_new_database_is_said_beside_the_secret(self):
        self.addCleanup(shutil.rmtree, world.path("new"))
        made = world.command("application", "create", "first", "--json", data="new")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(made.stderr, f"iampass-server: there was no database in {world.path('new')}: made a new one\n")
        members = ["application_id", "application_secret", "signed_replies", "signed_targets"]
        self.assertEqual(sorted(json.loads(made.stdout)), members)
        again = world.command("application", "create", "second", data="new")
        self.assertEqual((again.returncode, again.stderr), (0, ""))


class Settings(unittest.TestCase):
    """What an upgrade looks at before it stops the running service."""

    UNIT = '[Service]\n# --public-url\nEnvironment=LISTEN=127.0.0.1:8443\nExecStart=/usr/bin/iampass-server serve --listen ${LISTEN} $OPTIONS\n'

    def check(self, settings, unit=UNIT):
        path = world.path("settings")
        with open(path, "w") as file:
            file.write(settings)
        return subprocess.run(
            [os.path.join(PACKAGING, "systemd", "check-settings"), path], input=unit, capture_output=True, text=True,
            timeout=PATIENCE)

    def test_what_only_this_computer_reaches_needs_no_public_address(self):
        for settings in ("", "#LISTEN=[::]:8443\n", "LISTEN=127.0.0.1:443\n", 'LISTEN="[::1]:8443"\n', "LISTEN=localhost:8443\n",
                         "LISTEN=[::]:8443\nLISTEN=127.0.0.1:8443\n"):  # fmt: skip
            done = self.check(settings)
            self.assertEqual((done.returncode, done.stderr), (0, ""), settings)

    def test_everything_else_needs_one_and_says_so(self):
        for settings in ("LISTEN=[::]:8443\n", "LISTEN='0.0.0.0:443'\n", "LISTEN=127.elsewhere.test:8443\n", 'LISTEN=192.0.2.1:8443\nOPTIONS="--log-level debug"\n',
                         "LISTEN=[::]:8443\n#OPTIONS=--public-url https://iampass.example.org\n"):  # fmt: skip
            done = self.check(settings)
            self.assertEqual(done.returncode, 1, settings)
            self.assertIn("--public-url is missing\nhint: in " + world.path("settings") + " add to OPTIONS --public-url", done.stderr)
            self.assertEqual(self.check(settings + "OPTIONS=--public-url https://iampass.example.org\n").returncode, 0)

    def test_a_unit_of_the_administrators_counts_too(self):
        line = "ExecStart=/usr/bin/iampass-server serve --listen [::]:8443"
        self.assertEqual(self.check("", self.UNIT + line).returncode, 1)
        self.assertEqual(self.check("", self.UNIT + line + " --public-url https://iampass.example.org").returncode, 0)


class PublicAddress(unittest.TestCase):
    def serve(self, listen, *more):
        return world.command(
            "serve", "--listen", listen, "--tls-cert", world.certificate, "--tls-key", world.key, *more, data="elsewhere")

    def test_without_one_nobody_else_is_served(self):
        for listen in ("0.0.0.0:0", "[::]:0", "192.0.2.1:8443", "iampass.example.org:8443"):
            done = self.serve(listen)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(f"{listen} is not on loopback only", done.stderr)
            self.assertIn("hint: for example --public-url https://", done.stderr)
            self.assertFalse(os.path.exists(world.path("elsewhere")))

    def test_with_one_it_listens_everywhere(self):
        server = world.start(
            program("iampass-server"), "serve", "--listen", "0.0.0.0:0", "--tls-cert", world.certificate, "--tls-key",
            world.key, "--data", world.path("everywhere"), "--public-url", "https://iampass.example.org")
        self.addCleanup(server.stop)
        server.wait_for("listening on")

    def test_this_computer_is_served_without_one(self):
        for listen in ("localhost:0", "[::1]:0"):
            server = world.start(
                program("iampass-server"), "serve", "--listen", listen, "--tls-cert", world.certificate, "--tls-key",
                world.key, "--data", world.path("here"))
            self.addCleanup(server.stop)
            server.wait_for("listening on")
            server.stop()


class Issued(unittest.TestCase):
    """What a new credential is handed over with."""

    def created(self, name):
        words = (("application", "create", name), ("host-credential", "create", name, "web-1", "--host", "web-1"))
        return [world.command(*each, data="named").stdout for each in words]

    def test_a_new_credential_says_what_its_service_is_held_to(self):
        self.addCleanup(shutil.rmtree, world.path("named"))
        known = "signed_replies = required\nsigned_targets = required\n"
        # Only a host's own credential says which host that is.
        hosts = ("", "host = web-1\n")
        for text, host in zip(self.created("before"), hosts, strict=True):
            self.assertRegex(text, rf"^application_id = \S+\napplication_secret = \S+\n{known}{host}$")
        address = "https://iampass.example.org/base"
        served = world.start(
            program("iampass-server"), "serve", "--data", world.path("named"), "--listen", "127.0.0.1:0", "--tls-cert",
            world.certificate, "--tls-key", world.key, "--public-url", address)  # fmt: skip
        self.addCleanup(served.stop)
        served.wait_for("listening on")
        end = time.monotonic() + PATIENCE
        while "server = " not in self.created(f"new{time.monotonic()}")[0] and time.monotonic() < end:
            time.sleep(0.1)
        for text, host in zip(self.created("after"), hosts, strict=True):
            self.assertTrue(text.endswith(f"{known}server = {address}\n{host}"), text)


class Hints(unittest.TestCase):
    def test_a_taken_port_names_the_option_that_chose_it(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = "127.0.0.1:%d" % taken.getsockname()[1]
            for option, others in (("--listen", ["--metrics-listen"]), ("--metrics-listen", ["--listen"]),
                                   ("--console-listen", ["--public-url", "https://a.example", "--listen"])):
                done = world.command(
                    "serve", option, address, *others, "127.0.0.1:0", "--tls-cert", world.certificate, "--tls-key", world.key,
                    data="other")
                self.assertEqual(done.returncode, UNAVAILABLE, done.stderr)
                self.assertIn(f"cannot listen on {address}: ", done.stderr)
                self.assertRegex(done.stderr, rf"\nhint: .* choose another with {option}\n")

    def test_a_missing_authority_names_its_option(self):
        link = world.address + "/register/" + "0" * 32
        done = told(
            subprocess.DEVNULL, program("iampass-phone"), "register", link, "--state", world.path("new.json"), "--ca",
            world.path("nofile"))
        self.assertEqual(done.returncode, NO_INPUT)
        self.assertRegex(done.stderr, r"nofile cannot be read: No such file or directory\nhint: .*--ca\n$")


if __name__ == "__main__":
    unittest.main()
