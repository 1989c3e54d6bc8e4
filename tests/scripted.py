"""Applications of a few steps, for the tests of the server's half."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["NOT_STARTED", "NOT_STOPPED", "STARTED", "STOPPED", "says"]

STARTED = {"type": "lifespan.startup.complete"}
NOT_STARTED = {"type": "lifespan.startup.failed"}
STOPPED = {"type": "lifespan.shutdown.complete"}
NOT_STOPPED = {"type": "lifespan.shutdown.failed"}


def says(*script: Any, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> Any:
    """Make an application of messages to send, "receive", seconds to sleep, errors to raise.

    A function is called with the scope, and what it returns is awaited.
    """

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for step in script:
            if step == "receive":
                await receive()
            elif callable(step):
                await step(scope)
            elif isinstance(step, (int, float)):
                await sleep(step)
            elif isinstance(step, BaseException):
                raise step
            else:
                await send(step)

    return app
