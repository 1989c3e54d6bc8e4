"""What the suite needs of an event loop, for asyncio and for trio.

Both classes have the same names: `run` plays a case, `start` begins a task of the suite, `wait`,
`sleep` and `event` are for its own waits, and `left` and `failed_tasks` say what an application has
left behind and what failed there.  `sweep` ends that, before another loop begins.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from importlib import import_module
from typing import Any

from lifespec.diagnosis.fact import Error, Fact
from lifespec.diagnosis.leftovers import BegunTask, Tasks

Main = Callable[[], Coroutine[Any, Any, None]]

SWEEP = 0.5  # seconds that the tasks of one loop have to end before the next begins


class Asyncio:
    """An event loop of asyncio."""

    event, sleep = asyncio.Event, staticmethod(asyncio.sleep)

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.tasks = Tasks()
        self.loop.set_task_factory(self.tasks)
        self.failed_tasks, self.tasks_left = self.tasks.failed, self.tasks.left
        self.task_sources, self.tasks_running = self.tasks.sources, self.tasks.running

    def run(self, main: Main) -> None:
        """Run the coroutine function; it does not wait for tasks that still run then."""
        self.loop.run_until_complete(main())
        # else the garbage collection may destroy one, and asyncio log that
        self.held_tasks = asyncio.all_tasks(self.loop)

    def sweep(self) -> None:
        """Cancel what still runs, before another loop begins."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        with suppress(BaseException):  # a task may exit the loop, and of no task `wait` is refused
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=SWEEP))
        with suppress(Exception):
            self.loop.close()

    def start(self, main: Main) -> Callable[[], object]:
        """Start a task, and return what cancels it."""
        return self.loop.create_task(main()).cancel

    async def wait(self, event: Any, seconds: float) -> None:
        """Wait for an event, at most some seconds."""

        async def wake() -> None:
            await event.wait()

        waiting = self.loop.create_task(wake())
        await asyncio.wait([waiting], timeout=seconds)
        waiting.cancel()


class Trio:
    """The event loop of trio: nurseries leave no task behind, and raise what a task raised."""

    def __init__(self) -> None:
        self.trio: Any = import_module("trio")
        self.event, self.sleep = self.trio.Event, self.trio.sleep
        self.task_sources = set[tuple[str, int]]()

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
        scope = self.trio.CancelScope()  # trio cancels scopes, and no tasks

        async def scoped() -> None:
            with scope:
                await main()

        self.nursery.start_soon(scoped)
        cancel: Callable[[], object] = scope.cancel
        return cancel

    async def wait(self, event: Any, seconds: float) -> None:
        """Wait for an event, at most some seconds."""
        with self.trio.move_on_after(seconds):
            await event.wait()

    def tasks_running(self) -> list[BegunTask]:
        """Return the tasks that still run: none."""
        return []

    async def tasks_left(self) -> list[Fact]:
        """Return the tasks that still run at the end: none."""
        return []

    def failed_tasks(self, _kind: str) -> list[Fact]:
        """Return the tasks whose exceptions were never retrieved: none."""
        return []


Loop = Asyncio | Trio


def needs_trio(error: Error) -> bool:
    """Tell whether an exception says that trio was called outside of its event loop."""
    misses = error.of("builtins.ModuleNotFoundError")
    if any(miss.text == "No module named 'trio'" for miss in misses):
        return True
    # which its functions show by what they raise: they ask for a runner that is not there
    is_outside = error.of("builtins.AttributeError", "builtins.RuntimeError")[:1]
    return bool(is_outside) and "/trio/_core/" in error.file.replace("\\", "/")
