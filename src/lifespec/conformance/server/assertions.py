"""What a phrase of a case means: whether it holds of what was seen, and what that was.

A function of PHRASES raises Beside where it cannot be told whether it holds, because what comes
before did not happen: so a server hears of the rule that it breaks, not of all that follow.
"""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from lifespec.conformance.server.observation import (
    FOLDERS,
    Beside,
    Result,
    Unspecified,
    clock,
    count,
    own,
    short,
)
from lifespec.conformance.server.scope_assertions import OFFERED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lifespec.conformance.server.observation import Line, ServerObservation

__all__ = ["AT_ONCE", "PHRASES", "misled"]

AT_ONCE = (  # what the call shows, whatever comes after it
    "lifespan scope",
    "versions",
    "namespace",
    "empty state",
    "worker numbers",
    "one call",
    "startup first",
)


# ---- startup -----------------------------------------------------------------------------------


def _startup_first(seen: ServerObservation, _: str) -> Result:
    for call in seen.lifespans:
        types = _types(seen, call)
        if not types or _disordered(types):
            return Result(held=False, actual=f"The events were: {', '.join(types) or 'none'}.")
    return Result(held=True, actual="Startup came first, and once.")


def misled(seen: ServerObservation) -> bool:
    """Whether startup was not the first event, or came twice: then the script was not played."""
    return any(_disordered(_types(seen, call)) for call in seen.all("called", "lifespan"))


def _types(seen: ServerObservation, call: Line) -> list[str]:
    return [line["type"] for line in own(seen.all("received"), call)]


def _disordered(types: Sequence[str]) -> bool:
    return types[:1] not in ([], ["lifespan.startup"]) or types.count("lifespan.startup") > 1


def _startup_before_requests(seen: ServerObservation, _: str) -> Result:
    startup = clock(seen.first("received", "lifespan.startup"))
    early = sum(clock(line) < startup for line in seen.requests)
    return Result(not early, f"{count(early, 'request')} came before startup.")


def _no_request_before(seen: ServerObservation, _: str) -> Result:
    seen.first("received", "lifespan.startup")
    early, limit = 0, ""
    for call in seen.lifespans:
        startups = own(seen.all("received", "lifespan.startup"), call)
        startup = min(map(clock, startups), default=float("inf"))
        answers = own(seen.all("sends", "lifespan.startup.complete"), call)
        complete = min(map(clock, answers), default=float("inf"))
        here = [line for line in seen.requests if line["pid"] == call["pid"]]
        early += sum(startup < clock(line) < complete for line in here)
        limit = limit or (_cut(seen, call, startup, "startup") if not answers else "")
    if limit and not early:
        raise Unspecified(f"{limit}; {seen.way}.")
    what = f"{count(early, 'request')} came before startup was answered."
    return Result(not early, f"{what} {limit}." if limit else what)


def _cut(seen: ServerObservation, call: Line, since: float, what: str) -> str:
    """Say after how many seconds the server ended a startup or a clean-up by itself, or ""."""
    over = [clock(line) for line in own(seen.all("cancelled", "lifespan"), call)]
    over += [seen.ended] if seen.ended is not None else []
    stopped = seen.stopped if what == "startup" and seen.stopped is not None else float("inf")
    if not over or min(over) > stopped:
        return ""
    return f"The server ended {what} after {min(over) - since:.0f} s"


def _ready(seen: ServerObservation) -> None:
    """Raise Beside where the application has not said what it has to say about startup."""
    said = (step for step, verb in enumerate(_verbs(seen)) if verb not in _BEFORE)
    seen.reached(next(said))


_BEFORE = ("receive", "state", "listen")


def _verbs(seen: ServerObservation) -> list[str]:
    return [action.verb for action in seen.case.script]


def _served(seen: ServerObservation, _: str) -> Result:
    _ready(seen)
    wanted = sum(doing.verb == "request" for doing in seen.case.meanwhile)
    missed = [answer for answer in seen.answers if answer.body is None]
    if missed or len(seen.answers) < wanted:
        if seen.to_caller:
            raise Unspecified(f"It raised to the caller: {short(seen.to_caller.strip())}")
        if seen.demand and seen.by_itself and not seen.all("sends"):
            raise Unspecified(
                f"It was not served; {seen.end}. It was started with {seen.demand}, which demands"
                " lifespan support."
            )
        return Result(held=False, actual=f"It was not served; {seen.end}.")
    return Result(held=True, actual="It was served.")


def _not_blocked(seen: ServerObservation, _: str) -> Result:
    result = _served(seen, "")
    if not result.held and seen.by_itself:  # it did not wait, and it did not serve
        raise Beside(result.actual)
    return result


def _survives(seen: ServerObservation, _: str) -> Result:
    line = _tried(seen)
    if line["kind"] != "refused":
        raise Beside(_sending(seen, line))
    return _served(seen, "")


