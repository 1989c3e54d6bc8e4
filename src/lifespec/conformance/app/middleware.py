"""Play a case to middleware, between an application and the server of the suite, and compare.

What one of them sends has to reach the other.  A difference that no specification forbids, such as
a key that an event has lost, is INFO.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lifespec.conformance.app.judge import ANSWERS, ending
from lifespec.conformance.app.loops import Loop
from lifespec.conformance.app.play import Call, Seen, Watch
from lifespec.conformance.app.play import play as play_case
from lifespec.conformance.app.target import NotFound
from lifespec.conformance.cases import Case, Expectation, expected
from lifespec.conformance.finding import How, Outcome
from lifespec.conformance.words import short_repr
from lifespec.diagnosis.author import described
from lifespec.diagnosis.fact import Fact, fact
from lifespec.validate import SPECS

Application = Callable[[Any, Any, Any], Awaitable[Any]]
Middleware = Callable[[Application], Application]


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
    refusals: list[Fact] = field(default_factory=list)
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
            self.refusals.append(described(error).fact())


_ANSWERS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "http": (
        {"type": "http.response.start", "status": 204, "headers": []},
        {"type": "http.response.body", "body": b""},
    ),
    "message": ({"type": "message.ack"},),
}


class _Sides(NamedTuple):
    """What was seen at both ends of the middleware: by the application, and by the server."""

    probe: Probe
    call: Call

    @property
    def seen(self) -> Seen:
        """What the server saw."""
        return self.call.seen


def play(
    middleware: Middleware, case: Case, spec: str, limit: float, loop: type[Loop], watch: Watch
) -> Call:
    """Play a case to the middleware, compare its two sides, and return the call."""
    probe = Probe(case)
    try:
        app = middleware(probe)
    except Exception as error:
        raise NotFound(fact("middleware-raised", error=described(error).fact())) from None
    if not callable(app):
        raise NotFound(fact("middleware-returned", value=short_repr(app)))
    call = play_case(app, case, spec, limit, loop, watch)
    for raised in call.seen.errors:  # it wanted something else than an application
        if f"'{Probe.__name__}' object" in raised.texts:
            raise NotFound(fact("no-middleware", error=raised.fact()))
    sides = _Sides(probe, call)
    for each in expected(case, spec):
        call.seen.compared[each.rule, each.phrase] = _compared(each, sides)
    return call


# ---- the comparison ----------------------------------------------------------------------------

ENVELOPES = {each.envelope for each in SPECS.values()}
_UNFINISHED = Outcome("skip", Fact("script-unfinished"))


def _outcome(how: How, kind: str, **parts: Any) -> Outcome:
    return Outcome(how, fact(kind, **parts))


def _compared(wanted: Expectation, sides: _Sides) -> Outcome:
    """Compare one thing at the two sides."""
    if sides.probe.scope is None and wanted.phrase != "raises":
        if wanted.rule == "startup-sent":
            return _outcome("broken", "scope-not-passed", instead=_instead(sides.seen))
        return _outcome("skip", "scope-unreached")
    if wanted.rule.startswith("shutdown"):
        if sides.seen.startup != "complete":
            return _outcome("skip", "shutdown-not-sent")
        if _types(_of_phase("startup", sides.probe.events)) != ["lifespan.startup"]:
            return _outcome("skip", "startup-not-as-sent")
    return _COMPARISONS[wanted.phrase](wanted.rule, sides)


def _instead(seen: Seen) -> Fact:
    """Return what middleware did with a lifespan scope that it did not pass on."""
    if seen.startup in ANSWERS:
        return fact("answers-itself")
    return ending(seen) if seen.ended else fact("no-answer-in-time")


def _scope(rule_id: str, sides: _Sides) -> Outcome:
    """Compare the keys of the scope: one rule has its versions, another one all others."""
    versions = rule_id == "scope-versions"
    wanted = {
        key: value
        for key, value in sides.call.offered.items()
        if key != "state" and (key in ENVELOPES) is versions
    }
    lost = _lost(wanted, sides.probe.scope)
    if not lost:
        return _outcome("held", "same-scope")
    how: How = "broken" if versions or "type" in lost else "unspecified"
    return _outcome(how, "scope-keys-lost", keys=lost)


def _state(_: str, sides: _Sides) -> Outcome:
    state, live = sides.probe.state, sides.call.live or {}
    if state is sides.call.live:
        return _outcome("held", "same-state")
    if state is None:
        return _outcome("broken", "app-has-no-state")
    if all(key in live and live[key] is value for key, value in sides.probe.written.items()):
        return _outcome("unspecified", "other-state")
    return _outcome("broken", "state-lost")


def _request(_: str, sides: _Sides) -> Outcome:
    """Compare the state of each request with the values of the lifespan's state."""
    if not sides.probe.requests:
        return Outcome("skip", sides.call.reply)
    live = sides.call.live or {}
    for scope in sides.probe.requests:
        state = scope.get("state")
        if state is None:
            return _outcome("broken", "app-request-without-state")
        if not all(key in state and state[key] is live[key] for key in live):
            return _outcome("broken", "request-state-differs")
    return _outcome("held", "request-has-state")


