"""The lifespan protocol as tables.  COPY ME: the events, the dialects, the steps, the rules.

Theory of operation.  Everything that the texts fix stands here as data, once: which events
there are and who sends them, what a dialect calls its envelope, which step leads where in a
conversation, and one sentence for every rule.  Pages, diagrams and messages are drawn from
these tables or held against them.

A conversation is seen from outside, between server and application.  Every state has a row
and every row has every step, those too that must not be taken: such a step names the rule
that it breaks.  The server's half shares no line with this file, so that each can be tried
by the other.

    called      the application was called; it has received nothing
    starting    it has received lifespan.startup
    early       it has answered startup before it received it: the texts are silent on that
    running     it has answered lifespan.startup.complete
    stopping    it has received lifespan.shutdown
    refused     it has answered lifespan.startup.failed
    stopped     it has answered lifespan.shutdown
    gone        its call has returned or raised
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

__all__ = [
    "DIALECTS",
    "EVENTS",
    "HAPPENINGS",
    "RULES",
    "STATES",
    "TRANSITIONS",
    "Dialect",
    "Event",
    "State",
    "Step",
    "scope",
]

State = Literal["called", "starting", "early", "running", "stopping", "refused", "stopped", "gone"]


class Event(NamedTuple):
    """An event: its type, who sends it, and the keys beside `type` with their defaults."""

    type: str
    sender: Literal["server", "application"]
    defaults: Mapping[str, str]


class Dialect(NamedTuple):
    """A text: its title, the key of its envelope in the scope ("" for none), and what is in it."""

    title: str
    envelope: str
    versions: Mapping[str, str]
    state: bool = True
    workers: bool = False


class Step(NamedTuple):
    """Where a step leads, and the rule that it breaks: "" where it breaks none."""

    to: State
    rule: str = ""


def _versions(version: str) -> Mapping[str, str]:
    return MappingProxyType({"version": version, "spec_version": version})


_NONE: Mapping[str, str] = MappingProxyType({})
_MESSAGE: Mapping[str, str] = MappingProxyType({"message": ""})

EVENTS: Mapping[str, Event] = MappingProxyType(
    {
        event.type: event
        for event in (
            Event("lifespan.startup", "server", _NONE),
            Event("lifespan.startup.complete", "application", _NONE),
            Event("lifespan.startup.failed", "application", _MESSAGE),
            Event("lifespan.shutdown", "server", _NONE),
            Event("lifespan.shutdown.complete", "application", _NONE),
            Event("lifespan.shutdown.failed", "application", _MESSAGE),
        )
    }
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "asgi 1.0": Dialect("lifespan 1.0 (ASGI)", "", _NONE, state=False),
        "asgi 2.0": Dialect(
            "lifespan 2.0 (ASGI)",
            "asgi",
            MappingProxyType({"version": "3.0", "spec_version": "2.0"}),
        ),
        "amgi 1.0": Dialect("AMGI 1.0", "amgi", _versions("1.0")),
        "amgi 2.0": Dialect("AMGI 2.0", "amgi", _versions("2.0")),
        "pagi 0.3": Dialect("PAGI 0.3", "pagi", _versions("0.3"), workers=True),
    }
)

HAPPENINGS: tuple[str, ...] = (*EVENTS, "raise", "return")

# One column for each of HAPPENINGS.  "!" is followed by the rule that the step breaks; what
# stands before it is the state that follows, by default the same.
_GRID: dict[State, str] = {
    "called": "starting early refused !startup-sent !answers-in-order !answers-in-order gone gone",
    "starting": "!startup-sent running refused !wait-for-startup"
    " !answers-in-order !answers-in-order gone gone",
    "early": "running !startup-answered-once !startup-answered-once !startup-sent"
    " !answers-in-order !answers-in-order gone gone",
    "running": "!startup-sent !startup-answered-once !startup-answered-once stopping"
    " !answers-in-order !answers-in-order gone gone",
    "stopping": "!startup-sent !answers-in-order !answers-in-order !shutdown-sent"
    " stopped stopped gone!shutdown-answered gone!shutdown-answered",
    "refused": "!startup-sent !startup-answered-once !startup-answered-once !shutdown-sent"
    " !answers-in-order !answers-in-order gone gone",
    "stopped": "!startup-sent !answers-in-order !answers-in-order !shutdown-sent"
    " !shutdown-answered-once !shutdown-answered-once gone gone",
    "gone": "!declined-stays-quiet gone gone !declined-stays-quiet gone gone gone gone",
}
STATES: tuple[State, ...] = tuple(_GRID)


def _steps(state: State) -> Mapping[str, Step]:
    cells = (cell.partition("!") for cell in _GRID[state].split())
    known = {name: name for name in STATES}
    steps = (Step(known.get(to, state), rule) for to, _, rule in cells)  # type: ignore[call-overload]
    return MappingProxyType(dict(zip(HAPPENINGS, steps, strict=True)))


TRANSITIONS: Mapping[State, Mapping[str, Step]] = MappingProxyType(
    {state: _steps(state) for state in STATES}
)

RULES: Mapping[str, str] = MappingProxyType(
    {
        "scope-type": 'The scope has the type "lifespan".',
        "scope-versions": "The scope names the version of ASGI, and may name that of lifespan.",
        "spec-version-default": "A missing spec_version is 1.0.",
        "scope-state": "The state that a server offers is an empty namespace.",
        "scope-lifetime": "One call lasts from before the first request until after the last.",
        "once-per-loop": "Each event loop that serves requests has one lifespan.",
        "same-loop": "Lifespan and requests run in the same event loop.",
        "startup-sent": "The server sends lifespan.startup, once.",
        "startup-before-serving": "Startup is sent before the server accepts connections.",
        "wait-for-startup": "The server processes nothing before startup is answered.",
        "startup-failed-never-serves": "After startup.failed the server serves nothing.",
        "startup-failed-shown": "The server shows the message of startup.failed.",
        "startup-failed-exits": "After startup.failed the server exits.",
        "failed-message-default": "A missing message is the empty text.",
        "decline-by-raising": "Where the application raises before it answers, the server goes on.",
        "decline-by-returning": "Where the application returns instead, the server goes on too.",
        "declined-stays-quiet": "An application that declined is sent no further event.",
        "decline-never-blocks": "No server waits for an application that is gone.",
        "decline-logged": "The server notes at level info that the application declined.",
        "only-failed-stops": "Nothing but startup.failed keeps a server from starting.",
        "crash-logged": "The server logs a crash while it serves, at level error.",
        "crash-may-continue": "After a crash the server may go on serving.",
        "crashed-stays-quiet": "An application that is gone is not offered shutdown.",
        "shutdown-sent": "The server sends lifespan.shutdown to an application that started, once.",
        "shutdown-after-serving": "Shutdown is sent when all connections are closed.",
        "wait-for-shutdown": "The server ends only when shutdown is answered.",
        "shutdown-failed-shown": "The server shows the message of shutdown.failed.",
        "shutdown-failed-ends": "After shutdown.failed the server ends all the same.",
        "state-shallow-copy": "Each request gets a shallow copy of the state.",
        "state-untouched": "The server does nothing with the state but copy it.",
        "send-refuses-unknown": "What is no event of this protocol is refused by send.",
        "receive-refuses-unknown": "What is no event of this protocol is refused when received.",
        "extra-keys-ignored": "Additional keys in an answer are no error.",
        "extra-keys-expected": "Additional keys in an event of the server are no error.",
        "send-after-end-does-nothing": "After the end, send does nothing.",
        "startup-answered": "The application answers startup with complete or failed.",
        "startup-answered-when-done": "startup.complete is sent when startup is complete.",
        "startup-answered-once": "Startup is answered once.",
        "shutdown-answered": "The application answers shutdown with complete or failed.",
        "shutdown-answered-once": "Shutdown is answered once.",
        "answers-in-order": "An answer comes after the event that it answers.",
        "events-known": "The application sends events of this protocol and nothing else.",
        "message-is-text": "The message of a failure is text.",
        "unknown-scope-rejected": "An application raises on a scope that it does not know.",
        "failed-to-prevent-start": "To keep the server from starting, send startup.failed.",
        "state-may-be-missing": "Where there is no state, the server does not support it.",
        "state-keys-text": "The keys of the state are text.",
        "state-keys-named-well": "The keys of the state do not collide with those of others.",
        "state-shared-by-value": "What requests share is a value, changed in place.",
    }
)


def scope(
    dialect: str, version: str, *, state: bool = True, worker: int | None = None
) -> dict[str, Any]:
    """Return a fresh lifespan scope as a server of that text offers it.

    `state=False` leaves the state out; `worker` is a worker's number from 1 on, where the text
    knows workers.  Raises ValueError for a text that is not in DIALECTS or knows no workers.
    """
    row = DIALECTS.get(f"{dialect} {version}")
    if row is None:
        known = ", ".join(DIALECTS)
        raise ValueError(f"there is no text {dialect!r} {version!r}; there are {known}")
    fresh: dict[str, Any] = {"type": "lifespan"}
    if row.envelope:
        fresh[row.envelope] = dict(row.versions)
    if row.workers:
        fresh[row.envelope]["is_worker"] = 0 if worker is None else 1
    if worker is not None:
        if not row.workers or worker < 1:
            raise ValueError(f"{row.title} has no worker {worker!r}: PAGI counts them from 1 on")
        fresh[row.envelope]["worker_num"] = worker
    if state and row.state:
        fresh["state"] = {}
    return fresh
