"""Measures how long one lifespan takes, beside the least there can be and other implementations.

    python tests/measure/bench.py [--into FILE] [PYTHON...]     `make bench`

Only ratios within one run count, because other work on the machine changes all times.  So the
candidates take turns, a few runs each, and the shortest turn of many is a candidate's time.  Each
other PYTHON needs the same packages, and measures one lifespan.
"""

import argparse
import asyncio
import datetime as dt
import gc
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Self

from lifespec import Lifespan

RUNS, ROUNDS = 20, 2000
Run = Callable[[], Awaitable[object]]


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


def uvicorn() -> Callable[[Any], Any]:
    config = import_module("uvicorn").Config(app, lifespan="on", log_config=None)
    config.load()

    @asynccontextmanager
    async def run(_: Any) -> AsyncIterator[None]:
        lifespan = import_module("uvicorn.lifespan.on").LifespanOn(config)
        await lifespan.startup()
        yield
        await lifespan.shutdown()

    return run


PEERS: dict[str, Callable[[], Any]] = {
    "amgi-common": lambda: import_module("amgi_common").Lifespan,
    "uvicorn": uvicorn,
    "asgi-lifespan": lambda: import_module("asgi_lifespan").LifespanManager,
}


def whole(implementation: Callable[[Any], Any]) -> Run:
    async def run() -> None:
        async with implementation(app):
            pass

    return run


async def lifespan() -> list[dict[str, Any]]:
    loaded = {"floor": Floor, "lifespec": Lifespan} | {name: load() for name, load in PEERS.items()}
    runs = {name: whole(each) for name, each in loaded.items()}
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(ROUNDS):
        for name, run in runs.items():
            for _ in range(2):  # the first turn fills the caches of the processor
                start = time.thread_time()
                for _ in range(RUNS):
                    await run()
            best[name] = min(best[name], (time.thread_time() - start) / RUNS)
    version = {name: metadata.version(name) for name in runs if name != "floor"}
    return [
        {"name": name, "version": version.get(name, ""), "seconds": seconds}
        for name, seconds in best.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path, help="the JSON file to write")
    parser.add_argument("pythons", nargs="*")
    options = parser.parse_args()
    gc.disable()
    found: dict[str, Any] = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"CPython {platform.python_version()}",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "lifespan": asyncio.run(lifespan()),
    }
    if options.into:
        others = [[python, __file__] for python in options.pythons]
        rows = [json.loads(subprocess.check_output(command)) for command in others]
        found["pythons"] = [
            {key: row[key] for key in ("python", "lifespan")} for row in [found, *rows]
        ]
        options.into.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main())
