"""Help and messages against golden files, which `IAMPASS_GOLDEN=write` rewrites. And the shells' completions."""

import os
import re
import shutil
import subprocess
import unittest

from control import ControlWorld
from Support.Service.world import program, read, run

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "golden")
COMPLETION = os.path.join(HERE, "../../../packaging/bash-completion")
VERBS = [
    (), ("join",), ("setup",), ("check",), ("status",), ("enable",), ("disable",), ("user",), ("user", "add"), ("user", "remove"),
    ("user", "list"), ("user", "show"), ("user", "unblock"), ("user", "import"), ("user", "export"), ("enroll",), ("lost-device",),
    ("phone",), ("phone", "list"), ("phone", "trust"), ("phone", "forget"),
    ("login-test",), ("session",), ("session", "list"), ("session", "watch"), ("session", "renew"), ("session", "end"), ("audit",),
    ("presence",), ("presence", "list"), ("presence", "use"), ("presence", "remove"), ("presence", "test"),
    ("keyring",), ("keyring", "status"), ("keyring", "forget"),
    ("recovery",), ("recovery", "create"), ("recovery", "collect"), ("recovery", "list"), ("recovery", "revoke"),
]  # fmt: skip


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)


class Golden(unittest.TestCase):
    maxDiff = None

    def assert_golden(self, name, text):
        path = os.path.join(GOLDEN, name)
        if os.environ.get("IAMPASS_GOLDEN") == "write":
            os.makedirs(GOLDEN, exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        self.assertEqual(text, read(path))


class Help(Golden):
    def test_each_verbs_help_is_as_agreed(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                text = run(program("iampassctl"), *verb, "--help", env={"PATH": "/usr/bin"})
                self.assert_golden("-".join(["help", *verb]) + ".txt", text)

    def test_every_verb_has_its_file(self):
        listed = run(program("iampassctl"), "--help").split("SUBCOMMANDS:")[1]
        names = {name for name in re.findall(r"^  ([a-z-]+)(?:  |$)", listed, re.MULTILINE)}
        self.assertEqual(names - {verb[0] for verb in VERBS if verb}, set())


class Messages(Golden):
    """What, where, next: each message as it stands on the terminal, with the folder's name taken out."""

    SCENES = {
        "not-set-up": ({}, [("check",), ("user", "add", "daemon"), ("user", "remove", "daemon"), ("enroll", "daemon")]),
        "no-server": ({"iampass.conf": "# nothing\n"}, [("user", "add", "daemon"), ("check",)]),
        "bad-files": (
            {"iampass.conf": "server = https://localhost:1\nsession_duration = forever\n"},
            [("user", "add", "daemon"), ("setup",), ("check",)],
        ),
        "away": (
            {
                "iampass.conf": "server = https://127.0.0.1:1\nworker = {folder}/iampass-https\nworker_user = nobody\n",
                "credentials": "application_id = a\napplication_secret = abcdefghijklmnopqrstuvwx\n",
                "users": "daemon:token\n",
            },
            [
                ("user", "add", "bin"), ("user", "show", "daemon"), ("user", "remove", "daemon"), ("enroll", "daemon"),
                ("lost-device", "daemon"), ("enroll", "bin"), ("user", "add", "a:b"), ("user", "add", "no-such-user"),
                ("setup", "--server", "ftp://x"), ("setup", "--server", "http://example.com"),
                ("setup", "--application-id", "other"), ("setup", "--secret-file", "/nonexistent"),
                ("user", "import", "/nonexistent"), ("login-test", "daemon", "--service", "nonsense"),
            ],
        ),
    }  # fmt: skip

    def test_each_message_is_as_agreed(self):
        for name, (files, commands) in self.SCENES.items():
            with self.subTest(scene=name):
                for old in world.snapshot():
                    os.unlink(world.path(old))
                for file, text in files.items():
                    world.write(file, text.replace("{folder}", world.folder), 0o644 if file == "iampass.conf" else 0o600)
                told = "".join(self.told(words) for words in commands)
                self.assert_golden(f"messages-{name}.txt", told)

    def told(self, words):
        options = ("--pam-folder", world.path("pam.d")) if words[0] == "check" else ()
        if words[0] == "login-test":
            answer = world.ctl(*words, configured=False)
        else:
            answer = world.ctl(*words, *options)
        text = answer.text.replace(world.folder, "FOLDER")
        # Findings about this machine: its helper, its users, its PAM services.
        text = re.sub(r"(?m)^(?:ok|warning).*(?:systemd|helper|without a token|PAM).*\n(?: +hint:.*\n)?", "", text)
        text = re.sub(r"(?m)^\d+ ok, .*\n", "", text)
        return f"$ iampassctl {' '.join(words)}\n{text}exit {answer.code}\n\n"


class Completions(unittest.TestCase):
    def script(self, shell):
        return run(program("iampassctl"), "--generate-completion-script", shell)

    def test_each_shell_has_a_script_with_every_verb(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.script(shell)
            for verb in VERBS[1:]:
                self.assertIn(verb[-1], script)
            self.assertNotIn("trial-end", script)

    def test_each_shell_that_is_here_takes_it(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell):
                done = subprocess.run([shell, "-n"], input=self.script(shell), capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def completed(self, *words):
        """What bash offers for the last word, as the packages have it."""
        name, line = words[0], " ".join(words)
        world.write("completion", run(COMPLETION, program(name)))
        os.makedirs(world.path("here/folder"), exist_ok=True)
        world.write("here/file", "")
        script = f"""
            source {world.path('completion')}
            cd {world.path('here')}
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE='{line}' COMP_POINT={len(line)}
            $(complete -p {name} | sed -n 's/.*-F \\([^ ]*\\).*/\\1/p') {name} '{words[-1]}' '{words[-2]}'
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        return run("bash", "-c", script, "bash", *words).split()

    def test_bash_completes_a_verb(self):
        self.assertEqual(self.completed("iampassctl", "user", "ex"), ["export"])

    def test_bash_completes_what_help_is_asked_for(self):
        self.assertEqual(self.completed("iampassctl", "help", "en"), ["enable", "enroll"])
        self.assertEqual(self.completed("iampass-server", "help", "b"), ["backup"])
        self.assertEqual(self.completed("iampassctl", "help", "user", ""), [])

    def test_bash_completes_files_and_folders(self):
        for words in (
            ("iampass-server", "serve", "--tls-cert"), ("iampass-server", "serve", "--tls-key"),
            ("iampass-phone", "register", "--ca"), ("iampass-phone", "status", "--state"),
            ("iampassctl", "setup", "--secret-file"), ("iampassctl", "setup", "--ca"),
        ):  # fmt: skip
            self.assertEqual(sorted(self.completed(*words, "f")), ["file", "folder"], words)
        for command in ("serve", "audit", "backup", "console-link"):
            self.assertEqual(self.completed("iampass-server", command, "--data", "f"), ["folder"], command)
        for group, command in (("application", "create"), ("application", "set"), ("host-credential", "list")):
            self.assertEqual(self.completed("iampass-server", group, command, "--data", "f"), ["folder"], command)


if __name__ == "__main__":
    unittest.main()
