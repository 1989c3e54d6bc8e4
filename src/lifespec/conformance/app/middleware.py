"""Checks middleware: an application is played to the suite's server with and without it.

Whatever the two see of each other is to be the same.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases
from lifespec.conformance.app import assertions, fake_server, player
from lifespec.conformance.app.assertions import Told, Usual
from lifespec.conformance.app.run import LIMIT, CaseResult
from lifespec.conformance.report.model import Report
from lifespec.conformance.texts import said, shown
from lifespec.testing.ladder import sequence

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from lifespec.conformance.app.fake_server import Seen
    from lifespec.conformance.cases import Case, Expectation
    from lifespec.conformance.report.model import Finding

    Application = Callable[[Any, Any, Any], Awaitable[Any]]
    Middleware = Callable[[Application], Application]

__all__ = ["Probe", "ProbeError", "cases_for", "check", "run_case"]


class ProbeError(Exception):
    """What the application of the suite raises when its script says so."""


@dataclass
class Probe:
    """An application that plays a script, and keeps what it sees."""

    case: Case
    scope: dict[str, Any] = field(default_factory=dict)
    state: Any = None
    events: list[Any] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    error: ProbeError | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Play the script to a lifespan, or to the scope that the case is about."""
        if scope["type"] in ("http", "message"):
            self.requests.append(dict(scope))
            for event in _ANSWERS[scope["type"]]:
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
                    scope.get("state", {}).update(action.keys)
                case "raise":
                    self.error = ProbeError(action.text)
                    raise self.error
                case "wait":
                    await asyncio.sleep(action.seconds)

    async def _send(self, send: Any, event: Any) -> None:
        try:
            await send(event)
        except Exception as error:
            self.refusals.append(f"{type(error).__name__}: {said(error)}")


_ANSWERS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "http": (
        {"type": "http.response.start", "status": 204, "headers": []},
        {"type": "http.response.body", "body": b""},
    ),
    "message": ({"type": "message.ack"},),
}


@dataclass(frozen=True)
class _Sides:
    """What was seen at both ends, with the middleware between them or without."""

    probe: Probe
    seen: Seen


def check(middleware: Middleware, spec: str = "asgi 2.0", limit: float = LIMIT) -> Report:
    """Check middleware, here and now, and return the report.

    `middleware` is called with an application of the suite, and returns an application; what goes
    through is compared with what there is without it.  `spec`, `limit` and errors are those of
    `applications.check`.
    """
    spec = cases.known_spec(spec)
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
    """Play one case with and without the middleware, and compare; raise Unchecked."""
    bare = _played(lambda app: app, case, spec, limit, real=False)
    wrapped = _played(middleware, case, spec, limit, real=real)
    conversation = sequence(wrapped.seen.spoken.entries, "server", "middleware")
    found = tuple(
        assertions.finding(case, spec, expected, _same(expected, bare, wrapped), conversation)
        for expected in assertions.expected(case, spec)
    )
    return CaseResult(found, Usual("", ""), wrapped.seen.doubt)


def _played(middleware: Middleware, case: Case, spec: str, limit: float, *, real: bool) -> _Sides:
    probe = Probe(case)
    try:
        app = middleware(probe)
    except Exception as error:
        raise cases.Unchecked(
            f"called with an application, it raised {type(error).__name__}: {said(error)};"
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


def _same(expected: Expectation, bare: _Sides, wrapped: _Sides) -> Told:
    """Compare one thing that is seen without the middleware and with it."""
    look = _LOOKS[expected.phrase]
    wanted, found = look(bare), look(wrapped)
    if expected.phrase in ("same events", "same answers"):
        wanted, found = (_told_by(expected.rule, events) for events in (wanted, found))
    if expected.phrase == "same scope" and isinstance(found, dict):
        found = {key: found.get(key) for key in wanted}  # more keys are no harm
    if wanted == found:
        return Told("held", f"As without it: {_shown(found)}.")
    return Told("broken", f"Without it: {_shown(wanted)}. With it: {_shown(found)}.")


def _told_by(rule_id: str, events: Sequence[Any]) -> list[Any]:
    """Leave out those events that the rule of the other phase is about."""
    other = _OTHER.get(rule_id.partition("-")[0], "no other")
    types = [str(event.get("type") if isinstance(event, dict) else event) for event in events]
    return [event for event, type_ in zip(events, types, strict=True) if other not in type_]


_OTHER = {"startup": "lifespan.shutdown", "shutdown": "lifespan.startup"}


def _shown(thing: Any) -> str:
    return str(thing) if thing else "nothing"


def _requests(sides: _Sides) -> list[str]:
    """Tell of each request whether it has the values of the lifespan's state."""
    live = sides.seen.state or {}
    told = []
    for scope in sides.probe.requests:
        state = scope.get("state")
        kept = state is not None and all(state.get(key) is live[key] for key in live)
        told.append(f"{scope['type']} with{'' if kept else 'out'} the state")
    return told


def _change(sides: _Sides) -> str:
    """Say which keys of the server's scope are others; what is in the state is no matter here."""
    now, then = sides.seen.scope, sides.seen.offered
    if now.get("state") is sides.seen.state:
        then = then | {"state": sides.seen.state}
    keys = [key for key in {**then, **now} if now.get(key) != then.get(key) or key not in now]
    return f"the scope's {', '.join(keys)} changed" if keys else "the scope is as it was"


def _end(sides: _Sides) -> str:
    error, own = sides.seen.error, sides.probe.error
    if own is not None and (error is own or _holds(error, own)):
        return f"the application's own {own!r}"
    return assertions.course(sides.seen).removesuffix(".")


def _holds(error: BaseException | None, own: BaseException) -> bool:
    """Say whether a group of exceptions has this one in it."""
    return isinstance(error, BaseExceptionGroup) and any(
        each is own or _holds(each, own) for each in error.exceptions
    )


_LOOKS: Mapping[str, Callable[[_Sides], Any]] = {
    "same scope": lambda sides: sides.probe.scope,
    "same state": lambda sides: (
        "the state itself" if sides.probe.state is sides.seen.state else "another state"
    ),
    "same events": lambda sides: sides.probe.events,
    "same answers": lambda sides: sides.seen.messages,
    "same refusal": lambda sides: sides.probe.refusals,
    "same end": _end,
    "no change": _change,
    "same request": _requests,
}
