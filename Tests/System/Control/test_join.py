"""`iampassctl join`: codes that are good, used, late, revoked, another's; broken off; and two computers of one name."""

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import unittest

from control import CONFIG, INTERRUPTED, NO_PERMISSION, PROTOCOL, UNAVAILABLE, USAGE, ControlWorld
from Support.Service.world import make_certificate, program, read, run

TEMPORARY = 75


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()


def command(*words, check=True):
    done = subprocess.run(
        [program("iampass-server"), "join-code", *words, "--data", world.path("data")], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def new_code(*words, certificate=None):
    """The code and its id."""
    made = command("create", "tests", "--certificate", certificate or world.certificate, *words)
    code = re.fullmatch(rf"iampassctl join {re.escape(world.address)} (IJ1\S+)\n", made)[1]
    return code, command("list").split("  ")[0].split()[0]


def sql(text, *values):
    with contextlib.closing(sqlite3.connect(world.path("data/iampass.sqlite"), timeout=30)) as database, database:
        return database.execute(text, values).fetchall()


@contextlib.contextmanager
def busy_service():
    """A service that cannot write until the transaction ends, and answers 503."""
    with contextlib.closing(sqlite3.connect(world.path("data/iampass.sqlite"), isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield database


class JoinCase(unittest.TestCase):
    def setUp(self):
        for name in ("iampass.conf", "credentials", "joining", "service-ca.pem", "iampass.conf.bak"):
            if os.path.exists(world.path(name)):
                os.unlink(world.path(name))
        self.settings = f"run_dir = {world.path('run')}\nworker = {world.path('iampass-https')}\nworker_user = nobody\nstate_dir = {world.path('state')}\n"
        world.write("iampass.conf", self.settings, 0o644)

    def name(self):
        return "desk-" + self.id().rsplit(".", 1)[1].replace("_", "-")[-40:]

    def join(self, code, *words, name=None, address=None):
        return world.ctl("join", address or world.address, code, "--name", name or self.name(), "--yes", *words)

    def refused(self, code, status, pattern, words=(), **more):
        done = self.join(code, *words, **more)
        self.assertEqual(done.code, status, done.text)
        self.assertRegex(done.err, pattern)
        self.assertEqual(read(world.path("iampass.conf")), self.settings)
        self.assertFalse(os.path.exists(world.path("credentials")))
        return done


class Joins(JoinCase):
    def test_one_line_is_all_that_a_computer_needs(self):
        code, _ = new_code("--unattended")
        done = self.join(code)
        self.assertEqual(done.code, 0, done.text)
        settings = dict(re.findall(r"^(\w+) = (.*)$", read(world.path("iampass.conf")), re.MULTILINE))
        self.assertEqual(settings["server"], world.address)
        self.assertEqual(settings["ca_file"], world.path("service-ca.pem"))
        self.assertEqual((settings["signed_replies"], settings["signed_targets"]), ("required", "required"))
        self.assertEqual(os.stat(world.path("credentials")).st_mode & 0o7777, 0o600)
        self.assertIn(f"host = {self.name()}\n", read(world.path("credentials")))
        self.assertFalse(os.path.exists(world.path("joining")))
        self.assertRegex(command("list"), rf"{self.name()}  joined  digits=\d{{6}}")

    def test_a_computer_that_has_joined_changes_nothing(self):
        code, _ = new_code("--unattended")
        self.join(code)
        before = world.snapshot()
        done = self.join(code)
        self.assertEqual((done.code, world.snapshot()), (0, before), done.text)
        self.assertIn("has joined", done.out)

    def test_the_code_is_read_from_standard_input(self):
        code, _ = new_code("--unattended")
        words = [program("iampassctl"), "join", "--yes", "--name", self.name(), "--config", world.path("iampass.conf"),
                 "--", world.address, "-"]  # fmt: skip
        done = subprocess.run(words, input=code + "\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run(words, input="", capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.split("\n")[0]), (USAGE, "iampassctl: this is not a whole join code"))

    def test_without_users_nothing_is_switched_on(self):
        code, _ = new_code("--unattended")
        run(program("iampass-server"), "user", "add", "tests", "alice", "--no-link", "--data", world.path("data"))
        sql("UPDATE listed_user SET name = 'a b'")
        self.addCleanup(sql, "DELETE FROM listed_user")
        for _ in range(2):
            done = self.join(code, "--enable")
            self.assertEqual(done.code, TEMPORARY, done.text)
            self.assertIn("sign-in by phone is not switched on: the users are not here yet", done.err)
        self.assertTrue(os.path.exists(world.path("credentials")))

    def test_another_service_is_given_up_only_when_asked(self):
        code, _ = new_code("--unattended")
        world.write("credentials", "application_id = a\napplication_secret = b\n")
        world.write("iampass.conf", self.settings + "server = https://other.example\n", 0o644)
        done = self.join(code)
        self.assertEqual(done.code, CONFIG, done.text)
        self.assertIn("https://other.example already\nhint: iampassctl join --again", done.err)
        self.assertEqual(self.join(code, "--again").code, 0)
        self.assertIn(f"server = {world.address}\n", read(world.path("iampass.conf")))

    def test_it_waits_for_an_administrator(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(rf"approves this computer: {self.name()}, digits (\d+)")
        self.assertIn(f"{self.name()}  waiting  digits={child.match[1]}", command("list"))
        self.assertFalse(os.path.exists(world.path("credentials")))
        digits = child.match[1]
        command("approve", self.name(), str((int(digits) + 1) % 1_000_000).zfill(6), check=False)
        self.assertIn(f"{self.name()}  waiting", command("list"))
        command("approve", self.name(), digits)
        child.expect("joined tests as " + self.name())
        child.expect_exact("next: iampassctl enable --sshd --trial 10m")
        world.finish(child)
        self.assertTrue(os.path.exists(world.path("credentials")))

    def test_an_administrators_phone_lets_it_join(self):
        def administrator(*words):
            return run(program("iampass-server"), "administrator", *words, "--data", world.path("data"))

        link = administrator("add", "ada", "--role", "admin").split()[-1]
        self.addCleanup(administrator, "remove", "ada")
        state = world.path("ada.json")
        run(program("iampass-phone"), "register", link, "--state", state, "--ca", world.certificate)
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(r"phone asks for the last two digits: (\d\d)")
        phone = ["watch", "--state", state, "--answer", "approve", "--once", "--code", child.match[1]]
        shown = run(program("iampass-phone"), *phone)
        self.assertIn(self.name(), shown)
        child.expect("joined tests as " + self.name())
        world.finish(child)

    def test_a_refused_computer_is_told(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect("digits")
        command("refuse", self.name())
        child.expect("an administrator refused this computer")
        self.assertEqual(world.finish(child), NO_PERMISSION)
        self.assertFalse(os.path.exists(world.path("joining")))

    def test_a_wait_that_is_over_goes_on_later(self):
        code, _ = new_code()
        start = time.monotonic()
        done = self.join(code, "--wait", "1s")
        # The service would hold the request for 20 s.
        self.assertLess(time.monotonic() - start, 15)
        self.assertEqual(done.code, TEMPORARY, done.text)
        self.assertRegex(done.err, r"no administrator has approved .* yet \(digits \d{6}\)")
        command("approve", self.name())
        self.assertEqual(self.join(code).code, 0)


class Codes(JoinCase):
    def test_a_code_that_was_used_is_refused(self):
        code, _ = new_code("--unattended")
        self.assertEqual(self.join(code, name="first-used").code, 0)
        self.setUp()
        self.refused(code, NO_PERMISSION, "used by as many computers as it is for\nhint: .*join-code create")

    def test_a_late_code_is_refused(self):
        code, identity = new_code("--unattended")
        sql("UPDATE join_code SET expires_at = created_at - 1 WHERE id = ?", identity)
        self.refused(code, NO_PERMISSION, "the join code has expired")

    def test_a_revoked_code_is_refused(self):
        code, identity = new_code("--unattended")
        command("revoke", identity)
        self.refused(code, NO_PERMISSION, "the join code was revoked")

    def test_a_code_of_another_service_with_the_same_certificate_is_refused(self):
        made = subprocess.run(
            [program("iampass-server"), "application", "create", "tests", "--data", world.path("other")],
            capture_output=True, text=True, check=True)  # fmt: skip
        self.assertIn("application_id", made.stdout)
        other = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--data", world.path("other"),
                    "--certificate", world.certificate, "--url", world.address)  # fmt: skip
        # A stranger's code takes no turn to write: the service answers while somebody else writes.
        with contextlib.closing(sqlite3.connect(world.path("data/iampass.sqlite"), isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            self.refused(other.split()[-1], NO_PERMISSION, "does not know this join code")

    def test_a_mistyped_code_is_told_before_anything_is_asked(self):
        code, _ = new_code("--unattended")
        self.refused(code[:-1], USAGE, "not a whole join code", address="https://127.0.0.1:1")

    def test_two_computers_of_one_name_are_told_apart(self):
        code, _ = new_code("--unattended", "--uses", "2")
        self.assertEqual(self.join(code).code, 0)
        self.setUp()
        self.refused(code, NO_PERMISSION, "another computer of this name.*\nhint: .*host-credential revoke frees")
        run(program("iampass-server"), "host-credential", "revoke", "tests", self.name(), "--data", world.path("data"))
        self.assertEqual(self.join(code).code, 0)


class Impostors(JoinCase):
    """Whoever answers at the service's address without the certificate that the code names."""

    def setUp(self):
        super().setUp()
        os.makedirs(world.path("impostor"), exist_ok=True)
        self.addCleanup(shutil.rmtree, world.path("impostor"))
        self.key, self.certificate = make_certificate(world.path("impostor"))
        self.received = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.address = f"https://localhost:{self.listener.getsockname()[1]}"

    def impersonate(self, certificate, key, reply=b""):
        answer = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (b"200 OK" if reply else b"404 Not Found", len(reply), reply)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)

        def serve():
            while True:
                try:
                    connection, _ = self.listener.accept()
                except OSError:
                    return
                try:
                    connection.settimeout(5)
                    with context.wrap_socket(connection, server_side=True) as stream:
                        while data := stream.recv(65536):
                            self.received.append(data)
                            stream.sendall(answer)
                except OSError:
                    pass

        threading.Thread(target=serve, daemon=True).start()

    def test_another_certificate_gets_nothing(self):
        code, _ = new_code("--unattended")
        self.impersonate(self.certificate, self.key)
        self.refused(code, PROTOCOL, "does not show the certificate that the code names; the code was not sent",
                     address=self.address)  # fmt: skip
        self.assertEqual(b"".join(self.received), b"")

    def test_showing_the_right_certificate_without_its_key_gets_nothing(self):
        """The authority is public: whoever appends it to their own chain still has no certificate by it."""
        code, _ = new_code("--unattended")
        chain = world.path("impostor/chain.pem")
        with open(chain, "w") as file:
            file.write(read(self.certificate) + read(world.certificate))
        self.impersonate(chain, self.key)
        done = self.join(code, address=self.address)
        self.assertEqual(done.code, UNAVAILABLE, done.text)
        self.assertIn("certificate is not trusted", done.err)
        self.assertEqual(b"".join(self.received), b"")

    def test_the_services_own_words_are_looked_at(self):
        code, _ = new_code("--unattended")
        told = {"status": True, "application_id": "a" * 32, "host": self.name(), "application": "tests"}
        for wrong in ({"host": "other"}, {"application_id": "a b"}, {"application_id": "a\nserver = https://x"}, {"application_id": ""}):
            self.impersonate(world.certificate, world.key, json.dumps({**told, **wrong}).encode())
            self.refused(code, PROTOCOL, "no usable answer", address=self.address)
            self.listener.close()
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.addCleanup(self.listener.close)
            self.address = f"https://localhost:{self.listener.getsockname()[1]}"

    def test_a_terminal_is_sent_no_commands(self):
        code, _ = new_code("--unattended")
        told = {"status": True, "application_id": "a" * 32, "host": self.name(), "application": "\x1b[2Jtests"}
        self.impersonate(world.certificate, world.key, json.dumps(told).encode())
        done = self.join(code, address=self.address)
        self.assertIn("joined ?[2Jtests as", done.out)

    def test_nobody_there_is_told(self):
        code, _ = new_code("--unattended")
        self.refused(code, UNAVAILABLE, "shows no certificate", address="https://127.0.0.1:1")


class BrokenOff(JoinCase):
    def credentials_at_the_service(self):
        listed = run(program("iampass-server"), "host-credential", "list", "tests", "--data", world.path("data"))
        return listed.count(f"host={self.name()}  ")

    def test_killed_at_any_moment_it_goes_on_with_the_same_code(self):
        code, _ = new_code("--unattended")
        words = [program("iampassctl"), "join", world.address, code, "--name", self.name(), "--yes",
                 "--config", world.path("iampass.conf")]  # fmt: skip
        for delay in (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.3):
            child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                child.wait(delay)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        done = self.join(code)
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(self.credentials_at_the_service(), 1)
        self.assertFalse(os.path.exists(world.path("joining")))

    def test_a_reply_that_is_lost_makes_no_second_credential(self):
        code, _ = new_code("--unattended")
        self.assertEqual(self.join(code).code, 0)
        # As if the reply had never come: the note is there, the files are not.
        secret = re.search(r"application_secret = (\S+)", read(world.path("credentials")))[1]
        digest = sql("SELECT digest FROM join_code ORDER BY created_at DESC LIMIT 1")[0][0]
        os.unlink(world.path("credentials"))
        world.write("iampass.conf", self.settings, 0o644)
        world.write("joining", f"server = {world.address}\ncode = {digest}\nname = {self.name()}\nsecret = {secret}\n")
        self.assertEqual(self.join(code).code, 0)
        self.assertEqual(self.credentials_at_the_service(), 1)

    def test_stopped_while_waiting_it_goes_on(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(r"digits (\d+)")
        digits = child.match[1]
        child.sendintr()
        self.assertEqual(world.finish(child), INTERRUPTED)
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(r"digits (\d+)")
        self.assertEqual(child.match[1], digits)
        command("approve", self.name())
        world.finish(child)
        self.assertEqual(self.credentials_at_the_service(), 1)

    def test_a_service_with_too_much_to_do_is_asked_again(self):
        code, _ = new_code("--unattended")
        with busy_service() as busy:
            child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
            child.expect("the service has too much to do at the moment; asking again for up to a minute")
            busy.rollback()
            child.expect("joined tests")
            world.finish(child)
        self.assertEqual(self.credentials_at_the_service(), 1)

    def test_a_service_that_never_gets_to_it_is_told(self):
        code, _ = new_code("--unattended")
        with busy_service():
            self.refused(code, UNAVAILABLE, "server error 503", words=("--wait", "4s"))
        self.assertEqual(self.join(code).code, 0)

    def test_a_service_that_restarts_ends_no_wait(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect("digits")
        world.restart_server()
        command("approve", self.name())
        child.expect("joined tests")
        world.finish(child)


def make_issued(folder):
    """An authority, and a certificate by it for the service: paths of the authority, the certificate and its key."""
    os.makedirs(folder, exist_ok=True)
    run("sh", "-c", """cd "$1" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=ca \\
        -keyout ca.key -out ca.crt -days 2 && openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \\
        -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout leaf.key -out leaf.csr && \\
        openssl x509 -req -in leaf.csr -CA ca.crt -CAkey ca.key -days 2 -copy_extensions copy -out leaf.crt""", "sh", folder)
    return os.path.join(folder, "ca.crt"), os.path.join(folder, "leaf.crt"), os.path.join(folder, "leaf.key")


class SystemsAuthorities(unittest.TestCase):
    """A service whose certificate comes from an authority that systems know, or do not."""

    @classmethod
    def setUpClass(cls):
        cls.world = ControlWorld()
        cls.addClassCleanup(cls.world.close)
        cls.authority, cls.world.certificate, cls.world.key = make_issued(cls.world.path("issued"))
        cls.world.start_server()
        run(program("iampass-server"), "application", "create", "tests", "--data", cls.world.path("data"))
        os.chmod(cls.world.folder, 0o711)
        os.makedirs(cls.world.path("trusted"))
        shutil.copy(cls.authority, cls.world.path("trusted/ca.pem"))
        run("openssl", "rehash", cls.world.path("trusted"))

    def setUp(self):
        for name in ("credentials", "joining", "service-ca.pem"):
            if os.path.exists(self.world.path(name)):
                os.unlink(self.world.path(name))
        self.world.configure()

    def in_a_system(self, *words):
        """Runs a command in a system that trusts the authority."""
        script = 'mount --bind "$1" /etc/ssl/certs && shift && exec "$@"'
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", self.world.path("trusted"), *words], capture_output=True, text=True)

    def create(self, *more, certificate=None):
        return self.in_a_system(
            program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate",
            certificate or self.world.certificate, "--data", self.world.path("data"), *more)

    def join(self, code, name):
        return self.in_a_system(
            program("iampassctl"), "join", self.world.address, code, "--name", name, "--yes", "--config", self.world.path("iampass.conf"))

    def test_the_join_is_held_to_the_certificate_and_the_system_is_trusted_afterwards(self):
        code = self.create().stdout.split()[-1]
        done = self.join(code, "system-1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("ca_file", read(self.world.path("iampass.conf")))
        self.assertFalse(os.path.exists(self.world.path("service-ca.pem")))

    def test_another_certificate_of_the_same_authority_is_refused(self):
        _, other, _ = make_issued(self.world.path("other"))
        run("sh", "-c", 'cd "$1" && openssl x509 -req -in leaf.csr -CA ../issued/ca.crt -CAkey ../issued/ca.key -days 2 '
            "-copy_extensions copy -out leaf.crt", "sh", self.world.path("other"))  # fmt: skip
        code = self.create(certificate=other).stdout.split()[-1]
        done = self.join(code, "system-2")
        self.assertEqual(done.returncode, PROTOCOL, done.stderr)
        self.assertIn("the code was not sent", done.stderr)

    def test_the_authority_has_to_be_shown_if_nobody_knows_it(self):
        done = subprocess.run(
            [program("iampass-server"), "join-code", "create", "tests", "--certificate", self.world.certificate, "--data",
             self.world.path("data")], capture_output=True, text=True)  # fmt: skip
        self.assertIn("without that authority\nhint: append the authority's certificate", done.stderr)
