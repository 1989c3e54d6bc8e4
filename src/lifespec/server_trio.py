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
"""

import contextlib
import math
from contextvars import copy_context
from logging import ERROR
from typing import Self

import trio
from trio.lowlevel import ParkingLot, cancel_shielded_checkpoint, current_task, spawn_system_task

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
        self.running = spawn_system_task(self._run, context=copy_context())

    async def _run(self) -> None:
        with self.call, contextlib.suppress(Exception):  # only the log could raise one
            try:
                await self._call()
            except BaseException as raised:
                error = bare(raised)
                if self.phase == "ended" and isinstance(error, EXITS):
                    self.note(ERROR, "The application exits after it was given up", error)
                self.over(error, obeyed=only_cancelled(error))
            else:
                self.happened("returned")
        if isinstance(self.raised, EXITS):
            self.body.cancel()

    def _in_call(self) -> bool:
        return current_task() is self.running

    async def _change(self, *limit: float | None) -> None:
        if not limit:  # it is not the server's startup or shutdown that waits
            await self.changes.park()
            return
        phase, deadline = self.phase, trio.current_effective_deadline()
        over = phase != "waiting" and deadline <= trio.current_time()
        with trio.move_on_after(math.inf if limit[0] is None else limit[0], shield=over):
            await self.changes.park()
            return
        await cancel_shielded_checkpoint()  # who runs at this moment has its step
        self.expired(phase, limit[0] or 0)

    def changed(self) -> None:
        """Cancel the call that was dismissed, and tell who waits."""
        if self.phase == "dismissed":
            self.call.cancel()
        self.changes.unpark_all()


def bare(error: BaseException) -> BaseException:
    """Return the exit of which a nursery made a group, or the error as it is."""
    found: BaseException | None = BaseExceptionGroup("", [error]).subgroup(EXITS)
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found or error


def only_cancelled(error: BaseException) -> bool:
    """Tell whether all that was raised is cancellation."""
    return BaseExceptionGroup("", [error]).split(trio.Cancelled)[1] is None
