"""What `validator` reports of each rule: the message of a short message sequence that breaks it.

Each sequence is played when the page is built, so a message on the page is what the validator says.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from lifespec import lifespan_scope, validator

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping

    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[Any]]

__all__ = ["message_of"]

START, STOP = "lifespan.startup", "lifespan.shutdown"
HTTP = {"type": "http"}


class Receives(NamedTuple):
    """The server sends an event."""

    event: object


class Sends(NamedTuple):
    """The application sends a message, and the server takes or refuses it."""

    message: object
    refused: bool = False


class Request(NamedTuple):
    """The server calls the application for a request."""

    scope: Mapping[str, object]


class Puts(NamedTuple):
    """The application puts a key into the state."""

    key: object


class Raises(NamedTuple):
    """The call raises."""


class Returns(NamedTuple):
    """The call returns."""


Step = Receives | Sends | Request | Puts | Raises | Returns


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
    "shutdown-answered": ("asgi 2.0", {}, (*STARTED, Receives(_event(STOP)), Returns())),
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
        (Returns(), Sends(_event(f"{START}.complete"), refused=True)),
    ),
    "unsupported-gets-no-events": ("asgi 2.0", {}, (Raises(), Receives(_event(STOP)))),
    "returned-gets-no-events": ("asgi 2.0", {}, (Returns(), Receives(_event(STOP)))),
    "crashed-gets-no-events": ("asgi 2.0", {}, (*STARTED, Raises(), Receives(_event(STOP)))),
    "state-shallow-copy": ("asgi 2.0", {}, (*STARTED, Request(HTTP))),
    "state-keys-text": ("asgi 2.0", {}, (Puts(404), *STARTED)),
}


class _Refused(Exception):
    """The server refuses a message."""


class _Raised(Exception):
    """The application raises."""


class _Play:
    """Plays one sequence: both the application and its server."""

    def __init__(self, spec: str, scope: Mapping[str, object], steps: tuple[Step, ...]) -> None:
        self.scope = lifespan_scope(spec) | scope
        self.steps = iter(steps)
        self.checked = validator(self.app)
        self.step: Step = Returns()

    async def app(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope is not self.scope:
            return
        self.use = receive, send
        for self.step in self.steps:
            if isinstance(self.step, Raises):
                raise _Raised
            if isinstance(self.step, Returns):
                return
            await self._take()

    async def play(self) -> None:
        """Call the application; what its call has left of the steps comes after its end."""
        try:
            await self.checked(self.scope, self.receive, self.send)
        except _Raised:
            pass
        for self.step in self.steps:
            await self._take()

    async def _take(self) -> None:
        receive, send = self.use
        match self.step:
            case Receives():
                await receive()
            case Sends(message, refused=False):
                await send(message)
            case Sends(message):
                try:
                    await send(message)
                except _Refused:
                    pass
            case Request(scope):
                await self.checked(scope, receive, send)
            case Puts(key):
                self.scope["state"][key] = 1

    async def receive(self) -> object:
        assert isinstance(self.step, Receives)
        return self.step.event

    async def send(self, _message: object) -> None:
        assert isinstance(self.step, Sends)
        if self.step.refused:
            raise _Refused

    def found(self) -> Iterator[tuple[str, str]]:
        """Yield the rules that were broken, with the message."""
        _run(self.play())
        for each in (*self.checked.violations, *self.checked.remarks):
            yield each.rule, each.message


def _run(play: Coroutine[Any, Any, None]) -> None:
    """Run what never waits: a page is built with no event loop, or within one."""
    try:
        play.send(None)
    except StopIteration:
        pass


@cache
def message_of(rule_id: str) -> str:
    """Return what the validator reports of a rule, "" if it cannot observe it."""
    if rule_id not in SEQUENCES:
        return ""
    return dict(reversed([*_Play(*SEQUENCES[rule_id]).found()]))[rule_id]
