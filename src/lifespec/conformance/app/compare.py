"""Judge middleware: compare what was noted at its two sides.

What one of them sends has to reach the other.  A difference that no specification forbids, such as
a key that an event has lost, is INFO.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.outcome import ANSWERS, ending
from lifespec.conformance.app.request import TYPES
from lifespec.conformance.cases import Case, Expectation
from lifespec.conformance.finding import Outcome
from lifespec.conformance.judge import Judge, breaks, holds, leaves_open, skip
from lifespec.conformance.log import Line, Log
from lifespec.diagnosis.fact import Fact, fact
from lifespec.validate import SPECS

ENVELOPES = {each.envelope for each in SPECS.values()}


class OfMiddleware(Judge):
    """Judge by the log of a case, at both sides of the middleware."""

    def __init__(self, case: Case, seen: Observation) -> None:
        self.case, self.seen = case, seen
        self.scope, self.over = self.at("called"), self.at("over")
        calls = seen.log.of("called", side="application")
        self.requests = [each for each in calls if each.type in TYPES]
        others = {each.call for each in self.requests}
        self.inner = Log(x for x in seen.log if x.side == "application" and x.call not in others)
        self.calls = self.inner.of("called")

    def at(self, kind: str) -> Line:
        """Return the line of the server of a kind in the lifespan; an empty one without one."""
        return next(iter(self.seen.of(kind)), Line(0.0, ""))

    def finished(self) -> None:
        """Raise NotJudged if the application did not come to the end of its script."""
        if not self.inner.of("returned", "raised"):
            skip("script-unfinished")

    def received(self, phase: str) -> list[Any]:
        """Return the events of a phase that the application received."""
        return _of_phase(phase, (each.event for each in self.inner.of("received")))

    def outcome(self, wanted: Expectation) -> Outcome:
        """Return what became of an expectation, unless another rule explains it."""
        if not self.calls and wanted.phrase != "raises":
            if wanted.rule == "startup-sent":
                return breaks("scope-not-passed", instead=self.instead())
            return Outcome("skip", Fact("scope-unreached"))
        if wanted.rule.startswith("shutdown"):
            if self.seen.startup.how != "complete":
                return Outcome("skip", Fact("shutdown-not-sent"))
            if _types(self.received("startup")) != ["lifespan.startup"]:
                return Outcome("skip", Fact("startup-not-as-sent"))
        return super().outcome(wanted)

    def instead(self) -> Fact:
        """Return what middleware did with a lifespan scope that it did not pass on."""
        if self.seen.startup.how in ANSWERS:
            return fact("answers-itself")
        return ending(self.seen) if self.seen.ended else fact("no-answer-in-time")

    # ---- phrases --------------------------------------------------------------------------------

    def same_scope(self) -> Outcome:
        """Compare the keys of the scope: one rule has its versions, another one all others."""
        versions = self.wanted.rule == "scope-versions"
        wanted = {
            key: value
            for key, value in self.scope.event[0].items()
            if key != "state" and (key in ENVELOPES) is versions
        }
        lost = _lost(wanted, self.calls[-1].event)
        if not lost:
            return holds("same-scope")
        judged = breaks if versions or "type" in lost else leaves_open
        return judged("scope-keys-lost", keys=lost)

    def same_state(self) -> Outcome:
        state = self.calls[-1].state_id
        if state == self.scope.state_id:
            return holds("same-state")
        if not state:
            return breaks("app-has-no-state")
        wrote = (item for each in self.inner.of("writes") for item in each.ids.items())
        if all(self.over.ids.get(key) == value for key, value in wrote):
            return leaves_open("other-state")
        return breaks("state-lost")

    def same_request(self) -> Outcome:
        """Compare the state of each request with the values of the lifespan's state."""
        if not self.requests:
            if self.seen.reply:
                skip("request-unreached", reply=self.seen.reply)
            skip("request-not-made")
        for each in self.requests:
            if not each.state_id:
                return breaks("app-request-without-state")
            if not all(each.ids.get(key) == value for key, value in self.over.ids.items()):
                return breaks("request-state-differs")
        return holds("request-has-state")

    def same_events(self) -> Outcome:
        phase = self.wanted.rule.partition("-")[0]
        wanted = _of_phase(phase, (each.event for each in self.case.server if each.verb == "offer"))
        found = self.received(phase)
        if (types := _types(found)) != _types(wanted):
            return breaks("app-received", events=_listed(types))
        if lost := _lost(wanted[0], found[0]):
            return leaves_open("keys-lost-to-app", event=types[0], keys=lost)
        return holds("app-received", events=_listed(types))

    def answers(self) -> tuple[list[Any], list[Any]]:
        """Return what the application sent in a phase, and what the server received."""
        phase = "shutdown" if self.wanted.rule.startswith("shutdown") else "startup"
        answer = self.seen.shutdown if phase == "shutdown" else self.seen.startup
        answered = answer.how in ANSWERS and answer.when != "serving"
        wanted = _of_phase(phase, (each.event for each in self.inner.of("sends")))
        lines = self.seen.of("sent", "refused") if answered else []
        return wanted, _of_phase(phase, (each.event for each in lines))

    def answered_once(self) -> Outcome:
        """Hold if the middleware sends no answer of its own after the application's."""
        wanted, found = self.answers()
        sent, types = _types(wanted), _types(found)
        if not sent or types[: len(sent)] != sent:
            skip("script-unfinished")
        if len(types) > len(sent):
            return breaks("answers-differ", sent=_listed(sent), received=_listed(types))
        return holds("server-received", events=_listed(types))

    def same_answers(self) -> Outcome:
        wanted, found = self.answers()
        sent, types = _types(wanted), _types(found)
        if not sent and not types:
            skip("script-unfinished")
        if not sent or types[: len(sent)] != sent:  # what follows is judged by `answered_once`
            return breaks("answers-differ", sent=_listed(sent), received=_listed(types))
        if bool(found[0].get("message")) < bool(wanted[0].get("message")):
            return breaks("message-lost", event=sent[0])
        if lost := _lost(wanted[0], found[0]):
            return leaves_open("keys-lost-to-server", event=sent[0], keys=lost)
        return holds("server-received", events=_listed(types))

    def same_refusal(self) -> Outcome:
        self.finished()
        refused = self.inner.of("refused")
        return holds("refusal-seen", error=refused[0].why) if refused else breaks("refusal-lost")

    def same_end(self) -> Outcome:
        self.finished()
        ends = {*self.at("raised").ids.values()}
        held, did = self.seen.ended == "returned", Fact("app-returned")
        for each in self.inner.of("raised"):
            held, did = bool({*each.ids.values()} & ends), fact("app-raised", error=each.why)
        if held:
            return holds("same-end", did=did)
        return breaks("other-end", did=did, end=ending(self.seen))

    def raises(self) -> Outcome:
        """Hold if an unknown scope is refused, by the application or by the middleware."""
        held = self.seen.ended == "raised" and not self.seen.sent
        return Outcome("held" if held else "broken", ending(self.seen))

    def no_change(self) -> Outcome:
        """Compare the server's own scope before and after, without the values of the state."""
        if self.over.event is None:
            skip("script-unfinished")
        now, live = self.over.event
        then = self.scope.event[0] | ({"state": live} if "state" in self.scope.event[0] else {})
        keys = [key for key in {**then, **now} if now.get(key) != then.get(key) or key not in now]
        return breaks("scope-changed", keys=tuple(keys)) if keys else holds("scope-unchanged")


def _of_phase(phase: str, events: Iterable[Any]) -> list[Any]:
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
