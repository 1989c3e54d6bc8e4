"""Judge middleware: compare what was noted at its two sides.

What one of them sends has to reach the other.  A difference that no specification forbids, such as
a key that an event has lost, is INFO.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.request import TYPES
from lifespec.conformance.app.rows import ANSWERS, ending
from lifespec.conformance.cases import Case, Expectation, expected
from lifespec.conformance.finding import Finding, How, Outcome, finding
from lifespec.conformance.log import Line, Log
from lifespec.diagnosis.fact import Fact, fact
from lifespec.validate import SPECS

ENVELOPES = {each.envelope for each in SPECS.values()}
_UNFINISHED = Outcome("skip", Fact("script-unfinished"))


def _outcome(how: How, kind: str, **parts: Any) -> Outcome:
    return Outcome(how, fact(kind, **parts))


def findings(case: Case, spec: str, seen: Observation) -> Iterator[Finding]:
    """Yield a finding for each expectation of a case that was played."""
    sides = _Sides(case, seen)
    for each in expected(case, spec):
        yield finding(case, spec, each, _compared(each, sides), seen.entries)


class _Sides:
    """The log of a case, at both sides of the middleware."""

    def __init__(self, case: Case, seen: Observation) -> None:
        self.case, self.seen = case, seen
        self.called, self.over = self.at("called"), self.at("over")
        calls = seen.log.of("called", side="application")
        self.requests = [each for each in calls if each.type in TYPES]
        others = {each.call for each in self.requests}
        self.inner = Log(x for x in seen.log if x.side == "application" and x.call not in others)

    def of(self, *kinds: str) -> list[Line]:
        """Return the lines of the application in the lifespan."""
        return self.inner.of(*kinds)

    def at(self, kind: str) -> Line:
        """Return the line of the server of a kind in the lifespan; an empty one without one."""
        return next(iter(self.seen.of(kind)), Line(0.0, ""))

    @property
    def finished(self) -> bool:
        """Whether the application came to the end of its script."""
        return bool(self.of("returned", "raised"))


def _events_of(lines: Sequence[Line]) -> list[Any]:
    return [each.event for each in lines]


def _compared(wanted: Expectation, sides: _Sides) -> Outcome:
    """Compare one thing at the two sides."""
    if not sides.of("called") and wanted.phrase != "raises":
        if wanted.rule == "startup-sent":
            return _outcome("broken", "scope-not-passed", instead=_instead(sides.seen))
        return _outcome("skip", "scope-unreached")
    if wanted.rule.startswith("shutdown"):
        if sides.seen.startup.how != "complete":
            return _outcome("skip", "shutdown-not-sent")
        if _types(_of_phase("startup", _events_of(sides.of("received")))) != ["lifespan.startup"]:
            return _outcome("skip", "startup-not-as-sent")
    return _COMPARISONS[wanted.phrase](wanted.rule, sides)


def _instead(seen: Observation) -> Fact:
    """Return what middleware did with a lifespan scope that it did not pass on."""
    if seen.startup.how in ANSWERS:
        return fact("answers-itself")
    return ending(seen) if seen.ended else fact("no-answer-in-time")


def _scope(rule_id: str, sides: _Sides) -> Outcome:
    """Compare the keys of the scope: one rule has its versions, another one all others."""
    versions = rule_id == "scope-versions"
    wanted = {
        key: value
        for key, value in sides.called.event.items()
        if key != "state" and (key in ENVELOPES) is versions
    }
    lost = _lost(wanted, sides.of("called")[-1].event)
    if not lost:
        return _outcome("held", "same-scope")
    how: How = "broken" if versions or "type" in lost else "unspecified"
    return _outcome(how, "scope-keys-lost", keys=lost)


def _state(_: str, sides: _Sides) -> Outcome:
    state = sides.of("called")[-1].state_id
    if state == sides.called.state_id:
        return _outcome("held", "same-state")
    if not state:
        return _outcome("broken", "app-has-no-state")
    wrote = {key: value for each in sides.of("writes") for key, value in each.ids.items()}
    if all(sides.over.ids.get(key) == value for key, value in wrote.items()):
        return _outcome("unspecified", "other-state")
    return _outcome("broken", "state-lost")


def _request(_: str, sides: _Sides) -> Outcome:
    """Compare the state of each request with the values of the lifespan's state."""
    if not sides.requests:
        replies = [each.why for each in sides.seen.log.of("replied") if each.why]
        return Outcome("skip", replies[-1] if replies else Fact("request-not-made"))
    for each in sides.requests:
        if not each.state_id:
            return _outcome("broken", "app-request-without-state")
        if not all(each.ids.get(key) == value for key, value in sides.over.ids.items()):
            return _outcome("broken", "request-state-differs")
    return _outcome("held", "request-has-state")


def _events(rule_id: str, sides: _Sides) -> Outcome:
    phase = rule_id.partition("-")[0]
    offered = [each.event for each in sides.case.server if each.verb == "offer"]
    wanted, found = _of_phase(phase, offered), _of_phase(phase, _events_of(sides.of("received")))
    if (types := _types(found)) != _types(wanted):
        return _outcome("broken", "app-received", events=_listed(types))
    if lost := _lost(wanted[0], found[0]):
        return _outcome("unspecified", "keys-lost-to-app", event=types[0], keys=lost)
    return _outcome("held", "app-received", events=_listed(types))


def _answers(rule_id: str, sides: _Sides) -> Outcome:
    phase = "shutdown" if rule_id.startswith("shutdown") else "startup"
    answer = sides.seen.shutdown if phase == "shutdown" else sides.seen.startup
    answered = answer.how in ANSWERS and answer.when != "serving"
    wanted = _of_phase(phase, _events_of(sides.of("sends")))
    found = _of_phase(phase, _events_of(sides.seen.of("sent", "refused"))) * answered
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
    if not sides.finished:
        return _UNFINISHED
    refused = sides.of("refused")
    if not refused:
        return _outcome("broken", "refusal-lost")
    return _outcome("held", "refusal-seen", error=refused[0].why)


def _end(_: str, sides: _Sides) -> Outcome:
    if not sides.finished:
        return _UNFINISHED
    ends = {*sides.at("raised").ids.values()}
    held, did = sides.seen.ended == "returned", Fact("app-returned")
    for each in sides.of("raised"):
        held, did = bool({*each.ids.values()} & ends), fact("app-raised", error=each.why)
    if held:
        return _outcome("held", "same-end", did=did)
    return _outcome("broken", "other-end", did=did, end=ending(sides.seen))


def _rejects(_: str, sides: _Sides) -> Outcome:
    """Hold if an unknown scope is refused, by the application or by the middleware."""
    held = sides.seen.ended == "raised" and not sides.seen.sent
    return Outcome("held" if held else "broken", ending(sides.seen))


def _unchanged(_: str, sides: _Sides) -> Outcome:
    """Compare the server's own scope before and after the call, without the values of the state."""
    if sides.over.event is None:
        return _UNFINISHED
    now, live = sides.over.event
    then = sides.called.event | ({"state": live} if "state" in sides.called.event else {})
    keys = [key for key in {**then, **now} if now.get(key) != then.get(key) or key not in now]
    if keys:
        return _outcome("broken", "scope-changed", keys=tuple(keys))
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
