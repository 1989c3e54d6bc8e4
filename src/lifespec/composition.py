"""Combine the lifespans of several applications, for an application that mounts others.

A `Lifespan` runs each part in one task, on asyncio or trio.  The parts start in order and stop in
reverse order.  If one fails to start, those before it are stopped.  They share one state: a part
sees the keys that it has set itself, a request sees all that were set until startup was complete.

A server that cancels the combined application waits for a grace, which is not known here.  So a
part that starts or stops just then is cancelled, too, and those before it are stopped, but have
only PATIENCE to do so.
"""

import asyncio
import functools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from logging import DEBUG
from typing import Any

from lifespec import server
from lifespec.application import failure_message, receive_event
from lifespec.server import ShutdownFailed, StartupFailed, log

__all__ = ["combine_lifespans"]

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Awaitable[object]]
Parts = tuple[Application, ...]
PATIENCE = 1.0  # seconds, divided among all parts; less than the grace of any server


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
        await _run_lifespans(parts, scope, receive, send)
        return None

    return combined


async def _run_lifespans(parts: Parts, scope: Any, receive: Receive, send: Send) -> None:
    await receive_event("lifespan.startup", receive)
    failures: list[str] = []
    lifespans: list[_Part] = []
    try:
        part_class = _part_class()
        async with AsyncExitStack() as stack:
            owners: dict[str, str] = {}
            for lifespan in _make_lifespans(part_class, parts, scope):
                lifespans.append(lifespan)
                await stack.enter_async_context(_part(lifespan, failures))
                lifespan.share_state(scope.get("state"), owners)
            await send({"type": "lifespan.startup.complete"})
            await receive_event("lifespan.shutdown", receive)
    except StartupFailed as failure:
        await send({"type": "lifespan.startup.failed", "message": failure.message})
        raise
    except BaseException as error:
        for lifespan in lifespans:
            lifespan.log_if_cancelled(error)
        raise
    if failures:
        await send({"type": "lifespan.shutdown.failed", "message": "; ".join(failures)})
    else:
        await send({"type": "lifespan.shutdown.complete"})


def _make_lifespans(kind: "type[_Part]", parts: Parts, scope: Any) -> Iterator["_Part"]:
    for number, part in enumerate(parts, 1):
        lifespan = kind(part, scope={**scope, "state": {}} if "state" in scope else scope)
        lifespan.patience = PATIENCE / len(parts)
        lifespan.name = f"{number} ({getattr(part, '__name__', type(part).__name__)})"
        yield lifespan


@asynccontextmanager
async def _part(lifespan: "_Part", failures: list[str]) -> AsyncIterator["_Part"]:
    try:
        async with lifespan:
            lifespan.raise_for_startup()
            yield lifespan
    except ShutdownFailed as failure:
        failures.append(failure.message or str(failure))
    else:
        failures += lifespan.crash_at_shutdown


class _Part(server.Lifespan):
    """Run one part; the combined application reports its failures, under the server's grace."""

    received_startup = False
    crash_at_shutdown: tuple[str, ...] = ()  # the sentence about it
    name: str
    patience: float
    hurries = False

    def raise_for_startup(self) -> None:
        """Raise StartupFailed for what fails in a combined application and not in a part alone."""
        if self.supported is False and self.error and self.received_startup:
            sentence = (
                f"The application raised during startup instead of answering it: {self.error!r}"
            )
            raise StartupFailed(sentence, failure_message(self.error)) from self.error

    def share_state(self, shared: Any, owners: dict[str, str]) -> None:
        """Add this part's keys to the shared state; raise StartupFailed if another has set one."""
        for key, value in (self.state or {}).items():
            owner = owners.setdefault(key, self.name)
            if owner != self.name:
                sentence = f"the state key {key!r} is set by {owner} and by {self.name}"
                raise StartupFailed(sentence, sentence)
            shared[key] = value

    def log_if_cancelled(self, error: BaseException) -> None:
        """Log a failure that no answer can tell: once it has cancelled, the server ignores them."""
        if self.outcome == "failed" and isinstance(error, self._cancel_errors):
            log.error(self._sentence)

    async def _on_receive(self) -> dict[str, str]:
        event = await super()._on_receive()
        self.received_startup = True
        return event

    async def _stop(self, error: BaseException | None) -> None:
        if isinstance(error, self._cancel_errors):
            self._shutdown_timeout = self._grace = self.patience
            self.hurries = True
        await super()._stop(error)

    async def _cancel_app(self, cancelled: BaseException) -> None:
        self._grace = None  # the server of the combined application has one
        await super()._cancel_app(cancelled)

    def _transition(
        self, trigger: str, detail: str = "", error: BaseException | None = None
    ) -> bool:
        stops = self.phase == "stopping"
        if self.hurries and trigger == "expired":
            self._grace = None
        taken = super()._transition(trigger, detail, error)
        if stops and trigger == "raised":
            self.crash_at_shutdown = (self._sentence,)
        return taken

    def report(self, level: int, sentence: str, error: BaseException | None) -> None:
        failed = self.phase == "answered" and self.outcome == "failed" and error is None
        super().report(DEBUG if failed else level, sentence, error)  # the combined answer says so


def _part_class() -> type[_Part]:
    """Return the class for the library that runs this task, or raise StartupFailed."""
    trio: Any = sys.modules.get("trio")
    if trio and trio.lowlevel.in_trio_task():
        return _trio_part_class()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        sentence = "combined applications run on asyncio or on trio, and neither runs here"
        raise StartupFailed(sentence, sentence) from None
    return _Part


@functools.cache
def _trio_part_class() -> type[_Part]:
    from lifespec import server_trio  # noqa: PLC0415  it imports trio, which is optional

    class TrioPart(_Part, server_trio.Lifespan):
        """A part on trio."""

    return TrioPart
