"""Judge what was seen of an application: the rules, and what its author wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lifespec.conformance.app.play import SendRefused
from lifespec.conformance.report import Fact, Finding, Outcome, Row, expected, fact, finding
from lifespec.conformance.rules import rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lifespec.conformance.app.play import Seen
    from lifespec.conformance.cases import Case
    from lifespec.conformance.report import How
    from lifespec.testing.left import Error, Logged

__all__ = [
    "ADVICE",
    "DECLINED",
    "LATE",
    "answers",
    "findings",
    "lingers",
    "rows",
    "shutdown",
    "startup",
]
__all__ += ["stops"]

ANSWERS = ("complete", "failed")
DECLINED = ("raised", "returned")
LATE = ("silent", "hung")
REFUSAL = SendRefused.__name__
SHOWN_LINES = 4  # of a stack
MOST = 3  # lifespans that never ran


def startup(seen: Seen) -> str:
    """Return how an application answers startup; "refused" if the suite refused what it sent."""
    refused = seen.startup in (*DECLINED, "failed") and _refusal(seen)
    return "refused" if refused else seen.startup


def shutdown(seen: Seen) -> str:
    """Return how it answers shutdown, in the same words."""
    refused = seen.startup == "complete" and seen.shutdown != "complete" and _refusal(seen)
    return "refused" if refused else seen.shutdown


def answers(seen: Seen) -> tuple[str, str]:
    """Return how it answers the two events."""
    return startup(seen), shutdown(seen)


def stops(seen: Seen) -> bool:
    """Tell whether it stops in time and without a failure, or had returned before."""
    return shutdown(seen) in ("complete", "returned early")


def _refusal(seen: Seen) -> bool:
    """Tell whether a refusal of the suite ended the application, or kept it from answering."""
    raised = any(REFUSAL in each.kinds for each in _errors(seen))
    return bool(seen.refused) and (raised or seen.startup in DECLINED)


# ---- what its author wants to know -------------------------------------------------------------


def rows(seen: Seen, serving: Seen, limit: float) -> Iterator[Row]:
    """Yield the first lines of a report; `serving` is of the case that has also served."""
    last = serving if serving.shutdown == "complete" else seen
    yield Row("starts", start(seen, limit))
    if seen.startup == "failed" and not _refusal(seen) and _sends_only_text(seen):
        said = fact("sends-only-text", message=seen.message, framework=seen.framework or "it")
        yield Row("starts", said)
    if seen.startup == "complete":
        yield Row("stops", stop(seen, limit))
    if seen.doing == "blocked" or seen.waited:
        yield from (Row("where", each) for each in _stack(seen))
    yield from (Row("left", each) for each in _left(last))
    if lingers(seen) or lingers(serving):
        yield Row("left", Fact("lingers"))
    for each in _logged([seen, serving] if serving is not seen else [seen]):
        yield Row("logged", each)
    for each in dict.fromkeys(map(repr, serving.died)):
        yield Row("died", next(died for died in serving.died if repr(died) == each))
    if seen.startup == "complete":
        yield from (Row("never ran", each) for each in seen.unrun[:MOST])
        if more := seen.unrun[MOST:]:
            yield Row("never ran", fact("and-more", count=len(more)))
    if seen.rebound and seen.startup == "complete":
        yield Row("know", Fact("state-rebound"))
    if seen.shutdown == "complete" and not (seen.ended or seen.framework or seen.idle):
        yield Row("know", Fact("does-not-return"))
    yield from (Row("change", each) for each in dict.fromkeys(_changes(seen, serving)))


def start(seen: Seen, limit: float) -> Fact:
    """Return how it starts."""
    how = startup(seen)
    late = how in DECLINED and seen.received
    error = seen.error.fact() if seen.error else Fact("no-error")
    match how:
        case "complete":
            seconds = f"{seen.seconds.get('startup', 0):.1f}"
            return fact("yes-on-trio" if seen.on_trio else "yes-in", seconds=seconds)
        case "failed":
            return fact("no", why=_failure(seen))
        case "raised":
            return fact("raised-late" if late else "raised-on-scope", error=error)
        case "returned":
            return Fact("returned-late" if late else "returned-on-scope")
        case "refused":
            return fact("refused", why=seen.refused[0])
        case "exited":
            return fact("exited-at-startup", how=seen.exited or error)
    return fact("no", why=_overdue(seen, limit))


def stop(seen: Seen, limit: float) -> Fact:
    """Return how it stops."""
    how = shutdown(seen)
    error = seen.error.fact() if seen.error else Fact("no-error")
    match how:
        case "complete":
            return fact("yes-in", seconds=f"{seen.seconds.get('shutdown', 0):.1f}")
        case "failed":
            return fact("no", why=_failure(seen))
        case "failed early":
            return fact("failed-early", why=_failure(seen))
        case "raised":
            return fact("raised-at-shutdown", error=error)
        case "raised early":
            return fact("raised-early", error=error)
        case "returned":
            return Fact("returned-at-shutdown")
        case "returned early":
            return Fact("returned-early")
        case "refused":
            return fact("refused", why=seen.refused[0])
        case "exited" | "exited early":
            kind = "exited-at-shutdown" if how == "exited" else "exited-early"
            return fact(kind, how=seen.exited or error)
    return fact("no", why=_overdue(seen, limit))


def _failure(seen: Seen) -> Fact:
    """Return why it sent `failed`: the author's exception rather than the text that was sent."""
    line = next(reversed(seen.message.strip().splitlines()), "").strip()
    error = seen.caught or (seen.error if seen.ended == "raised" else None)
    if not error:
        return fact("text", text=line) if line else Fact("no-message")
    known = error.text in seen.message or error.type in line or not line
    return error.fact() if known else fact("message-and-error", text=line, error=error.fact())


