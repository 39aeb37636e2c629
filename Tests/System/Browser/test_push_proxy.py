"""Notifications where nothing but a proxy leads out of the service's network."""

import unittest

from browser_world import until
from Support.Service import push_service
from push_case import PushCase, setUpModule  # noqa: F401: what its tests need


class ByProxy(PushCase):
    @classmethod
    def setUpClass(cls):
        cls.proxy = push_service.ConnectProxy()
        cls.addClassCleanup(cls.proxy.close)
        cls.server_options = (*PushCase.server_options, "--push-proxy", cls.proxy.address)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.proxy.heads, self.proxy.status = [], 200

    def test_the_phone_rings_through_the_proxy_which_reads_nothing(self):
        self.turn_on()
        sign_in = self.world.sign_in(self.user, command="a-secret-command")
        self.assertEqual(self.subscription.open(self.service.message()[2])["session"], sign_in.id)
        [head] = self.proxy.heads
        place = self.service.address.removeprefix("https://")
        self.assertEqual(head, f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")

    def test_a_proxy_that_refuses_is_said_and_is_not_passed_by(self):
        self.turn_on()
        self.proxy.status = 407
        # A proxy that closes at once must not be faster than its own word.
        for number in range(1, 11):
            self.world.sign_in(self.user, host=f"desk-{number}").log_out()
            until(lambda number=number: len(self.said()) == number, f"the service's word for number {number}")
        self.assertEqual([line for line in self.said() if "407" not in line], [])
        self.assertEqual(self.service.messages, [])

    def said(self):
        return [line for line in self.world.lines if "could not ring a phone" in line]


if __name__ == "__main__":
    unittest.main()
