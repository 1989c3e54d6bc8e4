"""Judge middleware: compare what was noted at its two sides.

What one of them sends has to reach the other.  A difference that no specification forbids, such as
a key that an event has lost, is INFO.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.outcome import COMPLETE_OR_FAILED, ending
from lifespec.conformance.app.request import TYPES
from lifespec.conformance.cases import Case, Expectation
from lifespec.conformance.finding import Assessment
from lifespec.conformance.judge import Judge, breaks, holds, leaves_open, skip
from lifespec.conformance.log import Log, LogLine
from lifespec.diagnosis.fact import Fact, fact
from lifespec.validate import SPECS

ENVELOPES = {spec.envelope for spec in SPECS.values()}


class MiddlewareJudge(Judge):
    """Judge by the log of a case, at both sides of the middleware."""

    def __init__(self, case: Case, seen: Observation) -> None:
        self.case = case
        self.seen = seen
        self.scope = self.at("called")
        self.over_line = self.at("over")
        calls = seen.log.of("called", side="application")
        self.requests = [line for line in calls if line.type in TYPES]
        numbers = {line.call for line in self.requests}
        self.inner = Log()  # what the application inside saw of the lifespan
        for line in seen.log:
            if line.side != "application":
                continue
            if line.call not in numbers:
                self.inner.append(line)
        self.calls = self.inner.of("called")

    def at(self, kind: str) -> LogLine:
        """Return the line of the server of a kind in the lifespan; an empty one without one."""
        for line in self.seen.of(kind):
            return line
        return LogLine(0.0, "")

    def need_whole_script(self) -> None:
        """Raise NotJudged if the application did not come to the end of its script."""
        if not self.inner.of("returned", "raised"):
            skip("script-unfinished")

    def received(self, phase: str) -> list[Any]:
        """Return the events of a phase that the application received."""
        return _of_phase(phase, [line.event for line in self.inner.of("received")])

    def outcome(self, wanted: Expectation) -> Assessment:
        """Return what became of an expectation, unless another rule explains it."""
        # whether an unknown scope is refused can be told without the application: see `raises`
        if not self.calls and wanted.phrase != "raises":
            if wanted.rule == "startup-sent":
                return breaks("scope-not-passed", instead=self.instead())
            return Assessment("skip", Fact("scope-unreached"))
        if wanted.rule.startswith("shutdown"):
            if self.seen.startup.how != "complete":
                return Assessment("skip", Fact("shutdown-not-sent"))
            if _types(self.received("startup")) != ["lifespan.startup"]:
                return Assessment("skip", Fact("startup-not-as-sent"))
        return super().outcome(wanted)

    def instead(self) -> Fact:
        """Return what middleware did with a lifespan scope that it did not pass on."""
        if self.seen.startup.how in COMPLETE_OR_FAILED:
            return fact("answers-itself")
        if self.seen.ended:
            return ending(self.seen)
        return fact("no-answer-in-time")

    # ---- phrases --------------------------------------------------------------------------------

    def same_scope(self) -> Assessment:
        """Compare the keys of the scope: one rule has its versions, another one all others."""
        of_versions = self.wanted.rule == "scope-versions"
        wanted = {}
        for key, value in self.scope.event[0].items():
            if key == "state":  # see `same_state`
                continue
            is_version = key in ENVELOPES
            if is_version == of_versions:
                wanted[key] = value
        lost = _lost(wanted, self.calls[-1].event)
        if not lost:
            return holds("same-scope")
        if of_versions or "type" in lost:
            return breaks("scope-keys-lost", keys=lost)
        return leaves_open("scope-keys-lost", keys=lost)

    def same_state(self) -> Assessment:
        state = self.calls[-1].state_id
        if state == self.scope.state_id:
            return holds("same-state")
        if not state:
            return breaks("app-has-no-state")
        # another object will do if what the application writes there reaches the server's
        for line in self.inner.of("writes"):
            if not _has_values_of(self.over_line, line):
                return breaks("state-lost")
        return leaves_open("other-state")

    def same_request(self) -> Assessment:
        """Compare the state of each request with the values of the lifespan's state."""
        if not self.requests:
            if self.seen.reply:
                skip("request-unreached", reply=self.seen.reply)
            skip("request-not-made")
        for request in self.requests:
            if not request.state_id:
                return breaks("app-request-without-state")
            if not _has_values_of(request, self.over_line):
                return breaks("request-state-differs")
        return holds("request-has-state")

    def same_events(self) -> Assessment:
        phase = self.wanted.rule.partition("-")[0]
        offered = [action.event for action in self.case.server if action.verb == "offer"]
        offered = _of_phase(phase, offered)
        received = self.received(phase)
        types = _types(received)
        if types != _types(offered):
            return breaks("app-received", events=_or_nothing(types))
        lost = _lost(offered[0], received[0])
        if lost:
            return leaves_open("keys-lost-to-app", event=types[0], keys=lost)
        return holds("app-received", events=_or_nothing(types))

    def answers(self) -> tuple[list[Any], list[Any]]:
        """Return what the application sent in a phase, and what the server received."""
        phase, answer = "startup", self.seen.startup
        if self.wanted.rule.startswith("shutdown"):
            phase, answer = "shutdown", self.seen.shutdown
        sent = [line.event for line in self.inner.of("sends")]
        received = []
        if answer.how in COMPLETE_OR_FAILED and answer.when != "serving":  # else its time was over
            received = [line.event for line in self.seen.of("sent", "refused")]
        return _of_phase(phase, sent), _of_phase(phase, received)

    def answered_once(self) -> Assessment:
        """Hold if the middleware sends no answer of its own after the application's."""
        sent, received = map(_types, self.answers())
        if not sent or received[: len(sent)] != sent:
            skip("script-unfinished")
        if len(received) > len(sent):
            return breaks("answers-differ", sent=_or_nothing(sent), received=_or_nothing(received))
        return holds("server-received", events=_or_nothing(received))

    def same_answers(self) -> Assessment:
        answers, arrived = self.answers()
        sent, received = _types(answers), _types(arrived)
        if not sent and not received:
            skip("script-unfinished")
        if not sent or received[: len(sent)] != sent:  # what follows: see `answered_once`
            return breaks("answers-differ", sent=_or_nothing(sent), received=_or_nothing(received))
        # a text may be changed, which is told below, but not taken away
        if answers[0].get("message") and not arrived[0].get("message"):
            return breaks("message-lost", event=sent[0])
        lost = _lost(answers[0], arrived[0])
        if lost:
            return leaves_open("keys-lost-to-server", event=sent[0], keys=lost)
        return holds("server-received", events=_or_nothing(received))

    def same_refusal(self) -> Assessment:
        self.need_whole_script()
        for line in self.inner.of("refused"):
            return holds("refusal-seen", error=line.why)
        return breaks("refusal-lost")

    def same_end(self) -> Assessment:
        self.need_whole_script()
        held = self.seen.ended == "returned"
        did = Fact("app-returned")
        ends = set(self.at("raised").ids.values())
        for line in self.inner.of("raised"):
            did = fact("app-raised", error=line.why)
            # a group that has it will do: anyio's task groups wrap what they pass on
            held = not ends.isdisjoint(line.ids.values())
        if held:
            return holds("same-end", did=did)
        return breaks("other-end", did=did, end=ending(self.seen))

    def raises(self) -> Assessment:
        """Hold if an unknown scope is refused, by the application or by the middleware."""
        held = self.seen.ended == "raised" and not self.seen.sent
        return Assessment("held" if held else "broken", ending(self.seen))

    def no_change(self) -> Assessment:
        """Compare the server's own scope before and after, without the values of the state."""
        if self.over_line.event is None:
            skip("script-unfinished")
        now, live = self.over_line.event
        before = dict(self.scope.event[0])
        if "state" in before:
            before["state"] = live  # what an application writes there is its right
        changed = []
        for key in {**before, **now}:
            if key not in now or now[key] != before.get(key):
                changed.append(key)
        if changed:
            return breaks("scope-changed", keys=tuple(changed))
        return holds("scope-unchanged")


def _has_values_of(line: LogLine, other: LogLine) -> bool:
    """Tell whether a line has the very values of another one's state."""
    for key, identity in other.ids.items():
        if line.ids.get(key) != identity:
            return False
    return True


def _of_phase(phase: str, events: Iterable[Any]) -> list[Any]:
    """Leave out the events of the other phase."""
    other = "shutdown" if phase == "startup" else "startup"
    return [event for event in events if f"lifespan.{other}" not in _type_of(event)]


def _type_of(event: Any) -> str:
    return str(event.get("type") if isinstance(event, dict) else event)


def _types(events: Sequence[Any]) -> list[str]:
    return list(map(_type_of, events))


def _or_nothing(types: Sequence[str]) -> tuple[str, ...] | Fact:
    return tuple(types) or Fact("nothing")


def _lost(sent: Mapping[str, Any], arrived: Any) -> tuple[str, ...]:
    """Return the keys that have not arrived with their values."""
    return tuple(key for key, value in sent.items() if arrived.get(key) != value)
