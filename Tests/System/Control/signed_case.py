"""The real service with administrators' phones that sign its list of users, and a computer that has joined it."""

import contextlib
import os
import re
import sqlite3
import unittest

from control import ControlWorld
from Support.Service.server import until
from Support.Service.world import program, read, run


class SignedWorld(ControlWorld):
    """With the administrator ada, whose phone signs whatever it is asked, and the computer desk-1 with its helper."""

    def __init__(self):
        super().__init__()
        unittest.addModuleCleanup(self.close)
        self.serve()
        os.unlink(self.path("users"))
        os.unlink(self.path("credentials"))
        # daemon stands for a person.
        self.configure(server=None, ca_file=None, users_from_service="1-59999")
        self.register(self.command("administrator", "add", "ada", "--role", "admin"), "ada.json")
        self.ada = self.signing_phone("ada.json")
        self.command("administrator", "start-signing")
        made = self.command("join-code", "create", "tests", "--unattended", "--certificate", self.certificate)
        self.code = made.split()[-1]
        self.joined = self.ctl("join", self.address, self.code, "--name", "desk-1", "--yes")
        # What play() goes by.
        self.configure(**dict(re.findall(r"^(\w+) = (.*)$", read(self.path("iampass.conf")), re.MULTILINE)))
        self.start_helper()

    def command(self, *words):
        return run(program("iampass-server"), *words, "--data", self.path("data"))

    def register(self, told, state):
        link = re.search(r"https://\S+/register/\S+", told)[0]
        run(program("iampass-phone"), "register", link, "--state", self.path(state), "--ca", self.certificate, "--force")

    def signing_phone(self, state):
        phone = self.phone("approve", "--sign-documents", state=state)
        unittest.addModuleCleanup(phone.stop)
        return phone

    def sign(self):
        return self.command("user", "sign", "tests", "--as", "ada")

    def start_helper(self, line=""):
        """Starts it, again too, and waits for this line; empty: for nothing."""
        self.helper = self.start(program("iampass-helper"), "--config", self.path("iampass.conf"))
        if line:
            self.helper.wait_for(line)

    def kept(self, name):
        path = self.path("state/service/" + name)
        return re.findall(r"^([^#:\n]+):", read(path), re.MULTILINE) if os.path.exists(path) else []

    def known(self, users, phones=()):
        """Waits until the computer has these."""
        until(lambda: (self.kept("users"), self.kept("phones")) == (list(users), list(phones)),
              lambda: f"the computer has {self.kept('users')} and phones of {self.kept('phones')}: {self.helper.lines}", 30)  # fmt: skip

    def sql(self, text, *values):
        with contextlib.closing(sqlite3.connect(self.path("data/iampass.sqlite"), timeout=30)) as database, database:
            return database.execute(text, values).fetchall()
