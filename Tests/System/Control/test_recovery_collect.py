"""Recovery codes of several computers in one step. Each computer here is a host name and a folder of its own."""

import glob
import os
import re
import shlex
import shutil
import signal
import subprocess
import unittest

import pexpect

from control import DATA, INTERRUPTED, NO_INPUT, UNAVAILABLE, USAGE, ControlWorld
from Support.Service.world import ENROLLED, program, read

CODE = r"\b[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}\b"
SEALED = r"iampass-codes-1\.[\w-]+"


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.configure(methods_offline="recovery")
    # Users and tokens are the same; what each computer keeps is its own.
    for name in ("desk-1", "desk-2"):
        text = re.sub(r"(?m)^state_dir.*\n", "", read(world.path("iampass.conf")))
        os.makedirs(world.path(name), exist_ok=True)
        for file in ("credentials", "users"):
            shutil.copy2(world.path(file), world.path(name, file))
        world.write(f"{name}/iampass.conf", f"{text}state_dir = {world.path(name, 'state')}\n", 0o644)


def make(name, key="{key}", user=ENROLLED):
    """What a computer is to run."""
    return shlex.join(
        [program("iampassctl"), "recovery", "create", "--sealed-for", key, user, "--config", world.path(name, "iampass.conf")])


def create(name, *more, **options):
    """The same, on a computer of that name."""
    return shlex.join(["unshare", "--uts", "sh", "-c", f"hostname {name}; exec {make(name, *more, **options)}"])


def sets(name):
    return {path: read(path) for path in glob.glob(world.path(name, "state", "recovery", "*"))}


