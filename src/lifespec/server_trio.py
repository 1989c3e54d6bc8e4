"""The lifespan protocol for a server on trio: the lower half of server.py without asyncio.

    async with Lifespan(app) as lifespan:
        ...  # serve; give each request lifespan.with_state(scope)

Names, arguments, outcomes and log records are those of server.py.  These are the differences:

    The application runs in a system task, in a copy of the context that was current at startup.
    So no cancellation around the server reaches it, and `startup` and `shutdown` need no nursery.
    If the application ignores its cancellation, `Lifespan` stops waiting after the grace, but
    `trio.run` waits for the task before it returns.
    Trio's cancellation stays in effect until its scope exits.  If it came before shutdown was
    sent, shutdown takes its normal time.  If it comes later, the application is cancelled and has
    the grace to end, because trio has no second cancellation.
    If the application raises SystemExit or KeyboardInterrupt, also in the exception group of a
    nursery, the body of `async with` is cancelled, and the exception is raised in place of what
    the body raised.  `startup` and `shutdown` raise it, too.
    Ctrl-C raises KeyboardInterrupt in the server, never in the application: it is a system task.
    `receive` and `send` are checkpoints only when they wait.
    server.py cancels a task that waits for another event after the final answer.  Trio cannot
    cancel a single task, so the application is cancelled when all its tasks wait for events or
    for such tasks.

Copy this file together with server.py, beside each other, into a package of yours.
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

from . import server
from .server import State

__all__ = ["Lifespan"]

EXITS = KeyboardInterrupt, SystemExit


class Lifespan(server.Lifespan[State]):
    """Start an application, run the body of `async with`, and stop the application."""

    _cancel_errors = (trio.Cancelled, KeyboardInterrupt)

    async def __aenter__(self) -> Self:
        await self.startup()
        self._closing.enter_context(self._body)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._closing.close()
        await self._stop(error)

    async def _stop(self, error: BaseException | None) -> None:
        await super()._stop(error)
        if isinstance(self._raised, EXITS):  # the outcome may be an earlier one
            raise self._raised

    def _raise_for_outcome(self, stage: str) -> None:
        """Raise the application's SystemExit or KeyboardInterrupt, or else what is due."""
        if isinstance(self._raised, EXITS):
            raise self._raised
        super()._raise_for_outcome(stage)

    def _start_app(self) -> None:
        self._call, self._body = trio.CancelScope(), trio.CancelScope()
        self._changes, self._closing = ParkingLot(), contextlib.ExitStack()
        self._receivers: set[Task] = set()
        self._running = spawn_system_task(self._run_app, context=copy_context())

    async def _run_app(self) -> None:
        with self._call, contextlib.suppress(Exception):  # of a log handler: it would end trio.run
            try:
                await self._call_app()
            except BaseException as raised:
                error = bare(raised)
                if self.phase == "ended" and isinstance(error, EXITS):
                    sentence = "The application exits after the server stopped waiting"
                    self.report(ERROR, sentence, error)
                self._on_app_raised(error, cancelled=only_cancelled(error))
            else:
                self._check_deadline()
                self._transition("returned")
        if isinstance(self._raised, EXITS):
            self._body.cancel()

    def _cancel_receiver(self) -> None:
        """Cancel the application if all its tasks wait for another event.

        Trio cannot cancel a single task, and another task may still be cleaning up.
        """
        self._receivers.add(current_task())
        if all(task in self._receivers or at_nursery_end(task) for task in tasks(self._running)):
            self._transition("cancelled")

    async def _wait_for_change(self, *timeout: float | None) -> None:
        if not timeout:  # called by `receive`
            await self._changes.park()
            return
        phase, now = self.phase, trio.current_time()
        stops = phase not in {"waiting", "running"}
        already_cancelled = stops and trio.current_effective_deadline() <= now
        deadline = math.inf if timeout[0] is None else self._phase_deadline(now, timeout[0])
        with trio.CancelScope(deadline=deadline, shield=already_cancelled):
            await self._changes.park()
            return
        await cancel_shielded_checkpoint()  # an answer that is due at the same moment comes first
        self._on_timeout(phase, timeout[0] or 0)

    def _now(self) -> float:
        """Return trio's time."""
        return trio.current_time()

    def _on_phase_change(self) -> None:
        """Wake all waiters; cancel the application in phase "cancelling"."""
        if self.phase == "cancelling":
            self._call.cancel()
        self._changes.unpark_all()


def tasks(root: Task) -> Iterator[Task]:
    """Yield a task and all tasks in its nurseries."""
    yield root
    for nursery in root.child_nurseries:
        for task in nursery.child_tasks:
            yield from tasks(task)


def at_nursery_end(task: Task) -> bool:
    """Tell whether a task has left the body of its nursery and waits for the tasks in it."""
    end: Any = type(trio.open_nursery()).__aexit__
    return any(frame.f_code is end.__code__ for frame, _ in task.iter_await_frames())


def bare(error: BaseException) -> BaseException:
    """Return the first exit in an exception group, or the error itself."""
    found: BaseException | None = BaseExceptionGroup("", [error]).subgroup(EXITS)
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found or error


def only_cancelled(error: BaseException) -> bool:
    """Tell whether an exception consists of cancellations alone."""
    return BaseExceptionGroup("", [error]).split(trio.Cancelled)[1] is None
