"""Small applications, each with one fault that its author wants to know of."""

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[None]]
Life = Callable[[Any], AbstractAsyncContextManager[None]]


class UnheardError(Exception):
    """An event that the application does not know."""


def sends(life: Life) -> Application:
    """Make an application of a lifespan that sends, as some frameworks do, an exception's text."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            return
        if scope["type"] != "lifespan":
            raise ValueError(scope["type"])
        phase = "startup"
        if (await receive())["type"] != "lifespan.startup":
            raise ValueError
        try:
            async with life(scope):
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                if (await receive())["type"] != "lifespan.shutdown":
                    raise UnheardError  # noqa: TRY301
        except UnheardError:
            raise
        except Exception as error:
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
        else:
            await send({"type": "lifespan.shutdown.complete"})

    return app


def application(life: Callable[[Any], AsyncIterator[None]]) -> Application:
    app = sends(asynccontextmanager(life))
    app.__qualname__ = life.__name__
    return app


@application
async def faultless(_: Any) -> AsyncIterator[None]:
    yield


@application
async def blocks_at_startup(_: Any) -> AsyncIterator[None]:
    time.sleep(100)  # noqa: ASYNC251  the fault
    yield


@application
async def joins_at_shutdown(_: Any) -> AsyncIterator[None]:
    thread = threading.Thread(target=time.sleep, args=(100,), daemon=True)
    thread.start()
    yield
    thread.join()


@application
async def waits_at_startup(_: Any) -> AsyncIterator[None]:
    await wait_for_kafka()
    yield


async def wait_for_kafka() -> None:
    await asyncio.Event().wait()


@application
async def waits_at_shutdown(_: Any) -> AsyncIterator[None]:
    yield
    await wait_for_kafka()


@application
async def blocks_while_serving(_: Any) -> AsyncIterator[None]:
    async def later() -> None:
        await asyncio.sleep(0.05)
        time.sleep(100)  # noqa: ASYNC251  the fault

    task = asyncio.create_task(later())
    yield
    task.cancel()


@application
async def needs_a_setting(_: Any) -> AsyncIterator[None]:
    os.environ["DATABASE_URL_OF_SHOP"]
    yield


@application
async def cannot_flush(_: Any) -> AsyncIterator[None]:
    yield
    raise ExceptionGroup("clean-up", [RuntimeError("cannot flush")])


@application
async def leaves_a_thread(_: Any) -> AsyncIterator[None]:
    threading.Thread(target=time.sleep, args=(100,), name="connection").start()
    yield


@application
async def leaves_a_task(_: Any) -> AsyncIterator[None]:
    asyncio.create_task(wait_for_kafka(), name="poller")  # noqa: RUF006  the fault
    asyncio.create_task(asyncio.sleep(100))  # noqa: RUF006  the same
    yield


@application
async def leaves_a_process(_: Any) -> AsyncIterator[None]:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])  # noqa: ASYNC220
    yield


@application
async def logs_errors(_: Any) -> AsyncIterator[None]:
    logging.getLogger("rows").error("no cache")
    yield
    try:
        raise RuntimeError("Plugin not yet initialized")  # noqa: TRY301
    except RuntimeError:
        logging.getLogger("rows").exception("the last batch was lost")


@application
async def has_a_task_that_dies(scope: Any) -> AsyncIterator[None]:
    async def receive_messages() -> None:
        await asyncio.sleep(0.05)
        raise ConnectionError("link detached")

    scope["state"]["task"] = asyncio.create_task(receive_messages())
    yield


@application
async def fails_while_serving(_: Any) -> AsyncIterator[None]:
    async def work() -> None:
        await asyncio.sleep(0.05)
        raise OSError("no orders")

    async with asyncio.TaskGroup() as group:
        group.create_task(work())
        yield


def scripted(*steps: Any) -> Application:
    """Make an application of what it does in turn: receive, send, or call a function."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("lifespan", "http"):
            raise ValueError(scope["type"])
        for step in steps if scope["type"] == "lifespan" else ():
            if step is None:
                await receive()
            elif isinstance(step, dict):
                await send(step)
            else:
                step()

    return app


def fail(error: BaseException) -> Callable[[], None]:
    """Return a function that raises this."""

    def raises() -> None:
        raise error

    return raises


STARTED = {"type": "lifespan.startup.complete"}
STOPPED = {"type": "lifespan.shutdown.complete"}
raises_late = scripted(None, fail(OSError("no database")))
raises_on_the_scope = scripted(fail(AssertionError()))
wants_a_path = scripted(fail(KeyError("path")))
returns_late = scripted(None)
returns_early = scripted(None, STARTED)
returns_at_shutdown = scripted(None, STARTED, None)
raises_at_shutdown = scripted(None, STARTED, None, fail(OSError("no disk")))
crashes = scripted(None, STARTED, fail(OSError("no disk")))
exits = scripted(None, lambda: os._exit(4))
exits_at_shutdown = scripted(None, STARTED, None, lambda: os._exit(4))
raises_exit = scripted(None, fail(SystemExit(4)))
kills_itself = scripted(None, STARTED, None, lambda: os.kill(os.getpid(), 9))
answers_with_shutdown = scripted(None, STOPPED)
says_failed = scripted(None, {"type": "lifespan.startup.failed", "message": "no database"})
says_nothing = scripted(None, {"type": "lifespan.startup.failed"})
asks_again = scripted(None, None)
forks = scripted(None, os.fork, STARTED, None, STOPPED)


async def rebinds(scope: Any, receive: Any, send: Any) -> None:
    """Put another object into the scope's state."""
    scope["state"] = {"pool": 1}
    await scripted(None, STARTED, None, STOPPED)(scope, receive, send)


async def lingers(scope: Any, receive: Any, send: Any) -> None:
    """Do more after the last answer."""
    await scripted(None, STARTED, None, STOPPED)(scope, receive, send)
    await asyncio.sleep(100)


async def on_trio(scope: Any, receive: Any, send: Any) -> None:
    """Need trio, and serve requests by it."""
    import trio  # noqa: PLC0415  as some do

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 0)
        if scope["type"] not in ("lifespan", "http"):
            raise ValueError(scope["type"])
        await scripted(None, STARTED, None, STOPPED)(scope, receive, send)


async def hangs_on_trio(scope: Any, receive: Any, send: Any) -> None:
    """Never answer shutdown."""
    import trio  # noqa: PLC0415

    await trio.lowlevel.checkpoint()
    await scripted(None, STARTED, None)(scope, receive, send)
    await trio.sleep(100)


def no_coroutine(scope: Any, receive: Any, send: Any) -> int:
    """Return what cannot be awaited."""
    return 1
