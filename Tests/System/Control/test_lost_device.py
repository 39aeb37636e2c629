"""`iampassctl lost-device`: what the lost phone approved ends, unless that is not wanted."""

import json
import os
import ssl
import unittest
import urllib.request

from enroll_case import EnrollCase, open_world
from Support.Hosts import signed_requests
from Support.Service.world import PATIENCE, program, read, run


def setUpModule():
    open_world()


class LostSessions(EnrollCase):
    """What the lost phone approved ends with it."""

    def setUp(self):
        super().setUp()
        self.register(json.loads(self.enroll("--json", "--display-name", "Guest of honour").out)["register_url"])
        self.sessions = [self.approved(host) for host in ("web-1", "web-2")]

    def ask(self, method, url, client, secret, **body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(
            url, method=method, data=data, headers=signed_requests.headers(client, secret, url))
        context = ssl.create_default_context(cafile=self.world.certificate)
        with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as reply:
            return json.loads(reply.read())

    def approved(self, host):
        settings = dict(line.split(" = ") for line in read(self.world.path("credentials")).splitlines())
        client, secret = settings["application_id"], settings["application_secret"]
        url = f"{self.world.address}/authentication/authenticate_user/{client}/{self.world.users()[self.name]}"
        session = self.ask("POST", url, client, secret, context={"host": host})["authentication_status"]
        run(program("iampass-phone"), "watch", "--state", self.world.path("phone.json"), "--answer", "approve", "--once")
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
        os.makedirs(self.world.path("run", "sessions"), 0o700, exist_ok=True)
        self.world.write("run/sessions/" + record["id"], json.dumps(record))
        self.addCleanup(os.unlink, self.world.path("run", "sessions", record["id"]))

    def test_they_end_and_are_counted(self):
        done = self.world.ctl("lost-device", self.name)
        self.assertEqual(done.code, 0, done.text)
        self.assertIn(f"\n2 sessions of {self.name} ended\n", done.out)
        self.assertEqual(self.statuses(), ["closed", "closed"])

    def test_the_one_that_the_command_runs_in_goes_on(self):
        self.recorded(self.sessions[0])
        done = self.world.ctl("lost-device", self.name, "--json")
        self.assertEqual(json.loads(done.out)["sessions_ended"], 1, done.text)
        self.assertEqual(self.statuses(), ["active", "closed"])

    def test_a_service_that_is_not_known_to_be_ours_ends_none_and_that_is_said(self):
        self.world.configure(signed_replies=None)
        self.addCleanup(self.world.configure, signed_replies="required")
        done = self.world.ctl("lost-device", self.name)
        self.assertEqual(done.code, 0)
        self.assertIn("warning: the service has not ended what the phone approved\n", done.err)
        self.assertEqual(self.statuses(), ["active", "active"])

    def test_they_go_on_where_that_is_wanted(self):
        done = self.world.ctl("lost-device", self.name, "--keep-sessions")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertNotIn("sessions of", done.out)
        self.assertEqual(self.statuses(), ["active", "active"])

    def test_the_next_phone_has_the_lost_ones_name(self):
        link = json.loads(self.world.ctl("lost-device", self.name, "--json").out)["register_url"]
        context = ssl.create_default_context(cafile=self.world.certificate)
        with urllib.request.urlopen(link, timeout=PATIENCE, context=context) as reply:
            self.assertEqual(json.loads(reply.read())["user"], "Guest of honour")


if __name__ == "__main__":
    unittest.main()
