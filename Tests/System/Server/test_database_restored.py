"""A copy of the database is put back, as it was before."""

import contextlib
import json
import os
import shutil
import ssl
import time
import unittest
import urllib.request

from database_case import DatabaseCase
from Support.Hosts import signed_requests
from Support.Service.world import PATIENCE


class Restored(DatabaseCase):
    def put_back(self, name):
        """As the manual says."""
        self.world.server.stop()
        for end in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.world.path("data/iampass.sqlite" + end))
        shutil.copy2(self.world.path(name), self.world.path("data/iampass.sqlite"))
        self.world.restart_server()

    def test_what_came_later_is_not_known_and_not_active(self):
        world = self.world
        live, asked = world.approved("live"), world.started("asked")
        self.assertEqual(world.command("backup", world.path("copy")).returncode, 0)
        phone = world.phone("approve")
        world.becomes(asked, "active")
        later = world.started("later")
        world.becomes(later, "active")
        phone.stop()
        self.put_back("copy")
        self.assertEqual(world.status(live), "active")
        # It is asked again, since its answer is lost.
        self.assertIn(world.status(asked), ("pending", "identifying", "timeout"))
        code, _, reply = world.ask_status(later)
        self.assertEqual((code, reply["reason"]), (404, "UNKNOWN_SESSION"))
        self.assert_only_what_was_approved_is_active()
        self.assert_said_once("a copy of the database was put back")
        self.assertTrue(self.added("later"))

    def test_what_was_spent_since_the_copy_does_not_work_again(self):
        world = self.world
        self.assertEqual(world.command("backup", world.path("copy")).returncode, 0)
        path = "/management/add_users/" + world.application["application_id"]
        signing = signed_requests.headers(
            world.application["application_id"], world.application["application_secret"], world.address + path)
        request = (path, "POST", json.dumps({"users": ["mallory"]}).encode(), signing)
        self.assertEqual(world.get(*request)[0], 201)
        # Signatures name the second.
        time.sleep(1.1)
        self.put_back("copy")
        for _ in range(2):
            code, _, text = world.get(*request)
            self.assertEqual((code, json.loads(text)["reason"]), (401, "NONCE_REPLAYED"))
            # Nor after another start.
            world.restart_server()
        self.assertTrue(self.added("later"))

    def enter(self, link):
        """What the console answers to a sign-in by its link."""
        code = link.rpartition("/")[2]
        request = urllib.request.Request(
            self.world.address + "/console/enter", method="POST", data=("code=" + code).encode(),
            headers={"Origin": self.world.address, "Content-Type": "application/x-www-form-urlencoded"})
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=self.world.certificate)), NoRedirect)
        try:
            with opener.open(request, timeout=PATIENCE) as reply:
                return reply.status, reply.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers

    def test_what_may_have_been_used_or_signed_out_since_the_copy_works_no_more(self):
        world = self.world
        world.add_users("bob")
        path = f"/management/device_registration_link/{world.application['application_id']}/bob?display_name=Bob"
        link = world.signed("GET", path)["register_url"].removeprefix(world.address)
        in_console, unused = (world.command("console-link").stdout.strip() for _ in range(2))
        status, headers = self.enter(in_console)
        self.assertEqual(status, 303)
        cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
        self.assertEqual(world.get("/console", headers=cookie)[0], 200)
        self.assertEqual(world.get(link)[0], 200)
        self.assertEqual(world.command("backup", world.path("copy")).returncode, 0)
        self.put_back("copy")
        self.assertEqual(world.get("/console", headers=cookie)[0], 401)
        self.assertEqual(world.get(link)[0], 404)
        self.assertEqual(self.enter(unused)[0], 404)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


if __name__ == "__main__":
    unittest.main()
