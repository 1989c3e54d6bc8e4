"""Measure how long one lifespan takes, compared with a minimal server and other implementations.

    python docs/_measure/bench.py [FILE [PYTHON...]]     `make bench`

Only ratios within one run count, because other work on the machine changes all times.  So the
candidates take turns, a few runs each, and the shortest turn of many is a candidate's time.  Each
other PYTHON needs the same packages, and measures one lifespan.
"""

import asyncio
import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import uvicorn
from amgi_common import Lifespan as AmgiLifespan
from asgi_lifespan import LifespanManager
from uvicorn.lifespan.on import LifespanOn

from lifespec import Lifespan
from records import now

RUNS, ROUNDS = 20, 2000


async def app(scope: Any, receive: Any, send: Any) -> None:
    for stage in "startup", "shutdown":
        await receive()
        await send({"type": f"lifespan.{stage}.complete"})


class Floor:
    """The least that a server can do: one task, three futures, and no check."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        started, self.stop, self.stopped = (loop.create_future() for _ in range(3))
        events = iter(("lifespan.startup", "lifespan.shutdown"))

        async def receive() -> Any:
            if (event := next(events)) == "lifespan.shutdown":
                await self.stop
            return {"type": event}

        async def send(message: Any) -> None:
            starts = message["type"] == "lifespan.startup.complete"
            (started if starts else self.stopped).set_result(None)

        versions = {"version": "3.0", "spec_version": "2.0"}
        scope = {"type": "lifespan", "asgi": versions, "state": {}}
        self.task = loop.create_task(self.app(scope, receive, send))
        await started
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop.set_result(None)
        await self.stopped
        await self.task


CONFIG = uvicorn.Config(app, lifespan="on", log_config=None)
CONFIG.load()


@asynccontextmanager
async def of_uvicorn(_: Any) -> AsyncIterator[None]:
    lifespan = LifespanOn(CONFIG)
    await lifespan.startup()
    yield
    await lifespan.shutdown()


IMPLEMENTATIONS: dict[str, Any] = {
    "floor": Floor,
    "lifespec": Lifespan,
    "amgi-common": AmgiLifespan,
    "uvicorn": of_uvicorn,
    "asgi-lifespan": LifespanManager,
}


async def turn(implementation: Any) -> float:
    """Return the seconds of one lifespan, in the second of two turns: the first fills caches."""
    for _ in range(2):
        start = time.thread_time()
        for _ in range(RUNS):
            async with implementation(app):
                pass
    return (time.thread_time() - start) / RUNS


async def lifespan() -> list[dict[str, Any]]:
    best = dict.fromkeys(IMPLEMENTATIONS, float("inf"))
    for _ in range(ROUNDS):
        for name, implementation in IMPLEMENTATIONS.items():
            best[name] = min(best[name], await turn(implementation))
    return [
        {"name": name, "version": metadata.version(name) if name != "floor" else "", "seconds": s}
        for name, s in best.items()
    ]


def main(file: str = "", *pythons: str) -> None:
    """Print what was measured; with FILE, write it there with what the other Pythons print."""
    gc.disable()
    found: dict[str, Any] = {
        **now(Path(sys.prefix)),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "lifespan": asyncio.run(lifespan()),
    }
    if file:
        rows = [json.loads(subprocess.check_output([python, __file__])) for python in pythons]
        found["pythons"] = [
            {key: row[key] for key in ("python", "lifespan")} for row in [found, *rows]
        ]
        Path(file).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
