"""Judges what was observed in a case: a function for each phrase that a case can expect.

A function returns an Outcome.  It raises NotJudged if the sequence did not come so far that the
phrase says anything: so a server is told of the rule that it breaks, and not of all that follow.
"""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

from lifespec.conformance.report import Fact, Outcome, fact
from lifespec.conformance.server.play import REQUESTS
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lifespec.conformance.server.play import Line, Observation

__all__ = ["AT_ONCE", "PHRASES", "NotJudged", "clock", "judge", "misled", "words"]

NEVER = float("inf")
LONGEST = 160  # characters of what a server wrote
FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/){2,}")  # long, and of one machine
MARGIN = " \t|+-"  # the margin of a traceback of an exception group
FRAME = re.compile(r'[\s|+-]*File ".*", line \d+, in ')
HEAD = re.compile(r"Traceback \(most recent call last\):|^[\s|+-]+$")
KEY_ERROR = re.compile(r"[\s|]*KeyError: 'message'\s*")
BEFORE_ANSWER = ("receive", "state", "listen")  # verbs before an application answers startup
AT_ONCE = (  # phrases that the call alone shows, whatever follows it
    "lifespan scope",
    "versions",
    "namespace",
    "empty state",
    "one call",
    "startup first",
)


class NotJudged(Exception):
    """A phrase says nothing about this sequence; `fact` says why."""

    def __init__(self, why: Fact) -> None:
        super().__init__(why.kind)
        self.fact = why


def judge(phrase: str, argument: str, seen: Observation) -> Outcome:
    """Return whether a phrase holds of what was observed.

    It holds only if the script was played to its end: a sequence that ended early shows nothing.
    """
    try:
        found = PHRASES[phrase](seen, argument)
        if found.how == "held":
            _finished(seen)
    except NotJudged as reason:
        return Outcome("skip", reason.fact)
    return found


def _held_if(held: object, kind: str, /, **parts: Any) -> Outcome:
    return Outcome("held" if held else "broken", fact(kind, **parts))


def _held(kind: str, /, **parts: Any) -> Outcome:
    return Outcome("held", fact(kind, **parts))


def _broken(kind: str, /, **parts: Any) -> Outcome:
    return Outcome("broken", fact(kind, **parts))


def _unspecified(kind: str, /, **parts: Any) -> Outcome:
    return Outcome("unspecified", fact(kind, **parts))


def _not_judged(kind: str, /, **parts: Any) -> NotJudged:
    return NotJudged(fact(kind, **parts))


# ---- the log of the probe ----------------------------------------------------------------------


def clock(line: Line) -> float:
    """Return when a line was noted."""
    return float(line["time"])


def _lines(
    seen: Observation, kind: str, type_: str | None = None, by: str | None = ""
) -> list[Line]:
    """Return the lines of a kind and type; `by` is "child" for those of a task, None for all."""
    return [
        line
        for line in seen.lines
        if line["kind"] == kind
        and type_ in (None, line.get("type"))
        and by in (None, line.get("by", ""))
    ]


def _first(seen: Observation, kind: str, type_: str | None = None, by: str | None = "") -> Line:
    return min(_lines(seen, kind, type_, by) or _stop(seen), key=clock)


def _calls(seen: Observation) -> list[Line]:
    """Return the calls with a lifespan scope."""
    return _lines(seen, "called", "lifespan") or _stop(seen)


def _requests(seen: Observation) -> list[Line]:
    return [line for line in _lines(seen, "called") if line["type"] in REQUESTS]


def _own(lines: Iterable[Line], call: Line) -> list[Line]:
    """Return the lines that belong to a call."""
    return [line for line in lines if (line["pid"], line["call"]) == (call["pid"], call["call"])]


def _loop(line: Line) -> tuple[Any, ...]:
    """Return the event loop in which a line was noted."""
    return line["pid"], line["thread"], line["loop"]


def _stop(seen: Observation) -> list[Line]:
    """Raise NotJudged: the sequence has not come so far."""
    raise NotJudged(_progress(seen))


