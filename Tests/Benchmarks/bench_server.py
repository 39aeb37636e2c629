"""What packaging/bench measures of iampass-server: signed requests, held requests, and how soon a leaving is known."""

import asyncio
import json
import os
import pathlib
import random
import re
import subprocess
import time
import urllib.request

from bench_phones import PATIENCE, Connection, Phone, Service, Streams

CONNECTIONS = 50
#: MiB and ms that are asked.
MOST_RESIDENT, LONGEST_NEWS = 300, 20
#: Requests on one HTTP/2 connection: what the service allows.
STREAMS = 100
#: Users of one add_users: its body is bounded.
BATCH = 500
#: After this many seconds a held request waits for news alone; until then a lost reply is repeated.
SETTLED = 6
#: Seconds of the run that says how many requests must be signed ahead.
TRIAL_SECONDS = 3
#: Seconds of the runs that count, and how many of each kind there are, in turn: a busy machine then slows both.
RUN_SECONDS, ROUNDS = 5, 3
#: The share of signed requests that is asked: as many a second, by as many fixed texts.
LEAST_SHARE = 0.6
#: MiB that are asked with pages open.
MOST_WITH_PAGES = 450
#: More are signed than the trial says, since nonces work once.
MARGIN = 2
#: Signed for the trial: no service here answers more in its time.
SIGNED_IN_TRIAL = 60_000

# wrk takes each request from the file, in order; once all are used it would send them again, which is refused.
SCRIPT = """
local requests, used = {}, 0
function init(words)
  for line in io.lines(words[1]) do
    local path, authentication, timestamp = line:match("^(%S+)\\t(.-)\\t(.-)$")
    local fields = authentication ~= "" and
      { ["Authentication"] = authentication, ["X-IAMPASS-Authentication-Timestamp"] = timestamp } or {}
    requests[#requests + 1] = wrk.format("GET", path, fields)
  end
end
function request()
  used = used + 1
  return requests[(used - 1) % #requests + 1]
end
function done(summary, latency)
  io.write(string.format('{"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "refused": %d, "broken": %d}\\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
"""


def measure_service(world, report, phones, runs):
    """All of it, with `phones` phones."""
    world.serve_alone("--metrics-listen", "127.0.0.1:0", "--log-level", "notice")
    report.part(f"The service, with {phones:,} phones")
    asyncio.run(_measure(Bench(world, report), phones, runs))


async def _measure(bench, phones, runs):
    bench.say_memory("resident before the first request")
    await bench.add_phones(min(CONNECTIONS, phones))
    bench.check_refusals()
    bench.measure_requests()
    await bench.add_phones(phones - len(bench.phones))
    await asyncio.sleep(SETTLED)
    bench.say_memory(f"resident, {phones} phones signed in, nothing held")
    held = await bench.hold()
    bench.say_memory(f"resident, {phones} `Prefer: wait` held", MOST_RESIDENT)
    await bench.measure_leaving("leave to waiter's reply", held, runs)
    await bench.open_pages()
    held = await bench.hold()
    bench.say_memory(f"resident, {phones} held, {phones} phones' pages open", MOST_WITH_PAGES)
    await bench.measure_leaving("leave to waiter's reply, pages open", held, runs)
    for streams in bench.holders + bench.pages:
        await streams.close()


