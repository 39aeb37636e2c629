"""Methods that a computer asks for, and the phone lacks."""

import concurrent.futures
import re
import unittest

from Support.Service import own_phone
from Support.Service.server import ServerWorld, until


class Training(unittest.TestCase):
    """A computer that asks for a method which the phone lacks."""

    def setUp(self):
        self.world = ServerWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone("--metrics-listen", "127.0.0.1:0")
        self.metrics = re.search(r"http://[0-9.:]+", self.world.server.wait_for("metrics on")).group(0)
        self.world.add_users("alice")
        path = f"/management/device_registration_link/{self.world.application['application_id']}/alice"
        self.link = self.world.signed("GET", path)["register_url"]

    def ask_for_the_screen_lock(self):
        path = f"/authentication/authenticate_user/{self.world.application['application_id']}/alice?methods=device"
        code, _, reply = self.world.ask("POST", path, {"context": {"host": "desk"}})
        self.assertEqual((code, reply["authentication_status"]["reason"]), (200, "METHOD_NOT_AVAILABLE"))

    def test_a_phone_of_ones_own_is_told_while_it_waits(self):
        phone = own_phone.OwnPhone(self.world)
        self.assertEqual(phone.register(self.link)[0], 200)
        self.assertEqual(phone.ask("status")[1]["training_required"], [])
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            # Held until something changes.
            waiting = pool.submit(phone.ask, "requests", headers={"Prefer": "wait=60"})
            until(self.held, "the held listing")
            self.ask_for_the_screen_lock()
            code, reply = waiting.result(30)
        self.assertEqual((code, reply["requests"], reply["training_required"]), (200, [], ["device"]))
        self.assertEqual(phone.ask("status")[1]["training_required"], ["device"])

    def held(self):
        """Whether the service holds a request."""
        numbers = self.world.get("/metrics", address=self.metrics)[2]
        return re.search(r"^iampass_requests_held 1$", numbers, re.MULTILINE)

    def test_the_command_says_what_it_cannot(self):
        self.world.phone_registered(self.link)
        phone = self.world.phone("approve")
        phone.wait_for("waiting for sign-ins")
        self.ask_for_the_screen_lock()
        phone.wait_for("a computer asked for device, which this command cannot prove")
        self.ask_for_the_screen_lock()
        self.world.started("desk")
        phone.wait_for("^approved$")
        self.assertEqual(phone.count("a computer asked for device"), 1)
        phone.stop()


if __name__ == "__main__":
    unittest.main()