def _progress(seen: Observation) -> Fact:
    """Return how far the application has come."""
    if not _lines(seen, "called", "lifespan"):
        return fact("no-lifespan-call")
    last = max((line for line in seen.lines if line["call"]), key=clock)
    return fact("progress", last=f"{last['kind']} {last.get('type') or ''}".rstrip())


def _reached(seen: Observation, step: int) -> None:
    """Raise NotJudged if the script did not come to a step."""
    if not any(line["step"] == step for line in _lines(seen, "plays")):
        line = seen.case.lines[step]
        raise _not_judged("not-reached", number=step + 1, line=line, progress=_progress(seen))


def _finished(seen: Observation) -> None:
    _reached(seen, len(seen.case.script) - 1)


def _verbs(seen: Observation) -> list[str]:
    return [action.verb for action in seen.case.script]


# ---- the end and the output of the process ------------------------------------------------------


def _way(seen: Observation) -> Fact:
    """Return in which way the process, or the test client, ended."""
    if seen.client:
        return fact("raised-to-caller") if seen.raised else fact("ended")
    if seen.status is not None and seen.status < 0:
        return fact("ended-by-signal", number=-seen.status)
    return fact("ended-with-status", status=seen.status)


def _end(seen: Observation) -> Fact:
    """Return how the process ended, and after how many seconds."""
    if seen.ended is None:
        return fact("client-remained" if seen.client else "remained", seconds=seen.timeout)
    if seen.stopped is None:
        return _way(seen)
    seconds = round(max(seen.ended - seen.last_action, 0), 1)
    return fact("ended-after", way=_way(seen), seconds=seconds)


def _by_itself(seen: Observation) -> bool:
    return seen.ended is not None and seen.stopped is None


def words(output: str) -> Iterator[str]:
    """Yield the lines of an output; of a traceback only what was raised."""
    frame: int | None = None  # the indentation of the frame whose code follows
    for line in output.splitlines():
        indent = len(line) - len(line.lstrip(MARGIN))
        if FRAME.match(line):
            frame = indent
        elif frame is None or indent <= frame:
            frame = None
            if line.strip(MARGIN) and not HEAD.search(line):
                yield line


def _short(text: str) -> str:
    """Return a text of the server without folders, cut at a word if it is long."""
    text = FOLDERS.sub("…/", text.strip())
    if len(text) <= LONGEST:
        return text
    begin = text[:LONGEST]
    return f"{begin.rpartition(' ')[0] or begin} …"


def _in_output(line: str) -> Fact:
    return fact("output", line=_short(line)) if line else fact("not-in-output")


def _line_with(seen: Observation, text: str) -> str:
    return next((line for line in words(seen.output) if text in line), "")


# ---- the scope, and the event loop --------------------------------------------------------------


def _lifespan_scope(seen: Observation, _: str) -> Outcome:
    for line in _lines(seen, "called"):
        if line["type"] not in ("lifespan", *REQUESTS):
            return _broken("scope-type", type=repr(line["type"]))
    return _held("lifespan-scopes", count=len(_calls(seen)))


def _versions(seen: Observation, _: str) -> Outcome:
    spec = SPECS[seen.spec]
    versions = _calls(seen)[0]["scope"].get(spec.envelope)
    held = False
    if isinstance(versions, dict) and "!" not in versions:
        given = dict.fromkeys(spec.optional, "") | versions
        held = all(isinstance(given.get(key), str) for key in spec.versions)
    return _held_if(held, "versions", key=spec.envelope, value=str(versions))


def _scope_state(seen: Observation) -> Any:
    scope = _calls(seen)[0]["scope"]
    if "state" not in scope:
        raise _not_judged("no-state")
    return scope["state"]


def _namespace(seen: Observation, _: str) -> Outcome:
    state = _scope_state(seen)
    held = isinstance(state, dict) and bool(state.get("mutable", "!" not in state))
    return _held_if(held, "state", state=str(state))


def _empty_state(seen: Observation, _: str) -> Outcome:
    state = _scope_state(seen)
    if not isinstance(state, dict):
        raise _not_judged("state", state=str(state))
    return _held_if(not state.get("holds", state), "state", state=str(state))


