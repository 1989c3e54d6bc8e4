"""What the suite needs of an event loop, for asyncio and for trio."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lifespec.testing import left

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    Main = Callable[[], Coroutine[Any, Any, None]]

__all__ = ["Asyncio", "Trio", "needs_trio"]

SWEEP = 0.5  # seconds that the tasks of one loop have to end before the next begins


class Asyncio:
    """An event loop of asyncio; `own` is the package that is checked."""

    def __init__(self, own: str) -> None:
        self.own, self.tasks = own, left.Tasks(own)
        self.event: Callable[[], Any] = asyncio.Event
        self.sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def run(self, main: Main) -> None:
        """Run the coroutine function; it does not wait for what is left in the loop."""
        self.loop = asyncio.new_event_loop()
        left.make_noted(self.loop, self.own)
        self.loop.run_until_complete(main())

    def sweep(self) -> None:
        """Cancel what is left in the loop, before another loop begins."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        with suppress(BaseException):
            self.loop.run_until_complete(asyncio.wait({*tasks}, timeout=SWEEP))
        with suppress(Exception):
            self.loop.close()

    def now(self) -> float:
        """Return the seconds of the loop's clock."""
        return self.loop.time()

    def start(self, main: Main) -> Callable[[], object]:
        """Start a task, and return what cancels it."""
        return self.loop.create_task(main()).cancel

    async def wait(self, event: Any, seconds: float) -> None:
        """Wait for an event, at most some seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0)):
                await event.wait()

    def look(self) -> None:
        """Take in the tasks of the application that run now."""
        self.tasks.look()

    async def left(self) -> list[left.Fact]:
        """Return the tasks that still run, beside the call itself."""
        ours = {id(task) for task in asyncio.all_tasks() if left.is_ours(task)}
        return await left.tasks(lambda task: id(task) not in ours, self.own)


class Trio:
    """The same of trio, whose nurseries leave no task behind."""

    def __init__(self, own: str) -> None:
        self.own, self.tasks = own, left.Tasks(own)
        self.trio: Any = import_module("trio")
        self.event, self.sleep, self.now = self.trio.Event, self.trio.sleep, self.trio.current_time

    def run(self, main: Main) -> None:
        """Run the coroutine function, and end what it has started."""

        async def inside() -> None:
            async with self.trio.open_nursery() as self.nursery:
                await main()
                self.nursery.cancel_scope.cancel()

        self.trio.run(inside)

    def sweep(self) -> None:
        """Do nothing: the nursery has ended all tasks."""

    def start(self, main: Main) -> Callable[[], object]:
        """Start a task, and return what cancels it."""
        scope = self.trio.CancelScope()

        async def scoped() -> None:
            with scope:
                await main()

        self.nursery.start_soon(scoped)
        cancel: Callable[[], object] = scope.cancel
        return cancel

    async def wait(self, event: Any, seconds: float) -> None:
        """Wait for an event, at most some seconds."""
        with self.trio.move_on_after(max(seconds, 0)):
            await event.wait()

    def look(self) -> None:
        """Do nothing: a task that dies takes its nursery with it."""

    async def left(self) -> list[left.Fact]:
        """Return nothing."""
        return []


def needs_trio(error: left.Error) -> bool:
    """Tell whether an exception says that trio was called outside of its event loop."""
    last = error.files[-1] if error.files else ""
    misses = "ModuleNotFoundError" in error.kinds and "No module named 'trio'" in error.texts
    outside = {"AttributeError", "RuntimeError"} & {error.type}
    return misses or bool(outside and "/trio/_core/" in last.replace("\\", "/"))
