"""Combine the lifespans of several applications, for an application that mounts others.

Each part runs in a `Lifespan` of its own, which logs what fails, on asyncio or trio.  If one fails
to start, those before it are stopped.  A part sees the keys of the state that it has set itself; a
request sees all that were set until startup was complete.

A server that cancels the combined application cancels the part that starts or stops just then.
Those before it are stopped, for which they have as long as the server waits.
"""

import importlib
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from lifespec.application import Application, Receive, Send, failure_message, receive_event
from lifespec.server import Lifespan, ShutdownFailed, StartupFailed


def combine_lifespans(app: Application, *others: Application) -> Application:
    """Return `app` with the lifespans of the others added to its own.

    They start in order and stop in reverse order.  Every scope except lifespan goes to `app`.
    Those without lifespan support are skipped.  Startup fails if one raises after it has
    received lifespan.startup, or if two parts set the same key of the state.  A key that is set
    after startup reaches no request.  Shutdown fails if a part raises instead of answering it.
    Runs on asyncio and on trio.

    Raises TypeError if one of them cannot be called.
    """
    parts = (app, *others)
    for part in parts:
        if not callable(part):
            raise TypeError(f"app must be callable, got {part!r}")
    if not others:
        return app

    async def combined(scope: Any, receive: Receive, send: Send) -> object:
        if scope["type"] != "lifespan":
            return await app(scope, receive, send)
        await receive_event("lifespan.startup", receive)
        failures: list[str] = []
        try:
            async with AsyncExitStack() as stack:
                await _start(parts, scope, stack, failures)
                await send({"type": "lifespan.startup.complete"})
                await receive_event("lifespan.shutdown", receive)
        except StartupFailed as failure:
            await send({"type": "lifespan.startup.failed", "message": failure.message})
            raise
        if failures:
            await send({"type": "lifespan.shutdown.failed", "message": "; ".join(failures)})
        else:
            await send({"type": "lifespan.shutdown.complete"})
        return None

    return combined


async def _start(
    parts: tuple[Application, ...], scope: Any, stack: AsyncExitStack, failures: list[str]
) -> None:
    owners: dict[str, str] = {}
    for number, part in enumerate(parts, 1):
        own = dict(scope)
        if "state" in scope:
            own["state"] = {}
        state = await stack.enter_async_context(_lifespan(part, own, failures))
        if state is None:  # the server offers none
            continue
        name = f"{number} ({getattr(part, '__name__', type(part).__name__)})"
        for key, value in state.items():
            if owners.setdefault(key, name) != name:
                sentence = f"the state key {key!r} is set by {owners[key]} and by {name}"
                raise StartupFailed(sentence, sentence)
            scope["state"][key] = value


@asynccontextmanager
async def _lifespan(app: Application, scope: Any, failures: list[str]) -> AsyncIterator[Any]:
    """Run one part and yield its state; add to `failures` how it failed to shut down."""
    received = served = False

    async def part(scope: Any, receive: Receive, send: Send) -> None:
        async def receive_and_note() -> Any:
            nonlocal received
            event = await receive()
            received = True
            return event

        await app(scope, receive_and_note, send)

    lifespan = lifespan_class()(part, scope=scope)
    try:
        async with lifespan:
            error = lifespan.error
            if received and error is not None and lifespan.supported is False:
                sentence = "The application raised during startup instead of answering it"
                raise StartupFailed(f"{sentence}: {error!r}", failure_message(error)) from error
            yield lifespan.state
            served = lifespan.outcome is None  # it did not crash before shutdown
    except ShutdownFailed as failure:
        failures.append(failure.message or str(failure))
    if served and lifespan.outcome == "crashed":
        failures.append(f"The application crashed before it answered shutdown: {lifespan.error!r}")


def lifespan_class() -> type[Lifespan]:
    """Return the `Lifespan` of the library that runs this task; one can be a guest of the other."""
    trio = sys.modules.get("trio")
    if trio is None:
        return Lifespan
    if not trio.lowlevel.in_trio_task():
        return Lifespan
    return importlib.import_module("lifespec.server_trio").Lifespan  # type: ignore[no-any-return]
