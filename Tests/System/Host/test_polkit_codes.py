"""`approvals = verified`, and a service that was broken into: it reads the code of each request and refuses a stranger's, until
one is the code that alice's terminal shows. She would type it for her own pkexec, and the stranger's command would run.
pkexec of Debian 13."""

import json
import unittest

from desktop_case import PROMPT, DesktopCase
from Support.HostileService.hostile_case import SECRET, TOKEN, started
from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import HostileService
from Support.HostileService.signing_phone import SigningPhone
from Support.Hosts import testhost
from Support.Hosts.inside import made_in_network
from Support.Hosts.testhost import CHOOSE_PROMPT, PUSH_LINE_WITH_CODE
from Support.Service.never import MustNeverHappen

PHONES = "/etc/iampass/phones"
#: What mallory's command leaves.
DONE = "/run/mallory-was-root"
#: max_requests, as it is without a line, and the codes that one sign-in draws at most.
GREATEST, DRAWN = 5, 3
#: At once, so that all have ended while hers is open. Each drew a code when the service's word decided what counts.
TRIES = 12


class ReadingService:
    """It takes alice's own request, and one of another program's with the code of hers. All others it refuses."""

    def __init__(self, phone, reason):
        self._phone, self._reason = phone, reason
        #: Starts by the session's name: "hers", and "mallory's" once a code agrees.
        self.starts = {}
        self.codes = []
        #: Whether she has typed the code that her terminal shows.
        self.typed = False
        self.url = None

    def answer(self, stream, request):
        name = request.path.rpartition("/")[2]
        if "authenticate_user" in request.path:
            self.answer_start(stream, request)
        elif request.path.startswith("/status/"):
            self.answer_status(name, stream, request)
        else:
            reply(200, b'{"status":true}')(stream, request)

    def answer_start(self, stream, request):
        start = json.loads(request.body)
        if "hers" not in self.starts:
            return self.take("hers", start, stream, request)
        self.codes.append(start["match_code"])
        if start["match_code"] == self.starts["hers"]["match_code"]:
            return self.take("mallorys", start, stream, request)
        body = started(authenticated=False, session_status="failed", reason=self._reason)
        return reply(200, body)(stream, request)

    def take(self, name, start, stream, request):
        self.starts[name] = start
        repeated = {key: start.get(key) for key in ("challenge", "match_code")}
        body = started(session_name=name, status_url=f"/status/{name}", logout_url=f"/logout/{name}", **repeated)
        reply(202, body)(stream, request)

    def answer_status(self, name, stream, request):
        """Her phone is shown mallory's request, if there is one to show, and takes its code for hers."""
        if not self.typed or name != ("mallorys" if "mallorys" in self.starts else "hers"):
            return reply(200, b'{"session_status":"pending","authenticated":false}')(stream, request)
        signed = self._phone.approval(self._phone.statement(self.url, name, self.starts[name]))
        body = {"session_status": "active", "authenticated": True, "session_name": name, "approval": signed}
        return reply(200, json.dumps(body).encode())(stream, request)


class CodesOfStrangers(DesktopCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.terminal = cls.desktop()
        cls.host.run("useradd", "mallory")
        cls.addClassCleanup(cls.host.run, "userdel", "--force", "mallory")
        cls.addClassCleanup(cls.host.run, "rm", "-f", DONE)

    def serve(self, reason):
        """This service in place of the host's own, and the key of alice's phone."""
        phone = SigningPhone()
        reading = ReadingService(phone, reason)
        service = made_in_network(self.host.leader, HostileService)
        reading.url = service.url
        service.behaviour = {"*": reading.answer}
        service.start()
        self.addCleanup(service.stop)
        with open(service.ca_file) as file:
            authority = file.read()
        files = {
            testhost.CONFIGURATION: f"server = {service.url}\nca_file = /etc/iampass/ca.pem\nservices = sudo @desktop\n"
            "send_context = yes\napprovals = verified\napproval_timeout = 90s\n",
            "/etc/iampass/ca.pem": authority,
            "/etc/iampass/credentials": f"application_id = application\napplication_secret = {SECRET}\n",
            "/etc/iampass/users": f"alice:{TOKEN}\n",
        }  # fmt: skip
        for path, text in files.items():
            self.enterContext(self.host.changed(path, lambda _, text=text: text))
        self.host.path(PHONES).write_text(phone.line("alice"))
        self.addCleanup(self.host.run, "rm", "-f", PHONES)
        return reading

    def alice_asks(self):
        """Her own pkexec, which shows its code."""
        self.terminal.sendline("pkexec id -un")
        self.terminal.expect_exact(CHOOSE_PROMPT)
        self.terminal.sendline("")
        self.terminal.expect(PUSH_LINE_WITH_CODE)
        return self.terminal.match[1]

    def mallory_tries(self):
        """Their own pkexecs as alice, who is the administrator here. What they said of the phone, and those that ask it."""
        children = [self.host.terminal(f"pkexec touch {DONE}", user="mallory") for _ in range(TRIES)]
        for child in children:
            child.expect_exact(CHOOSE_PROMPT)
            child.sendline("")
        said, asking = [], []
        for child in children:
            if child.expect(["IAMPASS: ([^\n]*)", PUSH_LINE_WITH_CODE]) == 1:
                asking.append(child)
                continue
            said.append(child.match[1])
            child.expect("Password: ")
            child.sendline("wrong")
            child.finish()
        return said, asking

    def assert_few_codes(self, reason, greatest):
        reading = self.serve(reason)
        code = self.alice_asks()
        self.assertEqual(code, reading.starts["hers"]["match_code"])
        said, asking = self.mallory_tries()
        reading.typed = True
        for child in asking:
            child.finish()
        if self.host.path(DONE).exists():
            raise MustNeverHappen(f"mallory's command ran, by one of {len(reading.codes)} codes")
        self.terminal.expect_exact("AUTHENTICATION COMPLETE")
        self.terminal.expect("root\r?\n")
        self.terminal.expect(PROMPT)
        self.assertLessEqual(len(reading.codes), greatest, said)
        self.assertNotIn(code, reading.codes)
        self.assertEqual(asking, [])
        self.assertEqual(len([words for words in said if "too many requests" in words]), TRIES - GREATEST, said)

    def test_strangers_have_few_codes_drawn_and_none_is_hers(self):
        for reason in ("NO_MOBILE_DEVICE", "SOURCE_BLOCKED"):
            with self.subTest(reason=reason):
                self.host.forget_attempts()
                self.assert_few_codes(reason, GREATEST)

    def test_a_refused_code_is_drawn_again_a_few_times_and_none_is_hers(self):
        self.assert_few_codes("CODE_IN_USE", GREATEST * DRAWN)


if __name__ == "__main__":
    unittest.main()
