"""What the author of an application wants to know: the first lines of a report."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from lifespec.conformance.app.answers import REFUSED
from lifespec.conformance.app.observation import LONG, Answer, Observation
from lifespec.conformance.finding import Row
from lifespec.diagnosis import advice
from lifespec.diagnosis.fact import Error, Fact, fact
from lifespec.diagnosis.logged import Logged

ANSWERS = ("complete", "failed")
RETURNED_EARLY = Answer("returned", "serving")
ENDED = ("raised", "returned")  # instead of an answer
LATE = ("silent", "hung")
UNRUN = ("never-ran", "handler-ignored", "registered-late")  # kinds of lifespans that never ran
ENTERED = (*UNRUN, "given-", "made-only")  # kinds of what was found in the source
CUT_OFF = ("cut-off", "left-out")  # kinds of clean-up that did not run
NOTES = (  # kinds of facts that its author may want to know, in this order
    "state-rebound",
    "signal-taken",
    "due",
    "context-variable",
    "entered-twice",
    "state-unseen",
    "state-dropped",
    "made-only",
    "skipped",
)
OF_FRAMEWORKS = ("raised-on-scope", "returned-on-scope", "returned-early")  # and not of authors
MOST = 3  # lines of a stack, lifespans that never ran


def answers(seen: Observation) -> tuple[Answer, Answer]:
    """Return how an application answers startup, and how it answers shutdown."""
    caught = any(each.of(REFUSED) for each in seen.errors)
    if seen.refused and (caught or seen.startup.how in ENDED):
        if seen.startup.how in (*ENDED, "failed"):
            return Answer("refused", "startup"), Answer()
        if seen.shutdown.how != "complete":
            return seen.startup, Answer("refused", "shutdown")
    return seen.startup, seen.shutdown


def stops(seen: Observation) -> bool:
    """Tell whether it stops in time and without a failure, or had returned before."""
    return answers(seen)[1] in (Answer("complete", "shutdown"), RETURNED_EARLY)


def stays(seen: Observation) -> bool:
    """Tell whether something that is left behind keeps the process from ending."""
    return seen.process_stays and bool(seen.known("thread-", "process-"))


def run(seen: Observation, limit: float) -> Fact:
    """Return how a lifespan went."""
    starts = _answer(seen, "startup", limit)
    if seen.startup.how != "complete":
        return fact("course-start", starts=starts)
    return fact("course", starts=starts, stops=_answer(seen, "shutdown", limit))


def ending(seen: Observation) -> Fact:
    """Return how the call ended."""
    if seen.ended in ("raised", "exited"):
        return fact("it-raised", error=_error(seen))
    kinds = {"returned": "it-returned", "cancelled": "it-was-cancelled"}
    return Fact(kinds.get(seen.ended, "it-did-not-end"))


# ---- the rows -----------------------------------------------------------------------------------


def rows(
    seen: Observation, serving: Observation, again: Observation, limit: float
) -> Iterator[Row]:
    """Yield the first lines of a report.

    `serving` is of the case that has also served, and `again` of the one that starts twice.
    """
    last = serving if serving.shutdown.how == "complete" else seen
    started, remains = seen.startup.how == "complete", stays(seen) or stays(serving)
    whole, wrong = seen.shutdown.how == "complete", any(map(advice.is_misshapen, seen.errors))
    never_entered = seen.known(*UNRUN) * (whole or wrong)
    never_entered = [each for each in never_entered if serving is seen or each in serving.facts]
    lingers = [Fact("lingers")] * remains
    others = [*lingers, *serving.known("died"), *never_entered * whole]
    lines = {
        "starts": [_answer(seen, "startup", limit), *_sent_text(seen)],
        "stops": [_answer(seen, "shutdown", limit)] * started,
        "where": [*_stack(seen)] * bool(seen.awaited),
        "still running": [*_leftovers(last), *lingers],
        "left open": [*last.known("unclosed"), *_both(CUT_OFF, serving, seen)[:MOST]],
        "again": [*_again(seen, again, limit)],
        "busy": serving.known("busy"),
        "logged": [*dict.fromkeys([*_logged(seen), *_logged(serving)])],
        "failed tasks": _both(("died",), serving, seen),
        "never ran": [
            *never_entered[:MOST],
            *_more(len(never_entered) - MOST),
            *_answerer(seen, never_entered),
        ],
        "notes": [*_notes(seen)] * started,
        "change": [*_changes(seen, others, limit)],
    }
    yield from (Row(label, each) for label, facts in lines.items() for each in facts)


def _both(kinds: Sequence[str], *seen: Observation) -> list[Fact]:
    """Return facts of two cases, each once."""
    return [*dict.fromkeys(each for of in seen for each in of.known(*kinds))]


def _answer(seen: Observation, phase: str, limit: float) -> Fact:
    """Return how it starts or stops."""
    answer = answers(seen)[phase == "shutdown"]
    if answer not in _ANSWERS:
        return _overdue(seen, limit)
    kind, name = _ANSWERS[answer]
    if answer.how == "complete" and not (phase == "startup" and seen.on_trio):
        begin, end = seen.span(phase)
        in_seconds = fact("yes-in", seconds=f"{end - begin:.1f}")
        return seen.spent.get(phase) or (in_seconds if end - begin >= LONG else Fact("yes"))
    return fact(kind, **({name: _PARTS[name](seen, phase)} if name else {}))


_ANSWERS: Mapping[Answer, tuple[str, str]] = {
    Answer("complete", "startup"): ("yes-on-trio", ""),
    Answer("failed", "startup"): ("no", "failure"),
    Answer("raised", "scope"): ("raised-on-scope", "error"),
    Answer("raised", "startup"): ("raised-late", "error"),
    Answer("returned", "scope"): ("returned-on-scope", ""),
    Answer("returned", "startup"): ("returned-late", ""),
    Answer("refused", "startup"): ("refused", "refusal"),
    Answer("exited", "startup"): ("exited-at-startup", "exit"),
    Answer("complete", "shutdown"): ("yes", ""),
    Answer("failed", "shutdown"): ("no", "failure"),
    Answer("failed", "serving"): ("failed-early", "failure"),
    Answer("raised", "shutdown"): ("raised-at-shutdown", "error"),
    Answer("raised", "serving"): ("raised-early", "error"),
    Answer("returned", "shutdown"): ("returned-at-shutdown", ""),
    RETURNED_EARLY: ("returned-early", ""),
    Answer("refused", "shutdown"): ("refused", "refusal"),
    Answer("exited", "shutdown"): ("exited-at-shutdown", "exit"),
    Answer("exited", "serving"): ("exited-early", "exit"),
}


def _error(seen: Observation) -> Fact:
    return seen.error.fact() if seen.error else Fact("no-error")


def _failure(seen: Observation) -> Fact:
    """Return why it sent `failed`: the author's exception rather than the text that was sent."""
    line = next(reversed(seen.message.strip().splitlines()), "").strip()
    error = seen.caught or (seen.error if seen.ended == "raised" else None)
    if not error:
        return fact("text", text=line) if line else Fact("no-message")
    texts = "\n".join(each.text for each in error.chain)
    known = not line or line in texts or error.text in seen.message or error.type in line
    return error.fact() if known else fact("message-and-error", text=line, error=error.fact())


