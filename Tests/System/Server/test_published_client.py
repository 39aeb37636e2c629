"""The service's own published Python client, unchanged, against this one."""

import json
import os
import pathlib
import subprocess
import time
import unittest

from server import PACKAGING, ServerWorld
from world import PATIENCE


class Client:
    """The client in a process of its own, step by step."""

    def __init__(self, python, world):
        self.process = subprocess.Popen(
            [python, str(pathlib.Path(__file__).with_name("published_client.py")), world.application["application_id"],
             world.application["application_secret"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={"PATH": os.environ["PATH"], "IAMPASS_SERVER": world.address, "SSL_CERT_FILE": world.certificate})  # fmt: skip

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
    global world, python
    done = subprocess.run([os.path.join(PACKAGING, "published-client")], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise unittest.SkipTest("IAMPASS 0.0.32 could not be installed: " + done.stderr.strip().replace("\n", "; "))
    python = done.stdout.strip()
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


class PublishedClient(unittest.TestCase):
    def setUp(self):
        self.client = Client(python, world)
        self.addCleanup(self.client.close)

    def wait_for_status(self, *words):
        end = time.monotonic() + PATIENCE
        while (status := self.client("status")) not in words and time.monotonic() < end:
            time.sleep(0.1)
        return status

    def test_a_users_life_from_add_to_delete(self):
        client, user = self.client, "ada+lovelace @büro/1"
        self.assertEqual(client("add_user", user), "success")
        self.assertEqual(client("add_user", user), "user_exists")
        self.assertEqual(client("add_users", [user, "bob"]), [["bob"], [user]])
        self.assertEqual(client("has_registered_mobile_device", user), "no_mobile_device")
        self.assertEqual(client("authenticate", user), {"in_progress": False, "reason": "NO_MOBILE_DEVICE"})
        link = client("get_registration_link", user, "Ada Lovelace")
        self.assertTrue(link.startswith(world.address + "/register/"), link)
        world.phone_registered(link)
        self.assertEqual(client("has_registered_mobile_device", user), "has_mobile_device")

        self.assertEqual(client("authenticate", user, None, 600), {"in_progress": True, "reason": None})
        self.assertIn(client("status"), ["pending", "identifying"])
        phone = world.phone("approve", "--once")
        self.addCleanup(phone.stop)
        self.assertEqual(self.wait_for_status("active", "failed", "timeout", "cancelled"), "active")
        self.assertIs(client("destroy"), True)
        self.assertEqual(client("status"), "closed")

        self.assertEqual(client("authenticate", user, ["acceptance"])["in_progress"], True)
        phone = world.phone("deny", "--once")
        self.addCleanup(phone.stop)
        self.assertEqual(self.wait_for_status("active", "failed", "timeout", "cancelled"), "cancelled")

        self.assertIs(client("send_registration_sms", user, "Ada", "+4915112345678", None), False)
        self.assertEqual(client("delete_user", user), "success")
        self.assertEqual(client("has_registered_mobile_device", user), "failed")


if __name__ == "__main__":
    unittest.main()
