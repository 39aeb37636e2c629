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
#: Looks at each page; the users whose sessions there are; seconds for the copies of one engine.
LOOKS, USERS, APART = 10, 5_000, 20
BATCH = 500


def measure_console(report, sessions):
    """`sessions`: how many ended ones the database has."""
    for engine in ENGINES:
        with contextlib.ExitStack() as ending:
            filled = engine()
            ending.callback(filled.close)
            _fill(filled, sessions)
            report.part(f"The console on {filled.name}, {sessions:,} sessions of {USERS:,} users")
            browser = Browser(filled.world, filled.place)
            medians = [_measure(report, browser, *one) for one in _pages(browser).items()]
            report.add("the slowest page", [max(medians)], "ms", LONGEST)


def _fill(filled, sessions):
    """Copies of a session of a phone, which ended one after the other before now."""
    [phone] = asyncio.run(_signed_in(filled.services()[0], filled.USERS))
    filled.stop()
    filled.copy_ended(phone.session["session_name"], sessions, int(time.time() * 1_000), APART)
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


def _pages(browser):
    application = re.search(r'href="/console/application/([0-9a-f]+)"', browser.get("/applications"))[1]
    users = f"/application/{application}"
    user = re.findall(rf'href="/console({users}/user/[0-9]+)"', browser.get(users))[-1]
    return {
        "front page": "", "applications": "/applications", "users": users, "users, searched": f"{users}?q={user}",
        "a user": user, "sessions": "/sessions", "sessions, searched": "/sessions?computer=nobody-has-it", "audit": "/audit",
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
