"""What the audit proves of an administrator's change in the console: checked by python3-cryptography."""

import contextlib
import json
import re
import sqlite3
import subprocess
import unittest

from Support.Service.approvals import canonical, is_signed
from Support.Service.console_visitor import Visitor
from Support.Service.server import DATA, ServerWorld
from Support.Service.world import PATIENCE, program


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


class Signed(unittest.TestCase):
    def setUp(self):
        link = world.command("administrator", "add", "ada", "--role", "admin").stdout.split()[-1]
        world.phone_registered(link, "ada.json")
        self.visitor = Visitor(world.address, world.certificate)
        self.visitor.ask("POST", "/sign-in", name="ada")
        digits = re.search(r'class="digits">(\d\d)<', self.visitor.ask("GET", "/sign-in")[1])[1]
        subprocess.run([program("iampass-phone"), "watch", "--state", world.path("ada.json"), "--answer", "approve", "--code", digits],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=PATIENCE)  # fmt: skip
        self.assertEqual(self.visitor.ask("GET", "/sign-in")[0], 303)

    def test_a_change_leads_to_the_phones_signature_of_the_sign_in(self):
        token = re.search(r'name="token" value="([0-9a-f]+)"', self.visitor.ask("GET", "/applications")[1])[1]
        self.assertEqual(self.visitor.ask("POST", "/applications", token=token, name="made by ada")[0], 200)
        entries = [json.loads(line) for line in world.command("audit", "--json-lines").stdout.splitlines()]
        change = next(one for one in entries if one.get("administrator") and one["event"] == "application made")
        self.assertEqual((change["administrator"], change["application"]), ("ada", "made by ada"))
        visit = next(one["actor"] for one in entries if one["event"] == "console sign-in")
        self.assertEqual(change["actor"], visit)
        self.assertEqual((visit["kind"], visit["role"]), ("console", "admin"))
        found = self.visitor.ask("GET", "/audit?user=console:" + visit["id"])[1]
        self.assertIn("made by ada", found)
        self.assertIn(f"ada, console {visit['id'][:8]}, admin", found)
        self.assertNotIn(">asked<", found)
        answers = [json.loads(line) for line in world.command("audit", "--answers").stdout.splitlines()]
        answer = next(one for one in answers if one["session"] == change["approval"])
        statement, context = json.loads(answer["statement"]), json.loads(answer["context"])
        # Who signed in to what: not which change followed.
        self.assertTrue(context["service"].startswith("console of"), context)
        self.assertEqual((context["user"], statement["session"], statement["answer"]), ("ada", change["approval"], "approve"))
        self.assertNotIn("made by ada", answer["statement"] + answer["context"])
        self.assertEqual(canonical(statement).decode(), answer["statement"])
        self.assertTrue(is_signed({"statement": statement, "signature": answer["signature"]}, answer["public_key"]))
        self.proves(change, answer)
        self.assertFalse(is_signed({"statement": {**statement, "answer": "deny"}, "signature": answer["signature"]}, answer["public_key"]))

    def proves(self, change, answer):
        """One command leads from the change to the phone's signature, and verifies it."""
        done = self.proof(change["id"], 0)
        self.assertEqual((done["entry"], done["answer"], done["verified"]), (change, answer, True))
        self.change("UPDATE answer SET context = replace(context, 'ada', 'eve') WHERE session = ?", change["approval"])
        self.assertFalse(self.proof(change["id"], DATA)["verified"])
        self.change("DELETE FROM answer WHERE session = ?", change["approval"])
        self.assertEqual(self.proof(change["id"], DATA)["answer"], None)

    def change(self, statement, session):
        with contextlib.closing(sqlite3.connect(world.path("data", "iampass.sqlite"), timeout=PATIENCE)) as database, database:
            self.assertEqual(database.execute(statement, (session,)).rowcount, 1)

    def proof(self, entry, status):
        done = world.command("audit", "--proof", str(entry))
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)


if __name__ == "__main__":
    unittest.main()
