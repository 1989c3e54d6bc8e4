"""Judge what was seen of an application: what its author wants to know, and the rules of a case."""

import functools
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lifespec.conformance.app.log import Answer, Observation
from lifespec.conformance.app.play import SendRefused
from lifespec.conformance.cases import Case, expected
from lifespec.conformance.finding import Finding, How, Outcome, Row, finding
from lifespec.conformance.rules import rules
from lifespec.conformance.words import data
from lifespec.diagnosis.fact import Error, Fact, fact
from lifespec.diagnosis.logged import Logged

ANSWERS = ("complete", "failed")
RETURNED_EARLY = Answer("returned", "serving")
ENDED = ("raised", "returned")  # instead of an answer
LATE = ("silent", "hung")
LONG = 1.0  # seconds from which on a report says how long an answer took
UNRUN = ("never-ran", "handler-ignored")  # kinds of lifespans that never ran
ENTERED = (*UNRUN, "given-", "made-only")  # kinds of what was found in the source
CUT_OFF = ("cut-off", "left-out")  # kinds of clean-up that did not run
NOTES = (  # kinds of facts that its author may want to know, in this order
    "state-rebound",
    "signal-taken",
    "context-variable",
    "entered-twice",
    "state-unseen",
    "state-dropped",
    "made-only",
)
MOST = 3  # lines of a stack, lifespans that never ran


def answers(seen: Observation) -> tuple[Answer, Answer]:
    """Return how an application answers startup, and how it answers shutdown."""
    caught = any(SendRefused.__name__ in each.kinds for each in seen.errors)
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
    return seen.process_stays and not all(x.kind.startswith("task-") for x in seen.leftovers)


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


# ---- the rows of a report ----------------------------------------------------------------------


def rows(
    seen: Observation, serving: Observation, again: Observation, limit: float
) -> Iterator[Row]:
    """Yield the first lines of a report.

    `serving` is of the case that has also served, and `again` of the one that starts twice.
    """
    last = serving if serving.shutdown.how == "complete" else seen
    started, remains = seen.startup.how == "complete", stays(seen) or stays(serving)
    whole, wrong = seen.shutdown.how == "complete", any(map(_is_misshapen, seen.errors))
    never_entered = seen.known(*UNRUN) * (whole or wrong)
    never_entered = [each for each in never_entered if serving is seen or each in serving.facts]
    lines = {
        "starts": [_answer(seen, "startup", limit), *_sent_text(seen)],
        "stops": [_answer(seen, "shutdown", limit)] * started,
        "where": [*_stack(seen)] * bool(seen.awaited),
        "still running": [*_leftovers(last), *[Fact("lingers")] * remains],
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
        "change": [
            *_changes(
                seen,
                died=bool(serving.known("died")),
                never_entered=never_entered * whole,
                stays=remains,
            )
        ],
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
    if answer.how == "complete":
        long, trio = seen.seconds(phase) >= LONG, phase == "startup" and seen.on_trio
        kind, name = "yes-on-trio" if trio else "yes-in" if long else "yes", "seconds" * long
    return fact(kind, **({name: _PARTS[name](seen, phase)} if name else {}))


_ANSWERS: Mapping[Answer, tuple[str, str]] = {
    Answer("complete", "startup"): ("yes", ""),
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
    known = not line or line in error.texts or error.text in seen.message or error.type in line
    return error.fact() if known else fact("message-and-error", text=line, error=error.fact())


def _overdue(seen: Observation, limit: float) -> Fact:
    """Return what it was doing when its time was over, and where."""
    doing = Fact(f"doing-{seen.activity}")
    if seen.stack:
        doing = fact("doing-at", what=doing, place=seen.stack[-1].fact())
    kind = "serving-blocked" if seen.awaited == "serving" else "overdue"
    return fact(kind, limit=limit, doing=doing)


_PARTS: Mapping[str, Callable[[Observation, str], Any]] = {
    "seconds": lambda seen, phase: f"{seen.seconds(phase):.1f}",
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
            yield from filter(None, map(advice_on, again.errors[:1]))
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

SHAPE = "advice-on-lifespans"  # the table of advice on exceptions that no line of the author raised
KEYS = ("path", "headers", "method", "query_string", "client", "server")  # of requests alone


def _changes(
    seen: Observation, *, died: bool, never_entered: Collection[Fact], stays: bool
) -> Iterator[Fact]:
    """Yield what to change: what explains a "no", before what explains the rest."""
    startup, shutdown = answers(seen)
    answer = shutdown if startup.how == "complete" else startup
    early = answer.when == "serving"
    if (answer.how in LATE and not early) or seen.activity == "blocked":
        yield _advice_when_overdue(seen)
    elif answer == RETURNED_EARLY and not seen.framework:
        yield Fact("advise-wait")
    elif answer.how in ("failed", "raised"):
        found = [*_advice_on_errors(seen)]
        yield from [Fact("advise-crash")] if early and not found else found
    if startup.how in ENDED and seen.received and not seen.refuses:
        yield _advice_to_answer(seen)
    elif startup.how in ENDED and seen.error and (seen.error.place or seen.refuses):
        key = seen.error.type == "KeyError" and seen.error.text.strip("'") in KEYS
        yield Fact("advise-scope" if key else "advise-any-scope")
    elif startup.how in ENDED and not seen.framework:
        yield Fact("advise-find-lifespan")
    if stays:
        yield Fact("advise-close")
    if died:
        yield Fact("advise-died")
    kinds = {each.kind for each in never_entered}
    yield from (Fact(f"advise-{kind}") for kind in UNRUN if kind in kinds)


def _advice_to_answer(seen: Observation) -> Fact:
    """Return the advice to answer startup: in the code that raised or returned, not around it."""
    if not seen.error:
        return Fact("advise-answer")
    if seen.error.place:
        return fact("advise-send-failed-at", place=seen.error.place.fact())
    return Fact("advise-send-failed")


def _advice_on_errors(seen: Observation) -> Iterator[Fact]:
    """Yield advice by the kind of exception."""
    wrong = seen.known("given-")
    for error in seen.errors:
        if wrong and "callable" in error.texts:
            yield from wrong
            return
        if found := advice_on(error):
            yield found
            return


@functools.cache
def _advice(table: str) -> Mapping[str, Sequence[str]]:
    """Return the kinds of advice, each with the words of exceptions that it is about."""
    tables: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(data("sentences.toml"))
    return tables[table]


def advice_on(error: Error) -> Fact | None:
    """Return the advice that there is for an exception, or None."""
    others = [each for each in error.kinds if each != "CancelledError"]  # a group's, of its tasks
    known = "\n".join((error.type, *others, error.texts))
    advice = {**_advice("advice")} if error.place else {**_advice(SHAPE), **_advice("advice")}
    found = (kind for kind, words in advice.items() if any(word in known for word in words))
    return next(map(Fact, found), None)


def _is_misshapen(error: Error) -> bool:
    """Tell whether a framework could not use the lifespan that it was given."""
    found = advice_on(error)
    return found is not None and found.kind in _advice(SHAPE)


def _advice_when_overdue(seen: Observation) -> Fact:
    if seen.activity == "blocked":
        return Fact("advise-blocked")
    if seen.activity == "idle":
        return Fact("advise-silent")
    if seen.startup.how == "complete":
        return Fact("advise-clean-up")
    return Fact("advise-startup")


# ---- the rules of a case -----------------------------------------------------------------------


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
        yield finding(case, spec, each, outcome, [*seen.entries], seen.framework)


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
