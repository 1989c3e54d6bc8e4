"""Checks middleware, between an application and a server of the suite.

What one of them sends has to reach the other.  A difference that no specification forbids, such as
a key that an event has lost, is told and fails nobody.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases, findings
from lifespec.conformance.app import fake_server, player
from lifespec.conformance.app.run import LIMIT, CaseResult
from lifespec.conformance.findings import Outcome
from lifespec.conformance.oldreport.model import Report
from lifespec.conformance.rules import known_spec
from lifespec.conformance.texts import named, shown
from lifespec.testing.diagram import sequence
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from lifespec.conformance.app.fake_server import AppObservation
    from lifespec.conformance.cases import Case, Expectation
    from lifespec.conformance.findings import How
    from lifespec.conformance.oldreport.model import Finding
    from lifespec.testing.trace import Entry

    Application = Callable[[Any, Any, Any], Awaitable[Any]]
    Middleware = Callable[[Application], Application]

__all__ = ["Probe", "ProbeError", "cases_for", "check", "run_case"]


class ProbeError(Exception):
    """What the application of the suite raises when its script says so."""


@dataclass
class Probe:
    """An application that plays a script, and keeps what it sees."""

    case: Case
    scope: dict[str, Any] | None = None
    state: Any = None
    written: dict[str, Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    error: ProbeError | None = None
    finished: bool = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Play the script to a lifespan, or to the scope that the case is about."""
        if answer := _ANSWERS.get(scope.get("type")):
            self.requests.append(dict(scope))
            for event in answer:
                await send(event)
            return
        self.state = scope.get("state")
        self.scope = {key: value for key, value in scope.items() if key != "state"}
        for action in self.case.script:
            match action.verb:
                case "receive":
                    self.events.append(await receive())
                case "send":
                    await self._send(send, action.event)
                case "state":
                    self._write(scope.get("state"), action.keys)
                case "raise":
                    self.error, self.finished = self.error or ProbeError(action.text), True
                    raise self.error
                case "wait":
                    await asyncio.sleep(action.seconds)
        self.finished = True

    def _write(self, state: Any, keys: Mapping[str, Any]) -> None:
        """Write into the state, where it takes that."""
        self.written |= keys
        with suppress(Exception):
            state.update(keys)

    async def _send(self, send: Any, event: Any) -> None:
        self.sent.append(event)
        try:
            await send(event)
        except Exception as error:
            self.refusals.append(named(error))


_ANSWERS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "http": (
        {"type": "http.response.start", "status": 204, "headers": []},
        {"type": "http.response.body", "body": b""},
    ),
    "message": ({"type": "message.ack"},),
}


@dataclass(frozen=True)
class _Sides:
    """What was seen at both ends of the middleware."""

    probe: Probe
    seen: AppObservation

    def offered(self, phase: str) -> list[Any]:
        """Return the events of a phase that the server sent."""
        return _of(phase, [each.event for each in self.probe.case.server if each.verb == "offer"])

    def received(self, phase: str) -> list[Any]:
        """Return the events of a phase that the application received."""
        return _of(phase, self.probe.events)

    def sent(self, phase: str) -> list[Any]:
        """Return the answers of a phase that the application sent."""
        return _of(phase, self.probe.sent)

    def answers(self, phase: str) -> list[Any]:
        """Return the answers of a phase that the server received."""
        return _of(phase, self.seen.messages)


def _of(phase: str, events: Sequence[Any]) -> list[Any]:
    """Leave out the events of the other phase."""
    other = "shutdown" if phase == "startup" else "startup"
    return [event for event in events if f"lifespan.{other}" not in _type(event)]


def _type(event: Any) -> str:
    return str(event.get("type") if isinstance(event, dict) else event)


def _types(events: Sequence[Any]) -> list[str]:
    return [*map(_type, events)]


def check(middleware: Middleware, spec: str = "asgi 2.0", limit: float = LIMIT) -> Report:
    """Check middleware, here and now, and return the report.

    `middleware` is called with an application of the suite, and returns an application.
    `spec`, `limit` and errors are those of `run.check`.
    """
    spec = known_spec(spec)
    found: list[Finding] = []
    for case in cases_for(spec):
        tried = run_case(middleware, case, spec, limit=limit)
        if tried.doubt:
            tried = run_case(middleware, case, spec, limit=limit, real=True)
        found += tried.findings
    name = getattr(middleware, "__qualname__", type(middleware).__qualname__)
    return Report(name, spec, tuple(found), role="middleware")


def cases_for(spec: str) -> list[Case]:
    """Return the cases of middleware for a text."""
    return [c for c in cases.load() if c.role == "middleware" and spec in c.specs]