class Collect(unittest.TestCase):
    def collect(self, script, *options):
        return world.ctl("recovery", "collect", "--any-output", *options, "--", "sh", "-c", script, configured=False)

    def shown(self, answer):
        """The codes, by computer."""
        found, codes = {}, []
        for line in answer.out.splitlines():
            if named := re.fullmatch(rf"([\w-]+): {ENROLLED}", line):
                codes = found[named[1]] = []
            codes += re.findall(CODE, line)
        return found

    def test_each_computers_codes_are_shown_and_are_its_own(self):
        answer = self.collect(f"{create('desk-2')}; {create('desk-1')}", "--computers", "desk-1,desk-2")
        self.assertEqual(answer.code, 0, answer.text)
        found = self.shown(answer)
        self.assertEqual(list(found), ["desk-1", "desk-2"])
        self.assertEqual(len({code for codes in found.values() for code in codes}), 20)
        for name in found:
            self.assertEqual(len(sets(name)), 1)

    def test_what_carries_them_sees_no_code(self):
        kept = world.path("carried")
        answer = self.collect(f"{{ {create('desk-1')}; {create('desk-2')}; }} 2>&1 | tee {kept}")
        codes = [code for codes in self.shown(answer).values() for code in codes]
        self.assertEqual(len(codes), 20, answer.text)
        self.assertEqual(len(re.findall(SEALED, read(kept))), 2)
        self.assertNotRegex(read(kept), CODE)

    def test_a_computer_that_is_away_is_named(self):
        answer = self.collect(f"{create('desk-1')}; echo desk-2 is away", "--computers", "desk-1, desk-2")
        self.assertEqual(answer.code, UNAVAILABLE)
        self.assertEqual(list(self.shown(answer)), ["desk-1"])
        self.assertIn("no codes came from desk-2", answer.err)
        # What the command says is passed on.
        self.assertIn("desk-2 is away", answer.err)

    def test_a_command_that_fails_is_told_and_what_came_is_shown(self):
        answer = self.collect(f"{create('desk-1')}; exit 3")
        self.assertEqual(answer.code, UNAVAILABLE)
        self.assertIn("the command failed", answer.err)
        self.assertEqual(list(self.shown(answer)), ["desk-1"])

    def test_codes_of_another_run_or_changed_ones_are_refused(self):
        world.write("first", "")
        self.collect(f"{create('desk-1')} | tee {world.path('first')}")
        answer = self.collect(f": {{key}}; cat {world.path('first')}")
        self.assertEqual((answer.code, self.shown(answer)), (DATA, {}))
        self.assertIn("1 sealed text was made for another run, or changed", answer.err)
        answer = self.collect(f"{create('desk-1')} | sed 's/^\\(iampass-codes-1.*\\)./\\1/'")
        self.assertEqual((answer.code, self.shown(answer)), (DATA, {}))

    def test_a_text_that_comes_twice_is_shown_once(self):
        answer = self.collect(f"{create('desk-1')} | tee {world.path('twice')}; cat {world.path('twice')}")
        self.assertEqual(answer.code, 0, answer.text)
        self.assertEqual(len(re.findall(CODE, answer.out)), 10)

    def test_ctrl_c_shows_what_came(self):
        ready = world.path("ready")
        os.mkfifo(ready)
        words = [program("iampassctl"), "recovery", "collect", "--any-output", "--", "sh", "-c"]
        script = f"{create('desk-1')}; echo >{ready}; exec sleep 1000"
        with subprocess.Popen([*words, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
            # Opens once desk-1 has made its codes.
            read(ready)
            command.send_signal(signal.SIGINT)
            out, err = command.communicate(timeout=60)
        self.assertEqual(command.returncode, INTERRUPTED, err)
        self.assertEqual(len(re.findall(CODE, out)), 10)

    def test_the_command_may_ask_at_the_terminal(self):
        child = world.terminal("recovery", "collect", "--", "sh", "-c", f"read word </dev/tty && {create('desk-1')}")
        child.sendline("word")
        child.expect(CODE)
        child.expect(pexpect.EOF)
        child.close()
        self.assertEqual(child.exitstatus, 0)

    def test_the_computers_earlier_codes_stay_if_the_text_is_lost(self):
        self.collect(create("desk-1"))
        before = sets("desk-1")
        done = subprocess.run(["sh", "-c", create("desk-1", self.key()) + " >/dev/full"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(sets("desk-1"), before)

    def key(self):
        answer = self.collect("echo key={key}")
        return re.search(r"key=([\w-]+)", answer.err)[1]

    def test_what_cannot_be_done_is_said(self):
        for script, code, words in (
            ("true", USAGE, "has no {key}"), (": {key}", UNAVAILABLE, "printed no recovery codes"),
            (create("desk-1", "nonsense") + ": {key}", UNAVAILABLE, "this is not a key of recovery collect"),
            (create("desk-1", user="no-such-user"), UNAVAILABLE, "no-such-user is not known"),
        ):  # fmt: skip
            with self.subTest(words=words):
                answer = self.collect(script)
                self.assertEqual((answer.code, answer.out), (code, ""), answer.text)
                self.assertIn(words, answer.err)
        answer = world.ctl("recovery", "collect", "--any-output", "--", "no-such-tool", "{key}", configured=False)
        self.assertEqual(answer.code, NO_INPUT)
        self.assertIn("no-such-tool cannot be started", answer.err)

    def test_without_a_terminal_nothing_is_run(self):
        answer = world.ctl("recovery", "collect", "--", "touch", world.path("run"), "{key}", configured=False)
        self.assertEqual(answer.code, USAGE)
        self.assertFalse(os.path.exists(world.path("run")))

    def test_a_computers_name_does_nothing_to_the_terminal(self):
        naming = r"printf 'desk\033[2J' >/proc/sys/kernel/hostname"
        answer = self.collect(shlex.join(["unshare", "--uts", "sh", "-c", f"{naming}; {make('desk-1')}"]))
        self.assertEqual(len(re.findall(CODE, answer.out)), 10, answer.text)
        self.assertNotIn("\x1b", answer.text)


if __name__ == "__main__":
    unittest.main()
