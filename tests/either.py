"""Tests that hold for the server on asyncio and on trio alike, written once.

    @both
    async def test_something(on: Either) -> None:
        async with on.Lifespan(on.says("receive", STARTED)):
            ...

`on` has what the two libraries name differently.  Time is virtual, and a hang raises.
"""

import asyncio
import functools
import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from lifespec import server, server_trio
from lifespec.testing import clock
from scripted import STARTED, STOPPED, says

HANG = 10**6  # seconds of a clock that jumps
Call = Callable[[], Awaitable[object]]


class Either:
    """What is the same on both; the subclasses have the rest under the same names."""

    Lifespan: type[server.Lifespan] = server.Lifespan
    Cancelled: type[BaseException] = asyncio.CancelledError
    sleep: Any = staticmethod(asyncio.sleep)
    task: Any = staticmethod(asyncio.current_task)
    shield: Callable[[], AbstractContextManager[object]] = nullcontext

    def says(self, *script: Any) -> Any:
        """Make an application of messages to send, "receive", seconds to sleep, errors to raise."""
        return says(*script, sleep=self.sleep)

    @property
    def correct(self) -> Any:
        """An application that answers as the specifications ask."""
        return self.says("receive", STARTED, "receive", STOPPED)

    def tidies(self, *script: Any, seconds: float, then: Callable[[], object] = int) -> Any:
        """Make an application that takes some seconds to tidy up at its end, cancelled or not."""

        async def app(scope: Any, receive: Any, send: Any) -> None:
            try:
                await self.says(*script)(scope, receive, send)
            finally:
                with self.shield():
                    await self.sleep(seconds)
                    then()

        return app


class OnAsyncio(Either):
    """What asyncio does in its way."""

    def run(self, main: Call) -> Any:
        """Run on the virtual clock."""
        return clock.run(main())

    def now(self) -> float:
        """Return the time."""
        return asyncio.get_running_loop().time()

    async def together(self, *calls: Call) -> None:
        """Await several calls at once."""
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call())  # type: ignore[arg-type]

    async def cancelled(self, call: Call, after: float = math.inf) -> BaseException:
        """Cancel a call after some seconds, or by `cancel`; return what it raises of that."""
        self.server = asyncio.create_task(call())  # type: ignore[arg-type]
        if after != math.inf:
            asyncio.get_running_loop().call_later(after, self.cancel)
        with pytest.raises(asyncio.CancelledError) as caught:
            await self.server
        return caught.value

    def cancel(self) -> None:
        """Cancel what `cancelled` awaits."""
        self.server.cancel()


class OnTrio(Either):
    """What trio does in its way, with the same meaning."""

    Lifespan = server_trio.Lifespan
    Cancelled = trio.Cancelled
    sleep = staticmethod(trio.sleep)
    task = staticmethod(trio.lowlevel.current_task)

    def shield(self) -> AbstractContextManager[object]:
        """Shield from cancellation, which trio raises at every wait."""
        return trio.CancelScope(shield=True)

    def run(self, main: Call) -> Any:
        """Run on a clock that jumps; what hangs raises TooSlowError."""

        async def limited() -> Any:
            with trio.fail_after(HANG):
                return await main()

        return trio.run(limited, clock=MockClock(autojump_threshold=0))

    def now(self) -> float:
        return trio.current_time()

    async def together(self, *calls: Call) -> None:
        async with trio.open_nursery() as nursery:
            for call in calls:
                nursery.start_soon(call)

    async def cancelled(self, call: Call, after: float = math.inf) -> BaseException:
        with trio.move_on_after(after) as self.scope:
            with pytest.raises(trio.Cancelled) as caught:
                await call()
            raise caught.value
        assert self.scope.cancelled_caught
        return caught.value

    def cancel(self) -> None:
        self.scope.cancel()


def both(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make two tests of an async function, which gets the library first."""

    @pytest.mark.parametrize("on", [OnAsyncio, OnTrio])
    @functools.wraps(test)
    def running(on: type[OnAsyncio | OnTrio], **arguments: Any) -> None:
        library = on()
        library.run(functools.partial(test, library, **arguments))

    return running


def on_trio(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a test of an async function."""

    @functools.wraps(test)
    def running(**arguments: Any) -> None:
        OnTrio().run(functools.partial(test, **arguments))

    return running
