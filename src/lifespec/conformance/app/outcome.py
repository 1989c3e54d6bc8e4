"""How an application went in one case, as facts: how it started, how it stopped, how it ended."""

from lifespec.conformance.app.answers import REFUSED
from lifespec.conformance.app.observation import LONG_ANSWER, NO_ANSWER, Answer, Observation
from lifespec.diagnosis.course import FAILED, TAKES_NO_PART
from lifespec.diagnosis.fact import Error, Fact, fact

COMPLETE_OR_FAILED = ("complete", "failed")
RETURNED_EARLY = Answer("returned", "serving", "returned-early")
ENDED = ("raised", "returned")  # instead of an answer
LATE = ("silent", "hung")
# kinds of ends that have a sentence for themselves, whether the call was to start or to stop
WHOLE = (*TAKES_NO_PART, "returned-early")


def answers(seen: Observation) -> tuple[Answer, Answer]:
    """Return how an application answers startup, and how it answers shutdown."""
    # what followed from a refusal, a raise or a failure, is no answer of its own
    has_caught_it = any(error.of(REFUSED) for error in seen.errors)
    if seen.refused and (has_caught_it or seen.startup.how in ENDED):
        if seen.startup.how in (*ENDED, "failed"):
            return Answer("refused", "startup"), NO_ANSWER
        if seen.shutdown.how != "complete":
            return seen.startup, Answer("refused", "shutdown")
    return seen.startup, seen.shutdown


def starts(seen: Observation) -> bool:
    """Tell whether it completes startup in time."""
    return answers(seen)[0].how == "complete"


def stops(seen: Observation) -> bool:
    """Tell whether it stops in time and without a failure, or had returned before."""
    return answers(seen)[1] in (Answer("complete", "shutdown"), RETURNED_EARLY)


def stays(seen: Observation) -> bool:
    """Tell whether something that is left behind keeps the process from ending."""
    # tasks end with their loop, and daemons with the process: these two keep it
    if not seen.process_stays:
        return False
    return bool(seen.facts_of("thread-", "process-"))


def how_it_went(seen: Observation, limit: float) -> Fact:
    """Return how a lifespan went."""
    start = answer(seen, "startup", limit)
    if seen.startup.how != "complete":
        return fact("course-start", starts=start)
    return fact("course", starts=start, stops=answer(seen, "shutdown", limit))


def answer(seen: Observation, phase: str, limit: float) -> Fact:
    """Return how it starts or stops."""
    startup, shutdown = answers(seen)
    given = shutdown
    if phase == "startup":
        given = startup
    if given.how == "complete":
        return _yes(seen, phase)
    why = _why(seen, given, limit)
    if given.kind in WHOLE:
        return why
    return fact("no", why=why)


def ending(seen: Observation) -> Fact:
    """Return how the call ended."""
    if seen.ended in ("raised", "exited"):
        return fact("it-raised", error=_error(seen))
    kinds = {"returned": "it-returned", "cancelled": "it-was-cancelled"}
    return Fact(kinds.get(seen.ended, "it-did-not-end"))


def _yes(seen: Observation, phase: str) -> Fact:
    if phase == "startup" and seen.on_trio:
        return Fact("yes-on-trio")
    if phase in seen.spent:
        return seen.spent[phase]
    begin, end = seen.span(phase)
    if end - begin < LONG_ANSWER:
        return Fact("yes")
    return fact("yes-in", seconds=f"{end - begin:.1f}")


def _why(seen: Observation, given: Answer, limit: float) -> Fact:
    if given.kind in FAILED:
        return _failure(seen)
    parts: dict[str, Fact | str | None] = {}  # none if it returned
    match given.how:
        case "" | "silent" | "hung":
            return _overdue(seen, limit)
        case "cancelled":  # by its case
            return Fact("it-was-cancelled")
        case "refused":
            return fact("refused", refusal=seen.refused)
        case "failed":
            parts = {"failure": _failure(seen)}
        case "raised":
            parts = {"error": _error(seen)}
        case "exited":
            parts = {"exit": seen.exited or _error(seen)}
    return Fact(given.kind, parts)


def _error(seen: Observation) -> Fact:
    if seen.error:
        return seen.error.fact()
    return Fact("no-error")


def _failure(seen: Observation) -> Fact:
    """Return why it sent `failed`: the author's exception rather than the text that was sent."""
    line = "".join(seen.message.strip().splitlines()[-1:]).strip()
    error = seen.caught
    if error is None and seen.ended == "raised":
        error = seen.error
    if error is None:
        return fact("text", text=line) if line else Fact("no-message")
    if _says_it(line, seen.message, error):
        return error.fact()
    return fact("message-and-error", text=line, error=error.fact())


def _says_it(line: str, message: str, error: Error) -> bool:
    """Tell whether a message, and its last line, say nothing that the exception does not say.

    Frameworks send the text of the exception, or its whole traceback: one of both is enough.
    """
    if error.text in message or error.type in line:
        return True
    # nor does an empty one
    return any(line in cause.text for cause in error.chain)


def _overdue(seen: Observation, limit: float) -> Fact:
    """Return what it was doing when its time was over, and where."""
    place = None
    if seen.stack:
        place = seen.stack[-1]
    doing = Fact(f"doing-{seen.activity}").at(place, "doing-at")
    kind = "serving-blocked" if seen.awaited == "serving" else "overdue"
    return fact(kind, limit=limit, doing=doing)
