"""Notifications where nothing but a proxy leads out of the service's network."""

import unittest

import push_service
from office import until
from test_push import PushCase, setUpModule  # noqa: F401: what its tests need


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
        sign_in = self.office.sign_in(self.user, command="a-secret-command")
        self.assertEqual(self.subscription.open(self.service.message()[2])["session"], sign_in.id)
        [head] = self.proxy.heads
        place = self.service.address.removeprefix("https://")
        self.assertEqual(head, f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")

    def test_a_proxy_that_refuses_is_said_and_is_not_passed_by(self):
        self.turn_on()
        self.proxy.status = 407
        self.office.sign_in(self.user)
        until(
            lambda: any("could not ring a phone" in line and "407" in line for line in self.office.lines),
            lambda: f"the service's word for it, in {self.office.lines}")
        self.assertEqual(self.service.messages, [])


if __name__ == "__main__":
    unittest.main()
