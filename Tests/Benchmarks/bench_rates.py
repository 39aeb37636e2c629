"""What packaging/bench measures of starts and sign-ins a second on PostgreSQL, also at two servers and over a network."""

import asyncio
import contextlib
import os
import pathlib
import subprocess
import sys
import time

from bench_phones import PATIENCE, Connection, Phone, Service
from bench_runs import processor_time
from Support.Service import slow_line
from Support.Service.postgresql import PostgreSQL
from Support.Service.two_servers import TwoServers

#: Starts a second that are asked of one server and of two, and sign-ins a second at a socket and over the network.
LEAST_STARTS, LEAST_SIGN_INS = (250, 300), (200, 60)
#: What a network takes each way, in milliseconds.
NETWORK = 1
#: Each is of a user of its own: another request of a user would have to wait for the first.
COUNT = 400
#: Clients that ask at the same time: more would be refused, as their turn comes too late.
CLIENTS = 16
#: Users of one add_users: its body is bounded.
BATCH = 500


def measure_rates(report):
    with contextlib.ExitStack() as ending:
        world = TwoServers()
        ending.callback(world.close)
        world.serve_twice(servers=2)
        report.part("PostgreSQL at a socket, starts and sign-ins")
        services = [Service(_at(world, number)) for number in (0, 1)]
        asyncio.run(_measure_starts(report, services))
        world.at(0)
        asyncio.run(_measure_sign_ins(report, world, "at a socket", LEAST_SIGN_INS[0]))
    with contextlib.ExitStack() as ending:
        world = TwoServers()
        ending.callback(world.close)
        database = PostgreSQL(world.folder)
        world.serve_twice(servers=1, database=database, url=_slow(world, database))
        report.part(f"PostgreSQL with {NETWORK} ms of network each way, sign-ins")
        asyncio.run(_measure_sign_ins(report, world, f"with {NETWORK} ms of network each way", LEAST_SIGN_INS[1]))


def _at(world, number):
    world.at(number)
    return world


def _slow(world, database):
    """The address of the database behind a network."""
    folder, name = world.path("network"), ".s.PGSQL.5432"
    os.mkdir(folder)
    line = world.start(
        sys.executable, slow_line.__file__, os.path.join(database.folder, name), os.path.join(folder, name),
        str(NETWORK))
    line.wait_for("ready")
    return f"postgresql:///postgres?user=iampass&host={folder}"


async def _measure_starts(report, services):
    for count, asked in zip((1, 2), LEAST_STARTS):
        phones = await registered(services[0], f"starter-{count}", COUNT)
        rate = await _rate(phones, services[:count], Phone.start)
        report.add(f"starts a second, {'one server' if count == 1 else 'two servers'}", [rate], "1/s", least=asked)


async def _measure_sign_ins(report, world, name, asked):
    """The users have signed in before, as at most times of a day."""
    service = Service(world)
    phones = await registered(service, "user-of-" + name.replace(" ", "-"), COUNT)
    await _rate(phones, [service], Phone.sign_in_again)
    before = _spent(world)
    rate = await _rate(phones, [service], Phone.sign_in_again)
    report.add(f"sign-ins a second, {name}", [rate], "1/s", least=asked)
    for who, spent in _spent(world).items():
        report.add(f"processor time of each {name}: {who}", [(spent - before[who]) / COUNT], "ms")


def _spent(world):
    """The processor time of all that share the machine in a sign-in, in ms."""
    postmaster = int(pathlib.Path(world.postgresql.data, "postmaster.pid").read_text().split()[0])
    children = subprocess.run(
        ["pgrep", "--parent", str(postmaster)], check=True, capture_output=True, text=True, timeout=PATIENCE)
    return {
        "the server": processor_time([world.server.process.pid]),
        "PostgreSQL": processor_time([postmaster, *map(int, children.stdout.split())]),
        "phones and clients": time.process_time() * 1_000,
    }


async def registered(service, name, count):
    phones = [Phone(service, number, name) for number in range(count)]
    async with Connection(service) as connection:
        for start in range(0, count, BATCH):
            await connection.ask_signed(
                "POST", f"/management/add_users/{service.application}",
                {"users": [phone.user for phone in phones[start:start + BATCH]]})
    await _rate(phones, [service], Phone.register)
    return phones


async def _rate(phones, services, act):
    """How many of these acts the servers do in a second."""
    left = iter(phones)

    async def some(service):
        async with Connection(service) as connection:
            for phone in left:
                phone.service = service
                await act(phone, connection)

    began = time.monotonic()
    await asyncio.gather(*(some(services[number % len(services)]) for number in range(CLIENTS)))
    return len(phones) / (time.monotonic() - began)