def _one_call(seen: Observation, _: str) -> Outcome:
    """Hold if no event loop has two calls, and no process serves without one."""
    loops = [_loop(line) for line in _lines(seen, "called") if line["type"] not in REQUESTS]
    serving = {line["pid"] for line in _requests(seen)}
    enough = serving <= {pid for pid, *_ in loops} and len(loops) >= seen.case.workers
    if enough and len(set(loops)) == len(loops):
        return _held("calls", count=len(loops))
    return _broken("calls-and-processes", count=len(loops), serving=len(serving))


def _same_loop(seen: Observation, _: str) -> Outcome:
    calls = _calls(seen)
    loops = {_loop(line) for line in calls}
    if not (requests := _requests(seen)):
        raise _not_judged("no-request")
    for request in requests:
        if _loop(request) not in loops:
            places = ("pid", "thread", "loop")
            differs = next(key for key in places if request[key] != calls[0][key])
            return _broken(f"other-{differs}")
    return _held("same-loop")


def _lasts(seen: Observation, _: str) -> Outcome:
    """Hold if the server cancels no call before it is told to stop."""
    stopped = NEVER if seen.stopped is None else seen.stopped
    _calls(seen)
    cancelled = _lines(seen, "cancelled", "lifespan")
    if any(clock(line) < stopped for line in cancelled):
        return _broken("cancelled-early")
    return _held("not-cancelled")


# ---- startup -----------------------------------------------------------------------------------


def _events(seen: Observation, call: Line) -> list[str]:
    """Return the types of the events that a call received, also in its tasks."""
    received = _own(_lines(seen, "received", by=None), call)
    return [line["type"] for line in sorted(received, key=clock)]


def _disordered(types: Sequence[str]) -> bool:
    return types[:1] not in ([], ["lifespan.startup"]) or types.count("lifespan.startup") > 1


def misled(seen: Observation) -> bool:
    """Return whether startup was not the first event, or came twice: it is not what was played."""
    return any(_disordered(_events(seen, call)) for call in _lines(seen, "called", "lifespan"))


def _startup_first(seen: Observation, _: str) -> Outcome:
    """Hold if each process had startup first; a call beside another one is no matter of events."""
    calls = _calls(seen)
    served = {call["pid"] for call in calls if _events(seen, call)}
    for call in calls:
        types = _events(seen, call)
        if _disordered(types):
            return _broken("events", events=tuple(types))
        if not types and call["pid"] not in served:
            return _broken("no-events")
    return _held("startup-first")


def _startup_before_requests(seen: Observation, _: str) -> Outcome:
    startup = clock(_first(seen, "received", "lifespan.startup", by=None))
    early = sum(clock(line) < startup for line in _requests(seen))
    return _held_if(not early, "requests-before-startup", count=early)


def _no_request_before(seen: Observation, _: str) -> Outcome:
    _first(seen, "received", "lifespan.startup", by=None)
    early, cut = 0, NEVER
    for call in _calls(seen):
        startups = _own(_lines(seen, "received", "lifespan.startup", by=None), call)
        startup = min(map(clock, startups), default=NEVER)
        answers = _own(_lines(seen, "sends", "lifespan.startup.complete"), call)
        complete = min(map(clock, answers), default=NEVER)
        requests = (line for line in _requests(seen) if line["pid"] == call["pid"])
        early += sum(startup < clock(line) < complete for line in requests)
        if not answers:
            cut = min(cut, _cut(seen, call, startup, seen.stopped))
    if cut == NEVER:
        return _held_if(not early, "requests-before-answer", count=early)
    if not early:
        return _unspecified("startup-cut", seconds=round(cut), way=_way(seen))
    return _broken("requests-before-answer-cut", count=early, seconds=round(cut))


def _cut(seen: Observation, call: Line, since: float, stopped: float | None = None) -> float:
    """Return after how many seconds the server ended a phase by itself; NEVER if it did not."""
    ends = [clock(line) for line in _own(_lines(seen, "cancelled", "lifespan"), call)]
    ends += [seen.ended] if seen.ended is not None else []
    end = min(ends, default=NEVER)
    return end - since if end <= (NEVER if stopped is None else stopped) else NEVER


# ---- serving -----------------------------------------------------------------------------------


