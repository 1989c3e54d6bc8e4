"""Applications that keep a server from starting or stopping, each in a way of its own.

TROUBLE names the one that is served.
"""

import asyncio
import atexit
import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket


async def nothing() -> None:
    pass


async def for_ever() -> None:
    await asyncio.Event().wait()


async def in_a_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(for_ever())


async def blocks() -> None:
    time.sleep(60)  # noqa: ASYNC251


async def holds_the_lock() -> None:
    """Sleep in C code that does not give the interpreter's lock back."""
    ctypes.PyDLL(None).sleep(5)


async def fails() -> None:
    raise KeyError("DATABASE_URL")


async def joins() -> None:
    thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
    thread.start()
    thread.join()


def pump() -> None:
    while True:
        time.sleep(0.1)


async def starts_a_thread() -> None:
    threading.Thread(target=pump, name="pump").start()


async def starts_a_process() -> None:
    multiprocessing.get_context("spawn").Process(target=time.sleep, args=(60,)).start()


async def starts_a_pool() -> None:
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    asyncio.get_running_loop().run_in_executor(pool, time.sleep, 60)


def flush() -> None:
    time.sleep(60)


async def flushes_at_exit() -> None:
    atexit.register(flush)


class Slow:
    """Is deleted when the interpreter ends, and takes its time."""

    def __del__(self) -> None:
        time.sleep(60)


async def keeps_what_ends_slowly() -> None:
    kept.append(Slow())


async def starts_a_task_that_dies() -> None:
    async def worker() -> None:
        await asyncio.sleep(0.2)
        raise ConnectionError("link detached")

    tasks.append(asyncio.create_task(worker()))


async def starts_a_task_that_exits() -> None:
    async def leaver() -> None:
        await asyncio.sleep(0.2)
        raise SystemExit(3)

    tasks.append(asyncio.create_task(leaver()))


tasks: list[Any] = []
kept: list[Any] = []


async def slowly() -> None:
    await asyncio.sleep(3)  # on a busy machine, too, `watch` looks before that


# startup and clean-up of each
TROUBLES = {
    "startup-waits": (in_a_group, nothing),
    "startup-holds-the-lock": (holds_the_lock, nothing),
    "startup-fails": (fails, nothing),
    "clean-up-waits": (nothing, for_ever),
    "clean-up-blocks": (nothing, joins),
    "thread": (starts_a_thread, nothing),
    "process": (starts_a_process, nothing),
    "pool": (starts_a_pool, nothing),
    "exit-handler": (flushes_at_exit, nothing),
    "interpreter": (keeps_what_ends_slowly, nothing),
    "task-dies": (starts_a_task_that_dies, nothing),
    "task-exits": (starts_a_task_that_exits, nothing),
    "slow": (slowly, slowly),
}


@contextlib.asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    startup, clean_up = TROUBLES.get(os.environ.get("TROUBLE", ""), (nothing, nothing))
    await startup()
    yield
    await clean_up()


async def events() -> AsyncIterator[bytes]:
    while True:
        yield b"data: 1\n\n"
        await asyncio.sleep(0.1)


async def board(_: Request) -> StreamingResponse:
    return StreamingResponse(events())


async def mail(_: Request) -> PlainTextResponse:
    return PlainTextResponse("sent soon", background=BackgroundTask(for_ever))


async def chat(socket: WebSocket) -> None:
    await socket.accept()
    await for_ever()


async def busy(_: Request) -> PlainTextResponse:
    await blocks()
    return PlainTextResponse("")


def report(_: Request) -> PlainTextResponse:
    time.sleep(61)
    return PlainTextResponse("")


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/", lambda _: PlainTextResponse("shop")),
        Route("/board", board),
        Route("/mail", mail),
        Route("/busy", busy),
        Route("/report", report),
        WebSocketRoute("/chat", chat),
    ],
)


if script := os.environ.get("SCRIPT"):  # of attached.py
    signal.signal(signal.SIGUSR1, lambda *_: exec(Path(script).read_text(), {}))  # noqa: S102
if os.environ.get("TROUBLE") == "import":
    time.sleep(60)

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=int(sys.argv[1]))