def _sends_only_text(seen: Seen) -> bool:
    return bool(seen.caught and seen.caught.text == seen.message and seen.framework)


def _overdue(seen: Seen, limit: float) -> Fact:
    """Return what it was doing when its time was over, and where."""
    kind = "serving-blocked" if seen.waited == "serving" else "overdue"
    doing: Fact = Fact(f"doing-{seen.doing}")
    if seen.stack:
        doing = fact("doing-at", what=doing, place=fact("place", **seen.stack[-1]._asdict()))
    return fact(kind, limit=limit, doing=doing)


def _stack(seen: Seen) -> Iterator[Fact]:
    """Yield the author's own lines, the outermost first, if one of them calls another."""
    for place in seen.stack[-SHOWN_LINES:]:
        yield fact("source", source=seen.sources.get(place, ""), **place._asdict())


def _left(seen: Seen) -> Iterator[Fact]:
    """Yield what is left behind; the tasks of libraries on one line."""
    libraries = [
        each.parts["name"]
        for each in seen.behind
        if each.kind == "task-left" and isinstance(each.parts["name"], str)
    ]
    yield from (each for each in seen.behind if each.parts["name"] not in libraries)
    if libraries:
        yield fact("library-tasks", names=tuple(dict.fromkeys(libraries)))


def lingers(seen: Seen) -> bool:
    """Tell whether something that is left behind keeps the process from ending."""
    return seen.lingers and any(each.kind != "task-left" for each in seen.behind)


def _logged(cases: Sequence[Seen]) -> Iterator[Fact]:
    """Yield each error that was logged, once, and when; without those that are the cause."""
    told: set[tuple[str, str]] = set()
    for seen in cases:
        for each in seen.logged:
            when = next(
                (what for time, what in reversed(seen.marks) if time <= each.time), "starting"
            )
            key = each.logger, each.message
            if when != "request" and key not in told and not _is_cause(each, _errors(seen)):
                told.add(key)
                yield fact("logged-when", when=Fact(f"when-{when}"), record=each.fact())


def _is_cause(record: Logged, causes: Iterable[Error]) -> bool:
    same = ((each.type, each.text) for each in causes)
    if record.error:
        return (record.error.type, record.error.text) in same
    return any(each.text and each.text in record.message for each in causes)


# ---- what to change ----------------------------------------------------------------------------


class Advice(NamedTuple):
    """Advice for an exception: words of its text or kinds, the kind of a sentence, and a page."""

    kind: str
    page: str
    texts: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()

    def fits(self, error: Error) -> bool:
        """Tell whether the advice is for this exception."""
        kinds = any(name.startswith(each) for each in self.kinds for name in error.kinds)
        return kinds or any(each in error.texts for each in self.texts)


ADVICE = (
    Advice("advise-cancel-scope", "background-tasks", ("cancel scope",)),
    Advice(
        "advise-other-loop",
        "test-application",
        ("different loop", "different event loop", "Event loop is closed", "loop is closed"),
    ),
    Advice("advise-no-loop", "quickstart-application", ("no running event loop",)),
    Advice("advise-middleware-late", "troubleshooting", ("Cannot add middleware after",)),
    Advice(
        "advise-decorator",
        "quickstart-application",
        (
            "'async_generator' object does not support the asynchronous context manager",
            "'coroutine' object does not support the asynchronous context manager",
            "object has no attribute '__aenter__'",
            "'async_generator' object is not an",
        ),
    ),
    Advice("advise-yield-once", "quickstart-application", ("didn't yield", "didn't stop")),
    Advice("advise-port", "troubleshooting", ("Address already in use", "address already in use")),
    Advice(
        "advise-service",
        "quickstart-application",
        ("Connect call failed", "Connection refused", "Name or service not known"),
        (
            *("ConnectionError", "TimeoutError", "gaierror", "OperationalError", "Connect"),
            *("ServerSelectionTimeout", "NoBrokersAvailable", "KafkaConnection"),
        ),
    ),
    Advice("advise-cancelled", "background-tasks", (), ("CancelledError",)),
    Advice("advise-missing-module", "troubleshooting", (), ("ModuleNotFoundError",)),
)


