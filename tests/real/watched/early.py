"""A command that waits before its server is there: for a task of its own loop, or in its thread."""

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
    time.sleep(61)
asyncio.run(main())