def _failed(seen: ServerObservation) -> Line:
    return seen.first("sends", "lifespan.startup.failed")


def _not_served(seen: ServerObservation, _: str) -> Result:
    failed = clock(_failed(seen))
    late = sum(clock(line) > failed for line in seen.requests)
    return Result(not late, f"{count(late, 'request')} came after startup.failed; {seen.end}.")


def _exits(seen: ServerObservation, _: str) -> Result:
    _failed(seen)
    return Result(seen.ended is not None and seen.stopped is None, f"{seen.end.capitalize()}.")


def _status(seen: ServerObservation, _: str) -> Result:
    """Hold that a supervisor notices the failure; no specification speaks of the status.

    A server that stops with the signal that it was sent ends so without a failure, too.
    """
    seen.finished()
    if seen.client:
        raise Beside("A test client or adapter has no exit status of its own.")
    if seen.status is None:
        raise Beside(f"{seen.end.capitalize()}.")
    if seen.status in (0, -signal.SIGTERM):
        raise Unspecified(f"{seen.way.capitalize()}.")
    return Result(held=True, actual=f"{seen.way.capitalize()}: a supervisor notices the failure.")


def _shows(seen: ServerObservation, text: str) -> Result:
    steps = enumerate(seen.case.script)
    said = (step for step, it in steps if text in (it.text, it.keys.get("message")))
    seen.reached(next(said))
    found = _line_with(seen, text)
    return Result(bool(found), _saying(found))


def _hides(seen: ServerObservation, text: str) -> Result:
    result = _process_ends(seen, "")
    found = _line_with(seen, text)
    return Result(held=False, actual=_saying(found)) if found else result


def _line_with(seen: ServerObservation, text: str) -> str:
    return next((line for line in seen.words if text in line), "")


def _saying(line: str) -> str:
    return f"The output says: {short(line.strip())}" if line else "It is not in the output."


def _tells(seen: ServerObservation, _: str) -> Result:
    _ready(seen)
    if seen.by_itself:  # what it says then is of its own end
        raise Beside(f"The application was not served; {seen.end}.")
    text = next((action.text for action in seen.case.script if action.verb == "raise"), "lifespan")
    found = next((line for line in seen.words if _names(text, line)), "")
    return Result(bool(found), _saying(found))


def _names(text: str, line: str) -> bool:
    """Whether a line names this or the lifespan, other than by where a file of code lies."""
    return bool(re.search(f"(?i)lifespan|{re.escape(text)}", FOLDERS.sub("", line)))


_NO_MESSAGE = re.compile(r"[\s|]*KeyError: 'message'\s*")


def _as_empty(seen: ServerObservation, _: str) -> Result:
    seen.finished()
    refused = any(line["error"] == "KeyError" for line in seen.all("refused"))
    if refused or any(map(_NO_MESSAGE.fullmatch, seen.words)):
        return Result(held=False, actual="KeyError: the server reads the message.")
    return Result(held=True, actual=f"It did not look for a message; {seen.end}.")


# ---- what is sent ------------------------------------------------------------------------------


def _tried(seen: ServerObservation) -> Line:
    """Return what became of the event of `try`."""
    step = _verbs(seen).index("try")
    seen.reached(step)
    lines = [line for line in seen.all("sent") + seen.all("refused") if line["step"] == step]
    return (lines or seen.beside())[0]


def _sending(seen: ServerObservation, line: Line) -> str:
    if line["kind"] == "sent":
        raised = f" It raised to the caller: {short(seen.to_caller.strip())}"
        return f"send has returned.{raised * bool(seen.to_caller)}"
    return f"send has raised {line['error']}: {short(line['text'])}"


def _taken(seen: ServerObservation, _: str) -> Result:
    line = _tried(seen)
    return Result(line["kind"] == "sent", _sending(seen, line))


def _refused(seen: ServerObservation, _: str) -> Result:
    line = _tried(seen)
    if line["kind"] == "sent" and seen.to_caller:
        raise Unspecified(_sending(seen, line))
    return Result(line["kind"] == "refused", _sending(seen, line))


def _does_nothing(seen: ServerObservation, _: str) -> Result:
    lines = seen.all("sent", by="child") + seen.all("refused", by="child")
    line = (lines or seen.beside())[0]
    return Result(line["kind"] == "sent", _sending(seen, line))


# ---- the end -----------------------------------------------------------------------------------


def _over(seen: ServerObservation) -> Line:
    """Return how the call ended; raise Beside where it did not before the server was stopped."""
    ends = seen.all("raised", "lifespan") + seen.all("returned", "lifespan")
    return min(ends or seen.beside(), key=clock)