def _overdue(seen: Observation, limit: float) -> Fact:
    """Return what it was doing when its time was over, and where."""
    place = seen.stack[-1] if seen.stack else None
    doing = Fact(f"doing-{seen.activity}").at(place, "doing-at")
    kind = "serving-blocked" if seen.awaited == "serving" else "overdue"
    return fact(kind, limit=limit, doing=doing)


_PARTS: Mapping[str, Callable[[Observation, str], Any]] = {
    "failure": lambda seen, _: _failure(seen),
    "error": lambda seen, _: _error(seen),
    "refusal": lambda seen, _: seen.refused,
    "exit": lambda seen, _: seen.exited or _error(seen),
}


def _sent_text(seen: Observation) -> Iterator[Fact]:
    """Yield that a framework sends only the text of the exception that it had caught."""
    caught = seen.caught if seen.startup.how == "failed" and seen.framework else None
    if caught and caught.text == seen.message:
        yield fact("sends-only-text", message=seen.message, framework=seen.framework)


def _stack(seen: Observation) -> Iterator[Fact]:
    """Yield the author's own lines, the outermost first."""
    for place in seen.stack[-MOST:]:
        yield fact("source", **place._asdict())


def _leftovers(seen: Observation) -> Iterator[Fact]:
    """Yield what is left behind; the tasks of libraries on one line."""
    names = [each.parts["name"] for each in seen.leftovers if each.kind == "task-left"]
    libraries = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
    yield from (each for each in seen.leftovers if each.parts["name"] not in libraries)
    if libraries:
        yield fact("library-tasks", names=libraries)


