"""`iampass-server setup` by options: an authority, an application, an administrator; broken off, again, and refused."""

import os
import re
import signal
import socket
import subprocess
import unittest

from setup_world import MODES, SERVICE_USER, SetupCase
from Support.HostileService.hostile_certificates import Certificates
from Support.Service.server import CANNOT_CREATE, CONFIG, DATA, IO, NO_INPUT, UNAVAILABLE, USAGE
from Support.Service.world import PATIENCE, program, run

#: sysexits.h
NO_HOST, NO_PERMISSION = 68, 77


class Automation(SetupCase):
    def test_the_service_is_set_up_by_one_command(self):
        done = self.set_up(*self.world.usual, "--administrator", "alice")
        for name, expected in MODES.items():
            found = run("stat", "--format=%U %G %a", self.world.path(name)).split()
            self.assertEqual(tuple(found), expected, name)
        self.assertEqual(self.world.settings(), {
            "LISTEN": f"127.0.0.1:{self.world.port}", "TLS_CERT": self.world.path("etc/own/service.pem"),
            "TLS_KEY": self.world.path("etc/own/service.pem"), "OPTIONS": f"--public-url {self.world.url}"})  # fmt: skip
        self.assertRegex(done.stdout, rf"\n  iampassctl join {self.world.url} IJ[12]\S+\n")
        self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)
        console = re.search(rf"{self.world.url}(/console/enter/\S+)", done.stdout)[1]
        self.assertEqual(self.world.get(console), 200)
        link = re.search(rf"{self.world.url}/register/\S+", done.stdout)[0]
        run(program("iampass-phone"), "register", link, "--state", self.world.path("phone.json"), "--ca", self.world.authority)
        self.assertEqual(self.world.applications()["administrators"]["users"], 1)
        again = self.set_up("--administrator", "alice")
        self.assertIn("administrator alice has a phone already", again.stdout)
        self.assertIn("alice is the only administrator. If that phone gets lost, here as root:\n  iampass-server admin", again.stdout)

    def test_the_phone_of_one_of_two_administrators_is_lost(self):
        done = self.set_up(*self.world.usual, "--administrator", "alice", "--administrator", "bob")
        self.assertNotIn("only administrator", done.stdout)
        self.world.serve()
        links = re.findall(rf"{self.world.url}/register/\S+", done.stdout)
        for name, link in zip(("alice", "bob"), links, strict=True):
            run(program("iampass-phone"), "register", link, "--state", self.world.path(name), "--ca", self.world.authority)
        lost = run(program("iampass-server"), "administrator", "link", "alice", "--lost", "--data", self.world.path("data"))
        listed = run(program("iampass-server"), "administrator", "list", "--data", self.world.path("data"))
        self.assertEqual(listed.splitlines(), ["alice  admin  no phone", "bob  admin  phone"])
        link = re.search(rf"{self.world.url}/register/\S+", lost)[0]
        run(program("iampass-phone"), "register", link, "--state", self.world.path("new"), "--ca", self.world.authority)

    def test_the_file_manages_the_application(self):
        self.set_up()
        lines = dict(line.split(" = ", 1) for line in self.world.read("office").decode().splitlines())
        self.assertEqual(lines.pop("application_id"), self.world.applications()["office"]["id"])
        self.assertGreater(len(lines.pop("application_secret")), 20)
        self.assertEqual(lines, {"signed_replies": "required", "signed_targets": "required", "server": self.world.url})

    def test_again_it_changes_nothing(self):
        self.set_up()
        before, applications = self.world.files(), self.world.applications()
        for words in ([], self.world.usual, ["--yes", "--application", "office", *self.world.own_file], ["--own-authority"]):
            self.set_up("--yes", *words)
            self.assertEqual((self.world.files(), self.world.applications()), (before, applications), words)

    def test_only_what_is_asked_changes(self):
        self.set_up()
        with open(self.world.path("settings"), "a") as file:
            file.write("# mine\nOTHER=1\n")
        settings = self.world.read("settings").decode()
        settings = settings.replace("OPTIONS=", "OPTIONS=--log-level debug ")
        with open(self.world.path("settings"), "w") as file:
            file.write(settings)
        before = self.world.files()
        self.set_up("--listen", "127.0.0.1:443")
        after = self.world.files()
        changed = {path for path in after if after[path] != before[path]}
        self.assertEqual(changed, {self.world.path("settings")})
        found = self.world.settings()
        self.assertEqual((found["LISTEN"], found["OTHER"]), ("127.0.0.1:443", "1"))
        self.assertEqual(found["OPTIONS"], "--public-url https://localhost --log-level debug")
        self.assertIn("# mine\n", after[self.world.path("settings")].decode())

    def test_a_private_name_is_said_not_to_ring_iphones_unless_a_contact_is_given(self):
        words = "iPhones do not ring by the page"
        self.assertIn(words, self.set_up().stdout)
        contact = "mailto:admin@example.org"
        self.assertNotIn(words, self.set_up("--push-contact", contact).stdout)
        self.assertIn(f"--push-contact {contact}", self.world.settings()["OPTIONS"])
        before = self.world.files()
        self.assertNotIn(words, self.set_up("--yes").stdout)
        self.assertEqual(self.world.files(), before)
        done = self.world.setup("--push-contact", "admin@example.org")
        self.assert_refused(done, USAGE, "admin@example.org is not an address that push services can write to")
        self.assertEqual(self.world.files(), before)

    def test_a_proxy_for_push_services_is_kept_until_another_is_asked_for(self):
        self.set_up(*self.world.usual, "--push-contact", "mailto:admin@example.org")
        before = self.world.files()
        for proxy in ("http://proxy.lan:3128", "http://other.lan/"):
            self.set_up("--push-proxy", proxy)
            after = self.world.files()
            self.assertEqual({path for path in after if after[path] != before[path]}, {self.world.path("settings")})
            options = f"--public-url {self.world.url} --push-proxy {proxy} --push-contact mailto:admin@example.org"
            self.assertEqual(self.world.settings()["OPTIONS"], options)
            self.set_up("--yes")
            self.assertEqual(self.world.files(), after)
        for proxy in ("proxy.lan:3128", "https://proxy.lan", "http://user:word@proxy.lan"):
            done = self.world.setup("--push-proxy", proxy)
            self.assert_refused(done, USAGE, f"{proxy} is not the address of a proxy")
            self.assertEqual(self.world.files(), after)
        self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_another_application_leaves_the_first(self):
        self.set_up()
        first = self.world.read("office")
        self.set_up("--application", "lab", "--secret-file", self.world.path("lab"))
        self.assertEqual(self.world.read("office"), first)
        self.assertEqual(set(self.world.applications()), {"office", "lab"})

    def test_the_authority_signs_for_its_name_alone(self):
        self.set_up()
        before = self.world.files()
        done = self.world.setup("--name", "127.0.0.1")
        self.assert_refused(done, DATA, r"the authority of this service cannot sign for 127\.0\.0\.1: excluded subtree violation")
        self.assertEqual(self.world.files(), before)
        self.set_up("--name", "127.0.0.1", "--new-authority")
        self.assertNotEqual(self.world.files()[self.world.authority], before[self.world.authority])

    def test_the_next_authority_is_known_before_it_is_used(self):
        self.set_up()
        before = self.world.files()
        for _ in range(2):
            done = self.world.command("certificate next-authority")
            self.assertEqual(done.stdout, f"the next authority: {self.world.path('etc/own/next-authority.pem')}\n", done.stderr)
        self.assertEqual({path: text for path, text in self.world.files().items() if "next-authority" not in path}, before)
        with open(self.world.path("both.pem"), "wb") as both:
            both.write(self.world.read("etc/own/authority.pem") + self.world.read("etc/own/next-authority.pem"))
        next_one, self.world.authority = self.world.read("etc/own/next-authority.pem"), self.world.path("both.pem")
        service = self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)
        self.set_up("--yes", "--new-authority")
        service.process.send_signal(signal.SIGHUP)
        service.wait_for("took the renewed certificate")
        self.assertEqual(self.world.get("/healthz"), 200)
        self.assertEqual(self.world.read("etc/own/authority.pem"), next_one)
        self.world.authority = self.world.path("etc/own/authority.pem")
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_a_command_of_root_makes_the_services_files(self):
        self.set_up()
        words = ("host-credential", "create", "office", "desk", "--host", "desk", "--data", self.world.path("data"))
        self.assertIn("application_secret = ", run(program("iampass-server"), *words))
        owners = {run("stat", "--format=%U", self.world.path("data", name)).strip() for name in os.listdir(self.world.path("data"))}
        self.assertEqual(owners, {SERVICE_USER})


