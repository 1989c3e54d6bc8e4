"""Record what an application and its server send each other in a lifespan."""

from __future__ import annotations

import asyncio
import functools
import inspect
import reprlib
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

__all__ = ["Conversation", "Entry", "Kind", "Recorder", "collect", "record"]

Kind = Literal["called", "received", "sent", "refused", "returned", "raised", "cancelled"]

_collections: list[list[Conversation]] = []


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a message sequence.

    `time` is in seconds since the call, on the clock of the loop that made it, to the millisecond.
    `type` is the scope's type (called), the event's type (received, sent, refused), the
    exception's class (raised), or empty. `detail` is the message of a `*.failed` event, the text
    of the exception raised, the sentence of a refusal, or empty.
    """

    time: float
    kind: Kind
    type: str = ""
    detail: str = ""


@dataclass(slots=True)
class Conversation:
    """The message sequence of one lifespan; it grows while the application runs."""

    entries: list[Entry] = field(default_factory=list)
    clock: Callable[[], float] = time.monotonic
    began: float = 0.0

    def note(self, kind: Kind, type_: str = "", detail: str = "") -> None:
        """Add what has just happened."""
        self.entries.append(Entry(round(self.clock() - self.began, 3), kind, type_, detail))

    def note_cancellation(self) -> bool:
        """Note that the application is cancelled; return whether that was noted before."""
        before = any(entry.kind == "cancelled" for entry in self.entries)
        if not before:
            self.note("cancelled")
        return before


class Recorder:
    """Pass every call to `app`, and record its lifespans in `conversations`.

    It is not a coroutine function, so the server also sees a call that raises at once.
    """

    def __init__(self, app: Callable[..., Any]) -> None:
        self.app = app
        self.conversations: list[Conversation] = []
        functools.update_wrapper(self, app, updated=())

    def __repr__(self) -> str:
        return repr(self.app)

    def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        """Call the application; other scopes than lifespan's go through untouched."""
        if not isinstance(scope, Mapping) or scope.get("type") != "lifespan":
            return self.app(scope, receive, send)
        conversation = self._begun()
        with _ending(conversation):
            outcome = self.app(
                scope,
                _recording_receive(conversation, receive),
                _recording_send(conversation, send),
            )
        if inspect.isawaitable(outcome):
            return _awaited(conversation, outcome)
        conversation.note("returned")
        return outcome

    def _begun(self) -> Conversation:
        clock = _clock()
        conversation = Conversation(clock=clock, began=clock())
        conversation.note("called", "lifespan")
        for conversations in (self.conversations, *_collections):
            conversations.append(conversation)
        return conversation


def record(app: Callable[..., Any]) -> Recorder:
    """Return a `Recorder`, which behaves like `app` and records each of its lifespans."""
    return Recorder(app)


@contextmanager
def collect() -> Iterator[list[Conversation]]:
    """Collect each lifespan that a `Recorder` sees inside the `with` block, in a list."""
    conversations: list[Conversation] = []
    _collections.append(conversations)
    try:
        yield conversations
    finally:
        _collections[:] = [other for other in _collections if other is not conversations]


def _clock() -> Callable[[], float]:
    try:
        return asyncio.get_running_loop().time
    except RuntimeError:  # another library's loop, or none
        return time.monotonic


@contextmanager
def _ending(conversation: Conversation) -> Iterator[None]:
    try:
        yield
    except asyncio.CancelledError as error:
        if conversation.note_cancellation():
            conversation.note("raised", type(error).__name__)
        raise
    except BaseException as error:
        conversation.note("raised", type(error).__name__, str(error))
        raise


async def _awaited(conversation: Conversation, call: Awaitable[object]) -> object:
    __tracebackhide__ = True
    with _ending(conversation):
        value = await call
    conversation.note("returned")
    return value


def _recording_receive(conversation: Conversation, receive: Any) -> Callable[[], Awaitable[Any]]:
    async def recorded_receive() -> Any:
        __tracebackhide__ = True
        event = await receive()
        conversation.note("received", *_described(event))
        return event

    return recorded_receive


def _recording_send(conversation: Conversation, send: Any) -> Callable[[Any], Awaitable[Any]]:
    async def recorded_send(event: Any) -> Any:
        __tracebackhide__ = True
        type_, detail = _described(event)  # now: the server may change it
        if _is_being_cancelled():  # what is sent from here on comes of that
            conversation.note_cancellation()
        try:
            value = await send(event)
        except Exception as error:
            conversation.note("refused", type_, str(error))
            raise
        conversation.note("sent", type_, detail)
        return value

    return recorded_send


def _is_being_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # another library's loop, or none
        return False
    return task is not None and task.cancelling() > 0


def _described(event: object) -> tuple[str, str]:
    """Return type and message of an event; of what is no event, or no text, a short repr."""
    kind = event.get("type") if isinstance(event, Mapping) else None
    if not isinstance(event, Mapping) or not isinstance(kind, str):
        return reprlib.repr(event), ""
    message = event.get("message", "") if kind.endswith(".failed") else ""
    return kind, message if isinstance(message, str) else reprlib.repr(message)