def _events(rule_id: str, sides: _Sides) -> Outcome:
    phase = rule_id.partition("-")[0]
    offered = [each.event for each in sides.probe.case.server if each.verb == "offer"]
    wanted, found = _of_phase(phase, offered), _of_phase(phase, sides.probe.events)
    if (types := _types(found)) != _types(wanted):
        return _outcome("broken", "app-received", events=_listed(types))
    if lost := _lost(wanted[0], found[0]):
        return _outcome("unspecified", "keys-lost-to-app", event=types[0], keys=lost)
    return _outcome("held", "app-received", events=_listed(types))


def _answers(rule_id: str, sides: _Sides) -> Outcome:
    phase = "shutdown" if rule_id.startswith("shutdown") else "startup"
    answered = getattr(sides.seen, phase) in ANSWERS
    wanted = _of_phase(phase, sides.probe.sent)
    found = _of_phase(phase, sides.call.messages) * answered
    sent, types = _types(wanted), _types(found)
    if not sent and not types:
        return _UNFINISHED
    if types != sent:
        return _outcome("broken", "answers-differ", sent=_listed(sent), received=_listed(types))
    if bool(found[0].get("message")) < bool(wanted[0].get("message")):
        return _outcome("broken", "message-lost", event=sent[0])
    if lost := _lost(wanted[0], found[0]):
        return _outcome("unspecified", "keys-lost-to-server", event=sent[0], keys=lost)
    return _outcome("held", "server-received", events=_listed(types))


def _refusal(_: str, sides: _Sides) -> Outcome:
    if not sides.probe.finished:
        return _UNFINISHED
    if not sides.probe.refusals:
        return _outcome("broken", "refusal-lost")
    return _outcome("held", "refusal-seen", error=sides.probe.refusals[0])


def _end(_: str, sides: _Sides) -> Outcome:
    seen, own = sides.seen, sides.probe.error
    if not sides.probe.finished:
        return _UNFINISHED
    did = fact("app-raised", error=described(own).fact()) if own else Fact("app-returned")
    if (seen.ended == "returned") if own is None else _holds(sides.call.raised, own):
        return _outcome("held", "same-end", did=did)
    return _outcome("broken", "other-end", did=did, end=ending(seen))


def _holds(error: BaseException | None, own: BaseException) -> bool:
    """Tell whether an exception is this one, or a group that has it."""
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return error is own or any(_holds(each, own) for each in parts)


def _rejects(_: str, sides: _Sides) -> Outcome:
    """Hold if an unknown scope is refused, by the application or by the middleware."""
    held = sides.seen.ended == "raised" and not sides.seen.sent
    return Outcome("held" if held else "broken", ending(sides.seen))


def _unchanged(_: str, sides: _Sides) -> Outcome:
    """Compare the server's own scope before and after the call, without the values of the state."""
    now, then = sides.call.scope, dict(sides.call.offered)
    if "state" in then:
        then["state"] = sides.call.live
    keys = [key for key in {**then, **now} if now.get(key) != then.get(key) or key not in now]
    if keys:
        return _outcome("broken", "scope-changed", keys=tuple(map(str, keys)))
    return _outcome("held", "scope-unchanged")


def _of_phase(phase: str, events: Sequence[Any]) -> list[Any]:
    """Leave out the events of the other phase."""
    other = "shutdown" if phase == "startup" else "startup"
    return [event for event in events if f"lifespan.{other}" not in _type(event)]


def _type(event: Any) -> str:
    return str(event.get("type") if isinstance(event, dict) else event)


def _types(events: Sequence[Any]) -> list[str]:
    return [*map(_type, events)]


def _listed(types: Sequence[str]) -> tuple[str, ...] | Fact:
    return tuple(types) or Fact("nothing")


def _lost(wanted: Mapping[str, Any], found: Any) -> tuple[str, ...]:
    return tuple(key for key, value in wanted.items() if found.get(key) != value)


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
