"""What packaging/bench measures of a fleet: computers that join, have their users from the service, and hold a request."""

import asyncio
import base64
import json
import os
import pathlib
import re
import secrets
import time

from bench_phones import PATIENCE, Connection, Service, Streams
from Support.Hosts.signed_requests import headers
from Support.Service.world import program, run

#: What is asked: milliseconds, MiB, percent of a core, KiB.
LONGEST_CHANGE, LONGEST_JOIN, LONGEST_JOINS = 2_000, 2_000, 30_000
MOST_RESIDENT, MOST_IDLE, MOST_LIST, MOST_PAGE, MOST_CHANGE = 400, 5, 300, 64, 2
#: Joins one after the other, joins at once, and changes of the list.
SINGLE_JOINS, JOINS_AT_ONCE, CHANGES = 20, 200, 10
#: Names of one command.
BATCH = 500


def measure_fleet(world, report, computers, users, seconds):
    """All of it, with `computers` computers and `users` users."""
    world.serve_alone("--log-level", "notice")
    report.part(f"A fleet of {computers:,} computers and {users:,} users")
    asyncio.run(_measure(Fleet(world, report), computers, users, seconds))


async def _measure(fleet, computers, users, seconds):
    fleet.add_users(users)
    fleet.make_code(computers)
    await fleet.join_one_by_one(min(SINGLE_JOINS, computers))
    await fleet.join_at_once(min(JOINS_AT_ONCE, computers - len(fleet.computers)))
    await fleet.join_quietly(computers - len(fleet.computers))
    await fleet.measure_list()
    await fleet.hold_all()
    fleet.say_memory(f"resident, {computers} requests held", MOST_RESIDENT)
    await fleet.measure_idle(seconds)
    await fleet.measure_changes()
    fleet.say_memory("resident after the changes", MOST_RESIDENT)
    for computer in fleet.computers:
        await computer.close()


class Computer:
    """A computer that has joined, with the connection of its helper."""

    def __init__(self, fleet, number):
        self.fleet, self.name = fleet, f"pc-{number}"
        self.secret = base64.b64encode(secrets.token_bytes(24)).decode()
        self.mark = secrets.token_hex(16)
        self.version = 0
        self.streams = None

    async def join(self):
        """Milliseconds that it took, with the connection."""
        began = time.monotonic()
        async with Connection(self.fleet.service) as connection:
            body = {"code": self.fleet.code, "name": self.name, "secret": self.secret}
            reply = await connection.ask_until_answered("POST", "/join", body=json.dumps(body).encode())
        self.id = reply["application_id"]
        return (time.monotonic() - began) * 1_000

    def path(self, after):
        path = f"/authentication/user_list/{self.id}?version={self.version}&mark={self.mark}"
        return path + (f"&after={after}" if after else "")

    def ask(self, after="", wait=None):
        path = self.path(after)
        fields = headers(self.id, self.secret, self.fleet.service.origin + path)
        return self.streams.request("GET", path, {**fields, **({"Prefer": f"wait={wait}"} if wait else {})})

    async def open(self):
        self.streams = await Streams(self.fleet.service).open()

    async def close(self):
        await self.streams.close()