def _quiet(seen: ServerObservation, _: str) -> Result:
    """Hold that no event comes after the end: only a task that outlives the call can see one."""
    over = clock(_over(seen))
    late = [line for line in seen.all("received", by="child") if clock(line) > over]
    if late:
        raise Unspecified(
            f"Only a task that the application had left behind received {late[0]['type']}."
        )
    return Result(held=True, actual="No event came afterwards.")


def _stopped(seen: ServerObservation) -> None:
    if seen.stopped is None:
        raise Beside(f"It could not be told to stop; {seen.end}.")


def _shutdown_once(seen: ServerObservation, _: str) -> Result:
    occupied = seen.case.meanwhile[0].verb == "occupy"
    if occupied and not seen.all("called", "lifespan"):
        raise Beside("It found the port in use before it called the application.")
    seen.first("sent", "lifespan.startup.complete")
    if not occupied:
        _stopped(seen)
    for call in seen.lifespans:
        if own(seen.all("sent", "lifespan.startup.complete"), call):
            shutdowns = own(seen.all("received", "lifespan.shutdown"), call)
            broken_off = own(seen.all("cancelled"), call)
            if broken_off and clock(broken_off[0]) < (seen.stopped or 0):
                raise Beside("The call was broken off before.")
            if len(shutdowns) != 1:
                times = count(len(shutdowns), "time")
                return Result(held=False, actual=f"Shutdown came {times}; {seen.end}.")
    return Result(held=True, actual=f"Shutdown came once; {seen.end}.")


def _no_request_after(seen: ServerObservation, _: str) -> Result:
    seen.first("received", "lifespan.shutdown")
    for shutdown in seen.all("received", "lifespan.shutdown"):
        time = clock(shutdown)
        for call in (line for line in seen.requests if line["pid"] == shutdown["pid"]):
            ends = [line for kind in ("returned", "cancelled", "raised") for line in seen.all(kind)]
            if clock(call) > time:
                return Result(held=False, actual="A request came after shutdown.")
            if not any(clock(line) < time for line in own(ends, call)):
                actual = f"Shutdown came while a request to {call['path']} was being answered."
                return Result(held=False, actual=actual)
    return Result(held=True, actual="No request was there, and none came.")


def _no_connection_after(seen: ServerObservation, _: str) -> Result:
    """Hold that no connection was served while the application handled shutdown.

    The system completes a connection to a socket that listens, also if the server accepts it no
    more.  The specifications speak of the server.
    """
    seen.first("received", "lifespan.shutdown")
    if not seen.knocks:
        raise Beside("It has no port of its own.")
    if "answered" in seen.knocks:
        return Result(held=False, actual="A request was answered after shutdown had come.")
    if "unanswered" in seen.knocks:
        raise Unspecified(
            "After shutdown had come, clients could connect, as the socket still listened; a"
            " request was not answered."
        )
    return Result(held=True, actual="A connection was refused after shutdown had come.")


def _gone(seen: ServerObservation, _: str) -> Result:
    """Hold that the process is gone: by itself, or when it was told to stop."""
    seen.finished()
    return Result(seen.ended is not None, f"{seen.end.capitalize()}.")


def _waits(seen: ServerObservation, _: str) -> Result:
    since = clock(seen.first("received", "lifespan.shutdown"))
    for call in seen.all("received", "lifespan.shutdown"):
        if not own(seen.all("sends", "lifespan.shutdown.complete"), call):
            if limit := _cut(seen, call, clock(call), "clean-up"):
                return Result(held=False, actual=f"{limit}; {seen.way}.")
            return Result(held=True, actual=f"It waited still after {seen.told - since:.0f} s.")
    return Result(held=True, actual=f"It waited; {seen.end}.")


def _process_ends(seen: ServerObservation, _: str) -> Result:
    """Hold that the process ends where it was told to stop, and has said all that it has to."""
    _stopped(seen)
    seen.finished()
    return Result(seen.ended is not None, f"{seen.end.capitalize()}.")


def _finishes(seen: ServerObservation, _: str) -> Result:
    seen.first("sent", "lifespan.shutdown.complete")
    return Result(bool(seen.all("returned", "lifespan")), f"{seen.end.capitalize()}.")


PHRASES: Mapping[str, Callable[[ServerObservation, str], Result]] = {
    **OFFERED,
    "startup first": _startup_first,
    "startup before requests": _startup_before_requests,
    "no request before": _no_request_before,
    "served": _served,
    "not blocked": _not_blocked,
    "survives": _survives,
    "not served": _not_served,
    "exits": _exits,
    "exit status": _status,
    "process ends": _process_ends,
    "gone": _gone,
    "shows": _shows,
    "hides": _hides,
    "tells": _tells,
    "as empty": _as_empty,
    "taken": _taken,
    "refused": _refused,
    "does nothing": _does_nothing,
    "quiet": _quiet,
    "shutdown once": _shutdown_once,
    "no request after": _no_request_after,
    "no connection after": _no_connection_after,
    "waits": _waits,
    "finishes": _finishes,
}
