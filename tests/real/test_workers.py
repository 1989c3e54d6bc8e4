"""Each event loop has its own lifespan: in real threads, and in uvicorn's workers.

Which signal ends what is in a record.
"""

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

from lifespec import Lifespan
from loopback import LIMIT, answer, ended, until, uvicorn
from serving import Program

APP = """
import contextvars
import os

var = contextvars.ContextVar("var", default="nothing")


async def app(scope, receive, send):
    while scope["type"] == "lifespan":
        event = await receive()
        print(event["type"], os.getpid(), var.get(), flush=True)
        var.set(event["type"])
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": var.get().encode()})
"""


# ---- threads --------------------------------------------------------------------------------


def test_two_loops_in_two_threads() -> None:
    """Two lifespans of one application live at the same time, each in its thread and loop."""
    both_serve = threading.Barrier(2, timeout=LIMIT)
    heard: list[tuple[str, str]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for phase in ("startup", "shutdown"):
            event = await receive()
            heard.append((threading.current_thread().name, event["type"]))
            scope["state"][phase] = asyncio.get_running_loop()
            await send({"type": f"lifespan.{phase}.complete"})

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


def events(server: Program, kind: str) -> list[int]:
    """Return the processes that had an event, in order."""
    pids = re.findall(rf"^lifespan\.{kind} (\d+) ", "\n".join(server.lines), re.MULTILINE)
    return [*map(int, pids)]


def wait(server: Program, *, startups: int, shutdowns: int) -> None:
    """Wait until there were so many events."""
    while len(events(server, "startup")) < startups or len(events(server, "shutdown")) < shutdowns:
        time.sleep(0.02)


def alive(pids: list[int]) -> list[int]:
    """Return the processes that are still there."""
    found = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            found.append(pid)
    return found


def test_shutdown_sees_a_context_variable_of_startup_and_a_request_does_not(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(APP)
    with uvicorn(tmp_path, "page:app") as server:
        port = int(until(server, r"http://127\.0\.0\.1:(\d+)")[1])
        assert answer(port) == "nothing"
        assert re.search(r"\.shutdown \d+ lifespan\.startup\n", ended(server, signal.SIGTERM))


def test_two_workers_of_uvicorn_are_replaced(tmp_path: Path) -> None:
    """SIGHUP replaces each worker by a new process, with a lifespan of its own."""
    (tmp_path / "page.py").write_text(APP)
    with uvicorn(tmp_path, "page:app", "--workers", "2") as server:
        wait(server, startups=2, shutdowns=0)
        first = {*events(server, "startup")}
        server.process.send_signal(signal.SIGHUP)
        wait(server, startups=4, shutdowns=2)
        assert {*events(server, "shutdown")} == first
        ended(server, signal.SIGTERM)
    workers = events(server, "startup")
    assert len({*workers}) == len(workers) == 4
    assert sorted(events(server, "shutdown")) == sorted(workers)
    assert alive(workers) == []


def test_uvicorn_reloads(tmp_path: Path) -> None:
    """A reload ends one process, with shutdown, and begins another, with startup."""
    program = tmp_path / "page.py"
    program.write_text(APP)
    with uvicorn(tmp_path, "page:app", "--reload") as server:
        wait(server, startups=1, shutdowns=0)
        while not events(server, "shutdown"):  # a change before it is first looked at goes unseen
            program.write_text(program.read_text() + "# changed\n")
            time.sleep(1)
        wait(server, startups=2, shutdowns=1)
        ended(server, signal.SIGTERM)
    one, another = events(server, "startup")
    assert events(server, "shutdown") == [one, another]
    assert len({server.process.pid, one, another}) == 3
    assert alive([one, another]) == []