class Fleet:
    def __init__(self, world, report):
        self.world, self.report = world, report
        self.service = Service(world)
        self.computers = []
        #: Requests that were answered 503, since the service had too much to do.
        self.shed = 0

    def command(self, *words):
        return run(program("iampass-server"), *words, "--data", self.world.path("data"))

    def say_memory(self, name, asked=None):
        text = pathlib.Path(f"/proc/{self.world.server.process.pid}/status").read_text()
        self.report.add(name, [int(re.search(r"VmRSS:\s*(\d+)", text)[1]) / 1024], "MiB", asked)

    def add_users(self, count):
        names = [f"user{number}" for number in range(count)]
        for start in range(0, count, BATCH):
            self.command("user", "add", "office", *names[start:start + BATCH], "--no-link")

    def make_code(self, uses):
        made = self.command("join-code", "create", "office", "--uses", str(uses), "--unattended", "--certificate",
                            self.world.certificate)  # fmt: skip
        text = made.split()[-1][len("IJ1"):]
        code = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        # A secret of 16 bytes, and two that tell typing errors.
        self.code = base64.urlsafe_b64encode(code[-18:-2]).decode().rstrip("=")

    # Joins

    def new(self, count):
        computers = [Computer(self, len(self.computers) + number) for number in range(count)]
        self.computers += computers
        return computers

    async def join_one_by_one(self, count):
        self.report.add("a join at the service", [await one.join() for one in self.new(count)], "ms", LONGEST_JOIN)

    async def join_at_once(self, count):
        began = time.monotonic()
        await asyncio.gather(*(one.join() for one in self.new(count)))
        self.report.add(f"{count} joins at once, the last one", [(time.monotonic() - began) * 1_000], "ms", LONGEST_JOINS)

    async def join_quietly(self, count):
        left = iter(self.new(count))

        async def join_some():
            for computer in left:
                await computer.join()

        await asyncio.gather(*(join_some() for _ in range(8)))

    # Lists

    async def measure_list(self):
        """A computer that has none fetches it, page by page."""
        computer = self.computers[0]
        await computer.open()
        sizes, after = [], ""
        began = time.monotonic()
        while True:
            _, body = await asyncio.wait_for(computer.ask(after), PATIENCE)
            page = json.loads(body)
            sizes.append(len(body) / 1024)
            if not page["more"]:
                break
            after = page["users"][-1][1:].partition(":")[0]
        self.report.add("the whole list, fetched", [(time.monotonic() - began) * 1_000], "ms")
        self.report.add("its size", [sum(sizes)], "KiB", MOST_LIST)
        self.report.add("its largest page", [max(sizes)], "KiB", MOST_PAGE)
        await computer.close()
        for one in self.computers:
            one.version = page["version"]

    async def hold_all(self):
        for start in range(0, len(self.computers), 50):
            await asyncio.gather(*(computer.open() for computer in self.computers[start:start + 50]))
        self.held = [computer.ask(wait=55) for computer in self.computers]
        await asyncio.sleep(2)

    async def held_again(self):
        """Those whose time was over ask again, as the helper does, and those that the service had no time for."""
        for place, held in enumerate(self.held):
            if held.done():
                reply = json.loads(held.result()[1])
                if reply.get("reason") == "STORAGE_UNAVAILABLE":
                    self.shed += 1
                else:
                    self.computers[place].version = reply["version"]
                self.held[place] = self.computers[place].ask(wait=55)
        await asyncio.sleep(1)

    def _ticks(self):
        fields = pathlib.Path(f"/proc/{self.world.server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    async def measure_idle(self, seconds):
        """With what the held requests cost that are asked again each 55 seconds."""
        began, ticks = time.monotonic(), self._ticks()
        while time.monotonic() - began < seconds:
            await self.held_again()
        used = (self._ticks() - ticks) / os.sysconf("SC_CLK_TCK")
        self.report.add("processor time while nothing changes", [100 * used / (time.monotonic() - began)], "% of a core",
                        MOST_IDLE)  # fmt: skip

    async def measure_changes(self):
        """From the beginning of the command to the reply that a computer has."""
        times, sizes = [], []
        for number in range(CHANGES):
            await self.held_again()
            began = time.monotonic()
            await asyncio.to_thread(self.command, "user", "add", "office", f"new{number}", "--no-link")
            for ended, body in await asyncio.wait_for(asyncio.gather(*self.held), PATIENCE):
                times.append((ended - began) * 1_000)
                sizes.append(len(body) / 1024)
        self.report.add("a user added: until a computer has it", times, "ms", LONGEST_CHANGE)
        self.report.add("the same, 99 of 100 computers", [sorted(times)[int(len(times) * 0.99)]], "ms", LONGEST_CHANGE)
        self.report.add("a change's size", [max(sizes)], "KiB", MOST_CHANGE)
        self.report.add("of the computers that asked at once, asked again after 503", [self.shed], "")
        refused = [status for computer in self.computers for status in computer.streams.refused]
        if len(refused) > self.shed:
            raise SystemExit(f"bench: {len(refused)} requests were refused: {refused[:5]}")