class Bench:
    def __init__(self, world, report, least_share=LEAST_SHARE):
        """`least_share`: of signed requests, by fixed texts."""
        self.least_share = least_share
        self.world = world
        self.report = report
        self.service = Service(world)
        self.metrics = re.search(r"http://[0-9.:]+", world.server.wait_for("metrics on")).group(0)
        self.phones = []
        #: Connections with held requests, and those of phones' pages.
        self.holders, self.pages = [], []

    def say_memory(self, name, asked=None):
        text = pathlib.Path(f"/proc/{self.world.server.process.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s*(\d+)", text)[1]) / 1024
        self.report.add(name, [resident], "MiB", asked)

    # Phones

    async def add_phones(self, count):
        """Through the routes that every phone goes."""
        new = [Phone(self.service, len(self.phones) + number) for number in range(count)]
        async with Connection(self.service) as connection:
            for start in range(0, count, BATCH):
                await connection.ask_signed(
                    "POST", f"/management/add_users/{self.service.application}",
                    {"users": [phone.user for phone in new[start:start + BATCH]]})
        left = iter(new)

        async def sign_in_some():
            async with Connection(self.service) as connection:
                for phone in left:
                    await phone.sign_in(connection)

        await asyncio.gather(*(sign_in_some() for _ in range(8)))
        self.phones += new

    # What is held

    async def open_pages(self):
        """Each phone's page as its browser has it: a connection of its own, and on it the stream of events."""
        for phone in self.phones:
            page = await Streams(self.service).open()
            page.request("POST", "/device/v1/events", {}, phone.asking("events"))
            self.pages.append(page)
        await self._until_held(len(self.pages))

    async def hold(self):
        """A request for each phone's session, held until there is news; (phone, reply to come) of all."""
        for streams in self.holders:
            await streams.close()
        await self._until_held(len(self.pages))
        self.holders = [await Streams(self.service).open() for _ in range(-(-len(self.phones) // STREAMS))]
        held = []
        for number, phone in enumerate(self.phones):
            fields = {**phone.signed_fields(), "Prefer": "wait=60"}
            held.append((phone, self.holders[number // STREAMS].request("GET", phone.path, fields)))
            # Replies are read while requests go on.
            await asyncio.sleep(0)
        await self._until_held(len(self.pages) + len(held))
        return held

    async def _until_held(self, count):
        """Waits until the service says that this number of requests is held, streams included."""
        end = time.monotonic() + PATIENCE
        while (found := self._held_count()) != count:
            if refused := [status for streams in self.holders + self.pages for status in streams.refused]:
                raise SystemExit(f"bench: the service refused {len(refused)} requests, the first with {refused[0]}")
            if time.monotonic() > end:
                raise SystemExit(f"bench: {found} requests are held, and not {count}")
            await asyncio.sleep(0.1)

    def _held_count(self):
        with urllib.request.urlopen(self.metrics + "/metrics", timeout=PATIENCE) as reply:
            return int(re.search(r"(?m)^iampass_requests_held (\d+)", reply.read().decode())[1])

    async def measure_leaving(self, name, held, runs):
        """From a phone's `leave` to the reply that its session's client waits for; beside it, one request of a phone."""
        waiting = [pair for pair in held if pair[0].session["session_status"] != "walkaway"]
        # The latest, since the first were held for a while already, and none is for more than a minute.
        chosen = waiting[-runs:]
        random.shuffle(chosen)
        leaving, asking = [], []
        async with Connection(self.service) as connection:
            for phone, reply in chosen:
                asking.append(await self._timed(connection, "/device/v1/status", phone.asking("status")))
                body = phone.asking("leave")
                if reply.done():
                    raise SystemExit("bench: a held request was answered before its phone left; is this machine busy?\n"
                                     "hint: --phones 1000")
                began = time.monotonic()
                await connection.ask("POST", "/device/v1/presence", body=body)
                ended, text = await asyncio.wait_for(reply, PATIENCE)
                status = phone.session["session_status"] = json.loads(text)["session_status"]
                if status != "walkaway":
                    raise SystemExit(f"bench: a phone left, and its session is {status}")
                leaving.append((ended - began) * 1_000)
        self.report.add(name, leaving, "ms", LONGEST_NEWS)
        self.report.add("one request of a phone and its reply", asking, "ms")

    @staticmethod
    async def _timed(connection, path, body):
        began = time.monotonic()
        await connection.ask("POST", path, body=body)
        return (time.monotonic() - began) * 1_000

    # Signed requests

    def check_refusals(self):
        """Checks that the service verifies signatures and nonces. Otherwise the rate would be another service's."""
        phone = self.phones[0]
        good, forged = phone.signed_fields(), phone.signed_fields()
        head, signature = forged["Authentication"].rsplit(":", 1)
        forged["Authentication"] = f"{head}:{signature[::-1]}"
        told = [self.world.get(phone.path, headers=fields)[0] for fields in (forged, good, good)]
        if told != [401, 200, 401]:
            raise SystemExit(f"bench: a forged, a signed and a replayed request were answered {told}")

    def measure_requests(self):
        trial = self._wrk(TRIAL_SECONDS, SIGNED_IN_TRIAL)
        rate = trial["requests"] / trial["seconds"]
        rounds = [(self._wrk(RUN_SECONDS, int(rate * RUN_SECONDS * MARGIN)),
                   self._wrk(RUN_SECONDS, 1, "/.well-known/iampass")) for _ in range(ROUNDS)]
        for name, runs in zip(("signed status requests", "a fixed text, unsigned"), zip(*rounds)):
            self.report.add(f"{name}, {CONNECTIONS} connections", [run["requests"] / run["seconds"] for run in runs], "1/s")
            self.report.add(f"{name}: median", [run["p50"] for run in runs], "ms")
            self.report.add(f"{name}: 99th percentile", [run["p99"] for run in runs], "ms")
            self.report.add(f"{name}: processor time of each", [run["processor"] for run in runs], "µs")
        shares = [signed["requests"] / fixed["requests"] for signed, fixed in rounds]
        self.report.add("signed requests as a share of fixed texts", shares, "", least=self.least_share)
        # What the load generator and other work take does not count here.
        shares = [fixed["processor"] / signed["processor"] for signed, fixed in rounds]
        self.report.add("the same, by the service's processor time", shares, "")

    def _processor_seconds(self):
        """What the service has used until now (proc_pid_stat(5))."""
        text = pathlib.Path(f"/proc/{self.world.server.process.pid}/stat").read_text()
        user, system = text.rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _wrk(self, seconds, count, path=None):
        """One run of wrk, with requests for this path or signed ones for the sessions' statuses."""
        script, requests = self.world.path("bench.lua"), self.world.path("requests")
        self.world.write("bench.lua", SCRIPT)
        with open(requests, "w") as file:
            for number in range(count):
                phone = self.phones[number % CONNECTIONS]
                fields = {} if path else phone.signed_fields()
                file.write("\t".join((path or phone.path, fields.get("Authentication", ""),
                                      fields.get("X-IAMPASS-Authentication-Timestamp", ""))) + "\n")
        before = self._processor_seconds()
        done = subprocess.run(
            ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, self.world.address, "--", requests],
            capture_output=True, text=True, check=True, timeout=seconds + PATIENCE)
        seen = json.loads(done.stdout.strip().splitlines()[-1])
        if seen["refused"] or seen["broken"]:
            raise SystemExit(f"bench: {seen['refused']} requests were refused and {seen['broken']} had no reply")
        seen["processor"] = (self._processor_seconds() - before) * 1e6 / seen["requests"]
        return seen