def _answered(seen: Observation) -> None:
    """Raise NotJudged if the application has not yet done what decides whether it is served."""
    steps = (step for step, verb in enumerate(_verbs(seen)) if verb not in BEFORE_ANSWER)
    _reached(seen, next(steps))


def _served(seen: Observation, _: str) -> Outcome:
    _answered(seen)
    wanted = sum(action.verb == "request" for action in seen.case.meanwhile)
    bodies = [answer.body for answer in seen.answers]
    if None not in bodies and len(bodies) >= wanted:
        return _held("served")
    if seen.raised:
        return _unspecified("to-caller", text=_short(seen.raised))
    if seen.demand and _by_itself(seen) and not _lines(seen, "sends"):
        return _unspecified("not-served-on-demand", end=_end(seen), option=seen.demand)
    waits = seen.ended is None or seen.stopped is not None
    return _broken("not-served-waits" if waits else "not-served", end=_end(seen))


def _not_blocked(seen: Observation, _: str) -> Outcome:
    found = _served(seen, "")
    if found.how == "broken" and _by_itself(seen):  # it did not wait, and it did not serve
        raise NotJudged(found.observed)
    return found


def _not_served(seen: Observation, _: str) -> Outcome:
    failed = clock(_first(seen, "sends", "lifespan.startup.failed"))
    late = sum(clock(line) > failed for line in _requests(seen))
    return _held_if(not late, "requests-after-failed", count=late, end=_end(seen))


def _tells(seen: Observation, _: str) -> Outcome:
    """Hold if the output mentions the lifespan or the exception, other than in a path."""
    _answered(seen)
    if _by_itself(seen):  # what it writes then is about its own end
        raise _not_judged("app-not-served", end=_end(seen))
    text = next((action.text for action in seen.case.script if action.verb == "raise"), "lifespan")
    named = re.compile(f"(?i)lifespan|{re.escape(text)}")
    found = (line for line in words(seen.output) if named.search(FOLDERS.sub("", line)))
    line = next(found, "")
    return Outcome("held" if line else "broken", _in_output(line))


# ---- what the application sends -----------------------------------------------------------------


def _attempt(seen: Observation) -> Line:
    """Return what became of the event of `try`."""
    step = _verbs(seen).index("try")
    _reached(seen, step)
    lines = _lines(seen, "sent") + _lines(seen, "refused")
    return ([line for line in lines if line["step"] == step] or _stop(seen))[0]


def _sent(seen: Observation, line: Line) -> Fact:
    if line["kind"] == "refused":
        return fact("send-raised", error=line["error"], text=_short(line["text"]))
    if seen.raised:
        return fact("send-returned-to-caller", text=_short(seen.raised))
    return fact("send-returned")


def _taken(seen: Observation, _: str) -> Outcome:
    line = _attempt(seen)
    return Outcome("held" if line["kind"] == "sent" else "broken", _sent(seen, line))


def _refused(seen: Observation, _: str) -> Outcome:
    line = _attempt(seen)
    if line["kind"] == "sent":
        return Outcome("unspecified" if seen.raised else "broken", _sent(seen, line))
    return Outcome("held", _sent(seen, line))


def _survives(seen: Observation, _: str) -> Outcome:
    line = _attempt(seen)
    if line["kind"] == "sent":
        raise NotJudged(_sent(seen, line))
    return _served(seen, "")


def _does_nothing(seen: Observation, _: str) -> Outcome:
    lines = _lines(seen, "sent", by="child") + _lines(seen, "refused", by="child")
    line = (lines or _stop(seen))[0]
    return Outcome("held" if line["kind"] == "sent" else "broken", _sent(seen, line))


def _quiet(seen: Observation, _: str) -> Outcome:
    """Hold if no event comes after the end: only a task that outlives the call can see one."""
    ends = _lines(seen, "raised", "lifespan") + _lines(seen, "returned", "lifespan")
    over = clock(min(ends or _stop(seen), key=clock))
    late = [line for line in _lines(seen, "received", by="child") if clock(line) > over]
    return _unspecified("late-event", event=late[0]["type"]) if late else _held("no-late-event")


def _shows(seen: Observation, text: str) -> Outcome:
    steps = enumerate(seen.case.script)
    _reached(seen, next(at for at, it in steps if text in (it.text, it.keys.get("message"))))
    line = _line_with(seen, text)
    return Outcome("held" if line else "broken", _in_output(line))


