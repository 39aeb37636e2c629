"""A good service that then shows each fault: the helper ends no session, and goes on when the service recovers.

Every fault has a session of its own, and all are shown at once. The three observations are played once, in parallel; the tests
look at what happened.
"""

import concurrent.futures
import time
import unittest

from helper_world import ACTIVE, APPLICATION_SECRET, DONE, SESSION_SECRET, HelperWorld, until
from Support.HostileService.hostile_replies import FAULTS, reply
from Support.HostileService.hostile_service import SERVICES, HostileService
from Support.HostileService.http2_service import FAULTS as HTTP2_FAULTS
from Support.HostileService.http2_service import STATUS_200, HTTP2Service, answer
from Support.Service import ports
from Support.Service.never import assert_hidden, assert_nobody_ended

#: Statuses that say nothing about a session, or two things at once. Words such as "closed" do say something.
UNCLEAR = {
    "authenticated_false": '{"session_status":"active","authenticated":false}',
    "trailing": '{"session_status":"closed"}x',
    "twice": '{"session_status":"active","session_status":"closed"}',
    "two_places": '{"session_status":"active","authentication_status":{"session_status":"closed"}}',
    "array": '{"session_status":["closed"]}', "object": '{"session_status":{"closed":1}}', "number": '{"session_status":0}',
    "null": '{"session_status":null}', "text": '"closed"', "bare": "closed", "nothing": "", "other_case": '{"Session_Status":"closed"}',
    "nul_in_name": '{"session_status\\u0000":"closed"}', "nul_in_word": '{"session_status":"closed\\u0000"}',
    "deep": "[" * 60_000, "deep_objects": '{"a":' * 10_000, "infinite": '{"session_status":"closed","x":1e999}',
    "not_a_number": '{"session_status":"closed","x":NaN}', "bom": '\ufeff{"session_status":"closed"}',
    "pending": '{"session_status":"pending"}', "identifying": '{"session_status":"identifying"}',
}  # fmt: skip
#: Invalid UTF-8 (RFC 3629, §3, §10) beside a valid word. Some readers take these bytes for another letter.
NO_UTF_8 = {
    "stray": b"\xff", "continuation_alone": b"\x80", "cut_off": b"\xe2\x82", "overlong": b"\xc0\xaf", "overlong_nul": b"\xc0\x80",
    "surrogate": b"\xed\xa0\x80", "too_great": b"\xf4\x90\x80\x80", "latin_1": "geschlossen für".encode("latin-1"),
}  # fmt: skip
CLOSED = b'{"session_status":"closed","authenticated":false}'
#: A body that reports the end, under status codes that do not.
CODES = (201, 202, 206, 300, 301, 302, 307, 308, 304, 400, 401, 402, 403, 418, 429, 500, 502, 503, 504)
#: A silent reply takes 15 s, and then the next is asked; in seconds.
FAULTY_TIME = 25
#: On a slow machine; in seconds.
NOTICE_TIME = 130
#: In seconds, of the service that is well again.
CALM_TIME = 5
#: The helper's pace with its spread if replies are not held, in seconds.
LEAST_PAUSE = 4
#: The service is replaced by another one at its own address.
CONNECTIONS = [name for name, words in SERVICES.items() if name not in ("good", "no_address") and "address" not in words]
#: Over HTTP/2 the helper lets the service hold a reply for 55 s, so that it notices these after 70 s. By then it would
#: ask after the others a minute later only.
LASTING = ["silence", "slow_body", "empty_data_flood"]


def setUpModule():
    global replies, connections, lasting
    brief = [*CONNECTIONS, *(name for name in HTTP2_FAULTS if name not in LASTING), "gone"]
    observations = [RepliesObservation(), ConnectionsObservation(brief), ConnectionsObservation(LASTING)]
    with concurrent.futures.ThreadPoolExecutor(len(observations)) as players:
        replies, connections, lasting = players.map(Observation.play, observations)


def with_no_utf_8():
    """Replies that say the end, with such bytes in another value, in the word, in its name, in another name, and behind."""
    places = {
        "value": b'{"session_status":"closed","x":"%s"}', "word": b'{"session_status":"closed%s"}',
        "name": b'{"session_status%s":"closed"}', "other_name": b'{"session_status":"closed","%s":1}',
        "behind": b'{"session_status":"closed"}%s', "before": b'%s{"session_status":"closed"}',
    }
    return {f"{kind}_{place}": text % piece for kind, piece in NO_UTF_8.items() for place, text in places.items()}


