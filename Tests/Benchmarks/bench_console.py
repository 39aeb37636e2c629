"""What packaging/bench measures of the console's pages in a company's database, on SQLite and on PostgreSQL at a socket."""

import asyncio
import contextlib
import re
import statistics
import time

from bench_filled import ENGINES
from bench_pages import Browser
from bench_phones import Connection
from bench_rates import registered

#: Milliseconds of the slowest page that are asked.
LONGEST = 50
#: Looks at each page; the users and the computers whose sessions there are; milliseconds between two sessions' ends.
LOOKS, USERS, COMPUTERS, APART = 10, 5_000, 5_000, 20
BATCH = 500


def measure_console(report, sessions):
    """`sessions`: how many ended ones the database has."""
    for engine in ENGINES:
        with contextlib.ExitStack() as ending:
            filled = engine()
            ending.callback(filled.close)
            _fill(filled, sessions)
            report.part(f"The console on {filled.name}, {sessions:,} sessions of {USERS:,} users at {COMPUTERS:,} computers")
            browser = Browser(filled.world, filled.place)
            medians = [_measure(report, browser, *one) for one in _pages(browser, filled.USERS).items()]
            report.add("the slowest page", [max(medians)], "ms", LONGEST)


def _fill(filled, sessions):
    """Copies of a session of a phone, which ended one after the other before now."""
    [phone] = asyncio.run(_signed_in(filled.services()[0], filled.USERS))
    filled.stop()
    now = int(time.time() * 1_000)
    filled.add_computers(filled.world.application["application_id"], COMPUTERS, now)
    filled.copy_ended(phone.session["session_name"], sessions, now, APART, COMPUTERS)
    filled.begin()


async def _signed_in(service, users):
    phones = await registered(service, "holder", 1)
    async with Connection(service) as connection:
        await phones[0].sign_in_again(connection)
        for first in range(0, USERS, BATCH):
            await connection.ask_signed(
                "POST", f"/management/add_users/{service.application}",
                {"users": [f"{users}0-{number}" for number in range(first, first + BATCH)]})
    return phones


def _pages(browser, names):
    application = re.search(r'href="/console/application/([0-9a-f]+)"', browser.get("/applications"))[1]
    users = f"/application/{application}"
    user = re.findall(rf'href="/console({users}/user/[0-9]+)"', browser.get(users))[-1]
    return {
        "front page": "", "applications": "/applications", "users": users, "users, searched": f"{users}?q={names}0-{USERS - 1}",
        "a user": user, "computers": "/joins", "computers, searched": f"/joins?q=pc-{COMPUTERS - 1}", "sessions": "/sessions",
        "sessions, searched": "/sessions?computer=nobody-has-it", "audit": "/audit",
        "audit, searched": "/audit?user=nobody-at-all",
    }


def _measure(report, browser, name, path):
    """The median of its times."""
    times = []
    for _ in range(LOOKS):
        began = time.monotonic()
        page = browser.get(path)
        times.append((time.monotonic() - began) * 1_000)
    report.add(f"{name}, {len(page) / 1024:.0f} KiB", times, "ms")
    return statistics.median(times)
