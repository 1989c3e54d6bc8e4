"""The lifespan protocol for a server on trio: server.py with what is below its cut replaced.

    async with Lifespan(app) as lifespan:
        ...  # serve; give each request lifespan.with_state(scope)

Names, arguments, outcomes and log records are those of server.py.  The methods that are replaced
above its cut are those in which trio cancels or raises in another way.  These are the differences:

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
    Trio cannot cancel a single task.  If a task that the application started waits for another
    event after the final answer, the application is cancelled after the grace.

Copy this file together with server.py, beside each other, into a package of yours.
"""

import math
from contextlib import ExitStack, suppress
from contextvars import copy_context
from logging import ERROR
from typing import Self

import trio
from trio import lowlevel

from . import server
from .server import EXITS

__all__ = ["Lifespan"]


class Lifespan(server.Lifespan):
    """Start an application, run the body of `async with`, and stop the application."""

    async def __aenter__(self) -> Self:
        await self.startup()
        self._in_body.enter_context(self._body)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._in_body.close()
        await super().__aexit__(kind, error, trace)

    async def shutdown(self) -> None:
        """Do as server.Lifespan does, shielded from a cancellation that came before."""
        already_cancelled = trio.current_effective_deadline() <= trio.current_time()
        with trio.CancelScope(shield=already_cancelled):
            await super().shutdown()

    async def _cancel_app(self, cancelled: BaseException) -> None:
        with trio.CancelScope(shield=True):
            await super()._cancel_app(cancelled)
        self._raise_exit()

    def _raise_for_outcome(self, stage: str) -> None:
        self._raise_exit()
        super()._raise_for_outcome(stage)

    def _raise_exit(self) -> None:
        if isinstance(self._raised, EXITS):  # the outcome may be an earlier one
            raise self._raised

    # ---- what server.py has below "cut here" ----------------------------------------------------

    _cancellations = (trio.Cancelled, KeyboardInterrupt)

    async def _run_app(self) -> None:
        with self._call, suppress(Exception):  # of a log handler: it would end trio.run
            try:
                await self._call_app()
            except BaseException as raised:
                error = exit_in(raised)
                if self.phase == "ended" and isinstance(error, EXITS):
                    sentence = "The application exits after the server stopped waiting"
                    self.report(ERROR, sentence, error)
                self._on_raised(error, cancelled=only_cancelled(error))
            else:
                self._on("returned")
        if isinstance(self._raised, EXITS):
            self._body.cancel()

    def _check_loop(self) -> None:
        if lowlevel.current_trio_token() is not self._loop and self.phase != "ended":
            raise RuntimeError("startup() was called in another trio.run: stay in that one")

    def _enter(self) -> None:
        if self.phase == "waiting":
            self._loop = lowlevel.current_trio_token()
            self._call, self._body = trio.CancelScope(), trio.CancelScope()
            self._changed, self._in_body = lowlevel.ParkingLot(), ExitStack()
            self._ends: dict[server.Phase, float] = {}  # when each phase times out
            self._task = lowlevel.spawn_system_task(
                self._run_app, name="lifespan", context=copy_context()
            )
        elif self.phase == "cancelling":
            self._call.cancel()
        self._changed.unpark_all()

    async def _wait(self) -> None:
        phase = self.phase
        seconds = self._timeouts.get(phase)
        end = math.inf
        if seconds is not None:
            end = trio.current_time() + seconds
        with trio.CancelScope(deadline=self._ends.setdefault(phase, end)):
            await self._changed.park()
            return
        await lowlevel.cancel_shielded_checkpoint()  # an answer at the same moment comes first
        if self.phase == phase and seconds is not None:
            self._on_timeout(seconds)

    def _cancel_receiver(self) -> None:
        """Cancel the application if its own task waits for another event."""
        if lowlevel.current_task() is self._task:
            self._on("cancelled")


def exit_in(error: BaseException) -> BaseException:
    """Return the first exit in an exception group, or the error itself."""
    exits: BaseException | None = BaseExceptionGroup("", [error]).subgroup(EXITS)
    while isinstance(exits, BaseExceptionGroup):
        exits = exits.exceptions[0]
    if exits is None:
        return error
    return exits


def only_cancelled(error: BaseException) -> bool:
    """Tell whether an exception consists of cancellations alone."""
    return BaseExceptionGroup("", [error]).split(trio.Cancelled)[1] is None
