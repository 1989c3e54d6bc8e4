"""A command that waits before its server is there, as for a database; the server is its own.

TROUBLE says where it waits: "own-loop" in the event loop in which it serves later, "own-thread" in
the main thread before there is a loop.
"""

import asyncio
import os
import sys
import time

import troubles
import uvicorn


async def connect() -> None:
    await asyncio.Event().wait()


async def main() -> None:
    if os.environ["TROUBLE"] == "own-loop":
        await connect()
    config = uvicorn.Config(troubles.app, port=int(sys.argv[1]))
    await uvicorn.Server(config).serve()


if os.environ["TROUBLE"] == "own-thread":
    time.sleep(61)  # longer than any test looks
asyncio.run(main())
