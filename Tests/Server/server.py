"""A private world for the service's tests: the real service with its data, a phone, and signed requests."""

import json
import os
import re
import sqlite3
import ssl
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGING = os.path.join(HERE, "..", "..", "packaging")
sys.path[:0] = [os.path.join(HERE, "..", "Module"), os.path.join(PACKAGING, "test-host")]

import signed_requests  # noqa: E402, F401
from world import ENROLLED, PATIENCE, World, make_certificate, program, read, run  # noqa: E402, F401

# sysexits.h
USAGE, DATA, NO_INPUT, UNAVAILABLE, CANNOT_CREATE, IO, CONFIG = 64, 65, 66, 69, 73, 74, 78


class ServerWorld(World):
    def serve_alone(self, *more):
        """The service and an application, without a host."""
        self.key, self.certificate = make_certificate(self.folder)
        made = self.command("application", "create", "office", "--json", "--match-code", "off")
        assert made.returncode == 0, made.stderr
        self.application = json.loads(made.stdout)
        self.start_server("127.0.0.1:0", *more)

    def command(self, *words, data="data", **options):
        return subprocess.run(
            [program("iampass-server"), *words, "--data", self.path(data)], capture_output=True, text=True,
            timeout=PATIENCE, **options)

    def get(self, path, method="GET", body=None, headers=None, address=None):
        """Status, headers and text of an unsigned request."""
        request = urllib.request.Request((address or self.address) + path, method=method, data=body, headers=headers or {})
        context = ssl.create_default_context(cafile=self.certificate)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as reply:
                return reply.status, reply.headers, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read().decode()

    def phone_registered(self, link, state="phone.json"):
        run(program("iampass-phone"), "register", link, "--state", self.path(state), "--ca", self.certificate)

    def database(self, name="data/iampass.sqlite"):
        return sqlite3.connect(f"file:{self.path(name)}?mode=ro", uri=True, timeout=30)