class Observation:
    """What was seen while a service was faulty, and when it was well again."""

    def __init__(self):
        self.worlds, self.closers = {}, []
        self.never_noticed, self.never_well = [], []

    def play(self):
        try:
            self.prepare()
            until(lambda: all(map(self.is_well, self.names)), lambda: f"not watched: {self.unwell()}")
            began, cpu, asked = time.monotonic(), self.cpu(), self.asked()
            self.turn_bad()
            self.never_noticed = self.wait(self.is_unanswered, NOTICE_TIME)
            time.sleep(max(0, began + FAULTY_TIME - time.monotonic()))
            self.seconds = time.monotonic() - began
            self.cpu_used = {name: now - cpu[name] for name, now in self.cpu().items()}
            self.times_asked = {name: now - asked[name] for name, now in self.asked().items()}
            self.turn_good()
            self.never_well = self.wait(self.is_well, 120)
            calm, cpu = time.monotonic(), self.cpu()
            time.sleep(CALM_TIME)
            self.cpu_while_calm = {name: now - cpu[name] for name, now in self.cpu().items()}
            self.calm_seconds = time.monotonic() - calm
            self.peaks = [world.peak_kilobytes() for world in self.all_worlds()]
            self.orders = [order for world in self.all_worlds() for order in world.bus.orders]
            self.lost = [name for world in self.all_worlds() for name in set(world.records) - world.watched()]
            self.logs = [list(world.helper.lines) for world in self.all_worlds()]
            self.logged_seconds = time.monotonic() - began
            self.finish()
        finally:
            for close in reversed(self.closers):
                close()
        return self

    def wait(self, check, patience):
        """Names for which the check did not hold in time."""
        end = time.monotonic() + patience
        left = list(self.names)
        while left and time.monotonic() < end:
            left = [name for name in left if not check(name)]
            time.sleep(0.2)
        return left

    def all_worlds(self):
        return {id(world): world for world in self.worlds.values()}.values()

    def is_well(self, name):
        return self.worlds[name].is_well(name)

    def is_unanswered(self, name):
        return self.worlds[name].is_unanswered(name)

    def unwell(self):
        return [(name, self.worlds[name].note(name)) for name in self.names if not self.is_well(name)]

    def cpu(self):
        return {name: self.worlds[name].seconds_of_cpu() for name in self.names}


class RepliesObservation(Observation):
    """One helper, one service, a session for each faulty reply; one session's replies stay good."""

    def prepare(self):
        self.faults = {**FAULTS, **{name: reply(200, text.encode()) for name, text in UNCLEAR.items()}}
        self.faults.update({f"no_utf_8_{name}": reply(200, text) for name, text in with_no_utf_8().items()})
        self.faults.update({f"code_{code}": reply(code, CLOSED, [("Location", "/l")]) for code in CODES})
        # A page of a framework or proxy does not count as the service's answer.
        self.faults["page_not_found"] = reply(404, b"<html>gone</html>")
        self.faults["other_json_not_found"] = reply(404, b'{"status":404,"error":"Not Found"}')
        self.names = list(self.faults)
        world = HelperWorld()
        self.closers.append(world.close)
        self.service = HostileService().start()
        self.closers.append(self.service.stop)
        self.worlds = dict.fromkeys([*self.names, "sound"], world)
        self.turn_good()
        world.serve_by(self.service.url, self.service.ca_file)
        for name in self.worlds:
            world.watch(name)
        world.start_helper()

    def turn_good(self):
        self.service.behaviour = {"*": ACTIVE, "/l": DONE}

    def turn_bad(self):
        self.service.behaviour = {"*": ACTIVE, "/l": DONE, **{f"/s/{name}": fault for name, fault in self.faults.items()}}

    def asked(self):
        paths = [request.path for request in list(self.service.requests)]
        self.ends_told = paths.count("/l")
        return {name: paths.count(f"/s/{name}") for name in self.worlds}

    def finish(self):
        """The service's own word does end a session: this observation could have seen one."""
        world = self.worlds["sound"]
        until(lambda: world.is_well("sound"), "the sound service is not asked on", 60)
        self.service.behaviour["/s/sound"] = reply(200, CLOSED)
        until(lambda: world.bus.orders, "the word of the service ended nothing", 60)
        self.last_orders = list(world.bus.orders)
        self.session_of_sound = str(1 + list(world.records).index("sound"))


