"""Applications of a few steps."""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

STARTUP, SHUTDOWN = "lifespan.startup", "lifespan.shutdown"
STARTED = {"type": "lifespan.startup.complete"}
NOT_STARTED = {"type": "lifespan.startup.failed"}
STOPPED = {"type": "lifespan.shutdown.complete"}
NOT_STOPPED = {"type": "lifespan.shutdown.failed"}


class Try(NamedTuple):
    """A message that is sent, whether it is refused or not."""

    message: dict[str, Any]


async def hear(receive: Any, *types: str) -> str:
    """Receive an event; refuse it unless it is of these types, or there are none."""
    event = await receive()
    if types and event["type"] not in types:
        raise ValueError(event["type"])
    return str(event["type"])


def known(scope: Any) -> bool:
    """Return whether a scope is lifespan's; refuse it unless it is that or a request's."""
    if scope["type"] not in ("lifespan", "http", "message"):
        raise ValueError(scope["type"])
    return bool(scope["type"] == "lifespan")


def says(*script: Any, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Any:
    """Make an application of messages to send, seconds to sleep, errors to raise, and "receive".

    The type of an event instead is received, and another one refused.  A function is called with
    the scope, and what it returns is awaited, if that is possible.  The application does nothing
    about a request, and refuses other scopes.
    """

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for step in script if known(scope) else ():
            if step in ("receive", STARTUP, SHUTDOWN):
                await hear(receive, *([step] if step != "receive" else []))
            elif callable(step):
                result = step(scope)
                if inspect.isawaitable(result):
                    await result
            elif isinstance(step, (int, float)):
                await sleep(step)
            elif isinstance(step, BaseException):
                raise step.with_traceback(None)  # without the frames of earlier runs
            elif isinstance(step, Try):
                with contextlib.suppress(Exception):
                    await send(step.message)
            else:
                await send(step)

    return app