def run_case(
    middleware: Middleware, case: Case, spec: str, *, limit: float = LIMIT, real: bool = False
) -> CaseResult:
    """Play one case to the middleware, and compare its two sides; raise Unchecked."""
    sides = _played(middleware, case, spec, limit, real=real)
    conversation = sequence(sides.seen.spoken.entries, "server", "middleware")
    found = tuple(
        findings.finding(case, spec, expected, _compared(expected, sides), conversation)
        for expected in findings.expected(case, spec)
    )
    return CaseResult(found, doubt=sides.seen.doubt)


def _played(middleware: Middleware, case: Case, spec: str, limit: float, *, real: bool) -> _Sides:
    probe = Probe(case)
    try:
        app = middleware(probe)
    except Exception as error:
        raise cases.Unchecked(
            f"called with an application, it raised {named(error)};"
            " middleware takes an application and returns one"
        ) from None
    if not callable(app):
        raise cases.Unchecked(
            f"called with an application, it returned {shown(app)}; middleware takes an application"
            " and returns one"
        )
    seen = player.play(app, case, spec, limit, real=real)[-1]
    if isinstance(seen.error, fake_server.NoApplication):
        raise cases.Unchecked(f"what it returned is not an application: {seen.error}")
    return _Sides(probe, seen)


# ---- the comparison ----------------------------------------------------------------------------

ENVELOPES = {each.envelope for each in SPECS.values()}
UNFINISHED = "The application did not come to the end of its script."
UNREQUESTED = "The request did not reach the application"
UNREACHED = "The lifespan scope did not reach the application."
UNLIKE = "lifespan.startup did not reach the application as it was sent."
UNASKED = "Startup was not answered with complete, so the server did not send lifespan.shutdown."


def _compared(expected: Expectation, sides: _Sides) -> Outcome:
    """Compare one thing at the two sides."""
    if sides.probe.scope is None and expected.phrase != "raises":
        if expected.rule == "startup-sent":
            return Outcome("broken", f"It does not pass the lifespan scope on: {_instead(sides)}.")
        return Outcome("skip", UNREACHED)
    phase = expected.rule.partition("-")[0]
    if phase == "shutdown" and sides.seen.startup != "complete":
        return Outcome("skip", UNASKED)
    if phase == "shutdown" and _types(sides.received("startup")) != ["lifespan.startup"]:
        return Outcome("skip", UNLIKE)
    return _COMPARISONS[expected.phrase](expected.rule, sides)


def _instead(sides: _Sides) -> str:
    """Say what middleware did with a lifespan scope that it did not pass on."""
    if sides.seen.startup in ("complete", "failed"):
        return "it answers startup in the application's place"
    if sides.seen.ended == "returned":
        return "it returned"
    if sides.seen.ended == "raised":
        return f"it raised {named(sides.seen.error)}"
    return "it did not answer startup within the timeout"


def _scope(rule_id: str, sides: _Sides) -> Outcome:
    """Compare the keys of the scope: one rule has its versions, another one all others."""
    versions = rule_id == "scope-versions"
    wanted = {
        key: value
        for key, value in sides.seen.offered.items()
        if key != "state" and (key in ENVELOPES) is versions
    }
    lost = _lost(wanted, sides.probe.scope)
    if not lost:
        return Outcome("held", "The application is called with each key of the server's scope.")
    how: How = "broken" if versions or "type" in lost else "unspecified"
    return Outcome(how, _changed("the scope", "the application", lost))


def _state(_: str, sides: _Sides) -> Outcome:
    state, live = sides.probe.state, sides.seen.state or {}
    if state is sides.seen.state:
        return Outcome("held", "The application has the server's own state.")
    if state is None:
        return Outcome("broken", "The application's scope has no state.")
    if all(key in live and live[key] is value for key, value in sides.probe.written.items()):
        return Outcome(
            "unspecified",
            "The application has another object as its state, and what it writes there arrives"
            " in the server's.",
        )
    return Outcome("broken", "What the application writes into its state is not in the server's.")


def _request(_: str, sides: _Sides) -> Outcome:
    """See whether requests have the values of the lifespan's state."""
    if not sides.probe.requests:
        return Outcome("skip", _unrequested(sides.seen.spoken.entries))
    live = sides.seen.state or {}
    for scope in sides.probe.requests:
        state = scope.get("state")
        if state is None:
            return Outcome("broken", "The application was called for a request without a state.")
        if not all(key in state and state[key] is live[key] for key in live):
            return Outcome("broken", "The state of a request does not have the lifespan's values.")
    return Outcome("held", "The state of the request has the lifespan's values.")


