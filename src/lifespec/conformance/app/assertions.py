"""Checks what was seen of an application in a case: one function for each phrase."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from lifespec.conformance.cases import rules
from lifespec.conformance.report.model import (
    Course,
    Finding,
    Verdict,
    requirement,
    verdict_for,
)
from lifespec.conformance.texts import said
from lifespec.testing.ladder import sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lifespec.conformance.app.fake_server import Seen
    from lifespec.conformance.cases import Case, Expectation
    from lifespec.conformance.report.model import Report

__all__ = [
    "ASSERTIONS",
    "DECLINED",
    "How",
    "Matter",
    "Told",
    "Usual",
    "concluded",
    "course",
    "expected",
    "finding",
    "findings",
    "usual_of",
    "whose",
    "without",
]

DECLINED = ("raised", "returned")
_ANSWERED = ("complete", "failed")
How = Literal["held", "broken", "missed", "unspecified", "skip"]


class Usual(NamedTuple):
    """How an application answers startup and shutdown in start-and-stop; see `Seen`.

    `received` is True where it has received startup, `refused` says what of it the suite refused,
    and `whose` whose doing it is that it does not support lifespan, where it is not its own.
    `ended` and `detail` say how it ended, and with which exception or message.
    """

    startup: str
    shutdown: str
    received: bool = False
    refused: str = ""
    whose: str = ""
    ended: str = ""
    detail: str = ""

    @property
    def course(self) -> Course:
        """How it goes, for a report."""
        early = self.startup == "complete" and not self.shutdown
        shutdown = f"{self.ended} early" if early else self.shutdown
        if self.refused and not self.supports:
            return Course("refused", "", self.received, self.refused)
        return Course(self.startup, shutdown, self.received, self.detail)

    @property
    def supports(self) -> bool:
        """Whether it supports lifespan: it stayed to answer startup."""
        return self.startup not in DECLINED

    @property
    def answers(self) -> tuple[str, str]:
        """How it answers the two events."""
        return self.startup, self.shutdown


class Told(NamedTuple):
    """What became of an expectation, and a sentence.

    "missed" is broken where no specification goes beyond a should, "unspecified" where none says
    anything.
    """

    how: How
    actual: str


class Matter(NamedTuple):
    """What a phrase is asked about: a rule of a text, and what was seen."""

    rule: str
    spec: str
    seen: Sequence[Seen]
    usual: Usual

    @property
    def last(self) -> Seen:
        """The last of the calls."""
        return self.seen[-1]


def usual_of(seen: Seen, own: str = "") -> Usual:
    """Return how an application goes, by what was seen of it."""
    refused = seen.refused[0] if seen.refused else ""
    theirs = whose(seen, own) if seen.startup in DECLINED else ""
    how = seen.startup, seen.shutdown, seen.received, refused, theirs
    return Usual(*how, seen.ended, _detail(seen))


def _detail(seen: Seen) -> str:
    """Return the message, the exception, or what it was doing, of what it did last."""
    last = seen.shutdown or seen.startup
    if last == "failed":
        return (str(seen.message).strip().splitlines() or [""])[-1]
    if last == "silent":
        return seen.doing
    text = said(seen.error)
    return f"{type(seen.error).__name__}{': ' * bool(text)}{text}" if seen.error else ""


def whose(seen: Seen, own: str = "") -> str:
    """Say whose doing it is what an application did last, where that is a framework; or "".

    `own` is the package that is checked.
    """
    package = seen.actor.partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", "") or ""
    installed = {*Path(file).parts} & {"site-packages", "dist-packages"}
    if not installed or package == own:
        return ""
    return f"This comes from {package.capitalize()} ({seen.actor}), not from your code."


def concluded(report: Report, usual: Usual) -> Report:
    """Return a report with what is to be said of an application that goes like this."""
    report = replace(report, course=usual.course)
    if usual.startup == "failed":
        obstacle = f"its startup failed. {report.note} Start what it needs, and check it again."
        return replace(report, obstacle=obstacle)
    if usual.startup == "exited":
        return replace(report, obstacle="at startup it ended the process.")
    failed = any(each.verdict == Verdict.FAIL for each in report.findings)
    if usual.supports or failed:
        return report
    if usual.refused:
        obstacle = f"the suite refused what it sent at startup: {usual.refused}"
        return replace(report, obstacle=obstacle)
    late = usual.received and usual.startup == "raised"
    theirs = "" if late else usual.whose
    note = f"{report.note} {_SERVED if late else theirs or _CAUSES}"
    return replace(report, note=note, supported=False, whose=theirs)


_SERVED = (
    "It had received lifespan.startup. In production every server serves it all the same, without"
    " its startup: to prevent that, it sends lifespan.startup.failed."
)
_CAUSES = (
    "If it should support lifespan: middleware may drop the scope, or the application that has the"
    " lifespan may be mounted in another one, which does not pass it on."
)


def findings(
    case: Case, spec: str, seen: Sequence[Seen], usual: Usual, own: str = ""
) -> Iterator[Finding]:
    """Yield a finding for each expectation of a case that was played to an application.

    `own` is the package that is checked.
    """
    conversation = "\n\n".join(sequence(each.spoken.entries) for each in seen)
    for each in expected(case, spec):
        told = ASSERTIONS[each.phrase](Matter(each.rule, spec, seen, usual))
        found = finding(case, spec, each, told, conversation)
        theirs = whose(seen[-1], own) if found.verdict == Verdict.WARN else ""
        yield replace(found, whose=theirs)


def without(case: Case, spec: str, how: How, actual: str) -> Iterator[Finding]:
    """Yield the findings of a case that was not played."""
    for each in expected(case, spec):
        yield finding(case, spec, each, Told(how, actual))


def expected(case: Case, spec: str) -> Iterator[Expectation]:
    """Yield what is expected by a specification that the case is for, and that has the rule."""
    if spec in case.specs:
        yield from (each for each in case.expect if spec in rules()[each.rule].levels)


def finding(
    case: Case, spec: str, each: Expectation, told: Told, conversation: str = ""
) -> Finding:
    """Return what an expectation came to, with the verdict of the text."""
    silent = case.silent_on(each.rule, spec)
    wanted = requirement(each.rule, spec, silent=silent)
    verdict = _verdict(each.rule, spec, told, silent=silent)
    return Finding(case.name, each.rule, verdict, wanted, each.says, told.actual, conversation)


def _verdict(rule_id: str, spec: str, told: Told, *, silent: bool) -> Verdict:
    if told.how == "skip":
        return Verdict.SKIP
    if told.how == "missed":
        return Verdict.WARN
    silent = silent or told.how == "unspecified"
    return verdict_for(rule_id, spec, held=told.how == "held", silent=silent)


# ---- what was seen, in words -------------------------------------------------------------------


def course(seen: Seen) -> str:
    """Say in a sentence how a lifespan went."""
    if seen.startup in DECLINED:
        when = "when it had received startup" if seen.received else "on the scope"
        end = _end(seen).removesuffix(".")
        return f"It does not support lifespan: {when} it {end}."
    parts = [_answer(seen, "startup"), *[_answer(seen, "shutdown")] * bool(seen.shutdown)]
    if seen.startup == "complete" and not seen.shutdown:
        parts.append(f"it {_end(seen)}")
    sentence = "; ".join(parts).removesuffix(".")
    return f"{sentence[0].upper()}{sentence[1:]}."


def _answer(seen: Seen, phase: str) -> str:
    answer = getattr(seen, phase)
    if answer == "complete":
        return f"{phase} was answered with complete"
    if answer == "failed":
        lines = str(seen.message).strip().splitlines()
        return f"{phase} was answered with failed{''.join(f': {line}' for line in lines[-1:])}"
    if answer == "silent":
        return f"{phase} was not answered within the timeout: {seen.doing}"
    return f"{phase} was not answered: it {_end(seen)}"


def _end(seen: Seen) -> str:
    if seen.ended in ("raised", "exited"):
        text = said(seen.error)
        return f"raised {type(seen.error).__name__}{': ' * bool(text)}{text}"
    return {"returned": "returned", "cancelled": "obeyed its cancellation"}.get(
        seen.ended, "did not end"
    )


# ---- the phrases -------------------------------------------------------------------------------

_NO_OCCASION: Mapping[str, tuple[Callable[[Seen], bool], str]] = {
    "startup-answered-once": (lambda seen: not seen.sent, "It sent nothing."),
    "answers-in-order": (lambda seen: not seen.sent, "It sent nothing."),
    "events-known": (lambda seen: not seen.sent, "It sent nothing."),
    "shutdown-answered-once": (
        lambda seen: seen.shutdown not in _ANSWERED,
        "It did not answer shutdown.",
    ),
    "message-is-text": (
        lambda seen: "failed" not in (seen.startup, seen.shutdown),
        "It sent no failure.",
    ),
    "state-keys-text": (lambda seen: not seen.state, "It put nothing into the state."),
}


def _kept(matter: Matter) -> Told:
    """Ask the validator of `lifespec.validate`; see the state's keys at the end as well."""
    seen = matter.last
    violations, warnings = (
        [each for each in found if (each.role, each.rule) == ("application", matter.rule)]
        for found in (seen.violations, seen.warnings)
    )
    if violations:
        return Told("broken", f"{violations[0].message}.")
    if warnings:
        only_silent = "must" in rules()[matter.rule].levels.get(matter.spec, "")
        return Told("unspecified" if only_silent else "broken", f"{warnings[0].message}.")
    keys = [key for key in seen.state or () if not isinstance(key, str)]
    if keys and matter.rule == "state-keys-text":
        return Told("broken", f"At the end the state had the key {keys[0]!r}.")
    none, sentence = _NO_OCCASION[matter.rule]
    return Told("skip", sentence) if none(seen) else Told("held", course(seen))


