"""Sealed recovery codes as they are on the way: opened and made by other people's code."""

import json
import re
import shlex
import sys
import unittest

import sealed_codes
from control import DATA, ControlWorld
from Support.Service.world import ENROLLED, program, run

CODE = r"[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}"


def setUpModule():
    global world, made
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.configure(methods_offline="recovery")
    receiver = sealed_codes.Receiver()
    text = run(program("iampassctl"), "recovery", "create", "--sealed-for", receiver.text, ENROLLED,
               "--config", world.path("iampass.conf"))  # fmt: skip
    made = receiver.opened(text.split()[0])


class Sealed(unittest.TestCase):
    def test_other_peoples_code_opens_them(self):
        self.assertEqual(sorted(made), ["codes", "computer", "user", "version"])
        self.assertEqual((made["version"], made["user"]), (1, ENROLLED))
        self.assertEqual(len(set(made["codes"])), 10)
        for code in made["codes"]:
            self.assertRegex(code, rf"^{CODE}$")

    def collect(self, content):
        world.write("content", json.dumps(content))
        script = f"{shlex.join([sys.executable, '-B', sealed_codes.__file__])} {{key}} <{world.path('content')}"
        return world.ctl("recovery", "collect", "--any-output", "--", "sh", "-c", script, configured=False)

    def test_what_other_peoples_code_has_sealed_is_shown(self):
        answer = self.collect({**made, "computer": "desk-9"})
        self.assertEqual(answer.code, 0, answer.text)
        self.assertIn(f"desk-9: {ENROLLED}\n", answer.out)
        self.assertEqual(re.findall(CODE, answer.out), made["codes"])

    def test_what_has_another_form_is_refused(self):
        codes = made["codes"]
        for name, content in {
            "another version": {**made, "version": 2}, "no version": {**made, "version": None},
            "nine codes": {**made, "codes": codes[:9]}, "eleven codes": {**made, "codes": [*codes, codes[0]]},
            "a mistyped code": {**made, "codes": [*codes[:9], codes[9][:-1]]},
            "ten codes and a mistyped one": {**made, "codes": [*codes, "no code"]},
            "a number": {**made, "codes": [*codes[:9], 7]}, "no codes": {**made, "codes": "".join(codes)},
            "no computer": {**made, "computer": None}, "no user": {**made, "user": 7},
            "a text that is too long": {**made, "computer": "x" * 4_096}, "no object": codes,
        }.items():  # fmt: skip
            with self.subTest(name):
                answer = self.collect(content)
                self.assertEqual((answer.code, answer.out), (DATA, ""), answer.text)
                self.assertIn("1 sealed text was made for another run, or changed", answer.err)


if __name__ == "__main__":
    unittest.main()
