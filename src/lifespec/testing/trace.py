"""Record what an application and its server send each other in a lifespan, and draw it as text."""

import asyncio
import functools
import inspect
import reprlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["called", "received", "sent", "refused", "returned", "raised", "cancelled"]

_INNER, _LINES = 56, 5  # columns between the lines of a diagram; lines of a detail


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


def _clock() -> Callable[[], float]:
    try:
        return asyncio.get_running_loop().time
    except RuntimeError:  # another library's loop, or none
        return time.monotonic


@dataclass(slots=True)
class Conversation:
    """The message sequence of one lifespan; it grows while the application runs.

    `caught` is the exception that was handled when the last failure was sent.
    """

    entries: list[Entry] = field(default_factory=list)
    caught: BaseException | None = field(default=None, repr=False, compare=False)
    clock: Callable[[], float] = field(default_factory=_clock)
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()

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
        # the name and so on, and no attribute: one of the application's may be called as one here
        functools.update_wrapper(self, app, updated=())

    def __repr__(self) -> str:
        return repr(self.app)

    def __call__(self, scope: Any, receive: Any, send: Any) -> Any:
        """Call the application; other scopes than lifespan's go through untouched."""
        if not isinstance(scope, Mapping) or scope.get("type") != "lifespan":
            return self.app(scope, receive, send)
        conversation = Conversation()
        conversation.note("called", "lifespan")
        self.conversations.append(conversation)
        with _ending(conversation):  # what is no coroutine function may raise at once
            outcome = self.app(
                scope,
                functools.partial(recorded_receive, conversation, receive),
                functools.partial(_recorded_send, conversation, send),
            )
        if inspect.isawaitable(outcome):
            return _awaited(conversation, outcome)
        conversation.note("returned")  # it is no application: the server finds that out, too
        return outcome


def record(app: Callable[..., Any]) -> Recorder:
    """Return a `Recorder`, which behaves like `app` and records each of its lifespans."""
    return Recorder(app)


@contextmanager
def _ending(conversation: Conversation) -> Iterator[None]:
    try:
        yield
    except asyncio.CancelledError as error:
        if conversation.note_cancellation():  # noted when it came; now the call has ended
            conversation.note("raised", type(error).__name__)
        raise
    except BaseException as error:
        conversation.note("raised", type(error).__name__, _whole_text(error))
        raise


async def _awaited(conversation: Conversation, call: Awaitable[object]) -> object:
    __tracebackhide__ = True
    with _ending(conversation):
        value = await call
    conversation.note("returned")
    return value


async def recorded_receive(conversation: Conversation, receive: Any) -> Any:
    """Receive an event, and note it."""
    __tracebackhide__ = True
    event = await receive()
    conversation.note("received", *_described(event))
    return event


async def _recorded_send(conversation: Conversation, send: Any, event: Any) -> Any:
    __tracebackhide__ = True
    type_, detail = _described(event)  # now: the server may change it
    if type_.endswith(".failed"):
        conversation.caught = sys.exc_info()[1]
    if _is_being_cancelled():  # the cancellation stands before what is sent because of it
        conversation.note_cancellation()
    try:
        value = await send(event)
    except Exception as error:
        conversation.note("refused", type_, _whole_text(error))
        raise
    conversation.note("sent", type_, detail)
    return value


def _whole_text(error: BaseException) -> str:  # `stacks.text_of` cuts it, and is no part of this
    try:
        return str(error)
    except Exception:  # of a class of the application
        return ""


def _is_being_cancelled() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:  # another library's loop, or none
        return False
    return task is not None and task.cancelling() > 0


def _described(event: object) -> tuple[str, str]:
    """Return type and message of an event; of what is no event, or no text, a short repr."""
    if not isinstance(event, Mapping) or not isinstance(event.get("type"), str):
        return reprlib.repr(event), ""
    kind = event["type"]
    if not kind.endswith(".failed"):
        return kind, ""
    message = event.get("message", "")
    return kind, message if isinstance(message, str) else reprlib.repr(message)


# ---- the diagram ------------------------------------------------------------------------------


def sequence(
    entries: Sequence[Entry],
    server: str = "server",
    application: str = "application",
    word: Callable[[str], str] = str,
    columns: Callable[[str], int] = len,
) -> str:
    """Draw a message sequence as a diagram of text, 73 columns wide.

    `word` translates the words of the diagram, and `columns` says how wide a text is.
    """
    left, right = word(server), word(application)
    head = f"{'':9}{left}{' ' * (_INNER + 8 - columns(left) - columns(right))}{right}"
    timed = any(entry.time for entry in entries)
    lines = [head]
    for number, entry in enumerate(entries, 1):
        lines += _drawn(entry, word, columns, timed=timed, last=number == len(entries))
    return "\n".join(lines)


def _drawn(
    entry: Entry,
    word: Callable[[str], str],
    columns: Callable[[str], int],
    *,
    timed: bool,
    last: bool,
) -> Iterator[str]:
    time = f"{entry.time:7.3f} s " if timed else ""
    left, right = "|", "|"
    label = _clipped(f" {entry.type} ", _INNER - 6)
    ends = f"{word(entry.kind)}{label.rstrip()} "
    cancelled = f"-- {word('cancelled')} "
    match entry.kind:
        case "called" | "received":
            arrow = f"--{label}".ljust(_INNER - 1, "-") + ">"
        case "sent":
            arrow = "<" + f"{label}--".rjust(_INNER - 1, "-")
        case "refused":
            arrow = "X" + f"{label}--".rjust(_INNER - 1, "-")
        case "cancelled":
            dashes = "-" * (_INNER - 1 - columns(cancelled))
            arrow = f"{cancelled}{dashes}>"
            if last:  # its end was not seen
                right = "X"
        case _:
            arrow = " " * (_INNER - columns(ends)) + ends
            right = "X"
    yield f"{time:10} {left}{arrow}{right}".rstrip()
    for line in _shortened(entry.detail):
        yield f"{'':11}|  {_clipped(line, _INNER)}"


def _shortened(detail: str) -> list[str]:
    """Return the lines of a detail; of a long one, such as a traceback, the last."""
    lines = [line.strip() for line in detail.splitlines()]
    if len(lines) <= _LINES:
        return lines
    return ["...", *lines[1 - _LINES :]]


def _clipped(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return f"{text[: length - 4]}... "
