"""A private world for iampassctl: the real service and phone, a configuration folder, and a terminal."""

import io
import os
import re
import shutil
import subprocess
import unittest

import pexpect

from Support.Service.never import assert_hidden
from Support.Service.world import PATIENCE, World, program, read, run

# sysexits.h
USAGE, DATA, NO_USER, UNAVAILABLE, CANNOT_CREATE, PROTOCOL, NO_PERMISSION, CONFIG = 64, 65, 67, 69, 73, 76, 77, 78
NO_INPUT, IO_ERROR = 66, 74
# 128 + SIGINT
INTERRUPTED = 130

#: The stack that pam-auth-update makes of what the package ships.
SHIPPED = """auth [success=2 maxtries=die perm_denied=die abort=die default=ignore] MODULE
auth [success=1 default=ignore] pam_unix.so try_first_pass
auth requisite pam_deny.so
auth required pam_permit.so
"""


#: Runs a command where one more program lies in /usr/bin, in a mount namespace that ends with the command.
WITH_PROGRAM = """
stage=$1 name=$2
shift 2
mount -t tmpfs tmpfs "$stage"
mkdir "$stage/more" "$stage/work"
printf '#!/bin/sh\\n' >"$stage/more/$name"
chmod 755 "$stage/more" "$stage/more/$name"
mount -t overlay overlay -o "lowerdir=/usr/bin,upperdir=$stage/more,workdir=$stage/work" /usr/bin
exec "$@"
"""


class Answer:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.text = done.stdout + done.stderr


class ControlWorld(World):
    """iampassctl goes by this folder's configuration."""

    def with_program(self, name):
        """The words that run others on a computer that has one more program."""
        os.makedirs(self.path("stage"), exist_ok=True)
        return ["unshare", "--mount", "sh", "-ec", WITH_PROGRAM, "sh", self.path("stage"), name]

    def ctl(self, *words, configured=True, before=(), **options):
        """Runs iampassctl without a terminal; `before`: by these words."""
        environment = {"PATH": os.environ["PATH"], **options.pop("environment", {})}
        config = ["--config", self.path("iampass.conf")] if configured else []
        end = words.index("--") if "--" in words else len(words)
        done = subprocess.run(
            [*before, program("iampassctl"), *words[:end], *config, *words[end:]], capture_output=True, text=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, env=environment, **options)
        answer = Answer(done)
        self.check_no_secret(answer.text)
        return answer

    def ctl_to_a_full_disk(self, *words):
        """Runs iampassctl with a standard output that takes nothing."""
        with open("/dev/full", "w") as full:
            done = subprocess.run(
                [program("iampassctl"), *words, "--config", self.path("iampass.conf")], stdout=full,
                stderr=subprocess.PIPE, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                env={"PATH": os.environ["PATH"]})  # fmt: skip
        done.stdout = ""
        return Answer(done)

    def terminal(self, *words, columns=120, rows=60, environment=None, timeout=60):
        """Runs iampassctl on a terminal."""
        child = pexpect.spawn(
            program("iampassctl"), [*words, "--config", self.path("iampass.conf")], timeout=timeout, encoding="utf-8",
            dimensions=(rows, columns), env={"PATH": os.environ["PATH"], "TERM": "xterm", **(environment or {})})
        child.delaybeforesend = 0.05
        child.screen = io.StringIO()
        child.logfile_read = child.screen
        return child

    def finish(self, child):
        """Reads to the end; the exit status."""
        child.expect(pexpect.EOF)
        child.close()
        self.check_no_secret(child.screen.getvalue())
        return child.exitstatus

    def check_no_secret(self, text):
        for secret in self.secrets():
            assert_hidden(secret, text)

    def set_up_for_sudo(self):
        """Signed replies, and sudo alone, which asks the phone by the stack as shipped."""
        self.settings = {
            "server": self.address, "ca_file": self.certificate, "signed_replies": "required",
            "signed_targets": "required", "services": "sudo",
        }  # fmt: skip
        self.configure()
        shutil.rmtree(self.path("pam.d"))
        os.mkdir(self.path("pam.d"))
        self.pam("sudo", arguments="timeout=20s", lines=SHIPPED)

    def application(self):
        """A new application's id and secret."""
        self.made = getattr(self, "made", 0) + 1
        words = ("application", "create", f"more{self.made}", "--data", self.path("data"), "--match-code", "off")
        made = run(program("iampass-server"), *words)
        values = dict(re.findall(r"^(\w+)\s*=\s*(\S+)", made, re.MULTILINE))
        return values["application_id"], values["application_secret"]

    def snapshot(self):
        """Names, modes and contents of everything in the configuration's folder that iampassctl may write."""
        found = {}
        for name in sorted(os.listdir(self.folder)):
            path = self.path(name)
            is_lock = name.endswith(".lock")
            if os.path.isfile(path) and not is_lock and name.split(".")[0] in ("iampass", "credentials", "users"):
                status = os.stat(path)
                found[name] = (oct(status.st_mode & 0o7777), read(path))
        return found

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def users(self):
        """What the users file has: names and tokens."""
        path = self.path("users")
        return dict(line.split(":", 1) for line in read(path).splitlines() if ":" in line) if os.path.exists(path) else {}


def world_with_a_phone():
    """For a module's setUpModule; it is closed after the module's tests."""
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    world.register_phone()
    return world
