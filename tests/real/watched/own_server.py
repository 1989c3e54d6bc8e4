"""Servers of a reader's own, which serve no request: the first argument says how they call.

With lifespec's Lifespan, with a copy of it, or as servers call that nobody knows.
"""

import asyncio
import importlib
import signal
import sys
from pathlib import Path
from typing import Any

from lifespec import server


def copied() -> Any:
    """Return a copy of the class, in a module and under a name of its own."""
    folder = Path(sys.argv[2])
    text = Path(server.__file__).read_text().replace("class Lifespan:", "class Life:")
    (folder / "life.py").write_text(text)
    sys.path.insert(0, str(folder))
    return importlib.import_module("life").Life


LIFE = copied() if sys.argv[1] == "copy" else server.Lifespan
import troubles  # it takes a while


async def with_lifespan(kind: Any, stop: asyncio.Event) -> None:
    async with kind(troubles.app):
        print("serving", flush=True)
        await stop.wait()


async def by_hand(stop: asyncio.Event, *, in_a_task: bool) -> None:
    events: asyncio.Queue[Any] = asyncio.Queue()
    answers: asyncio.Queue[str] = asyncio.Queue()

    async def send(message: Any) -> None:
        answers.put_nowait(message["type"])

    await events.put({"type": "lifespan.startup"})
    call = troubles.app({"type": "lifespan", "asgi": {"version": "3.0"}}, events.get, send)
    task = (
        asyncio.ensure_future(call)
        if in_a_task
        else asyncio.ensure_future(asyncio.wait_for(call, None))
    )
    await answers.get()
    print("serving", flush=True)
    await stop.wait()
    await events.put({"type": "lifespan.shutdown"})
    await answers.get()
    await task


async def main() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    if sys.argv[1] in ("own", "copy"):
        await with_lifespan(LIFE, stop)
    else:
        await by_hand(stop, in_a_task=sys.argv[1] == "task")


asyncio.run(main())
