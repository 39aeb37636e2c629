"""A service whose own keys are sealed in its database."""

import glob
import json
import os
import subprocess

from Support.Service import app_keys
from Support.Service.server import ServerWorld
from Support.Service.world import PATIENCE, program

#: How each private key in clear begins, whatever its kind.
CLEAR = b"PRIVATE KEY"


class SealedWorld(ServerWorld):
    """A service with a key for apps' notifications and one that signs tokens."""

    def begin(self, *where):
        """`where`: the options that name the database; by default the folder `data`."""
        self.where = where or ("--data", self.path("data"))
        self.file = self.path("seal-keys")
        keys = app_keys.AppKeys(self.path("keys"))
        self.secret = keys.read("AuthKey.p8").splitlines()[1]
        self.does("application", "notifications", "apple", "office", *keys.apple_token)
        self.kid = self.does("signing-key", "list").split()[0]

    def server_command(self, *words, **options):
        return subprocess.run(
            [program("iampass-server"), *words, *self.where], capture_output=True, text=True, timeout=PATIENCE, **options)

    def does(self, *words, **options):
        done = self.server_command(*words, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def seal(self, *words):
        return self.does("database", "seal", "--seal-key-file", self.file, *words)

    def seal_with_the_service(self):
        """As the manual says without systemd: the key, a service that has it, and the seal."""
        self.seal("--key-only")
        self.restart_server("--seal-key-file", self.file)
        return self.seal()

    def hide_servers(self):
        """As one of an older version is hidden: a command does not see that it runs."""
        for name in glob.glob(self.path("data", "serving-*")):
            os.unlink(name)

    def lines_of_keys(self):
        if not os.path.exists(self.file):
            return []
        with open(self.file) as file:
            return [line for line in file.read().splitlines() if line.startswith("iampass-seal-key-1 ")]

    def file_says_sealed(self):
        with open(self.file) as file:
            return "iampass-sealed-1" in file.read().splitlines()

    def published(self):
        code, _, text = self.get("/.well-known/jwks.json")
        return [key["kid"] for key in json.loads(text)["keys"]] if code == 200 else code
