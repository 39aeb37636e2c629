"""A network between a server and its PostgreSQL: a relay that hands on after a while whatever comes, each way.

    slow_line.py TARGET OWN MILLISECONDS

TARGET and OWN are Unix sockets. It runs until a signal ends it.
"""

import asyncio
import sys


async def hand_on(reader, writer, delay):
    """In order, each piece after its delay: pieces do not wait for each other."""
    waiting, clock = asyncio.Queue(), asyncio.get_running_loop().time

    async def send():
        while piece := await waiting.get():
            due, data = piece
            await asyncio.sleep(due - clock())
            writer.write(data)
        writer.close()

    sending = asyncio.create_task(send())
    try:
        while data := await reader.read(65536):
            waiting.put_nowait((clock() + delay, data))
    except ConnectionError:
        pass  # The other side is told of the end as of any other.
    waiting.put_nowait(None)
    await sending


async def main(target, own, milliseconds):
    delay = float(milliseconds) / 1_000

    async def take(reader, writer):
        there, onward = await asyncio.open_unix_connection(target)
        await asyncio.gather(hand_on(reader, onward, delay), hand_on(there, writer, delay))

    async with await asyncio.start_unix_server(take, own) as server:
        print("ready", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
