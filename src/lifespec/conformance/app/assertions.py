"""Checks what was seen of an application in a case: one function for each phrase."""

from __future__ import annotations

import sys
import traceback
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lifespec.conformance.app import hints
from lifespec.conformance.app.fake_server import BLOCKED, IDLE, SendRefused
from lifespec.conformance.findings import Outcome, expected, finding
from lifespec.conformance.oldreport import summary
from lifespec.conformance.oldreport.model import (
    Course,
    Finding,
    Verdict,
)
from lifespec.conformance.rules import rules
from lifespec.conformance.texts import cut, named, said
from lifespec.testing import places
from lifespec.testing.diagram import sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lifespec.conformance.app.fake_server import AppObservation
    from lifespec.conformance.cases import Case
    from lifespec.conformance.findings import How
    from lifespec.conformance.oldreport.model import Report

__all__ = [
    "ASSERTIONS",
    "DECLINED",
    "Matter",
    "concluded",
    "course",
    "course_of",
    "findings",
    "obstacle",
    "whose",
]

DECLINED = ("raised", "returned")
_ANSWERED = ("complete", "failed")
_SILENT = ("silent", "hung")


class Matter(NamedTuple):
    """What a phrase is asked about: a rule of a text, and what was seen."""

    rule: str
    spec: str
    seen: Sequence[AppObservation]
    usual: Course

    @property
    def last(self) -> AppObservation:
        """The last of the calls."""
        return self.seen[-1]


def course_of(seen: AppObservation, own: str = "") -> Course:
    """Return how an application goes, by what was seen of it; `own` is the package checked."""
    startup, shutdown, refused = seen.startup, seen.shutdown, _refusal(seen)
    if startup == "complete":
        shutdown = shutdown or f"{seen.ended} early"
    if refused and startup in (*DECLINED, "failed"):
        startup = "refused"
    elif refused and startup == "complete" and shutdown != "complete":
        shutdown = "refused"
    broken = [each.rule for each in seen.violations + seen.warnings if each.role == "application"]
    raised = seen.error if (shutdown or startup).startswith(_RAISED) else None
    return Course(
        startup,
        shutdown,
        seen.received,
        refused or cut(_detail(seen)),
        seen.place or _place(raised, own),
        seen.limit,
        broken[0] if refused and broken else "",
        whose(seen, own) if startup in DECLINED else "",
        cut(_traceback(raised)) if raised else "",
        hints.cause(_chain(raised)),
    )


_TRACEBACK = "Traceback (most recent call last):"
_LONGEST = 20_000  # characters of a traceback
_RAISED = ("failed", "raised", "exited", "refused")


def _refusal(seen: AppObservation) -> str:
    """Say what was refused if that ended the application, or kept it from answering."""
    errors = [*_chain(seen.error)]
    for sentence in seen.refused:
        told = any(isinstance(each, SendRefused) and str(each) == sentence for each in errors)
        if told or sentence in str(seen.message) or seen.startup in DECLINED:
            return sentence.removesuffix(".")
    return ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the exceptions of a group before it, and those that it was raised from or after."""
    if error is None:
        return
    for each in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from _chain(each)
    yield error
    yield from _chain(error.__cause__ or error.__context__)


def _place(error: BaseException | None, own: str) -> str:
    """Name the place in its author's code that an exception came from, or ""."""
    found = (places.place(traceback.walk_tb(each.__traceback__), own) for each in _chain(error))
    return next(filter(None, found), "")


def _traceback(error: BaseException) -> str:
    """Return a traceback as Python prints it, from the first frame that is not ours."""
    own = places.without_ours(error.__traceback__)
    lines = traceback.format_exception(type(error), error, own)
    text = "".join(lines).rstrip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n... (cut)"


def _detail(seen: AppObservation) -> str:
    """Return the message, the exception, or what it was doing, of what it did last.

    A framework's message can be the whole traceback.
    """
    last = seen.shutdown or seen.startup
    if last in _SILENT:
        return _activity(seen)
    error = next(_chain(seen.error), None)
    text = said(error)
    raised = f"{type(error).__name__}{': ' * bool(text)}{text}" if error else ""
    if last.startswith("failed"):
        message = str(seen.message).strip()
        line = (message.splitlines() or [""])[-1]
        own = line and (raised.endswith(line) or _TRACEBACK in message)
        return raised if raised and own else line
    return raised


def whose(seen: AppObservation, own: str = "") -> str:
    """Say whose doing it is what an application did last, where that is a framework; or "".

    `own` is the package that is checked.
    """
    package = seen.actor.partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", "") or ""
    installed = {*Path(file).parts} & {"site-packages", "dist-packages"}
    if not installed or package == own:
        return ""
    return f"This comes from {package.capitalize()} ({seen.actor}), not from your code."


def concluded(report: Report, course: Course) -> Report:
    """Return a report with what is to be said of an application that goes like this."""
    report = replace(report, course=course)
    if course.starts:
        return report
    if course.startup not in DECLINED:
        return replace(report, obstacle=obstacle(course))
    if any(each.verdict == Verdict.FAIL for each in report.findings):
        return report
    late = course.received and course.startup == "raised"
    theirs = "" if late else course.whose
    note = f"{report.note} {_SERVED if late else theirs or _CAUSES}"
    return replace(report, note=note, supported=False, whose=theirs)


def obstacle(course: Course) -> str:
    """Say in a sentence why an application that does not start cannot be checked, or ""."""
    if course.starts or course.startup in DECLINED:
        return ""
    sentence = summary.sentence(course, "startup")
    return f"it does not start: {sentence.removeprefix('no, ')}."


