"""The console on a listener of its own: there alone, and nothing else there."""

import re
import unittest
import urllib.parse

from Support.Service import ports
from Support.Service.console_visitor import Visitor
from Support.Service.server import USAGE, ServerWorld, until

PUBLIC = "https://iampass.example.org:8443"


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone("--public-url", PUBLIC, "--console-listen", f"127.0.0.1:{ports.take()}")
    world.console = re.search(r"https://[0-9.:]+", world.server.wait_for("console on https")).group(0)


class Listeners(unittest.TestCase):
    def found(self, path, address):
        return world.get(path, address=address, headers={"Accept": "text/html"})[0] != 404

    def test_each_has_its_own_and_nothing_of_the_other(self):
        for path in ("/console/sign-in", "/console/style.css"):
            self.assertEqual((self.found(path, world.console), self.found(path, world.address)), (True, False), path)
        for path in ("/phone/app.js", "/.well-known/iampass", "/healthz"):
            self.assertEqual((self.found(path, world.console), self.found(path, world.address)), (False, True), path)

    def test_what_changes_something_is_not_found_at_the_other(self):
        for path, address in (("/console/sign-in", world.address), ("/device/v1/answer", world.console),
                              ("/management/add_users/x", world.console)):
            self.assertEqual(world.get(path, "POST", b"{}", address=address)[0], 404, path)

    def test_the_link_for_the_first_browser_leads_to_it(self):
        until(lambda: world.console in world.command("console-link").stdout, "the console's own address")
        link = urllib.parse.urlsplit(world.command("console-link").stdout.strip())
        status, headers, text = world.get(link.path, address=f"{link.scheme}://{link.netloc}")
        self.assertEqual(status, 200, text)
        self.assertIn("Content-Security-Policy", headers)

    def test_links_for_phones_lead_to_the_service(self):
        link = world.command("administrator", "add", "grace", "--role", "admin").stdout.split()[-1]
        self.assertTrue(link.startswith(PUBLIC + "/"), link)

    def test_links_that_the_console_shows_lead_to_the_service(self):
        until(lambda: world.console in world.command("console-link").stdout, "the console's own address")
        visitor = Visitor(world.console, world.certificate)
        code = world.command("console-link").stdout.strip().rpartition("/")[2]
        self.assertEqual(visitor.ask("POST", "/enter", code=code)[0], 303)
        token = re.search(r'name="token" value="([0-9a-f]+)"', visitor.ask("GET", "/administrators")[1])[1]
        status, page = visitor.ask("POST", "/administrators", token=token, name="hopper", role="auditor")
        self.assertEqual(status, 200, page)
        link = re.search(r'<pre id="link">([^<]*)</pre>', page)[1]
        self.assertTrue(link.startswith(PUBLIC + "/register/"), link)


class Refused(unittest.TestCase):
    def serve(self, *more):
        done = world.command(
            "serve", "--listen", "127.0.0.1:0", "--tls-cert", world.certificate, "--tls-key", world.key, *more, data="other")
        self.assertEqual(done.returncode, USAGE, done.stderr)
        return done.stderr

    def test_what_browsers_or_clients_would_have_to_guess(self):
        self.assertIn("--console-url", self.serve("--public-url", PUBLIC, "--console-listen", "0.0.0.0:9443"))
        self.assertIn("--public-url", self.serve("--console-listen", "127.0.0.1:0"))
        self.assertIn("needs --console-listen", self.serve("--console-url", "https://console.example.org"))

    def test_an_address_that_is_not_a_url(self):
        said = self.serve("--public-url", PUBLIC, "--console-listen", "127.0.0.1:0", "--console-url", "console")
        self.assertIn("not an address of a console", said)


if __name__ == "__main__":
    unittest.main()
