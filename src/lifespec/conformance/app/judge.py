"""Judge what was seen of an application by the rules of a case."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.rows import ANSWERS, ENDED, answers, ending, run
from lifespec.conformance.cases import Case, expected
from lifespec.conformance.finding import Finding, How, Outcome, finding
from lifespec.conformance.rules import rules
from lifespec.diagnosis.fact import Fact, fact


class _Question(NamedTuple):
    """What a phrase is judged by: rule, specification, what was seen here and in the first case."""

    rule: str
    spec: str
    seen: Observation
    first: Observation
    limit: float

    def run(self) -> Fact:
        """Return how the lifespan went."""
        return run(self.seen, self.limit)


def findings(
    case: Case, spec: str, seen: Observation, first: Observation, limit: float
) -> Iterator[Finding]:
    """Yield a finding for each expectation of a case that was played."""
    for each in expected(case, spec):
        outcome = PHRASES[each.phrase](_Question(each.rule, spec, seen, first, limit))
        yield finding(case, spec, each, outcome, seen.entries, seen.framework)


def _kept(question: _Question) -> Outcome:
    """Judge by the messages that broke the rule, and by the keys of the state at the end."""
    seen = question.seen
    broken = [each for each in seen.broken if each.rule == question.rule]
    forbidden = [each for each in broken if not each.open]
    if forbidden:
        return Outcome("broken", forbidden[0].observed)
    if broken:
        only_open = "must" in rules()[question.rule].level(question.spec)
        return Outcome("unspecified" if only_open else "broken", broken[0].observed)
    if question.rule == "state-keys-text" and (wrong := seen.known("key-at-end")):
        return Outcome("broken", wrong[0])
    occasion, why = _OCCASIONS.get(question.rule, _SENT)
    return Outcome("held", question.run()) if occasion(seen) else Outcome("skip", Fact(why))


_SENT: tuple[Callable[[Observation], bool], str] = (lambda seen: bool(seen.sent), "sent-nothing")
_OCCASIONS: Mapping[str, tuple[Callable[[Observation], bool], str]] = {
    "shutdown-answered-once": (
        lambda seen: seen.shutdown.how in ANSWERS and seen.shutdown.when == "shutdown",
        "shutdown-unanswered",
    ),
    "message-is-text": (
        lambda seen: "failed" in (seen.startup.how, seen.shutdown.how),
        "no-failure",
    ),
    "state-keys-text": (lambda seen: seen.has_state, "state-empty"),
}


def _answered(question: _Question) -> Outcome:
    seen, phase = question.seen, question.rule.partition("-")[0]
    answer = seen.startup if phase == "startup" else seen.shutdown
    if phase == "shutdown" and seen.startup.how != "complete":
        return Outcome("skip", Fact("does-not-start"))
    if seen.refused and answer.how in ENDED and answer.when != "serving":
        if phase == "shutdown" and seen.sent[-1].startswith("lifespan.startup."):
            return Outcome("broken", fact("shutdown-answered-with", event=seen.sent[-1]))
        return Outcome("skip", fact("had-refused", why=seen.refused))
    return Outcome(_ANSWERED.get(answer.when, {}).get(answer.how, "skip"), question.run())


_ANSWERED: Mapping[str, Mapping[str, How]] = {
    "startup": {
        "complete": "held",
        "failed": "held",
        "silent": "broken",
        "hung": "unspecified",  # no specification says how long startup may take
    },
    "shutdown": {
        "complete": "held",
        "failed": "held",
        "silent": "broken",
        "hung": "broken",
        "returned": "broken",
        "raised": "unspecified",
    },
}


def _answers_too(question: _Question) -> Outcome:
    if question.first.startup.how not in ANSWERS:
        return Outcome("skip", Fact("does-not-start"))
    return Outcome("held" if question.seen.startup.how in ANSWERS else "broken", question.run())


def _as_usual(question: _Question) -> Outcome:
    same = answers(question.seen) == answers(question.first)
    return Outcome("held" if same else "broken", question.run())


def _raises(question: _Question) -> Outcome:
    seen = question.seen
    if not seen.reaction:
        return Outcome("skip", question.run())
    if seen.reaction == "raised":
        if question.rule == "receive-refuses-unknown" and not seen.received:
            return Outcome("skip", question.run())
        return Outcome("held", ending(seen))
    if seen.reaction == "sent":
        return Outcome("broken", fact("it-sent", event=seen.sent[-1]))
    if seen.reaction == "silent":
        return Outcome("broken", fact("did-nothing", limit=question.limit))
    return Outcome(
        "broken", Fact("it-called-receive") if seen.reaction == "received" else ending(seen)
    )


def _ends(question: _Question) -> Outcome:
    return Outcome(
        "held" if question.seen.ended_when_cancelled else "broken", ending(question.seen)
    )


def _no_exit(question: _Question) -> Outcome:
    held: How = "broken" if question.seen.startup.how == "exited" else "held"
    return Outcome(held, question.run())


def _no_raise(question: _Question) -> Outcome:
    """Warn in every specification: none of them forbids to raise there."""
    seen = question.seen
    if seen.startup.how == "raised" and seen.received and not seen.refused:
        return Outcome("missed", question.run())
    return Outcome("held" if seen.startup.how in ANSWERS else "skip", question.run())


PHRASES: Mapping[str, Callable[[_Question], Outcome]] = {
    "kept": _kept,
    "answered": _answered,
    "answers too": _answers_too,
    "as usual": _as_usual,
    "raises": _raises,
    "ends": _ends,
    "no exit": _no_exit,
    "no raise": _no_raise,
}
