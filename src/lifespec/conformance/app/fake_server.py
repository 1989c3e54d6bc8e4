"""One call of an application by the server of the suite, and all that was seen of it.

This server obeys the texts: what is no event, and what leads nowhere in the table of steps, it
refuses by raising out of `send`.  Nothing here says who is right.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import math
import traceback
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lifespec import limits, validate
from lifespec.conformance.texts import cut, said, shown
from lifespec.testing import trace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator
    from types import FrameType

    from lifespec.validate import State

    Application = Callable[[Any, Any, Any], Awaitable[Any]]

__all__ = ["BLOCKED", "IDLE", "AppObservation", "Call", "NoApplication", "SendRefused"]

IDLE, BLOCKED = "it was waiting for another event", "it blocked the event loop"


class NoApplication(TypeError):
    """What was called as an application returned no awaitable: it is none."""


def _instead(kind: object) -> str:
    """Return which event of an application may have been meant."""
    known = [each.type for each in validate.EVENTS.values() if each.sender == "application"]
    meant = difflib.get_close_matches(str(kind), known, n=1)
    return f", but {meant[0]!r}" if meant else ""


class SendRefused(Exception):
    """The server of the suite refused what the application sent; `str()` says why."""


@dataclass(slots=True)
class AppObservation:
    """All that was seen of an application in one call with a lifespan scope.

    `startup` and `shutdown` say what came of that event: "complete", "failed", "raised",
    "returned", "exited", "cancelled"; "failed early" for a failure before shutdown; where the limit
    passed "silent" (it called `receive` again) or "hung"; "" where nothing came of it.  `reaction`
    says so of what no application can know: also "sent" and "received" (it called `receive`).
    `doing` is what an application did that was silent, `place` where in its author's code it was
    then, and `limit` how many seconds an answer had.  `sent` are the types of `messages`, `message`
    is that of the last failure.  `actor` is the module of the application that acted last: that
    called `receive` or `send`, or raised.
    `scope` is the server's own, `offered` what it was at first.  `left` are the tasks
    that still ran when it had stopped.
    """

    startup: str = ""
    shutdown: str = ""
    reaction: str = ""
    ended: str = ""
    doing: str = ""
    place: str = ""
    limit: float = 0.0
    received: bool = False
    sent: list[str] = field(default_factory=list)
    messages: list[Any] = field(default_factory=list)
    message: Any = ""
    refused: list[str] = field(default_factory=list)
    error: BaseException | None = None
    obeyed: bool = True
    scope: dict[str, Any] = field(default_factory=dict)
    offered: dict[str, Any] = field(default_factory=dict)
    state: dict[Any, Any] | None = None
    requests: list[str] = field(default_factory=list)
    spoken: trace.Conversation = field(default_factory=trace.Conversation)
    violations: list[validate.Violation] = field(default_factory=list)
    warnings: list[validate.Violation] = field(default_factory=list)
    doubt: str = ""
    actor: str = ""
    left: list[str] = field(default_factory=list)


class Call:
    """The call, with the application's end of it: what it receives, sends, returns and raises.

    Once the call was cancelled, or the deadline of an answer has passed, no answer counts.
    """

    task: asyncio.Task[None]
    state: State = "called"
    idle = told = late = asked = acted = False
    deadline = math.inf  # of what the script waits for

    def __init__(self, app: Application, spoken: trace.Conversation | None = None) -> None:
        self.app, self.seen = app, AppObservation(spoken=spoken or trace.Conversation())
        self.validator = validate.validator(self._checked)
        self.seen.violations, self.seen.warnings = (
            self.validator.violations,
            self.validator.warnings,
        )
        self.inbox: list[dict[str, Any]] = []
        self._waiters: list[asyncio.Future[None]] = []

    def begin(self, scope: dict[str, Any]) -> None:
        """Call the application in a task of its own."""
        self.seen.scope, self.seen.state = scope, scope.get("state")
        self.seen.offered = {key: copy(value) for key, value in scope.items()}
        self.seen.spoken.clock = asyncio.get_running_loop().time
        self.seen.spoken.began = self.seen.spoken.clock()
        self.note("called", scope["type"])
        self.task = asyncio.ensure_future(self._called(scope))

    def put(self, event: dict[str, Any]) -> None:
        """Let the application receive this."""
        self.inbox.append(event)
        self.idle = False
        self.asked = self.asked or event["type"] == "lifespan.shutdown"
        self._moved()

    def cancel(self) -> None:
        """Cancel the call if it goes on: from here on nothing counts but its end."""
        if self.seen.ended:
            return
        self.told = True
        self.seen.violations, self.seen.warnings = [*self.seen.violations], [*self.seen.warnings]
        self.note("cancelled")
        self.task.cancel()

    async def until(self, condition: Callable[[], bool], limit: float) -> bool:
        """Wait until something is so, or until the limit passes; say whether it is so by then."""
        expired = self.late = False
        loop = asyncio.get_running_loop()
        self.deadline = loop.time() + limit

        def expire() -> None:
            nonlocal expired
            expired = True
            self._moved()

        timer = loop.call_at(self.deadline, expire)
        try:
            while not condition() and not expired:
                await self._change()
        finally:
            timer.cancel()
            self.deadline = math.inf
        return condition() and not self.late

    def doing(self) -> str:
        """Say what an application does that was to do something else."""
        if self.idle:
            return IDLE
        return "it had not received the event" if self.inbox else "it was still running"

    def is_late(self) -> bool:
        """Tell whether the deadline has passed; a loop that was blocked notices that afterwards."""
        self.late = self.late or self.seen.spoken.clock() > self.deadline
        return self.late

    def note(self, kind: trace.Kind, type_: str = "", detail: str = "") -> None:
        """Write down what happened, for the diagram."""
        self.seen.spoken.note(kind, type_, detail)

    def gone(self, how: str, error: BaseException | None = None) -> None:
        """Take it that the call is over."""
        seen = self.seen
        if seen.ended:
            return
        seen.ended, seen.error, self.state = how, error, "gone"
        if error is not None and error.__traceback__:
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            seen.actor = _actor(reversed(frames))
        if not self.is_late():
            seen.startup = seen.startup or how
            seen.shutdown = seen.shutdown or how * self.asked
        if how == "returned":
            self.note("returned")
        elif how != "cancelled":
            self.note("raised", type(error).__name__, said(error))
        self._moved()

    async def _called(self, scope: dict[str, Any]) -> None:
        try:
            await self.validator(scope, self._receive, self._send)
        except limits.LimitPassed:
            raise
        except asyncio.CancelledError as error:
            self.gone("cancelled" if self.told else "raised", error)
        except (SystemExit, KeyboardInterrupt) as error:
            self.gone("exited", error)
        except BaseException as error:
            self.gone("raised", error)
        else:
            self.gone("returned")

    def _checked(self, scope: Any, receive: Any, send: Any) -> Awaitable[Any]:
        call = self.app(scope, receive, send)
        if not hasattr(type(call), "__await__"):
            raise NoApplication(f"a call of it returned {shown(call)}, which cannot be awaited")
        return call

    async def _receive(self) -> Any:
        self.seen.actor = _actor(_callers(inspect.currentframe()))
        while not self.inbox:
            self.idle = True
            self._moved()
            await self._change()
        event = self.inbox.pop(0)
        self.idle, self.acted, self.seen.received = False, False, True
        self.note("received", event["type"])
        if event["type"] in validate.EVENTS:
            self.state = validate.TRANSITIONS[self.state][event["type"]].to
        self._moved()
        return event

    async def _send(self, message: Any) -> None:
        if self.state == "gone" or self.told or self.is_late():
            return
        self.acted, self.seen.actor = True, _actor(_callers(inspect.currentframe()))
        kind, sentence, detail = self._taken(message)
        self.seen.sent.append(kind)
        self.seen.messages.append(message)
        self.note("refused" if sentence else "sent", kind, sentence or detail)
        self._moved()
        if sentence:
            self.seen.refused.append(sentence)
            raise SendRefused(sentence)

    def _taken(self, message: Any) -> tuple[str, str, str]:
        """Take a step; return what was sent, why it is refused or "", and its message."""
        kind = message.get("type") if isinstance(message, dict) else None
        event = validate.EVENTS.get(kind) if isinstance(kind, str) else None
        if event is None or event.sender == "server":
            what = (
                f"there is no event {cut(str(kind), 100)!r}"
                if kind
                else f"{shown(message)} is no event"
            )
            return cut(str(kind or type(message).__name__), 100), f"{what}{_instead(kind)}.", ""
        phase, _, answer = event.type.removeprefix("lifespan.").partition(".")
        if (self.state, event.type) == ("running", "lifespan.shutdown.failed"):
            self.state, self.seen.shutdown = "stopped", "failed early"  # as frameworks do
        elif (to := validate.TRANSITIONS[self.state][event.type].to) == self.state:
            early = phase == "shutdown" and self.state != "stopped"
            when = "was not asked for yet" if early else "was already answered"
            return event.type, f"{phase} {when} when it sent {event.type}.", ""
        else:
            self.state = to
            setattr(self.seen, phase, answer)
        text = self.seen.message = message.get("message", "") if event.defaults else ""
        wrong = "" if isinstance(text, str) else f"`message` is no string but {shown(text)}."
        return event.type, wrong, str(text)

    def _moved(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def _change(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter


_CALLABLE = {"scope", "receive", "send"}  # the names of its arguments, wherever it was written


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield a frame, and those that wait for it."""
    while frame:
        yield frame
        frame = frame.f_back


def _actor(frames: Iterable[FrameType]) -> str:
    """Return the module of the innermost application among frames, or ""."""
    for frame in frames:
        module = str(frame.f_globals.get("__name__", ""))
        if not module.startswith("lifespec.") and {*frame.f_code.co_varnames} >= _CALLABLE:
            return module
    return ""
