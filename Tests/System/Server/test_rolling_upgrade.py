"""A rolling upgrade: an older server works on its database, a newer one changes the tables, and both go on behind one name.

`IAMPASS_OTHER_VERSION` names the folder of the older one; `packaging/test` keeps it from an earlier run. Without it both
servers are of this version, which shows the same way without a change of the tables. The computers and the phone are of this
version. No option is used here that an older server may not know.
"""

import concurrent.futures
import contextlib
import json
import types
import unittest
import urllib.parse

from Support.Hosts import signed_requests
from Support.Service.server import CONFIG, until
from Support.Service.two_servers import OneName
from Support.Service.world import ENROLLED, PATIENCE, SUCCESS, program, read, run

#: The numbers of the servers, and of their addresses.
NEWER, OLDER = 0, 1
BOTH_WAYS = ((NEWER, OLDER), (OLDER, NEWER))


def setUpModule():
    global world, before
    world = OneName()
    unittest.addModuleCleanup(world.close)
    world.others, world.other_commands = (NEWER, OLDER), True
    world.begin()
    run(program("iampassctl"), "user", "add", ENROLLED, "--config", world.path("iampass.conf"))
    world.register_phone()
    world.pam("sudo", "prompt=push timeout=30s")
    before = upgrade()


def upgrade():
    """Two older servers at first; at the end the first one is of this version. What happened meanwhile."""
    session = approved(OLDER, OLDER, "before")
    known = int(world.postgresql.sql("SELECT count(*) FROM schema_migration")[0])
    world.other_commands = False
    ending, answers = changes_that_end(known), []
    if ending:
        migrate()
        # So they promise. Then there are not two versions on the database, and nothing else is left to try.
        for server, *_ in world.servers:
            server.wait_for("stopping: a newer version has changed the database: ")
            code = server.process.wait(PATIENCE)
            assert code == CONFIG, code
        world.others = ()
        world.serve_at(OLDER)
    else:
        with waiting(OLDER, begun(OLDER, "waiter")) as answers:
            migrate()
            answer(OLDER)
        world.others = (OLDER,)
        world.servers[NEWER][0].stop()
    world.serve_at(NEWER)
    return types.SimpleNamespace(session=session, ending=ending, answers=answers)


def changes_that_end(known):
    """This version's changes that end servers which know only so many, as a new database of its own notes them."""
    world.postgresql.sql("CREATE DATABASE newest")
    url = world.url.replace("/postgres?", "/newest?")
    world.command("database", "migrate", url=url).check_returncode()
    text = f"SELECT name FROM schema_migration WHERE least > {known} ORDER BY name"
    return run("psql", "-X", "-A", "-t", "-q", url, "-c", text).splitlines()


def migrate():
    said = world.command("database", "migrate")
    assert said.returncode == 0, said.stderr


def ask(number, method, url, body=None, by=None, headers=None):
    """Status and JSON of a request to this server. Signatures are for the name, so that they are good at each."""
    path = urllib.parse.urlsplit(url).path
    keys = (by["session_token"], by["session_secret"]) if by else application()
    data = json.dumps(body or {}).encode() if method == "POST" else None
    signing = signed_requests.headers(*keys, world.name + path)
    code, _, text = world.get(path, method, data, {**signing, **(headers or {})}, world.servers[number][1])
    return code, json.loads(text)


def done(number, *words, **more):
    code, reply = ask(number, *words, **more)
    if code >= 300:
        raise AssertionError(f"{words}: {code} {reply}")
    return reply


def application():
    return world.application["application_id"], world.application["application_secret"]


def token():
    return read(world.path("users")).split(":")[1].split()[0]


def begun(number, host):
    """A sign-in that waits for an answer, and whose computer knows that."""
    path = f"/authentication/authenticate_user/{world.application['application_id']}/{token()}"
    session = done(number, "POST", path, {"context": {"host": host}})["authentication_status"]
    assert status(number, session) == "pending"
    return session


def status(number, session, headers=None):
    return done(number, "GET", session["status_url"], by=session, headers=headers)["session_status"]


def decided(number, session):
    """What the computer is told in the end. While the phone is being answered, it is told that first, and asks again."""
    word = "identifying"
    for _ in range(9):
        if word == "identifying":
            word = status(number, session, {"Prefer": "wait=55"})
    return word


@contextlib.contextmanager
def waiting(number, session):
    """This server holds the question for the status while the `with` block acts. The answer is in the list afterwards."""
    answers = []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        held = pool.submit(decided, number, session)
        until(lambda: world.held(number) >= 1, "a held request")
        yield answers
        answers.append(held.result(PATIENCE))


