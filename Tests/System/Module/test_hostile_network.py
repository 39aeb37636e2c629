"""A network that swallows what it is given, name servers that do not serve, and an HTTP/2 that breaks its own rules."""

import secrets
import socket
import struct
import threading
import unittest

from Support.HostileService.full_listener import FullListener
from Support.HostileService.hostile_case import ACTIVE, START, TIMEOUT, USUAL, Case, hostile_world, started, status
from Support.HostileService.hostile_replies import FAULTS, raw, reply
from Support.HostileService.hostile_service import SERVICES, HostileService
from Support.HostileService.http2_service import FAULTS as HTTP2_FAULTS
from Support.HostileService.http2_service import STATUS_200, STATUS_202, HTTP2Service, answer
from Support.Service.world import AUTHINFO_UNAVAIL, AUTH_ERR, MAXTRIES, SUCCESS

#: In seconds, beyond the worker's own limits, for a slow machine; with these it is less than the 15 s that the module waits for
#: the service to take a request.
SLOWNESS = 10


def setUpModule():
    global world
    world = hostile_world()


class NameServer:
    """A name server on an address of its own. `rcode`: what it answers everything with (RFC 1035, §4.1.1), None: nothing."""

    def __init__(self, rcode):
        self.rcode, self.questions = rcode, 0
        # A resolver uses port 53 only. Nobody has this address.
        self.address = "127.%d.%d.%d" % tuple(1 + secrets.randbelow(254) for _ in range(3))
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.address, 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                question, client = self.socket.recvfrom(4096)
            except OSError:
                return
            self.questions += 1
            if self.rcode is not None and client:
                self.socket.sendto(question[:2] + struct.pack(">BB", 0x81, 0x80 | self.rcode) + question[4:], client)

    def stop(self):
        # Wakes the thread, which a mere close would not.
        self.rcode = None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", (self.address, 53))
        self.socket.close()


class BlackHoles(Case):
    def test_packets_that_are_swallowed_cost_the_time_to_connect_and_no_more(self):
        self.serve()
        with FullListener() as port:
            world.configure(server=f"https://127.0.0.1:{port}")
            self.be_patient()
            self.play(AUTHINFO_UNAVAIL, seconds=3 + SLOWNESS, told="server not reachable (no answer)")

    def be_patient(self):
        """The whole sign-in's time must not end first."""
        world.pam("sudo", "prompt=push timeout=30s")
        self.addCleanup(world.pam, "sudo", USUAL)

    def with_name_server(self, rcode):
        self.serve()
        server = NameServer(rcode)
        self.addCleanup(server.stop)
        world.configure(server="https://service.example")
        world.write("resolv.conf", f"nameserver {server.address}\n", 0o644)
        world.write("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", 0o644)
        return server

    def play_with_files(self, told, seconds):
        files = {"/etc/resolv.conf": world.path("resolv.conf"), "/etc/nsswitch.conf": world.path("nsswitch.conf")}
        return self.play(AUTHINFO_UNAVAIL, seconds=seconds, told=told, files=files)

    def test_a_silent_name_server_costs_three_seconds_and_no_more(self):
        server = self.with_name_server(None)
        self.be_patient()
        self.play_with_files("server not reachable (name lookup timed out)", 3 + SLOWNESS)
        self.assertGreater(server.questions, 0)

    def test_name_servers_that_answer_nothing_are_said_at_once(self):
        # SERVFAIL and REFUSED are asked for again by glibc, NXDOMAIN is not.
        for name, rcode in (("NXDOMAIN", 3), ("SERVFAIL", 2), ("REFUSED", 5)):
            with self.subTest(name=name):
                server = self.with_name_server(rcode)
                self.be_patient()
                result = self.play_with_files("server not reachable (name", 4 + SLOWNESS)
                self.assertNotIn("timed out", " ".join(result["texts"]))
                self.assertGreater(server.questions, 0)

    def test_after_a_black_hole_the_next_sign_in_works(self):
        self.serve()
        with FullListener() as port:
            world.configure(server=f"https://127.0.0.1:{port}")
            self.play(AUTHINFO_UNAVAIL)
        self.serve()
        self.play(SUCCESS)


