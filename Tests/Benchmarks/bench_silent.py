"""What packaging/bench measures of phones' pages that are open while nothing happens, on PostgreSQL at a socket."""

import asyncio
import contextlib
import time

from bench_server import MOST_WITH_PAGES, Bench
from Support.Service.two_servers import TwoServers

#: Transactions a second of all pages that are asked.
MOST_TRANSACTIONS = 50
#: Seconds between two looks of a page at the database if nothing happens: in any such time each page looks once. The pages
#: were opened in a row and look in a row, so that a shorter time could have none of the looks, or all.
SILENCE = 120
#: Seconds after which PostgreSQL tells what a connection did that is idle now.
TOLD = 15
COUNT = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


def measure_silent(report, phones):
    with contextlib.ExitStack() as ending:
        world = TwoServers()
        ending.callback(world.close)
        world.serve_twice(servers=1)
        report.part(f"Silent pages of {phones:,} phones, PostgreSQL at a socket")
        asyncio.run(_measure(Silent(world, report), phones))


async def _measure(bench, phones):
    await bench.add_phones(phones)
    await asyncio.sleep(TOLD)
    without = await bench.transactions()
    await bench.open_pages()
    # What the opening cost does not count.
    await asyncio.sleep(TOLD)
    with_pages = await bench.transactions()
    await bench.check_pages()
    bench.report.add("transactions a second, no page open", [without], "1/s")
    bench.report.add(f"transactions a second, {phones} silent pages open", [with_pages], "1/s")
    bench.report.add("of them by the pages", [with_pages - without], "1/s", MOST_TRANSACTIONS)
    await bench.hold()
    bench.say_memory(f"resident, {phones} held, {phones} phones' pages open", MOST_WITH_PAGES)
    for streams in bench.holders + bench.pages:
        await streams.close()


class Silent(Bench):
    async def transactions(self):
        """How many the database has in a second."""
        began, before = time.monotonic(), await self._transactions()
        await asyncio.sleep(SILENCE)
        return (await self._transactions() - before) / (time.monotonic() - began)

    async def _transactions(self):
        # Meanwhile the pages' events are read.
        [count] = await asyncio.to_thread(self.world.postgresql.sql, COUNT)
        return int(count)

    async def check_pages(self):
        """Otherwise fewer pages than that were measured."""
        await self._until_held(len(self.pages))
