"""What `validator` reports of each rule: the message of a short message sequence that breaks it.

Each sequence is played when the page is built, so a message on the page is what the validator says.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple, Protocol

from lifespec import lifespan_scope, validator

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[Any]]

__all__ = ["message_of"]

START, STOP = "lifespan.startup", "lifespan.shutdown"
HTTP = {"type": "http"}


class _RefusedError(Exception):
    """The server refuses a message."""


class _RaisedError(Exception):
    """The application raises."""


class _ReturnedError(Exception):
    """The application returns; its call catches this."""


class Step(Protocol):
    """What server or application does."""

    async def take(self, play: "_Play") -> None:
        """Do it."""


class Receives(NamedTuple):
    """The server sends an event."""

    event: object

    async def take(self, play: "_Play") -> None:
        """Let the application receive it."""
        play.event = self.event
        await play.use[0]()


class Sends(NamedTuple):
    """The application sends a message, and the server takes or refuses it."""

    message: object
    refused: bool = False

    async def take(self, play: "_Play") -> None:
        """Let the application send it."""
        play.refuses = self.refused
        with suppress(_RefusedError):
            await play.use[1](self.message)


class Request(NamedTuple):
    """The server calls the application once more, with this scope."""

    scope: Mapping[str, object]

    async def take(self, play: "_Play") -> None:
        """Call it."""
        await play.checked(self.scope, *play.use)


class Puts(NamedTuple):
    """The application puts a key into the state."""

    key: object

    async def take(self, play: "_Play") -> None:
        """Put it there."""
        play.scope["state"][self.key] = None


class Ends(NamedTuple):
    """The call with the lifespan scope ends; what follows happens after it."""

    by: type[Exception]

    async def take(self, _play: "_Play") -> None:
        """End it."""
        raise self.by


RAISES, RETURNS = Ends(_RaisedError), Ends(_ReturnedError)


def _event(kind: str, **keys: object) -> dict[str, object]:
    return {"type": kind, **keys}


STARTED = Receives(_event(START)), Sends(_event(f"{START}.complete"))
STOPPED = Receives(_event(STOP)), Sends(_event(f"{STOP}.complete"))

# In which specification each rule is broken, by which change of its scope, and by which steps.
SEQUENCES: Mapping[str, tuple[str, Mapping[str, object], tuple[Step, ...]]] = {
    "scope-type": ("asgi 2.0", {}, (Request({"path": "/"}),)),
    "scope-versions": ("asgi 2.0", {"asgi": {"spec_version": "2.0"}}, ()),
    "scope-state": ("asgi 2.0", {"state": None}, ()),
    "state-starts-empty": ("asgi 2.0", {"state": {"pool": 1}}, ()),
    "scope-worker": ("pagi 0.3", {"pagi": {"version": "0.3", "is_worker": 2}}, ()),
    "once-per-loop": ("pagi 0.3", {}, (Request({"type": "lifespan"}),)),
    "startup-sent": ("asgi 2.0", {}, (Receives(_event(STOP)),)),
    "wait-for-startup": ("asgi 2.0", {}, (Receives(_event(START)), Request(HTTP))),
    "startup-failed-never-serves": (
        "asgi 2.0",
        {},
        (Receives(_event(START)), Sends(_event(f"{START}.failed")), Request(HTTP)),
    ),
    "startup-answered-once": ("asgi 2.0", {}, (*STARTED, Sends(_event(f"{START}.complete")))),
    "shutdown-sent": ("asgi 2.0", {}, (*STARTED, *STOPPED, Receives(_event(STOP)))),
    "shutdown-after-serving": ("asgi 2.0", {}, (*STARTED, *STOPPED, Request(HTTP))),
    "shutdown-answered": ("asgi 2.0", {}, (*STARTED, Receives(_event(STOP)), RETURNS)),
    "shutdown-answered-once": (
        "asgi 2.0",
        {},
        (*STARTED, *STOPPED, Sends(_event(f"{STOP}.complete"))),
    ),
    "answers-in-order": ("asgi 2.0", {}, (*STARTED, Sends(_event(f"{STOP}.complete")))),
    "events-known": ("asgi 2.0", {}, (Receives(_event(START)), Sends(_event("lifespan.ready")))),
    "message-is-text": (
        "asgi 2.0",
        {},
        (Receives(_event(START)), Sends(_event(f"{START}.failed", message=404))),
    ),
    "send-refuses-unknown": (
        "asgi 2.0",
        {},
        (Receives(_event(START)), Sends(_event("lifespan.ready"))),
    ),
    "extra-keys-ignored": (
        "asgi 2.0",
        {},
        (Receives(_event(START)), Sends(_event(f"{START}.complete", took=1), refused=True)),
    ),
    "send-after-end-does-nothing": (
        "asgi 2.0",
        {},
        (RETURNS, Sends(_event(f"{START}.complete"), refused=True)),
    ),
    "unsupported-gets-no-events": ("asgi 2.0", {}, (RAISES, Receives(_event(STOP)))),
    "returned-gets-no-events": ("asgi 2.0", {}, (RETURNS, Receives(_event(STOP)))),
    "crashed-gets-no-events": ("asgi 2.0", {}, (*STARTED, RAISES, Receives(_event(STOP)))),
    "state-shallow-copy": ("asgi 2.0", {}, (*STARTED, Request(HTTP))),
    "state-keys-text": ("asgi 2.0", {}, (Puts(404), *STARTED)),
}


class _Play:
    """Plays one sequence: both the application and its server."""

    event: object = None  # what the server sends next
    refuses = False  # whether the server refuses what it is sent
    use: tuple[Receive, Send]

    def __init__(self, spec: str, scope: Mapping[str, object], steps: tuple[Step, ...]) -> None:
        self.scope = {**lifespan_scope(spec), **scope}
        self.steps = iter(steps)
        self.checked = validator(self.app)

    async def app(self, scope: Any, receive: Receive, send: Send) -> None:
        """Take the steps up to the end of the call; ignore every other scope."""
        if scope is self.scope:
            self.use = receive, send
            with suppress(_ReturnedError):
                await self.take_steps()

    async def take_steps(self) -> None:
        for step in self.steps:
            await step.take(self)

    async def play(self) -> None:
        """Call the application, and take the steps that follow the end of the call."""
        with suppress(_RaisedError):
            await self.checked(self.scope, self.receive, self.send)
        await self.take_steps()

    async def receive(self) -> object:
        return self.event

    async def send(self, _message: object) -> None:
        if self.refuses:
            raise _RefusedError


def _run(play: Coroutine[Any, Any, None]) -> None:
    """Run what never waits, within an event loop as well."""
    with suppress(StopIteration):
        play.send(None)


@cache
def message_of(rule_id: str) -> str:
    """Return what the validator reports of a rule, "" if it cannot observe it."""
    if rule_id not in SEQUENCES:
        return ""
    play = _Play(*SEQUENCES[rule_id])
    _run(play.play())
    found = (*play.checked.violations, *play.checked.warnings)
    return next(each.message for each in found if each.rule == rule_id)