_SERVED = (
    "It had received lifespan.startup. In production every server serves it all the same, without"
    " its startup: to prevent that, it sends lifespan.startup.failed."
)
_CAUSES = (
    "If it should support lifespan: middleware may drop the scope, or the application that has the"
    " lifespan may be mounted in another one, which does not pass it on."
)


def findings(
    case: Case, spec: str, seen: Sequence[AppObservation], usual: Course, own: str = ""
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


def course(seen: AppObservation) -> str:
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


def _answer(seen: AppObservation, phase: str) -> str:
    answer = getattr(seen, phase)
    if answer == "complete":
        return f"{phase} was answered with complete"
    if answer == "failed":
        lines = str(seen.message).strip().splitlines()
        return f"{phase} was answered with failed{''.join(f': {line}' for line in lines[-1:])}"
    if answer in _SILENT:
        return f"{phase} was not answered within {seen.limit:g} s: {_activity(seen)}"
    return f"{phase} was not answered: it {_end(seen)}"


def _activity(seen: AppObservation) -> str:
    """Say what an application did when its time was over, and where."""
    if not seen.place:
        return seen.doing
    return f"{seen.doing if seen.doing in (IDLE, BLOCKED) else 'it was'} in {seen.place}"


def _end(seen: AppObservation) -> str:
    if seen.ended in ("raised", "exited"):
        return f"raised {named(seen.error)}"
    return {"returned": "returned", "cancelled": "obeyed its cancellation"}.get(
        seen.ended, "did not end"
    )


# ---- the phrases -------------------------------------------------------------------------------

_NO_OCCASION: Mapping[str, tuple[Callable[[AppObservation], bool], str]] = {
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


def _kept(matter: Matter) -> Outcome:
    """Ask the validator of `lifespec.validate`; see the state's keys at the end as well."""
    seen = matter.last
    violations, warnings = (
        [each for each in found if (each.role, each.rule) == ("application", matter.rule)]
        for found in (seen.violations, seen.warnings)
    )
    if violations:
        return Outcome("broken", f"{violations[0].message}.")
    if warnings:
        only_silent = "must" in rules()[matter.rule].level(matter.spec)
        return Outcome("unspecified" if only_silent else "broken", f"{warnings[0].message}.")
    keys = [key for key in seen.state or () if not isinstance(key, str)]
    if keys and matter.rule == "state-keys-text":
        return Outcome("broken", f"At the end the state had the key {keys[0]!r}.")
    none, sentence = _NO_OCCASION[matter.rule]
    return Outcome("skip", sentence) if none(seen) else Outcome("held", course(seen))


def _answered(matter: Matter) -> Outcome:
    seen, phase = matter.last, matter.rule.partition("-")[0]
    answer = getattr(seen, phase)
    if phase == "shutdown" and seen.startup != "complete":
        return Outcome("skip", course(seen))
    if seen.refused and answer in DECLINED:
        if wrong := _answer_of_startup(seen) * (phase == "shutdown"):
            return Outcome("broken", f"It answered shutdown with {wrong}.")
        return Outcome("skip", f"The server had refused what it sent: {seen.refused[0]}")
    return Outcome(_ANSWERS[phase].get(answer, "skip"), course(seen))


def _answer_of_startup(seen: AppObservation) -> str:
    """Return the answer of startup that was sent once shutdown had been received, or ""."""
    entries = iter(seen.spoken.entries)
    received = ("received", "lifespan.shutdown")
    asked = any((each.kind, each.type) == received for each in entries)  # consumes up to there
    types = (each.type for each in entries if asked and each.kind == "refused")
    return next((each for each in types if each.startswith("lifespan.startup.")), "")


_ANSWERS: Mapping[str, Mapping[str, How]] = {
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


def _answers_too(matter: Matter) -> Outcome:
    if matter.usual.startup not in _ANSWERED:
        return Outcome("skip", course(matter.last))
    return Outcome("held" if matter.last.startup in _ANSWERED else "broken", course(matter.last))


def _as_usual(matter: Matter) -> Outcome:
    now = course_of(matter.last).answers
    return Outcome("held" if now == matter.usual.answers else "broken", course(matter.last))


def _raises(matter: Matter) -> Outcome:
    seen = matter.last
    if not seen.reaction:
        return Outcome("skip", course(seen))
    if seen.reaction == "raised":
        if matter.rule == "receive-refuses-unknown" and not seen.received:
            return Outcome("skip", course(seen))
        return Outcome("held", f"It {_end(seen)}.")
    did = {
        "received": "It called receive.",
        "sent": f"It sent {seen.sent[-1] if seen.sent else ''}.",
        "silent": f"It did nothing within {seen.limit:g} s: {_activity(seen)}.",
    }
    return Outcome("broken", did.get(seen.reaction, f"It {_end(seen)}."))


def _ends(matter: Matter) -> Outcome:
    seen = matter.last
    return Outcome("held" if seen.obeyed else "broken", f"It {_end(seen)}.")


def _no_exit(matter: Matter) -> Outcome:
    seen = matter.last
    return Outcome("broken" if seen.startup == "exited" else "held", course(seen))


def _no_raise(matter: Matter) -> Outcome:
    """Advice, by whatever specification: none says that one may not raise there."""
    seen = matter.last
    if seen.startup == "raised" and seen.received and not seen.refused:
        return Outcome("missed", f"{course(seen)} {_SERVED}")
    return Outcome("held" if seen.startup in _ANSWERED else "skip", course(seen))


ASSERTIONS: Mapping[str, Callable[[Matter], Outcome]] = {
    "kept": _kept,
    "answered": _answered,
    "answers too": _answers_too,
    "as usual": _as_usual,
    "raises": _raises,
    "ends": _ends,
    "no exit": _no_exit,
    "no raise": _no_raise,
}