def _hides(seen: Observation, text: str) -> Outcome:
    found = _process_ends(seen, "")
    line = _line_with(seen, text)
    return Outcome("broken", _in_output(line)) if line else found


def _as_empty(seen: Observation, _: str) -> Outcome:
    _finished(seen)
    refused = any(line["error"] == "KeyError" for line in _lines(seen, "refused"))
    if refused or any(map(KEY_ERROR.fullmatch, words(seen.output))):
        return _broken("key-error")
    return _held("no-message-needed", end=_end(seen))


# ---- the end -----------------------------------------------------------------------------------


def _exits(seen: Observation, _: str) -> Outcome:
    _first(seen, "sends", "lifespan.startup.failed")
    return _held_if(_by_itself(seen), "end", end=_end(seen))


def _exit_status(seen: Observation, _: str) -> Outcome:
    """Hold if a supervisor notices the failure; no specification speaks of the exit status.

    A server that ends by the signal that it was sent ends like that without a failure, too.
    """
    _finished(seen)
    if seen.client:
        raise _not_judged("no-exit-status")
    if seen.status is None:
        raise _not_judged("end", end=_end(seen))
    if seen.status in (0, -signal.SIGTERM):
        return _unspecified("end", end=_way(seen))
    return _held("noticed", way=_way(seen))


def _gone(seen: Observation, _: str) -> Outcome:
    _finished(seen)
    return _held_if(seen.ended is not None, "end", end=_end(seen))


def _stopped(seen: Observation) -> None:
    if seen.stopped is None:
        raise _not_judged("not-stopped", end=_end(seen))


def _process_ends(seen: Observation, _: str) -> Outcome:
    _stopped(seen)
    return _gone(seen, "")


def _shutdown_once(seen: Observation, _: str) -> Outcome:
    occupied = seen.case.meanwhile[0].verb == "occupy"
    if occupied and not _lines(seen, "called", "lifespan"):
        raise _not_judged("port-in-use")
    _first(seen, "sent", "lifespan.startup.complete")
    if not occupied:
        _stopped(seen)
    for call in _calls(seen):
        if _own(_lines(seen, "sent", "lifespan.startup.complete"), call):
            cancelled = _own(_lines(seen, "cancelled"), call)
            if cancelled and clock(cancelled[0]) < (seen.stopped or 0):
                raise _not_judged("cancelled-before-stop")
            shutdowns = _own(_lines(seen, "received", "lifespan.shutdown"), call)
            if len(shutdowns) != 1:
                return _broken("shutdown-times", count=len(shutdowns), end=_end(seen))
    return _held("shutdown-once", end=_end(seen))


def _no_request_after(seen: Observation, _: str) -> Outcome:
    _first(seen, "received", "lifespan.shutdown")
    ends = [line for kind in ("returned", "cancelled", "raised") for line in _lines(seen, kind)]
    for shutdown in _lines(seen, "received", "lifespan.shutdown"):
        time = clock(shutdown)
        for request in (line for line in _requests(seen) if line["pid"] == shutdown["pid"]):
            if clock(request) > time:
                return _broken("request-after-shutdown")
            if not any(clock(line) < time for line in _own(ends, request)):
                return _broken("request-during-shutdown", path=request["path"])
    return _held("no-request-at-shutdown")


def _no_connection_after(seen: Observation, _: str) -> Outcome:
    """Hold if no connection was served while the application handled shutdown.

    The system completes connections to a listening socket even if the server accepts none; the
    specifications speak of the server.
    """
    _first(seen, "received", "lifespan.shutdown")
    if not seen.knocks:
        raise _not_judged("no-port")
    if "answered" in seen.knocks:
        return _broken("answered-after-shutdown")
    if "unanswered" in seen.knocks:
        return _unspecified("connected-after-shutdown")
    return _held("refused-after-shutdown")