def _changes(seen: Seen, serving: Seen) -> Iterator[Fact]:
    """Yield what to change: what explains a "no", before what explains the rest."""
    if seen.startup != "complete" and any("callable" in each.texts for each in _errors(seen)):
        yield from seen.given
    how = shutdown(seen) if seen.startup == "complete" else startup(seen)
    if how in ("failed", "raised", "failed early", "raised early"):
        yield from _advice(seen)
    elif how.startswith(LATE):
        yield from _overdue_advice(seen)
    elif how == "returned early":
        yield fact("advised", advice=Fact("advise-wait"), page=Fact("page-shutdown"))
    elif how == "raised" or (how == "returned" and seen.received):
        yield fact(
            "advised", advice=Fact("advise-send-failed"), page=_page("quickstart-application")
        )
    if lingers(seen) or lingers(serving):
        yield Fact("advise-close")
    if serving.died:
        yield fact("advised", advice=Fact("advise-died"), page=_page("background-tasks"))
    if seen.startup == "complete" and seen.unrun:
        yield fact("advised", advice=Fact("advise-never-ran"), page=_page("mount-applications"))


def _advice(seen: Seen) -> Iterator[Fact]:
    """Yield advice by the kind of exception, and what to send where no answer was sent."""
    for error in _errors(seen):
        if found := next((each for each in ADVICE if each.fits(error)), None):
            yield fact("advised", advice=Fact(found.kind), page=_page(found.page))
            break
    if seen.startup == "raised" and seen.received:
        page = _page("quickstart-application")
        yield fact("advised", advice=Fact("advise-send-failed"), page=page)
    elif seen.startup == "raised" and not seen.framework:
        yield Fact("advise-find-lifespan")


def _errors(seen: Seen) -> list[Error]:
    return [each for each in (seen.caught, seen.error) if each]


def _page(name: str) -> Fact:
    return Fact(f"page-{name}")


def _overdue_advice(seen: Seen) -> Iterator[Fact]:
    if seen.doing == "blocked":
        yield fact("advised", advice=Fact("advise-blocked"), page=_page("timeouts"))
    elif seen.doing == "idle":
        yield Fact("advise-silent")
    elif seen.startup == "complete":
        yield fact("advised", advice=Fact("advise-clean-up"), page=_page("background-tasks"))
    else:
        yield fact("advised", advice=Fact("advise-startup"), page=_page("timeouts"))


# ---- the rules ---------------------------------------------------------------------------------


class _Matter(NamedTuple):
    """What a phrase is judged by: a rule, a specification, what was seen, and in the first case."""

    rule: str
    spec: str
    seen: Seen
    first: Seen
    limit: float

    def course(self) -> Fact:
        """Return how the lifespan went."""
        starts = start(self.seen, self.limit)
        if self.seen.startup != "complete":
            return fact("course-start", starts=starts)
        return fact("course", starts=starts, stops=stop(self.seen, self.limit))


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
        return Outcome("skip", Fact("not-started"))
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
        return Outcome("skip", Fact("not-started"))
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
        return Outcome("held", _end(seen))
    if seen.reaction == "sent":
        return Outcome("broken", fact("it-sent", event=seen.sent[-1]))
    if seen.reaction == "silent":
        return Outcome("broken", fact("did-nothing", limit=matter.limit))
    return Outcome(
        "broken", Fact("it-called-receive") if seen.reaction == "received" else _end(seen)
    )


def _end(seen: Seen) -> Fact:
    """Return how the call ended."""
    if seen.ended in ("raised", "exited"):
        return fact("it-raised", error=seen.error.fact() if seen.error else Fact("no-error"))
    kinds = {"returned": "it-returned", "cancelled": "it-was-cancelled"}
    return Fact(kinds.get(seen.ended, "it-did-not-end"))


def _ends(matter: _Matter) -> Outcome:
    return Outcome("held" if matter.seen.obeyed else "broken", _end(matter.seen))


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