def _answered(matter: Matter) -> Told:
    seen, phase = matter.last, matter.rule.partition("-")[0]
    answer = getattr(seen, phase)
    if phase == "shutdown" and seen.startup != "complete":
        return Told("skip", course(seen))
    if answer in _ANSWERED:
        return Told("held", course(seen))
    if seen.refused and answer in DECLINED:
        return Told("skip", f"The server had refused what it sent: {seen.refused[0]}")
    if answer in ("silent", "exited") or not answer:
        return Told("broken" if answer == "silent" else "skip", course(seen))
    if phase == "startup":
        return Told("skip", course(seen))
    return Told("broken" if answer == "returned" else "unspecified", course(seen))


def _answers_too(matter: Matter) -> Told:
    if matter.usual.startup not in _ANSWERED:
        return Told("skip", course(matter.last))
    return Told("held" if matter.last.startup in _ANSWERED else "broken", course(matter.last))


def _as_usual(matter: Matter) -> Told:
    now = usual_of(matter.last).answers
    return Told("held" if now == matter.usual.answers else "broken", course(matter.last))


def _raises(matter: Matter) -> Told:
    seen = matter.last
    if not seen.reaction:
        return Told("skip", course(seen))
    if seen.reaction == "raised":
        if matter.rule == "receive-refuses-unknown" and not seen.received:
            return Told("skip", course(seen))
        return Told("held", f"It {_end(seen)}.")
    did = {
        "received": "It called receive.",
        "sent": f"It sent {seen.sent[-1] if seen.sent else ''}.",
        "silent": f"It did nothing within the timeout: {seen.doing}.",
    }
    return Told("broken", did.get(seen.reaction, f"It {_end(seen)}."))


def _ends(matter: Matter) -> Told:
    seen = matter.last
    return Told("held" if seen.obeyed else "broken", f"It {_end(seen)}.")


def _no_exit(matter: Matter) -> Told:
    seen = matter.last
    return Told("broken" if seen.startup == "exited" else "held", course(seen))


def _no_raise(matter: Matter) -> Told:
    """Advice, by whatever specification: none says that one may not raise there."""
    seen = matter.last
    if seen.startup == "raised" and seen.received and not seen.refused:
        return Told("missed", f"{course(seen)} {_SERVED}")
    return Told("held" if seen.startup in _ANSWERED else "skip", course(seen))


ASSERTIONS: Mapping[str, Callable[[Matter], Told]] = {
    "kept": _kept,
    "answered": _answered,
    "answers too": _answers_too,
    "as usual": _as_usual,
    "raises": _raises,
    "ends": _ends,
    "no exit": _no_exit,
    "no raise": _no_raise,
}
