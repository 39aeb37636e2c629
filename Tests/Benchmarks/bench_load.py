"""What packaging/bench measures of the service under a company's load, on SQLite and on PostgreSQL at a socket."""

import asyncio
import contextlib
import itertools
import json
import os
import time

from bench_filled import ENGINES
from bench_phones import PATIENCE, Connection
from bench_rates import registered
from Support.Hosts.signed_requests import headers

#: What is asked: by undisturbed, then milliseconds and seconds.
MOST_BESIDE, LONGEST_START, LONGEST_END, LONGEST_LATE_START, LONGEST_ENDS = 3, 200, 10, 100, 60
#: Runs of each kind.
ROUNDS = 3
#: Unsigned requests a second that are tried, their connections, and the seconds of a run.
UNSIGNED, STRANGERS, SECONDS = 5_000, 100, 5
#: Seconds between a reply and the next request of a client: it must not be a load by itself.
PAUSE, START_PAUSE = 0.004, 0.02
#: Users of one add_users, whose body is bounded, and users that start sign-ins beside it in one run.
USERS, STARTERS = 5_000, 300
#: Live sessions, those of them that end in one run, and the milliseconds between two ends.
LIVE, ENDS, APART = 20_000, 20, 100
#: Seconds that a session's copy lasts, and after which the ends of all are given up.
LASTS, GIVEN_UP = 43_200, 300

# wrk itself knows no rate: each request waits for its turn.
SCRIPT = """
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, ns; } bench_time; int clock_gettime(int, bench_time *);")
local now, turn = ffi.new("bench_time"), 0
wrk.method = "POST"
function delay()
  ffi.C.clock_gettime(1, now)
  local ms = tonumber(now.s) * 1e3 + tonumber(now.ns) / 1e6
  turn = math.max(turn + 1e3 / %d, ms)
  return math.floor(turn - ms)
end
function done(summary, latency)
  io.write(string.format('{"requests": %%d, "seconds": %%f, "refused": %%d}\\n',
    summary.requests, summary.duration / 1e6, summary.errors.status))
end
"""


def measure_load(report, overdue):
    """`overdue`: sessions that are overdue when a server starts."""
    for engine in ENGINES:
        with contextlib.ExitStack() as ending:
            filled = engine()
            ending.callback(filled.close)
            report.part(f"A company's load on {filled.name}")
            asyncio.run(_measure(Load(filled, report), overdue))


async def _measure(load, overdue):
    load.say_machine("when this began")
    await load.sign_in()
    await load.measure_stranger()
    await load.measure_adding()
    await load.measure_ends()
    await load.measure_overdue(overdue)
    load.say_machine("when this ended")


def p99(times):
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]