def _logged(seen: Observation) -> Iterator[Fact]:
    """Yield each error that was logged, and when; without those that are the cause."""
    for each in seen.logged:
        when = seen.moment(each.time)
        if when != "request" and not _is_cause(each, seen.errors):
            yield fact("logged-when", when=Fact(f"when-{when}"), record=each.fact())


def _is_cause(record: Logged, causes: list[Error]) -> bool:
    if record.error:
        return (record.error.type, record.error.text) in [(each.type, each.text) for each in causes]
    return any(each.text and each.text in record.message for each in causes)


def _again(seen: Observation, again: Observation, limit: float) -> Iterator[Fact]:
    """Yield what fails the second time, in a new event loop, and did not the first time."""
    phases = ("startup", "shutdown")
    for phase, first, second in zip(phases, answers(seen), answers(again), strict=True):
        if first.how == "complete" != second.how and again.startup.how:
            yield fact("again", answer=_answer(again, phase, limit))
            yield from filter(None, map(advice.on_error, again.errors[:1]))
            return


def _answerer(seen: Observation, never_entered: Collection[Fact]) -> Iterator[Fact]:
    """Yield the author's line that answered startup, perhaps in the place of what never ran."""
    if seen.answerer and never_entered and seen.startup.how == "complete":
        yield fact("answered-by", place=seen.answerer)


def _more(count: int) -> Iterator[Fact]:
    if count > 0:
        yield fact("and-more", count=count)


def _notes(seen: Observation) -> Iterator[Fact]:
    for kind in NOTES:
        yield from seen.known(kind)
    if seen.shutdown == RETURNED_EARLY and seen.framework:
        yield fact("by-framework", framework=seen.framework)
    if seen.shutdown.how == "complete" and not (seen.ended or seen.framework or seen.idle):
        yield Fact("does-not-return")


# ---- what to change ----------------------------------------------------------------------------


def _changes(seen: Observation, others: Sequence[Fact], limit: float) -> Iterator[Fact]:
    """Yield what to change: what explains a "no", before what explains the rest."""
    startup, shutdown = answers(seen)
    phase, answer = ("shutdown", shutdown) if startup.how == "complete" else ("startup", startup)
    found = [*_advice_on_errors(seen)] if answer.how in ("failed", "raised") else []
    yield from found
    what = _answer(seen, phase, limit)
    is_theirs = seen.framework and not (seen.error and seen.error.place) and not seen.refuses
    if not (found and answer.when == "serving") and not (is_theirs and what.kind in OF_FRAMEWORKS):
        where = "inner" if seen.refuses and startup.how in ENDED else phase
        yield from _known(advice.on(what, where, error=seen.error))
    yield from _known(*map(advice.on, others))


def _advice_on_errors(seen: Observation) -> Iterator[Fact]:
    """Yield advice by the kind of exception."""
    wrong = seen.known("given-")
    if wrong and any(_is_uncallable(each) for each in seen.errors):
        return iter(wrong)
    return islice(_known(*map(advice.on_error, seen.errors)), 1)


def _is_uncallable(error: Error) -> bool:
    """Tell whether an exception says that something cannot be called."""
    return any("object is not callable" in each.text for each in error.of("builtins.TypeError"))


def _known(*found: Fact | None) -> Iterator[Fact]:
    """Yield what is not None, each once."""
    return iter(dict.fromkeys(filter(None, found)))
