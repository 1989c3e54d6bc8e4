"""The server's half on trio: what of server.py's lower half is asyncio's, done by trio.

    async with Lifespan(app) as lifespan:
        ...  # serve; give each request lifespan.with_state(scope)

Names, arguments, outcomes and log records are those of server.py.  What trio makes different:

    The application runs in a system task, in a copy of the context that was current at startup.
    So no cancellation around the server reaches it, `startup` and `shutdown` need no nursery, and
    one that ignores its cancellation is given up after the grace.  Only the end of `trio.run`
    waits for it: trio abandons no task.
    A cancellation lasts.  One that struck before shutdown was offered does not cut shutdown
    short, one that strikes later does; there is no second one to obey, so the grace is the limit.
    SystemExit and KeyboardInterrupt of the application, also in the group that a nursery makes
    of them, cancel the body of `async with` and are raised in place of what it raised; who calls
    `startup` and `shutdown` gets them there.
    Ctrl-C never strikes in the application's own task: it is a system task.
    Neither `receive` nor `send` is a checkpoint where there is nothing to wait for.
    server.py cancels a task that asks for another event after the final answer.  trio cancels no
    single task, so the application is cancelled when all its tasks ask or wait for those that do.
"""

import contextlib
import math
from collections.abc import Iterator
from contextvars import copy_context
from logging import ERROR
from typing import Any, Self

import trio
from trio.lowlevel import (
    ParkingLot,
    Task,
    cancel_shielded_checkpoint,
    current_task,
    spawn_system_task,
)

from lifespec import server
from lifespec.server import LifespanFailed, Outcome, State

__all__ = ["Lifespan"]

EXITS = KeyboardInterrupt, SystemExit


class Lifespan(server.Lifespan[State]):
    """Start an application, run the body of `async with`, and stop the application."""

    cancelled = (trio.Cancelled, KeyboardInterrupt)

    async def __aenter__(self) -> Self:
        await self.startup()
        self.closing.enter_context(self.body)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.closing.close()
        await self._stop(error)

    async def _stop(self, error: BaseException | None) -> None:
        await super()._stop(error)
        if isinstance(self.raised, EXITS):  # it was decided before
            raise self.raised

    def judge(self, failed: type[LifespanFailed], late: type[LifespanFailed], *no: Outcome) -> None:
        """Raise what ends the server itself, or else what it has to know."""
        if isinstance(self.raised, EXITS):
            raise self.raised
        super().judge(failed, late, *no)

    def _begin(self) -> None:
        self.call, self.body = trio.CancelScope(), trio.CancelScope()
        self.changes, self.closing = ParkingLot(), contextlib.ExitStack()
        self.receivers: set[Task] = set()
        self.running = spawn_system_task(self._run, context=copy_context())

    async def _run(self) -> None:
        with self.call, contextlib.suppress(Exception):  # only the log could raise one
            try:
                await self._call()
            except BaseException as raised:
                error = bare(raised)
                if self.phase == "ended" and isinstance(error, EXITS):
                    sentence = "The application exits after the server stopped waiting"
                    self.note(ERROR, sentence, error)
                self.over(error, obeyed=only_cancelled(error))
            else:
                self.expire_if_late()
                self.happened("returned")
        if isinstance(self.raised, EXITS):
            self.body.cancel()

    def _end_receiver(self) -> None:
        """Cancel the application if all that its tasks still do is to wait for another event.

        trio cancels no single task, and another one may be cleaning up.
        """
        self.receivers.add(current_task())
        if all(task in self.receivers or at_nursery_end(task) for task in tasks(self.running)):
            self.happened("cancelled")

    async def _change(self, *limit: float | None) -> None:
        if not limit:  # it is not the server's startup or shutdown that waits
            await self.changes.park()
            return
        phase, cancelled_at = self.phase, trio.current_effective_deadline()
        over = phase != "waiting" and cancelled_at <= trio.current_time()
        deadline = math.inf if limit[0] is None else self.deadline(trio.current_time(), limit[0])
        with trio.CancelScope(deadline=deadline, shield=over):
            await self.changes.park()
            return
        await cancel_shielded_checkpoint()  # who runs at this moment has its step
        self.expired(phase, limit[0] or 0)

    def now(self) -> float:
        """Return trio's time."""
        return trio.current_time()

    def changed(self) -> None:
        """Cancel the call that was dismissed, and tell who waits."""
        if self.phase == "dismissed":
            self.call.cancel()
        self.changes.unpark_all()


def tasks(root: Task) -> Iterator[Task]:
    """Yield a task and all that run in its nurseries."""
    yield root
    for nursery in root.child_nurseries:
        for task in nursery.child_tasks:
            yield from tasks(task)


def at_nursery_end(task: Task) -> bool:
    """Tell whether a task has left the body of its nursery and waits for the tasks in it."""
    end: Any = type(trio.open_nursery()).__aexit__
    return any(frame.f_code is end.__code__ for frame, _ in task.iter_await_frames())


def bare(error: BaseException) -> BaseException:
    """Return the exit of which a nursery made a group, or the error as it is."""
    found: BaseException | None = BaseExceptionGroup("", [error]).subgroup(EXITS)
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found or error


def only_cancelled(error: BaseException) -> bool:
    """Tell whether all that was raised is cancellation."""
    return BaseExceptionGroup("", [error]).split(trio.Cancelled)[1] is None