def _unrequested(entries: Sequence[Entry]) -> str:
    """Say why the application was not called for a request."""
    request = [
        *dropwhile(lambda entry: entry.kind != "called" or entry.type == "lifespan", entries)
    ]
    for entry in request:
        if entry.kind == "sent" and entry.detail:
            return f"{UNREQUESTED}: the middleware answered it with status {entry.detail}."
        if entry.kind == "raised":
            text = f"{': ' * bool(entry.detail)}{entry.detail}"
            return f"{UNREQUESTED}: the middleware raised {entry.type}{text}."
    return f"{UNREQUESTED}: the middleware returned." if request else "There was no request."


def _events(rule_id: str, sides: _Sides) -> Outcome:
    phase = rule_id.partition("-")[0]
    wanted, found = sides.offered(phase), sides.received(phase)
    if (types := _types(found)) != _types(wanted):
        return Outcome("broken", f"The application received {_listed(types)}.")
    if lost := _lost(wanted[0], found[0]):
        return Outcome("unspecified", _changed(types[0], "the application", lost))
    return Outcome("held", f"The application received {_listed(types)}.")


def _answers(rule_id: str, sides: _Sides) -> Outcome:
    phase = "shutdown" if rule_id.startswith("shutdown") else "startup"
    wanted = sides.sent(phase)
    found = sides.answers(phase) if getattr(sides.seen, phase) in ("complete", "failed") else []
    sent, types = _types(wanted), _types(found)
    if not sent and not types:
        return Outcome("skip", UNFINISHED)
    if types != sent:
        return Outcome(
            "broken", f"The application sent {_listed(sent)}; the server received {_listed(types)}."
        )
    if bool(found[0].get("message")) < bool(wanted[0].get("message")):
        return Outcome("broken", f"{sent[0]} reached the server without its message.")
    if lost := _lost(wanted[0], found[0]):
        return Outcome("unspecified", _changed(sent[0], "the server", lost))
    return Outcome("held", f"The server received {_listed(types)}.")


def _refusal(_: str, sides: _Sides) -> Outcome:
    if not sides.probe.finished:
        return Outcome("skip", UNFINISHED)
    if not sides.probe.refusals:
        return Outcome("broken", "The application sent an unknown event, and send did not raise.")
    return Outcome("held", f"send raised {sides.probe.refusals[0]}.")


def _end(_: str, sides: _Sides) -> Outcome:
    seen, own = sides.seen, sides.probe.error
    if not sides.probe.finished:
        return Outcome("skip", UNFINISHED)
    did = f"raised {named(own)}" if own else "returned"
    if (seen.ended == "returned") if own is None else _holds(seen.error, own):
        return Outcome("held", f"The application {did}, and so did the middleware.")
    return Outcome("broken", f"The application {did}; the middleware {_gone(seen)}.")


def _gone(seen: AppObservation) -> str:
    if seen.ended in ("raised", "exited"):
        return f"raised {named(seen.error)}"
    return "returned" if seen.ended == "returned" else "did not end"


def _holds(error: BaseException | None, own: BaseException) -> bool:
    """Say whether an exception is this one, or a group that has it."""
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return error is own or any(_holds(each, own) for each in parts)


def _rejects(_: str, sides: _Sides) -> Outcome:
    """See that an unknown scope is refused, by the application or by the middleware."""
    seen = sides.seen
    held = seen.ended == "raised" and not seen.sent
    return Outcome("held" if held else "broken", f"It {_gone(seen)}.")


def _unchanged(_: str, sides: _Sides) -> Outcome:
    """Compare the server's own scope; what is in the state is no matter here."""
    now, then = sides.seen.scope, dict(sides.seen.offered)
    if "state" in then:
        then["state"] = sides.seen.state
    keys = [key for key in {**then, **now} if now.get(key) != then.get(key) or key not in now]
    if keys:
        return Outcome("broken", f"The server's scope was changed: {', '.join(map(str, keys))}.")
    return Outcome("held", "The server's scope is as it was.")


def _listed(types: Sequence[str]) -> str:
    return ", ".join(types) or "nothing"


def _lost(wanted: Mapping[str, Any], found: Any) -> list[str]:
    return [key for key, value in wanted.items() if found.get(key) != value]


def _changed(what: str, side: str, keys: Sequence[str]) -> str:
    return f"These keys of {what} did not reach {side} as they were sent: {', '.join(keys)}."


_COMPARISONS: Mapping[str, Callable[[str, _Sides], Outcome]] = {
    "same scope": _scope,
    "same state": _state,
    "same events": _events,
    "same answers": _answers,
    "same refusal": _refusal,
    "same end": _end,
    "same request": _request,
    "no change": _unchanged,
    "raises": _rejects,
}
