"""Judge what was seen of an application in a case: a function for each phrase of the cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lifespec.conformance.app.cause import DECLINED, LATE, answers, course, ending
from lifespec.conformance.cases import expected
from lifespec.conformance.report import Fact, Finding, Outcome, fact, finding
from lifespec.conformance.rules import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lifespec.conformance.app.play import Seen
    from lifespec.conformance.cases import Case
    from lifespec.conformance.report import How

__all__ = ["PHRASES", "findings"]

ANSWERS = ("complete", "failed")


class _Matter(NamedTuple):
    """What a phrase is judged by: a rule, a specification, what was seen, and in the first case."""

    rule: str
    spec: str
    seen: Seen
    first: Seen
    limit: float

    def course(self) -> Fact:
        """Return how the lifespan went."""
        return course(self.seen, self.limit)


def findings(case: Case, spec: str, seen: Seen, first: Seen, limit: float) -> Iterator[Finding]:
    """Yield a finding for each expectation of a case that was played."""
    for each in expected(case, spec):
        if seen.compared:
            outcome = seen.compared[each.rule, each.phrase]
        else:
            outcome = PHRASES[each.phrase](_Matter(each.rule, spec, seen, first, limit))
        yield finding(case, spec, each, outcome, seen.entries, seen.framework)


def _kept(matter: _Matter) -> Outcome:
    """Judge by the messages that broke the rule, and by the keys of the state at the end."""
    seen = matter.seen
    broken = [each for each in seen.broken if each.rule == matter.rule]
    forbidden = [each for each in broken if not each.open]
    if forbidden:
        return Outcome("broken", forbidden[0].observed)
    if broken:
        only_open = "must" in rules()[matter.rule].level(matter.spec)
        return Outcome("unspecified" if only_open else "broken", broken[0].observed)
    if seen.wrong_key and matter.rule == "state-keys-text":
        return Outcome("broken", fact("key-at-end", key=seen.wrong_key))
    occasion, why = _OCCASIONS.get(matter.rule, _SENT)
    return Outcome("held", matter.course()) if occasion(seen) else Outcome("skip", Fact(why))


_SENT: tuple[Callable[[Seen], bool], str] = (lambda seen: bool(seen.sent), "sent-nothing")
_OCCASIONS: Mapping[str, tuple[Callable[[Seen], bool], str]] = {
    "shutdown-answered-once": (lambda seen: seen.shutdown in ANSWERS, "shutdown-unanswered"),
    "message-is-text": (
        lambda seen: "failed" in (seen.startup, seen.shutdown.removesuffix(" early")),
        "no-failure",
    ),
    "state-keys-text": (lambda seen: seen.has_state, "state-empty"),
}


def _answered(matter: _Matter) -> Outcome:
    seen, phase = matter.seen, matter.rule.partition("-")[0]
    answer = seen.startup if phase == "startup" else seen.shutdown
    if phase == "shutdown" and seen.startup != "complete":
        return Outcome("skip", Fact("does-not-start"))
    if seen.refused and answer in DECLINED:
        if phase == "shutdown" and seen.sent[-1].startswith("lifespan.startup."):
            return Outcome("broken", fact("shutdown-answered-with", event=seen.sent[-1]))
        return Outcome("skip", fact("had-refused", why=seen.refused[0]))
    if phase == "startup" and answer not in (*ANSWERS, *LATE):
        return Outcome("skip", matter.course())
    return Outcome(_ANSWERED[phase].get(answer, "skip"), matter.course())


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


def _answers_too(matter: _Matter) -> Outcome:
    if matter.first.startup not in ANSWERS:
        return Outcome("skip", Fact("does-not-start"))
    return Outcome("held" if matter.seen.startup in ANSWERS else "broken", matter.course())


def _as_usual(matter: _Matter) -> Outcome:
    same = answers(matter.seen) == answers(matter.first)
    return Outcome("held" if same else "broken", matter.course())


def _raises(matter: _Matter) -> Outcome:
    seen = matter.seen
    if not seen.reaction:
        return Outcome("skip", matter.course())
    if seen.reaction == "raised":
        if matter.rule == "receive-refuses-unknown" and not seen.received:
            return Outcome("skip", matter.course())
        return Outcome("held", ending(seen))
    if seen.reaction == "sent":
        return Outcome("broken", fact("it-sent", event=seen.sent[-1]))
    if seen.reaction == "silent":
        return Outcome("broken", fact("did-nothing", limit=matter.limit))
    return Outcome(
        "broken", Fact("it-called-receive") if seen.reaction == "received" else ending(seen)
    )


def _ends(matter: _Matter) -> Outcome:
    return Outcome("held" if matter.seen.obeyed else "broken", ending(matter.seen))


def _no_exit(matter: _Matter) -> Outcome:
    held: How = "broken" if matter.seen.startup == "exited" else "held"
    return Outcome(held, matter.course())


def _no_raise(matter: _Matter) -> Outcome:
    """Advice, by whatever specification: none says that one may not raise there."""
    seen = matter.seen
    if seen.startup == "raised" and seen.received and not seen.refused:
        return Outcome("missed", matter.course())
    return Outcome("held" if seen.startup in ANSWERS else "skip", matter.course())


PHRASES: Mapping[str, Callable[[_Matter], Outcome]] = {
    "kept": _kept,
    "answered": _answered,
    "answers too": _answers_too,
    "as usual": _as_usual,
    "raises": _raises,
    "ends": _ends,
    "no exit": _no_exit,
    "no raise": _no_raise,
}
