"""What the tests of sealed passwords share: a stack, and the keyring's service."""

import contextlib
import hashlib
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import threading

from sign_in_case import SignInCase
from Support.Service.world import ENROLLED, PATIENCE, program, read

UID = pwd.getpwnam(ENROLLED).pw_uid
PASSWORD = "the right one"
STACK = """auth [success=2 maxtries=die perm_denied=die abort=die default=ignore] {module} prompt=choose timeout=20s
auth [success=1 default=ignore] pam_exec.so quiet expose_authtok {folder}/is-right
auth requisite pam_deny.so
auth required pam_permit.so
auth optional {module} keyring
auth optional pam_exec.so quiet expose_authtok {folder}/unlock
account required pam_permit.so
session required {module}
"""


def shadow_print(user):
    """What the product compares of shadow(5)."""
    line = next(line for line in read("/etc/shadow").splitlines() if line.startswith(f"{user}:"))
    return hashlib.sha256(line.split(":")[1].encode()).hexdigest()


class KeyringCase(SignInCase):
    def setUp(self):
        super().setUp()
        self.configure("sealed")
        self.script("is-right", f'[ "$(tr -d "\\0")" = "{PASSWORD}" ]')
        self.script("unlock", f'tr -d "\\0" >{self.world.path("unlocked-with")}')
        for service in ("lightdm", "login"):
            self.world.pam(service, lines=STACK.format(
                module=f"{self.world.path('pam_iampass.so')} config={self.world.path('iampass.conf')}", folder=self.world.folder))
        shutil.rmtree(self.world.path("state", "keyring"), ignore_errors=True)
        self.said = []
        self.serve()

    def configure(self, keyring):
        self.world.configure(services="lightdm login", keyring=keyring)

    def script(self, name, text):
        self.world.write(name, f"#!/bin/sh\n{text}\n")
        os.chmod(self.world.path(name), 0o755)

    def serve(self):
        """As systemd has iampass-keyring.socket: a process for each caller."""
        os.makedirs(self.world.path("run"), 0o700, exist_ok=True)
        path = pathlib.Path(self.world.path("run", "keyring"))
        path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(path))
        listening.listen(16)
        server = threading.Thread(target=self.answer, args=(listening,))
        server.start()
        self.addCleanup(server.join)
        self.addCleanup(listening.close)
        self.addCleanup(listening.shutdown, socket.SHUT_RDWR)

    def answer(self, listening):
        with contextlib.suppress(OSError):
            while True:
                caller, _ = listening.accept()
                with caller:
                    done = subprocess.run(
                        [program("iampass-helper"), "--keyring", "--config", self.world.path("iampass.conf")],
                        stdin=caller, stderr=subprocess.PIPE, text=True, check=False)
                self.said.append(done.stderr)

    def sign_in(self, answer, *calls, service="lightdm", user=ENROLLED):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.world.path("unlocked-with"))
        return self.world.play(service, user, own=False, answers=[answer], calls=calls or ("authenticate",))

    def sign_in_by_password(self, password=PASSWORD, user=ENROLLED):
        result = self.sign_in(password, "authenticate", "open_session", user=user)
        self.wait_for_the_service()
        return result

    @staticmethod
    def wait_for_the_service():
        """Until what it said to the callers before is known: it takes one after the other."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.connect(KeyringCase.world.path("run", "keyring"))
            other.shutdown(socket.SHUT_WR)
            other.recv(1)

    @staticmethod
    def ctl(*words, code=0):
        """What iampassctl says; a code of None is any."""
        done = subprocess.run(
            [program("iampassctl"), *words, "--config", KeyringCase.world.path("iampass.conf")], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=PATIENCE, check=False)
        if code is not None and done.returncode != code:
            raise AssertionError(f"{words} exited with {done.returncode}: {done.stdout}")
        return done.stdout

    @staticmethod
    def seal(uid=UID, **payload):
        """As if it had been sealed by this computer before."""
        sealed = subprocess.run(
            ["systemd-creds", "encrypt", "--with-key=host", f"--name=iampass-keyring-{uid}", "-", "-"],
            input=json.dumps(payload).encode(), capture_output=True, check=True).stdout
        for folder in (KeyringCase.world.path("state"), KeyringCase.world.path("state", "keyring")):
            pathlib.Path(folder).mkdir(0o700, exist_ok=True)
        path = pathlib.Path(KeyringCase.world.path("state", "keyring", f"{uid}.host"))
        path.touch(0o600)
        path.write_bytes(sealed)

    def request(self, sent):
        """As root may send one; no password comes back."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            caller.connect(self.world.path("run", "keyring"))
            caller.sendall(sent)
            caller.shutdown(socket.SHUT_WR)
            self.assertEqual(caller.recv(1_024), b"")
        self.wait_for_the_service()

    def unlocked_with(self):
        return read(self.world.path("unlocked-with"))

    def kept(self):
        folder = pathlib.Path(self.world.path("state", "keyring"))
        # A hidden file says when something was forgotten.
        return sorted(path.name for path in folder.glob("[!.]*")) if folder.exists() else []