class BrokenOff(SetupCase):
    def test_killed_at_any_time_it_completes(self):
        """Each time a little later, until it comes to its end."""
        # The first kills come before it has done anything, however fast the machine is.
        delay, kills = 0.005, 0
        while True:
            process = subprocess.Popen(self.world.words(*self.world.usual), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                _, said = process.communicate(timeout=delay)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills, delay = kills + 1, delay * 1.25
                continue
            self.assertEqual(process.returncode, 0, said)
            break
        self.assertGreater(kills, 3)
        # What a killed one had started may still be at work, and ends alike.
        self.set_up()
        self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)
        applications = self.world.applications()
        self.assertEqual(set(applications), {"office"})
        self.assertIn(applications["office"]["id"].encode(), self.world.read("office"))

    def test_a_data_folder_that_was_not_given_to_the_service_is_made_again(self):
        # A setup was killed after it had made the folder as root.
        os.mkdir(self.world.path("data.new"))
        self.set_up()
        self.assertFalse(os.path.exists(self.world.path("data.new")))
        self.world.serve()

    def test_without_what_comes_later_it_goes_on(self):
        self.set_up()
        before, applications = self.world.files(), self.world.applications()
        for name in ("data", "settings", "etc/own/service.pem", "etc/own/authority.pem"):
            path = self.world.path(name)
            subprocess.run(["rm", "-rf", path], check=True)
            self.set_up()
            self.assertEqual(set(self.world.files()), set(before), name)
            self.assertEqual(self.world.applications(), applications, name)
        self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_an_authority_whose_key_is_gone_is_replaced_only_if_asked(self):
        self.set_up()
        os.unlink(self.world.path("etc/own/authority.key"))
        before = self.world.files()
        self.assert_refused(self.world.setup(), NO_INPUT, "the key of this service's authority is missing")
        self.assertEqual(self.world.files(), before)

    def test_a_signal_stops_it_after_the_step_at_work(self):
        process = subprocess.Popen(self.world.words(*self.world.usual), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("made an authority", process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, said)
        # On a busy machine the service may be starting by then.
        said_of_settings = "(; the settings of before are put back)?"
        self.assertRegex(said, rf"interrupted{said_of_settings}\nhint: run this again: it goes on where it stopped\n")
        self.assertFalse([path for path in self.world.files() if path.endswith(".new")])
        self.set_up()


class Refused(SetupCase):
    def tried(self, *words, name="localhost"):
        named = ["--name", name] if name else []
        return self.world.setup(*named, "--listen", f"127.0.0.1:{self.world.port}", *self.world.own_file, *words)

    def refused(self, code, pattern, *words, **more):
        self.assert_refused(self.tried(*words, **more), code, pattern)
        self.assert_nothing_written()

    def test_names(self):
        self.refused(USAGE, "--name is missing: setup asks only at a terminal", name=None)
        self.refused(USAGE, "https://a.example is not a name of a service", name="https://a.example")
        self.refused(NO_HOST, "nothing.invalid does not resolve to an address", name="nothing.invalid")

    def test_names_of_applications_and_administrators(self):
        self.refused(DATA, "this is not a valid name for an application", "--application", "a\tb")
        self.refused(DATA, "the application administrators is the service's own", "--application", "administrators")
        self.refused(DATA, "this is not a valid name for an administrator", "--administrator", "")

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", self.world.port))
            taken.listen()
            self.refused(UNAVAILABLE, rf"cannot listen on 127\.0\.0\.1:{self.world.port}: Address already in use")

    def test_a_file_of_others_is_not_overwritten(self):
        with open(self.world.path("office"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("mine\n")
        self.assert_refused(self.tried(), CANNOT_CREATE, "/.*/office is there, and is not the file of an application's credential")
        self.assertEqual(self.world.read("office"), b"mine\n")

    def test_an_application_whose_file_is_gone(self):
        self.set_up()
        os.unlink(self.world.path("office"))
        self.assert_refused(self.tried("--application", "office"), DATA, "there is an application office already, and .* is missing")
        self.assertFalse(os.path.exists(self.world.path("office")))

    def test_an_application_of_another_id(self):
        self.set_up()
        text = self.world.read("office").decode()
        with open(self.world.path("office"), "w") as file:
            file.write(re.sub(r"application_id = .", "application_id = -", text))
        self.assert_refused(self.tried("--application", "office"), DATA, "there is an application office already")

    def test_settings_that_it_would_spoil(self):
        with open(self.world.path("settings"), "w") as file:
            file.write("OPTIONS='--log-level' \"debug\"\n")
        before = self.world.files()
        self.assert_refused(self.tried(), CONFIG, "the setting OPTIONS of the service has quotes")
        self.assertEqual(self.world.files(), before)

    def test_whoever_is_not_root(self):
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *self.world.words(*self.world.usual)],
                              capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
        self.assert_refused(done, NO_PERMISSION, "this command needs root")


class RefusedFiles(SetupCase):
    def setUp(self):
        super().setUp()
        os.mkdir(self.world.path("pairs"), 0o755)
        self.pairs = Certificates(self.world.path("pairs"))

    def refused(self, code, pattern, certificate, key):
        done = self.world.setup(*self.world.usual, "--tls-cert", certificate, "--tls-key", key)
        self.assert_refused(done, code, pattern)
        self.assert_nothing_written()

    def test_certificates(self):
        for name, pattern in (("expired", "has expired"), ("not_yet_valid", "is not valid yet"), ("wrong_host", "is not for localhost")):
            self.refused(DATA, rf"the certificate in .*/{name}\.pem {pattern}", self.pairs.chain(name), self.pairs.key)
        self.refused(DATA, "the key in .*/ca.key is not the key of the certificate in .*/good.pem", self.pairs.chain("good"),
                     self.world.path("pairs/ca.key"))  # fmt: skip

    def test_files(self):
        good, key = self.pairs.chain("good"), self.pairs.key
        self.refused(NO_INPUT, "/nowhere is missing", "/nowhere", key)
        os.mkfifo(self.world.path("pairs/fifo"))
        self.refused(IO, "/.*/fifo is not a regular file", self.world.path("pairs/fifo"), key)
        self.refused(DATA, ".*leaf.key has no certificate in PEM", key, key)
        self.refused(DATA, ".*good.pem has no private key without a passphrase in PEM", good, good)
        locked = self.world.path("pairs/locked.key")
        run("openssl", "pkcs8", "-topk8", "-in", key, "-out", locked, "-passout", "pass:secret")
        self.refused(DATA, ".*locked.key has no private key without a passphrase in PEM", good, locked)
        os.chmod(key, 0o600)
        self.refused(NO_PERMISSION, rf"the user of the service, {SERVICE_USER}, cannot read .*leaf.key", good, key)

    def test_the_right_ones_are_used_where_they_are(self):
        good, key = self.pairs.chain("good"), self.pairs.key
        run("chgrp", SERVICE_USER, key)
        os.chmod(key, 0o640)
        done = self.set_up(*self.world.usual, "--tls-cert", good, "--tls-key", key)
        self.assertIn("--ca AUTHORITY\n", done.stdout)
        self.assertEqual((self.world.settings()["TLS_CERT"], self.world.settings()["TLS_KEY"]), (good, key))
        self.world.authority = self.pairs.ca_file
        self.world.serve()
        self.assertEqual(self.world.get("/healthz"), 200)
        self.assertIn("nothing to renew", self.world.renew().stdout)


if __name__ == "__main__":
    unittest.main()
