"""What the tests of recovery codes share."""

import glob
import json
import re

from sign_in_case import SignInCase, world_with_a_phone
from Support.Service.world import ENROLLED, program, run

# Nobody listens there.
NOWHERE = "https://127.0.0.1:1"
OFFER = "Server not reachable. Recovery code, or password: "
NOT_TAKEN = "IAMPASS: that is not one of your unused recovery codes"
TRIED = r"IAMPASS: too many codes were tried; try again in \d+ minutes\. Use your password\."
WRONG = ["00000-00000", "00000-00001", "00000-00002", "00000-00003", "00000-00004"]


def open_world():
    """For one module's tests: the real service, and a user's phone."""
    Recovery.world = world_with_a_phone()
    Recovery.world.configure()
    return Recovery.world


def make_codes():
    shown = run(program("iampassctl"), "recovery", "create", "--any-output", ENROLLED, "--config", Recovery.world.path("iampass.conf"))
    return re.findall(r"\b[0-9a-z]{5}-[0-9a-z]{5}\b", shown)


def left():
    words = ("recovery", "list", "--json", "--config", Recovery.world.path("iampass.conf"))
    return json.loads(run(program("iampassctl"), *words))[0]["left"]


class Recovery(SignInCase):
    def setUp(self):
        super().setUp()
        self.world.configure(methods_offline="recovery")
        self.codes = make_codes()
        self.world.configure(server=NOWHERE)

    def set_file(self):
        return next(path for path in glob.glob(self.world.path("state", "recovery", "*")) if re.fullmatch(".*/[0-9a-f]{64}", path))
