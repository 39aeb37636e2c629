"""What packaging/bench measures of several servers on one PostgreSQL database, and of a move to one."""

import asyncio
import contextlib
import json
import re
import sqlite3
import subprocess
import threading
import time

from bench_phones import PATIENCE, Connection, Phone, Service, Streams
from bench_rates import measure_rates
from bench_runs import Run, taken_pam_folder
from bench_server import CONNECTIONS, Bench
from Support.Service.postgresql import PostgreSQL
from Support.Service.server import ServerWorld
from Support.Service.two_servers import OneName, TwoServers
from Support.Service.world import ENROLLED, program, run

#: Milliseconds, seconds and the share of signed requests that are asked.
LONGEST_NEWS, LONGEST_PAUSE, LEAST_SHARE = 15, 5, 0.35
#: Seconds between two kills, and until the killed server begins again.
KILL_EVERY, STAYS_AWAY = 5, 1
#: Rows of the audit that each user of the move has.
ENTRIES = 8


def measure_scale(report, runs, sign_ins, users):
    with contextlib.ExitStack() as ending:
        world = TwoServers()
        ending.callback(world.close)
        world.serve_twice(servers=1)
        report.part("PostgreSQL, one server")
        asyncio.run(_measure_requests(world, report))
    measure_rates(report)
    with contextlib.ExitStack() as ending:
        world = OneName()
        ending.callback(world.close)
        world.begin()
        report.part("PostgreSQL, two servers")
        asyncio.run(_measure_leaving(world, report, runs))
        with taken_pam_folder(world):
            _measure_kills(world, report, sign_ins)
    with contextlib.ExitStack() as ending:
        world = ServerWorld()
        ending.callback(world.close)
        report.part(f"A move of {users:,} users to PostgreSQL and back, beside a running service")
        _measure_move(world, report, users)


async def _measure_requests(world, report):
    bench = Bench(world, report, LEAST_SHARE)
    await bench.add_phones(CONNECTIONS)
    bench.check_refusals()
    bench.measure_requests()


class At(Service):
    """The service by its name, at one server."""

    def __init__(self, world, number):
        super().__init__(world)
        self.server = world.ADDRESSES[number]

    async def connected(self, protocol):
        return await asyncio.open_connection(
            self.server, self.port, ssl=self._tls[protocol], server_hostname=self.host)


async def _measure_leaving(world, report, runs):
    world.address = world.name
    first, second = At(world, 0), At(world, 1)
    phones = [Phone(first, number) for number in range(runs)]
    async with Connection(first) as connection:
        for start in range(0, runs, 500):
            await connection.ask_signed(
                "POST", f"/management/add_users/{first.application}",
                {"users": [phone.user for phone in phones[start:start + 500]]})
        for phone in phones:
            await phone.sign_in(connection)
        # What was told last must be old before a request waits for news alone.
        await asyncio.sleep(6)
        for name, service in (("the same server", first), ("the other server", second)):
            waiting = await Streams(service).open()
            times = []
            for phone in phones:
                reply = waiting.request("GET", phone.path, {**phone.signed_fields(), "Prefer": "wait=60"})
                before = phone.session["session_status"]
                await asyncio.sleep(0.02)
                purpose = "return" if before == "walkaway" else "leave"
                began = time.monotonic()
                await connection.ask("POST", "/device/v1/presence", body=phone.asking(purpose))
                ended, text = await asyncio.wait_for(reply, PATIENCE)
                phone.session["session_status"] = json.loads(text)["session_status"]
                times.append((ended - began) * 1_000)
            report.add(f"leave to waiter's reply, {name}", times, "ms", LONGEST_NEWS)
            await waiting.close()
            await asyncio.sleep(6)


def _measure_kills(world, report, count):
    run(program("iampassctl"), "user", "add", ENROLLED, "--config", world.path("iampass.conf"))
    world.register_phone()
    phone = world.phone("approve")
    phone.wait_for("waiting for sign-ins")
    over, kills = threading.Event(), []

    def kill_in_turn():
        while not over.wait(KILL_EVERY - STAYS_AWAY):
            number = len(kills) % 2
            world.kill(number)
            kills.append(number)
            time.sleep(STAYS_AWAY)
            world.serve_at(number)

    killing = threading.Thread(target=kill_in_turn)
    killing.start()
    times, lost = [], []
    try:
        for _ in range(count):
            try:
                times.append(Run("sudo").until_success)
            except SystemExit as failed:
                lost.append(str(failed))
    finally:
        over.set()
        killing.join(PATIENCE)
        phone.stop()
    report.add(f"{count} sign-ins while a server is killed every {KILL_EVERY} s: kills", [len(kills)], "")
    report.add("of them not to PAM_SUCCESS", [len(lost)], "", 0)
    report.add("to PAM_SUCCESS", times, "ms")
    for failed in lost[:3]:
        print(failed, flush=True)


def _measure_move(world, report, users):
    world.serve_alone("--log-level", "notice")
    postgresql = PostgreSQL(world.folder)
    try:
        _fill(world.path("data", "iampass.sqlite"), world.application["application_id"], users)
        for name, origin, target in (("to PostgreSQL", world.path("data"), postgresql.url),
                                     ("back", postgresql.url, world.path("back"))):
            began = time.monotonic()
            done = subprocess.run(
                [program("iampass-server"), "database", "move", "--from", origin, "--to", target], capture_output=True,
                text=True, check=True, timeout=1_200)
            took = time.monotonic() - began
            report.add(f"{name}: rows", [int(re.search(r"moved (\d+) rows", done.stdout)[1])], "")
            report.add(f"{name}: the whole command", [took], "s")
            report.add(f"{name}: nobody could write for", [float(re.search(r"for ([0-9.]+) s", done.stdout)[1])], "s",
                       LONGEST_PAUSE)
    finally:
        postgresql.stop("immediate")


def _fill(path, application, users):
    """Users with phones, as if they had signed in for a while."""
    # What is older is forgotten.
    now = int(time.time() * 1_000)
    with contextlib.closing(sqlite3.connect(path, timeout=60)) as database, database:
        numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {users})"
        database.execute(f"INSERT INTO user (id, application, name) {numbers} SELECT 1000 + i, ?, 'bench-' || i FROM n",
                         (application,))
        database.execute(
            f"INSERT INTO phone (id, user, public_key, display_name, presence, registered_at) {numbers}"
            " SELECT lower(hex(randomblob(16))), 1000 + i, hex(randomblob(60)), 'Phone ' || i, 'present', ? FROM n", (now,))
        database.execute(
            f"WITH RECURSIVE m(j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM m WHERE j < {ENTRIES - 2})"
            " INSERT INTO audit (at, event, application, user, phone, session, host, service) SELECT ?, 'approved', 'office',"
            " user, display_name, id, 'desk', 'sshd' FROM phone, m", (now,))
