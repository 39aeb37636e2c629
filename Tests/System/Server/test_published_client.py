"""The service's own published Python clients, unchanged, against this one."""

import json
import os
import pathlib
import subprocess
import time
import unittest

from Support.Service.server import PACKAGING, ServerWorld
from Support.Service.world import PATIENCE


class Client:
    """A client in a process of its own, step by step."""

    def __init__(self, package, address_variable, python):
        self.process = subprocess.Popen(
            [python, str(pathlib.Path(__file__).with_name("published_client.py")), package,
             world.application["application_id"], world.application["application_secret"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"PATH": os.environ["PATH"], address_variable: world.address, "SSL_CERT_FILE": world.certificate})

    def __call__(self, call, *arguments):
        self.process.stdin.write(json.dumps({"call": call, "arguments": arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the client ended in {call}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


class PublishedClient:
    """What holds for each of them. `in_time` is what its `authenticate` takes for a session of ten minutes."""

    package = address_variable = None
    in_time = ()

    @classmethod
    def setUpClass(cls):
        done = subprocess.run(
            [os.path.join(PACKAGING, "published-client"), cls.package], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            said = done.stderr.strip().replace("\n", "; ")
            raise unittest.SkipTest(f"the published client {cls.package} could not be installed: {said}")
        cls.python = done.stdout.strip()

    def setUp(self):
        self.state = f"{self.package}.json"
        self.client = Client(self.package, self.address_variable, self.python)
        self.addCleanup(self.client.close)

    def wait_for_status(self, *words):
        end = time.monotonic() + PATIENCE
        while (status := self.client("status")) not in words and time.monotonic() < end:
            time.sleep(0.1)
        return status

    def test_a_users_life_from_add_to_delete(self):
        client, user = self.client, f"ada+lovelace @büro/1 {self.package}"
        self.assertEqual(client("add_user", user), "success")
        self.assertEqual(client("add_user", user), "user_exists")
        self.assertEqual(client("add_users", [user, self.package]), [[self.package], [user]])
        self.assertEqual(client("has_registered_mobile_device", user), "no_mobile_device")
        self.assertEqual(client("authenticate", user), {"in_progress": False, "reason": "NO_MOBILE_DEVICE"})
        link = client("get_registration_link", user, "Ada Lovelace")
        self.assertTrue(link.startswith(world.address + "/register/"), link)
        world.phone_registered(link, self.state)
        self.assertEqual(client("has_registered_mobile_device", user), "has_mobile_device")

        self.assertEqual(client("authenticate", user, *self.in_time), {"in_progress": True, "reason": None})
        self.assertIn(client("status"), ["pending", "identifying"])
        phone = world.phone("approve", "--once", state=self.state)
        self.addCleanup(phone.stop)
        self.assertEqual(self.wait_for_status("active", "failed", "timeout", "cancelled"), "active")
        self.assertIs(client("destroy"), True)
        self.assertEqual(client("status"), "closed")

        self.assertEqual(client("authenticate", user, ["acceptance"])["in_progress"], True)
        phone = world.phone("deny", "--once", state=self.state)
        self.addCleanup(phone.stop)
        self.assertEqual(self.wait_for_status("active", "failed", "timeout", "cancelled"), "cancelled")

        self.assertIs(client("send_registration_sms", user, "Ada", "+4915112345678", None), False)
        self.assertEqual(client("delete_user", user), "success")
        self.assertEqual(client("has_registered_mobile_device", user), "failed")


class IAMPASS(PublishedClient, unittest.TestCase):
    package, address_variable, in_time = "IAMPASS", "IAMPASS_SERVER", (None, 600)


class Activeconnect(PublishedClient, unittest.TestCase):
    package, address_variable = "Activeconnect", "ACTIVE_CONNECT_SERVER"


if __name__ == "__main__":
    unittest.main()