class Addresses(Case):
    """A name with several addresses, of which one serves."""

    NAME = "elsewhere.example"
    SERVES, REFUSING = "127.0.0.128", ("127.0.0.2", "127.0.0.3", "127.0.0.4")
    SILENT = ("127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8", "127.0.0.9", "127.0.0.10")

    def name_with(self, service, *addresses):
        """The scene in which the name has these addresses. Those of SILENT answer nothing."""
        world.configure(server=f"https://{self.NAME}:{service.port}")
        world.write("hosts", "".join(f"{address} {self.NAME}\n" for address in addresses), 0o644)
        world.write("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", 0o644)
        for address in set(addresses) & set(self.SILENT):
            listener = FullListener(address, service.port)
            listener.__enter__()
            self.addCleanup(listener.__exit__)
        return {"files": {"/etc/hosts": world.path("hosts"), "/etc/nsswitch.conf": world.path("nsswitch.conf")}}

    def sign_in_by(self, *addresses):
        service = self.serve("elsewhere")
        self.play(SUCCESS, seconds=12 + SLOWNESS, **self.name_with(service, *addresses))

    def setUp(self):
        world.pam("sudo", "prompt=push timeout=30s")
        self.addCleanup(world.pam, "sudo", USUAL)

    def test_addresses_that_refuse_hide_no_good_one(self):
        self.sign_in_by(*self.REFUSING, self.SERVES)

    def test_addresses_that_swallow_packets_hide_no_good_one(self):
        # One after the other they would use up the time of all: each has three seconds.
        self.sign_in_by(*self.SILENT, self.SERVES)

    def test_both_kinds_hide_no_good_one(self):
        self.sign_in_by(self.REFUSING[0], self.SILENT[0], self.REFUSING[1], self.SILENT[1], self.SERVES)

    def test_addresses_of_which_none_answers_cost_their_time_and_no_more(self):
        service = self.serve("elsewhere")
        scene = self.name_with(service, *self.SILENT)
        self.play(AUTHINFO_UNAVAIL, seconds=6 + SLOWNESS, told="server not reachable (no answer)", **scene)
        self.assertEqual(service.connections, 0)

    def test_the_first_address_is_asked_if_all_of_them_serve(self):
        service, others = self.serve("elsewhere"), []
        for address in self.REFUSING:
            others.append(self.listen(address, service.port))
        self.play(SUCCESS, **self.name_with(service, self.SERVES, *self.REFUSING))
        self.assertEqual([other.connections for other in others], [0, 0, 0])

    def test_the_address_that_connects_first_must_prove_the_name(self):
        service = self.serve("elsewhere")
        imposter = self.listen(self.REFUSING[0], service.port)
        scene = self.name_with(service, self.SILENT[0], imposter.address, self.SERVES)
        self.play(AUTHINFO_UNAVAIL, told="certificate is for another host", **scene)
        self.assertGreater(imposter.connections, 0)
        self.assertEqual(imposter.requests, [])

    def test_the_address_that_served_is_asked_first_at_the_next_connection(self):
        others, asked = [], []

        def start(stream, request):
            # From now on the address before it connects too, but serves nobody.
            others.append(self.listen(self.REFUSING[0], service.port))
            reply(202, started(), [("Connection", "close")])(stream, request)

        def active(stream, request):
            # The end of the session has a worker of its own, which knows of no address that served.
            asked.append((service.connections, [other.connections for other in others]))
            for other in others:
                other.stop()
            ACTIVE(stream, request)

        service = self.serve("elsewhere", start=start, status=active)
        self.play(SUCCESS, **self.name_with(service, self.REFUSING[0], self.SERVES))
        self.assertEqual(asked, [(2, [0])])

    def listen(self, address, port):
        """A service for another name, at this place."""
        service = HostileService(**SERVICES["good"], address=address, port=port)
        service.start()
        self.addCleanup(service.stop)
        return service


class LowLimits(Case):
    """FAULT H88: a caller who leaves the worker less memory, or fewer descriptors, than the worker's own limits."""

    OPENS = "auth [default=die ignore=ignore] MODULE\nauth required pam_permit.so\n"

    def test_a_name_that_is_not_found_opens_only_under_the_workers_own_limits(self):
        self.serve()
        world.configure(server="https://nowhere.example")
        world.write("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", 0o644)
        files = {"/etc/nsswitch.conf": world.path("nsswitch.conf")}
        world.pam("sudo", USUAL + " fail=open", self.OPENS)
        self.addCleanup(world.pam, "sudo", USUAL)
        self.play(SUCCESS, files=files)
        for limits in ({"NOFILE": 255}, {"AS": 511 << 20}, {"DATA": 511 << 20}):
            with self.subTest(limits=limits):
                self.play(
                    AUTHINFO_UNAVAIL, told="the network worker of this computer does not work", limits=limits, files=files)
        # The worker's own limit takes the place of a soft one.
        self.play(SUCCESS, limits={"DATA": [64 << 20, 1 << 40]}, files=files)