class Load:
    def __init__(self, filled, report):
        """`filled`: the service, and its database that can be filled."""
        self.filled, self.report = filled, report
        self.services = filled.services()

    def say_machine(self, when):
        self.report.add(f"load of the machine, {when}", [os.getloadavg()[0]], "")

    async def sign_in(self):
        """The phone whose session's status is asked for beside all else."""
        [self.phone] = await registered(self.services[0], "holder", 1)
        async with Connection(self.services[0]) as connection:
            await self.phone.sign_in_again(connection)

    # Milliseconds of a client's requests, one after the other

    async def _statuses(self, connection, is_over):
        times = []
        while not times or not is_over():
            times.append(await self._timed(connection, self.phone.path, self.phone.signed_fields()))
            await asyncio.sleep(PAUSE)
        return times

    @staticmethod
    async def _timed(connection, path, fields):
        began = time.monotonic()
        await connection.ask("GET", path, fields)
        return (time.monotonic() - began) * 1_000

    @staticmethod
    async def _starts(service, phones, is_over):
        """Each of another user; and how many of them were refused."""
        times, refused = [], 0
        async with Connection(service) as connection:
            for phone in phones:
                if times and is_over():
                    break
                phone.service = service
                began = time.monotonic()
                try:
                    await phone.start(connection)
                    refused += phone.session["session_token"] is None
                except SystemExit as failed:
                    print(failed, flush=True)
                    refused += 1
                times.append((time.monotonic() - began) * 1_000)
                await asyncio.sleep(START_PAUSE)
        return times, refused

    # A stranger

    async def measure_stranger(self):
        async with Connection(self.services[0]) as connection:
            rounds = [await self._stranger(connection) for _ in range(ROUNDS)]
        alone, beside, rates = zip(*rounds)
        self.report.add(f"unsigned requests of one stranger, {UNSIGNED:,} tried", rates, "1/s")
        for name, of in (("median", lambda times: sorted(times)[len(times) // 2]), ("99th percentile", p99)):
            quiet, disturbed = [of(times) for times in alone], [of(times) for times in beside]
            self.report.add(f"a signed status undisturbed: {name}", quiet, "ms")
            self.report.add(f"a signed status beside the stranger: {name}", disturbed, "ms")
            self.report.add(f"{name}, beside the stranger by undisturbed", [
                one / other for one, other in zip(disturbed, quiet)], "", MOST_BESIDE)

    async def _stranger(self, connection):
        """Times without one and beside one, and how many requests a second the stranger had answered."""
        alone = await self._statuses(connection, _after(SECONDS))
        world, service = self.filled.world, self.services[0]
        world.write("stranger.lua", SCRIPT % UNSIGNED)
        stranger = await asyncio.create_subprocess_exec(
            "wrk", "-t1", f"-c{STRANGERS}", f"-d{SECONDS}s", "-s", world.path("stranger.lua"),
            f"{service.origin}/authentication/authenticate_user/{service.application}/{self.phone.user}",
            stdout=asyncio.subprocess.PIPE)
        # Its connections come first.
        await asyncio.sleep(SECONDS / 10)
        beside = await self._statuses(connection, _after(SECONDS * 0.8))
        said, _ = await asyncio.wait_for(stranger.communicate(), SECONDS + PATIENCE)
        seen = json.loads(said.decode().strip().splitlines()[-1])
        if seen["refused"] != seen["requests"]:
            raise SystemExit(f"bench: of {seen['requests']} unsigned requests {seen['refused']} were refused")
        return alone, beside, seen["requests"] / seen["seconds"]

    # Users are added

    async def measure_adding(self):
        self.starters = await registered(self.services[-1], "starter", STARTERS * (ROUNDS + 1))
        phones = iter(self.starters)
        alone, _ = await self._starts(self.services[-1], itertools.islice(phones, STARTERS), _after(GIVEN_UP))
        took, beside, refused = zip(*[
            await self._adding(number, itertools.islice(phones, STARTERS)) for number in range(ROUNDS)])
        self.report.add(f"{USERS:,} users added by one request{self.filled.elsewhere}", took, "s")
        self.report.add("a start undisturbed: 99th percentile", [p99(alone)], "ms")
        self.report.add("a start beside them: 99th percentile", [p99(times) for times in beside], "ms", LONGEST_START)
        self.report.add("of them refused", [sum(refused)], "", 0)

    async def _adding(self, number, phones):
        added = asyncio.Event()
        starts = asyncio.create_task(self._starts(self.services[-1], phones, added.is_set))
        # The starts are under way.
        await asyncio.sleep(0.1)
        began = time.monotonic()
        async with Connection(self.services[0]) as connection:
            await connection.ask_signed(
                "POST", f"/management/add_users/{self.services[0].application}",
                {"users": [f"{self.filled.USERS}{number}-{user}" for user in range(USERS)]})
        took = time.monotonic() - began
        added.set()
        return took, *await starts

    # Sessions end

    async def measure_ends(self):
        self.filled.copy_session(self.phone.session["session_name"], LIVE, _now(), LASTS)
        async with Connection(self.services[0]) as connection:
            quiet = await self._statuses(connection, _after(SECONDS))
            rounds = [await self._ends(number * ENDS, connection) for number in range(ROUNDS)]
        self.report.add(f"a signed status, {LIVE:,} sessions live: 99th percentile", [p99(quiet)], "ms")
        names = f"{ENDS} of them end: the request that ends one", "a signed status beside the ends"
        for name, times in zip(names, zip(*rounds)):
            self.report.add(f"{name}: 99th percentile", [p99(some) for some in times], "ms", LONGEST_END)

    async def _ends(self, first, others):
        """The times of the requests that find their sessions' time over, and of the statuses beside them."""
        begin = _now() + 1_000
        moments = [begin + APART * number for number in range(ENDS)]
        self.filled.set_ends(first, moments, LASTS)
        over = asyncio.Event()
        beside = asyncio.create_task(self._statuses(others, over.is_set))
        times = []
        async with Connection(self.services[0]) as connection:
            for number, moment in enumerate(moments, start=first):
                # A moment later: both clocks are in whole milliseconds.
                await asyncio.sleep(max(0, moment + 2 - _now()) / 1_000)
                path = f"/authentication/session_status/{self.filled.id(number)}"
                fields = headers(
                    self.filled.token(number), self.phone.session["session_secret"], self.services[0].origin + path)
                began = time.monotonic()
                told = await connection.ask("GET", path, fields)
                times.append((time.monotonic() - began) * 1_000)
                if told["session_status"] != "closed":
                    raise SystemExit(f"bench: the time of a session is over, and it is {told['session_status']}")
        over.set()
        return times, await beside

    async def measure_overdue(self, count):
        """As after a night's outage."""
        name = self.phone.session["session_name"]
        self.filled.stop()
        self.filled.forget_others(name)
        self.filled.copy_session(name, count, _now() - (LASTS + 3_600) * 1_000, LASTS)
        began = time.monotonic()
        service = self.filled.begin()
        ended = asyncio.Event()
        starts = asyncio.create_task(self._starts(service, iter(self.starters), ended.is_set))
        try:
            while await asyncio.to_thread(self.filled.has_live_copy):
                if time.monotonic() - began > GIVEN_UP:
                    raise SystemExit(f"bench: after {GIVEN_UP} s not all sessions that are overdue have ended")
                await asyncio.sleep(0.2)
            took = time.monotonic() - began
        finally:
            ended.set()
            times, refused = await starts
        self.report.add(f"{count:,} overdue at a server's start: to the last end", [took], "s", LONGEST_ENDS)
        self.report.add("starts beside the ends", [len(times)], "")
        self.report.add("a start beside the ends: 99th percentile", [p99(times)], "ms", LONGEST_LATE_START)
        self.report.add("of them refused", [refused], "", 0)


def _now():
    return int(time.time() * 1_000)


def _after(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end
