"""Each event loop has its own lifespan: in real threads, and in uvicorn's workers."""

import asyncio
import contextlib
import os
import re
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lifespec import Lifespan
from loopback import LIMIT, ended, uvicorn

APP = """
import os


async def app(scope, receive, send):
    while scope["type"] == "lifespan":
        event = await receive()
        with open("log", "a") as log:
            log.write(f"{event['type']} {os.getpid()}\\n")
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
"""


# ---- threads --------------------------------------------------------------------------------


def test_two_loops_in_two_threads() -> None:
    """Two lifespans of one application live at the same time, each in its thread and loop."""
    both_serve = threading.Barrier(2, timeout=LIMIT)
    heard: list[tuple[str, str]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for answer in ("startup", "shutdown"):
            event = await receive()
            heard.append((threading.current_thread().name, event["type"]))
            scope["state"][answer] = asyncio.get_running_loop()
            await send({"type": f"lifespan.{answer}.complete"})

    async def serve() -> tuple[Any, Any]:
        async with Lifespan(app, startup_timeout=LIMIT, shutdown_timeout=LIMIT) as lifespan:
            await asyncio.to_thread(both_serve.wait)
            assert lifespan.state == {"startup": asyncio.get_running_loop()}
        return lifespan.outcome, lifespan.state

    with ThreadPoolExecutor(2, thread_name_prefix="serves") as pool:
        servers = [pool.submit(asyncio.run, serve()) for _ in range(2)]
        (first, state), (second, other) = (server.result(LIMIT) for server in servers)
    assert (first, second) == ("complete", "complete")
    assert state["startup"] is state["shutdown"] is not other["startup"]
    assert Counter(heard) == {
        (f"serves_{n}", f"lifespan.{event}"): 1 for n in (0, 1) for event in ("startup", "shutdown")
    }


# ---- uvicorn --------------------------------------------------------------------------------


class Log:
    """What the application wrote: an event and a process in each line."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log"

    def events(self, kind: str) -> list[int]:
        """Return the processes that had an event, in order."""
        text = self.path.read_text() if self.path.exists() else ""
        return [int(pid) for pid in re.findall(rf"^lifespan\.{kind} (\d+)\n", text, re.MULTILINE)]

    def until(self, startups: int, shutdowns: int) -> None:
        """Wait until there were so many events."""
        wanted = {"startup": startups, "shutdown": shutdowns}
        while any(len(self.events(kind)) < n for kind, n in wanted.items()):
            time.sleep(0.02)  # another process writes it: there is no event


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Write the application into an empty folder."""
    (tmp_path / "page.py").write_text(APP)
    return Log(tmp_path)


def alive(pids: list[int]) -> list[int]:
    """Return the processes that are still there."""
    found = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            found.append(pid)
    return found


def test_two_workers_of_uvicorn_are_replaced(log: Log) -> None:
    """SIGHUP replaces each worker by a new process, with a lifespan of its own."""
    with uvicorn(log.path.parent, "page:app", "--workers", "2") as server:
        log.until(2, 0)
        first = set(log.events("startup"))
        server.process.send_signal(signal.SIGHUP)
        log.until(4, 2)
        assert set(log.events("shutdown")) == first
        ended(server, signal.SIGTERM)
    workers = log.events("startup")
    assert len(set(workers)) == len(workers) == 4
    assert sorted(log.events("shutdown")) == sorted(workers)
    assert alive(workers) == []


def test_uvicorn_reloads(log: Log) -> None:
    """A reload ends one process, with shutdown, and begins another, with startup."""
    program = log.path.with_name("page.py")
    with uvicorn(log.path.parent, "page:app", "--reload") as server:
        log.until(1, 0)
        while not log.events("shutdown"):  # what changes before it is first looked at goes unseen
            program.write_text(program.read_text() + "# changed\n")
            time.sleep(1)
        log.until(2, 1)
        ended(server, signal.SIGTERM)
    one, another = log.events("startup")
    assert log.events("shutdown") == [one, another]
    assert len({server.process.pid, one, another}) == 3
    assert alive([one, another]) == []