def _waits(seen: Observation, _: str) -> Outcome:
    since = clock(_first(seen, "received", "lifespan.shutdown"))
    for call in _lines(seen, "received", "lifespan.shutdown"):
        if not _own(_lines(seen, "sends", "lifespan.shutdown.complete"), call):
            if (cut := _cut(seen, call, clock(call))) != NEVER:
                return _broken("clean-up-cut", seconds=round(cut), way=_way(seen))
            return _held("waited-still", seconds=round(seen.last_action - since))
    return _held("waited", end=_end(seen))


def _finishes(seen: Observation, _: str) -> Outcome:
    _first(seen, "sent", "lifespan.shutdown.complete")
    return _held_if(_lines(seen, "returned", "lifespan"), "end", end=_end(seen))


# ---- state -------------------------------------------------------------------------------------


def _app_state(seen: Observation) -> Line:
    """Return the state of the first lifespan, as the application left it."""
    _scope_state(seen)
    return _own(_lines(seen, "kept"), _first(seen, "kept"))[-1]


def _copies(seen: Observation, _: str) -> Outcome:
    if seen.unusable:
        raise NotJudged(seen.unusable)
    state = _app_state(seen)
    begun = clock(_first(seen, "sends", "lifespan.startup.complete"))
    bodies = [each.body for each in seen.answers if each.sent > begun and each.body is not None]
    if not bodies:
        raise _not_judged("no-request-answered")
    values = [line["ids"] for line in _lines(seen, "kept")]
    fault = next(filter(None, (_fault_of_copy(body, state, values) for body in bodies)), "")
    changed = any(each.path.startswith("/append") for each in seen.answers if each.body)
    if changed and not fault and bodies[-1]["state"].get("visitors") != ["Ada"]:
        fault = "change-lost"
    return _held_if(not fault, fault or "copies")


def _fault_of_copy(body: Mapping[str, Any], state: Line, values: Sequence[Any]) -> str:
    """Return what is wrong with the state of one request, or ""."""
    if "state" not in body:
        return "request-without-state"
    if body["state_id"] in body["offered"]:
        return "state-itself"
    if "taste" in body["state"] or body["state"].get("colour", "green") != "green":
        return "key-of-another-request"
    found = {key: body["ids"].get(key) for key in state["ids"]}
    return "" if found in values else "other-values"


def _late_key(seen: Observation, _: str) -> Outcome:
    if "late" not in _app_state(seen)["state"]:
        _stop(seen)
    bodies = [answer.body for answer in seen.answers if answer.path == "/late" and answer.body]
    if not bodies:
        raise _not_judged("no-request-answered")
    came = "late" in bodies[-1].get("state", {})
    return _held_if(came, "late-key" if came else "no-late-key")


def _untouched(seen: Observation, _: str) -> Outcome:
    kept = _app_state(seen)
    found = _own(_lines(seen, "received", "lifespan.shutdown"), kept)
    if not found:
        raise _not_judged("no-shutdown")
    if any(each.body and each.body.get("state_id") == kept["state_id"] for each in seen.answers):
        raise _not_judged("changed-by-requests")
    same = all(found[0][key] == kept[key] for key in ("ids", "state_id"))
    return _held_if(same, "state-at-shutdown", state=str(found[0]["state"]))


PHRASES: Mapping[str, Callable[[Observation, str], Outcome]] = {
    "lifespan scope": _lifespan_scope,
    "versions": _versions,
    "namespace": _namespace,
    "empty state": _empty_state,
    "one call": _one_call,
    "same loop": _same_loop,
    "lasts": _lasts,
    "startup first": _startup_first,
    "startup before requests": _startup_before_requests,
    "no request before": _no_request_before,
    "served": _served,
    "not blocked": _not_blocked,
    "not served": _not_served,
    "tells": _tells,
    "taken": _taken,
    "refused": _refused,
    "survives": _survives,
    "does nothing": _does_nothing,
    "quiet": _quiet,
    "shows": _shows,
    "hides": _hides,
    "as empty": _as_empty,
    "exits": _exits,
    "exit status": _exit_status,
    "gone": _gone,
    "process ends": _process_ends,
    "shutdown once": _shutdown_once,
    "no request after": _no_request_after,
    "no connection after": _no_connection_after,
    "waits": _waits,
    "finishes": _finishes,
    "copies": _copies,
    "late key": _late_key,
    "untouched": _untouched,
}
