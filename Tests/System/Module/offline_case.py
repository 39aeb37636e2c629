"""What tests of sign-ins without a network share: a phone that the computer knows, and a service that is down."""

import glob
import json
import os
import re
import time

from cryptography.hazmat.primitives import serialization
from sign_in_case import SignInCase, world_with_a_phone
from Support.Service import offline
from Support.Service.world import ENROLLED, PATIENCE, SUCCESS, program, read, run

# Nobody listens there.
NOWHERE = "https://127.0.0.1:1"
NOT_TAKEN = "IAMPASS: your phone does not show these digits for this sign-in"
TRIED = r"IAMPASS: too many codes were tried; try again in \d+ minutes\. Use your password\."
WRONG = ["00000000", "00000001", "00000002", "00000003", "00000004"]


def links(text):
    return re.findall(r"https://\S+/phone/#offline=\S+", text)


class OfflineCase(SignInCase):
    settings = {"methods_offline": "phone"}

    @classmethod
    def phone_state(cls):
        return json.loads(read(cls.world.path("phone.json")))

    @classmethod
    def private_key(cls, name):
        return serialization.load_der_private_key(offline.base64.b64decode(cls.phone_state()[name]), None)

    @classmethod
    def pin(cls):
        """The computer knows the phone's key."""
        key = offline.spki(cls.private_key("private_key").public_key())
        cls.world.write("phones", f"{ENROLLED}:{cls.phone_state()['device']}:{key}:::1700000000:test\n", 0o644)

    def setUp(self):
        super().setUp()
        self.world.configure(approvals="verified", **self.settings)
        if not os.path.exists(self.world.path("state", "offline", "key")):
            self.meet()
        self.world.configure(server=NOWHERE)

    def meet(self):
        """A sign-in with the service: from now on the computer knows the phone."""
        self.world.configure(server=self.world.address)
        with self.world.playing() as results:
            code = self.world.code_on_the_screen()
            run(program("iampass-phone"), "watch", "--state", self.world.path("phone.json"), "--answer", "approve", "--code", code)
        self.assertEqual(results[0]["codes"], [SUCCESS], results[0])

    def link(self, count=1):
        """The last link that the prompt shows, once there are `count`."""
        end = time.monotonic() + PATIENCE
        while len(found := links(read(self.world.path("screen")))) < count:
            self.assertLess(time.monotonic(), end, read(self.world.path("screen")))
            time.sleep(0.02)
        return found[-1]

    def digits(self, link):
        return offline.digits(link, self.private_key("agreement_private_key"))

    def type(self, text):
        self.world.answer("typed", text)

    def wait_until_taken(self):
        end = time.monotonic() + PATIENCE
        while os.path.exists(self.world.path("typed")):
            self.assertLess(time.monotonic(), end, "nobody reads what is typed")
            time.sleep(0.02)

    @property
    def typed(self):
        return {"file": self.world.path("typed")}

    def signed_in(self, answers=(), **scene):
        """A sign-in by the digits of the link that it shows; `answers` come before them."""
        with self.world.playing(answers=[*answers, self.typed], **scene) as results:
            self.type(self.digits(self.link()))
        return results[0]

    def met_file(self):
        [path] = glob.glob(self.world.path("state", "offline", "*.*"))
        return path

    def uses(self):
        return [json.loads(read(path)) for path in glob.glob(self.world.path("state", "offline", "uses", "*"))]


def setUpModule():
    SignInCase.world = world_with_a_phone()
    SignInCase.world.configure()
    OfflineCase.pin()
