"""`iampassctl audit`: the journal's sign-ins, joined with what the service noted of this computer.

The lines are what the real module writes; a journalctl of the test's own says them, mounted over the real one."""

import json
import subprocess
import time
import unittest

from control import NO_PERMISSION, UNAVAILABLE, USAGE, Answer, world_with_a_phone
from Support.Service.world import ENROLLED, PATIENCE, SUCCESS, program, read, run

JOURNALCTL = '#!/bin/sh\nprintf "%s\\n" "$*" >>"{folder}/asked"\ncase "$*" in *SYSLOG_FACILITY=10*) cat "{folder}/module";; *) cat "{folder}/units";; esac\n'
#: Another computer's sign-in, which the service must not tell.
STRANGER = "stranger"


def server(*words):
    return run(program("iampass-server"), *words, "--data", world.path("data"))


def setUpModule():
    global world, application_secret
    world = world_with_a_phone()
    application_secret = read(world.path("credentials"))
    world.pam("sudo")
    world.write("journalctl", JOURNALCTL.format(folder=world.folder), 0o755)


def use_host_credential(name):
    made = server("host-credential", "create", "tests", name, "--host", name)
    world.write("credentials", "".join(line for line in made.splitlines(True) if line.split(" ")[0] in (
        "application_id", "application_secret", "host")))  # fmt: skip
    world.configure(signed_replies="required")


class Audit(unittest.TestCase):
    def setUp(self):
        use_host_credential(f"desk-{id(self)}")
        world.forget_attempts()
        self.module, self.units = [], []
        world.write("asked", "")

    def entry(self, text, uid="0", unit=None):
        entry = {"__REALTIME_TIMESTAMP": str(time.time_ns() // 1000), "MESSAGE": text, "_UID": uid, "_SYSTEMD_UNIT": unit}
        return json.dumps({key: value for key, value in entry.items() if value is not None}) + "\n"

    def play(self, answer):
        """A sign-in, whose line stands in the journal; its session."""
        phone = world.phone(answer)
        self.addCleanup(phone.stop)
        result = world.play()
        phone.stop()
        self.line = result["log"][-1].partition("pam_iampass")[1] + result["log"][-1].partition("pam_iampass")[2]
        self.module.append(self.entry(self.line))
        return result["codes"], self.line.partition("session=")[2].split(" ")[0]

    def audit(self, *words, server=None):
        world.write("module", "".join(self.module))
        world.write("units", "".join(self.units))
        script = 'mount --bind "$1" /usr/bin/journalctl && shift && exec "$@"'
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", script, "sh", world.path("journalctl"), program("iampassctl"), "audit", *words,
             "--config", world.path("iampass.conf")], capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
        return Answer(done)

    def rows(self, *words):
        done = self.audit("--json", *words)
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)

    def test_an_approval_has_one_name_here_at_the_service_and_on_the_phone(self):
        codes, session = self.play("approve")
        self.assertEqual(codes, [SUCCESS])
        self.assertRegex(session, "^[0-9a-f]{32}$")
        self.units.append(self.entry(f"logged out user=x service=sudo rhost=- session={session} cause=ended logind_session=3",
                                     unit="iampass-helper.service"))  # fmt: skip
        [row] = self.rows()
        self.assertEqual((row["session"], row["user"], row["journal"]["result"]), (session, ENROLLED, "approved"))
        self.assertEqual([entry["event"] for entry in row["service"]["entries"]][:2], ["asked", "approved"])
        self.assertEqual(row["journal"]["ended"]["why"], "ended")
        device = json.loads(read(world.path("phone.json")))["device"]
        self.assertEqual(row["journal"]["phone"], device)
        self.assertIn(f"session={session}", server("audit"))
        text = self.audit().out
        self.assertRegex(text, rf"{ENROLLED} +sudo +.* approved +.* {session[:8]} +ended +approved")

    def test_a_denial_and_what_the_journal_lacks_are_shown(self):
        _, denied = self.play("deny")
        world.forget_attempts()
        _, lost = self.play("approve")
        self.module.pop()
        rows = {row["session"]: row for row in self.rows()}
        self.assertEqual(rows[denied]["journal"]["reason"], "denied on the phone")
        self.assertIn("denied", [entry["event"] for entry in rows[denied]["service"]["entries"]])
        self.assertIsNone(rows[lost]["journal"])
        self.assertEqual(len(rows), 2)
        self.assertIn("not in the journal", self.audit().out)

    def test_a_line_that_a_user_wrote_is_named_and_not_known_to_the_service(self):
        forged = "pam_iampass(sudo:auth): approved user=root service=sudo rhost=- session=" + "f" * 32
        self.module.append(self.entry(forged, uid="1000"))
        # A user's line in the helper's words, and prose that imitates fields.
        self.units.append(self.entry("logged out user=x session=" + "f" * 32 + " cause=ended", uid="1000", unit="user@1000.service"))
        self.module.append(self.entry("pam_iampass(sudo:auth): refused user=a service=sudo rhost=- reason=x session=0 y"))
        rows = self.rows()
        forged, prose = (next(row for row in rows if row["user"] == name) for name in ("root", "a"))
        self.assertEqual((forged["journal"]["written_by_uid"], forged["service"]), (1000, {"known": False}))
        self.assertNotIn("ended", forged["journal"])
        self.assertNotIn("session", prose)
        self.assertEqual(prose["journal"]["reason"], "x session=0 y")
        self.assertIn("approved (says a program of uid 1000)", self.audit().out)

    def test_another_computers_sign_ins_are_not_told(self):
        self.play("approve")
        self.module.clear()
        use_host_credential("other-" + str(id(self)))
        self.assertEqual(self.rows(), [])
        world.write("credentials", application_secret)
        done = self.audit()
        self.assertEqual(done.code, NO_PERMISSION)
        self.assertIn("only to a computer that has a credential of its own", done.err)

    def test_without_the_service_the_journal_is_shown_alone_and_said_to_be(self):
        self.play("approve")
        world.configure(server="https://127.0.0.1:1")
        self.addCleanup(world.configure, server=world.address)
        done = self.audit()
        self.assertEqual(done.code, UNAVAILABLE)
        self.assertIn("approved", done.out)
        self.assertIn("what the service noted is missing", done.err)
        done = self.audit("--local")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertIn("approved", done.out)

    def test_users_and_times_choose(self):
        self.play("approve")
        self.assertEqual(len(self.rows("--user", ENROLLED)), 1)
        self.assertEqual(self.rows("--user", "bin"), [])
        self.assertEqual(len(self.rows("--since", "15m")), 1)
        asked = read(world.path("asked")).splitlines()
        self.assertTrue(all("--since=@" in line for line in asked), asked)
        self.assertAlmostEqual(int(asked[-1].split("--since=@")[1].split(" ")[0]), time.time() - 900, delta=60)
        self.assertEqual(self.audit("--since", "yesterday-ish").code, USAGE)


if __name__ == "__main__":
    unittest.main()