class ConnectionsObservation(Observation):
    """A helper and a service for each fault of the connection's."""

    def __init__(self, names):
        super().__init__()
        self.names, self.services = names, {}

    def prepare(self):
        for name in self.names:
            world = self.worlds[name] = HelperWorld()
            self.closers.append(world.close)
            good = answer(STATUS_200, b'{"session_status":"active","authenticated":true}')
            # The one that goes comes back at its port.
            port = ports.take() if name == "gone" else 0
            service = HTTP2Service(HostileService.certificates(), [good]) if name in HTTP2_FAULTS else HostileService(port=port)
            self.services[name] = service.start()
            self.closers.append(lambda name=name: self.services[name].stop())
            world.serve_by(service.url, HostileService.certificates().ca_file)
            if name not in HTTP2_FAULTS:
                service.behaviour = {"*": ACTIVE, "/l": DONE}
            world.watch(name)
            world.start_helper()

    def turn_bad(self):
        for name, service in self.services.items():
            if name in HTTP2_FAULTS:
                service.answer_by([HTTP2_FAULTS[name]])
            elif name == "gone":
                service.stop()
            else:
                service.become(**SERVICES[name])

    def turn_good(self):
        good = answer(STATUS_200, b'{"session_status":"active","authenticated":true}')
        for name, service in self.services.items():
            if name in HTTP2_FAULTS:
                service.answer_by([good])
                # A fault that would go on for a minute ends with its connection.
                if name in LASTING or name.endswith("_flood"):
                    service.hang_up()
            elif name == "gone":
                self.services[name] = HostileService(port=service.port).start()
                self.services[name].behaviour = {"*": ACTIVE, "/l": DONE}
            else:
                service.become()

    def asked(self):
        return {name: service.connections for name, service in self.services.items()}

    def finish(self):
        """Nothing more: the other observation shows that an end would have been seen."""


class Case:
    """What holds for either observation. No test by itself."""

    #: The share of one processor. A loop that spins takes all that there is; a flood takes what its sender leaves.
    GREATEST_SHARE, GREATEST_SHARE_OF_FLOODS = 0.5, 0.9
    GREATEST_KILOBYTES = 64 * 1024

    def test_every_fault_was_noticed(self):
        self.assertEqual(self.observation.never_noticed, [])

    def test_no_session_is_ended_or_locked(self):
        assert_nobody_ended(self.observation.orders)

    def test_every_record_stays(self):
        self.assertEqual(self.observation.lost, [])

    def test_every_session_is_watched_on_when_the_service_is_well_again(self):
        self.assertEqual(self.observation.never_well, [])

    def test_a_faulty_service_is_not_asked_more_often(self):
        greatest = self.tries * (2 + self.observation.seconds / LEAST_PAUSE)
        self.assertEqual({name: times for name, times in self.observation.times_asked.items() if times > greatest}, {})

    def test_faults_take_little_of_the_processor(self):
        for name, used in self.observation.cpu_used.items():
            share = self.GREATEST_SHARE_OF_FLOODS if name.endswith("_flood") else self.GREATEST_SHARE
            self.assertLess(used, share * self.observation.seconds, name)

    def test_nothing_spins_once_the_service_is_well_again(self):
        calm = self.observation.cpu_while_calm
        self.assertLess(max(calm.values()), self.GREATEST_SHARE * self.observation.calm_seconds, calm)

    def test_memory_stays_bounded(self):
        self.assertLess(max(self.observation.peaks), self.GREATEST_KILOBYTES)

    def test_the_log_names_the_fault_and_no_secret(self):
        for lines in self.observation.logs:
            complaints = [line for line in lines if "cannot ask about" in line]
            self.assertTrue(complaints, lines)
            # One line a minute, however many sessions and attempts.
            self.assertLessEqual(len(complaints), 2 + self.observation.logged_seconds / 60 * 2)
            for line in lines:
                self.assertLess(len(line), 1_200)
                self.assertNotRegex(line, "[\x00-\x1f\x7f-\x9f\u2028\u202e]")
                for secret in (APPLICATION_SECRET, SESSION_SECRET, "canary-token"):
                    assert_hidden(secret, line)


class Replies(Case, unittest.TestCase):
    #: If a kept connection turns out to be dead, the request is repeated once (RFC 9110, §9.2.2).
    tries = 2

    def setUp(self):
        self.observation = replies

    def test_a_session_beside_the_faulty_ones_is_asked_on(self):
        self.assertGreater(self.observation.times_asked["sound"], 1)

    def test_no_end_is_told_to_the_service(self):
        self.assertEqual(self.observation.ends_told, 0)

    def test_the_word_of_the_service_ends_that_session_and_no_other(self):
        self.assertEqual(self.observation.last_orders, [("TerminateSession", self.observation.session_of_sound)])


class Connections(Case, unittest.TestCase):
    #: Once more at once, also if a service says that it did not process a request (RFC 9113, §8.7).
    tries = 2

    def setUp(self):
        self.observation = connections


class Lasting(Case, unittest.TestCase):
    tries = 2

    def setUp(self):
        self.observation = lasting


if __name__ == "__main__":
    unittest.main()