class RetryAfter(Case):
    TOLD = ("1", "0", "3600", "-1", "Fri, 31 Dec 2100 23:59:59 GMT", "garbage", "9" * 40, "")

    def test_a_start_that_is_put_off_is_not_sent_twice(self):
        for code in (429, 503):
            for told in self.TOLD:
                with self.subTest(code=code, told=told):
                    service = self.serve(start=status("{}", code, [("Retry-After", told)]))
                    self.play(AUTHINFO_UNAVAIL)
                    self.assertEqual(len(self.asked(service, START)), 1)

    def test_whatever_a_wait_is_told_it_ends_in_time(self):
        for told in ("3600", "9" * 40, "garbage"):
            with self.subTest(told=told):
                service = self.serve(status=status("{}", 429, [("Retry-After", told)]))
                self.play(AUTH_ERR)
                self.assertLessEqual(len(self.asked(service, "/s")), TIMEOUT + 1)


class Good(Case):
    def test_a_chunked_reply_is_a_reply(self):
        text = b'{"session_status":"active","authenticated":true}'
        pieces = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in text)
        self.serve(status=raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"))
        self.play(SUCCESS)


STARTED = answer(STATUS_202, started())
APPROVED = answer(STATUS_200, b'{"session_status":"active","authenticated":true}')
ENDED = answer(STATUS_200, b'{"status":true}')


class HTTP2(Case):
    # libcurl asks again if a service says that it did not process a request (RFC 9113 §8.7).
    GREATEST_TRIES = 8

    def serve(self, *answers):
        super().serve()
        service = HTTP2Service(HostileService.certificates(), answers)
        service.start()
        self.addCleanup(service.stop)
        self.addCleanup(lambda: self.assertEqual(service.broken, [], "the service itself went wrong"))
        self.world.configure(server=service.url)
        return service

    def test_this_service_signs_in_when_it_means_well(self):
        service = self.serve(STARTED, APPROVED, ENDED)
        result = self.play(SUCCESS)
        self.assertIn(service.requests, (3,) if not result["not_ended"] else (2, 3))

    def test_every_http_2_fault_at_the_start_is_unavailable(self):
        def check(name):
            service = self.serve(HTTP2_FAULTS[name])
            self.play(AUTHINFO_UNAVAIL)
            self.assertLessEqual(service.requests, self.GREATEST_TRIES)

        self.for_each(HTTP2_FAULTS, check)

    def test_no_http_2_fault_at_the_status_signs_in(self):
        def check(name):
            service = self.serve(STARTED, HTTP2_FAULTS[name])
            result = self.world.play()
            self.assertIn(result["codes"], ([AUTHINFO_UNAVAIL], [AUTH_ERR]))
            self.assertLess(result["calls"][0]["seconds"], TIMEOUT + 2 + SLOWNESS)
            self.assertLessEqual(service.requests, self.GREATEST_TRIES * (TIMEOUT + 2))

        self.for_each(HTTP2_FAULTS, check)


class LogOut(Case):
    """Harmless: the sign-in stands, and the end waits no longer than its own bound."""

    # Above the 2 s that a session's end may take.
    GREATEST = 2 + SLOWNESS

    def test_no_fault_at_the_end_of_a_session_holds_its_host(self):
        def check(name):
            service = self.serve(logout=name)
            result = self.world.play(calls=["authenticate", "setcred", "open_session", "close_session"])
            self.assertEqual(result["codes"], [SUCCESS] * 4)
            self.assertLess(result["wall"], result["calls"][0]["seconds"] + self.GREATEST)
            # In those two seconds a new worker has to load first.
            if not result["not_ended"]:
                self.assertGreater(len(self.asked(service, "/l")), 0)

        self.for_each(FAULTS, check)

    def test_an_end_that_the_service_does_not_take_is_logged(self):
        service = self.serve(logout="silent")
        result = self.play(SUCCESS)
        self.assertEqual(len(result["not_ended"]), 1, result)
        self.assertNotIn(result["not_ended"][0], result["log"])
        self.assertLessEqual(len(self.asked(service, "/l")), 1)

    def test_no_fault_at_a_cancellation_makes_a_denial_anything_else(self):
        def check(name):
            self.serve(status=status('{"session_status":"cancelled"}'), logout=name)
            self.play(MAXTRIES, seconds=self.GREATEST)

        self.for_each(FAULTS, check)


if __name__ == "__main__":
    unittest.main()