def phone_at(number):
    """A phone that approves once, and for which the name has this server's address alone."""
    hosts = f"hosts-{number}"
    world.write(hosts, f"{world.ADDRESSES[number]} {world.NAME}\n", 0o644)
    return world.start(
        "unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc/hosts && shift && exec "$@"', "sh", world.path(hosts),
        program("iampass-phone"), "watch", "--state", world.path("phone.json"), "--answer", "approve", "--once")  # fmt: skip


def answer(number):
    phone = phone_at(number)
    try:
        phone.wait_for("^approved$")
    finally:
        phone.stop()


def approved(begins, answers, host):
    session = begun(begins, host)
    answer(answers)
    # Only then does the computer know it.
    assert status(begins, session) == "active"
    return session


class TwoVersions(unittest.TestCase):
    def setUp(self):
        for number in (NEWER, OLDER):
            if world.servers[number][0].process.poll() is not None:
                world.serve_at(number)
        world.forget_attempts()

    def assert_both_say(self, word, session):
        self.assertEqual([status(number, session) for number in (NEWER, OLDER)], [word, word])

    def entries(self):
        said = world.command("audit", "--json-lines")
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        return [json.loads(line) for line in said.stdout.splitlines()]

    def test_what_began_before_the_change_goes_on_at_both(self):
        # Who waited at an older server while the newer one changed the tables.
        self.assertEqual(before.answers, [] if before.ending else ["active"])
        self.assert_both_say("active", before.session)

    def test_who_waits_at_one_is_woken_by_an_answer_at_the_other(self):
        for waits, answers in BOTH_WAYS:
            with self.subTest(waits=waits):
                session = begun(waits, f"answered-{waits}")
                with waiting(waits, session) as said:
                    answer(answers)
                self.assertEqual(said, ["active"])
                self.assert_both_say("active", session)

    def test_who_waits_at_one_is_woken_by_leaving_at_the_other(self):
        for waits, leaves in BOTH_WAYS:
            with self.subTest(waits=waits):
                session = begun(waits, f"left-{waits}")
                with waiting(waits, session) as said:
                    done(leaves, "POST", session["logout_url"], by=session)
                self.assertEqual(said, ["closed"])
                self.assert_both_say("closed", session)

    def test_a_nonce_that_was_spent_at_one_is_refused_at_the_other(self):
        path = f"/management/has_registered_mobile_device/{world.application['application_id']}/{token()}"
        for first, second in BOTH_WAYS:
            with self.subTest(first=first):
                signing = signed_requests.headers(*application(), world.name + path)
                self.assertEqual(world.get(path, headers=signing, address=world.servers[first][1])[0], 200)
                code, _, text = world.get(path, headers=signing, address=world.servers[second][1])
                self.assertEqual(code, 401, text)
                self.assertIn("NONCE_REPLAYED", text)

    def test_a_computer_signs_in_at_either_while_the_other_is_gone(self):
        for gone in (NEWER, OLDER):
            with self.subTest(gone=gone):
                self.setUp()
                world.kill(gone)
                phone = world.phone("approve")
                try:
                    result = world.play()
                    self.assertEqual(result["codes"], [SUCCESS], [result, phone.lines])
                finally:
                    phone.stop()

    def test_an_older_server_starts_again_on_the_newer_tables(self):
        session = approved(NEWER, NEWER, "again")
        world.servers[OLDER][0].stop()
        world.serve_at(OLDER)
        self.assertEqual(world.get("/readyz", address=world.servers[OLDER][2])[0], 200)
        self.assert_both_say("active", session)
        self.assert_both_say("active", approved(OLDER, OLDER, "again-2"))

    def test_the_audit_has_what_was_done_at_either_by_the_commands_of_both(self):
        for begins, leaves in BOTH_WAYS:
            session = approved(begins, begins, f"noted-{begins}")
            done(leaves, "POST", session["logout_url"], by=session)
            self.assert_both_say("closed", session)
        for others in (False, True):
            # An older command works on newer tables, unless their change ended its version.
            world.other_commands = others and not before.ending
            try:
                entries = self.entries()
            finally:
                world.other_commands = False
            for begins in (NEWER, OLDER):
                events = [entry["event"] for entry in entries if entry.get("host") == f"noted-{begins}"]
                with self.subTest(begins=begins, others=others):
                    self.assertEqual([events.count(event) for event in ("asked", "approved", "ended")], [1, 1, 1], events)


if __name__ == "__main__":
    unittest.main()
