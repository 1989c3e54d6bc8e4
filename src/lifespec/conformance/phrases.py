"""What a phrase of a case means: whether it holds of what was seen, and what that was.

A function of PHRASES raises Beside where it cannot be told whether it holds, because what comes
before did not happen: so a server hears of the rule that it breaks, not of all that follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lifespec.conformance.seen import Beside, Judged, among, clock, count, loop, own

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lifespec.conformance.seen import Line, Seen

__all__ = ["PHRASES"]


# ---- the scope, and where it comes -------------------------------------------------------------


def _lifespan_scope(seen: Seen, _: str) -> Judged:
    others = [line for line in seen.all("called") if line["type"] not in ("http", "lifespan")]
    if others:
        return Judged(held=False, actual=f"A scope had the type {others[0]['type']!r}.")
    return Judged(held=True, actual=f"{count(len(seen.lifespans), 'lifespan')}.")


def _versions(seen: Seen, _: str) -> Judged:
    scope = seen.lifespans[0]["scope"]
    box = scope.get("asgi")
    if not isinstance(box, dict) or "!" in box:
        return Judged(held=False, actual=f"The scope has the asgi {box!r}.")
    held = isinstance(box.get("version"), str) and isinstance(box.get("spec_version", ""), str)
    return Judged(held, f"asgi is {box}.")


def _worker_numbers(seen: Seen, _: str) -> Judged:
    boxes = [call["scope"].get("pagi") for call in seen.lifespans]
    if not all(isinstance(box, dict) for box in boxes):
        raise Beside("not applicable", "The scope is none of PAGI.")
    numbers = [box.get("worker_num") for box in boxes]
    workers = {box.get("is_worker") for box in boxes}
    alone = workers <= {0, None} and set(numbers) == {None}
    distinct = workers == {1} and len(set(numbers)) == len(numbers)
    return Judged(alone or distinct, f"is_worker {sorted(map(str, workers))}, numbers {numbers}.")


def _offered(seen: Seen) -> Any:
    """Return the state that the first lifespan was offered."""
    scope = seen.lifespans[0]["scope"]
    if "state" not in scope:
        raise Beside("not applicable", "The server offers no state.")
    return scope["state"]


def _name_space(seen: Seen, _: str) -> Judged:
    state = _offered(seen)
    held = isinstance(state, dict) and ("!" not in state or bool(state.get("mutable")))
    return Judged(held, f"The state was {state}.")


def _empty_state(seen: Seen, _: str) -> Judged:
    state = _offered(seen)
    return Judged(state in ({}, {**state, "holds": {}}), f"The state was {state}.")


def _one_call(seen: Seen, _: str) -> Judged:
    calls = [loop(line) for line in seen.all("called", "lifespan")]
    serving = {loop(line) for line in seen.requests}
    few = f"{count(len(calls), 'lifespan')}; requests came in {count(len(serving), 'event loop')}"
    held = serving <= set(calls) and len(set(calls)) == len(calls)
    return Judged(held and len(calls) >= seen.case.workers, f"{few}.")


def _same_loop(seen: Seen, _: str) -> Judged:
    loops = {loop(line) for line in seen.lifespans}
    elsewhere = [line for line in seen.requests if loop(line) not in loops]
    if not seen.requests:
        raise Beside("not run", "No request reached the application.")
    if elsewhere:
        what = _differs(elsewhere[0], seen.lifespans[0])
        return Judged(held=False, actual=f"A request came in another {what}.")
    return Judged(held=True, actual="All requests came in an event loop that has a lifespan.")


def _differs(one: Line, other: Line) -> str:
    keys = {"pid": "process", "thread": "thread", "loop": "event loop"}
    return next(word for key, word in keys.items() if one[key] != other[key])


def _lasts(seen: Seen, _: str) -> Judged:
    for call in seen.lifespans:
        requests = [line for line in seen.requests if loop(line) == loop(call)]
        if any(clock(line) < clock(call) for line in requests):
            return Judged(held=False, actual="A request came before the call with the scope.")
        for end in own(seen.all("cancelled") + seen.all("raised") + seen.all("returned"), call):
            if any(clock(line) > clock(end) for line in requests):
                return Judged(held=False, actual="A request came after the end of the call.")
            told = own(seen.all("received", "lifespan.shutdown"), call)
            if end["kind"] == "cancelled" and not told:
                return Judged(held=False, actual="The call was broken off before shutdown.")
    return Judged(held=True, actual="The call lasted longer than the requests.")


# ---- startup -----------------------------------------------------------------------------------


def _startup_first(seen: Seen, _: str) -> Judged:
    for call in seen.lifespans:
        types = [line["type"] for line in own(seen.all("received"), call)]
        if types[:1] != ["lifespan.startup"] or types.count("lifespan.startup") > 1:
            return Judged(held=False, actual=f"The events were: {', '.join(types) or 'none'}.")
    return Judged(held=True, actual="Startup came first, and once.")


def _startup_before_requests(seen: Seen, _: str) -> Judged:
    startup = clock(seen.first("received", "lifespan.startup"))
    early = sum(clock(line) < startup for line in seen.requests)
    return Judged(not early, f"{count(early, 'request')} came before startup.")


def _no_request_before(seen: Seen, _: str) -> Judged:
    startup, early = clock(seen.first("received", "lifespan.startup")), 0
    for call in seen.lifespans:
        answers = own(seen.all("sends", "lifespan.startup.complete"), call)
        complete = min(map(clock, answers), default=float("inf"))
        here = [line for line in seen.requests if line["pid"] == call["pid"]]
        early += sum(startup < clock(line) < complete for line in here)
    return Judged(not early, f"{count(early, 'request')} came before startup was answered.")


def _ready(seen: Seen) -> None:
    """Raise Beside where the application has not said what it has to say about startup."""
    verbs = [verb for verb, _ in _script(seen)]
    word = next((verb for verb in verbs if verb not in ("receive", "state", "listen")), "")
    seen.reached(word)


def _script(seen: Seen) -> list[tuple[str, str]]:
    return [(action.verb, action.type) for action in seen.case.script]


def _served(seen: Seen, _: str) -> Judged:
    _ready(seen)
    wanted = sum(doing.verb == "request" for doing in seen.case.meanwhile)
    missed = [answer for answer in seen.answers if answer.body is None]
    if missed or len(seen.answers) < wanted:
        return Judged(held=False, actual=f"It was not served; {seen.end}.")
    return Judged(held=True, actual="It was served.")


def _not_blocked(seen: Seen, _: str) -> Judged:
    judged = _served(seen, "")
    return Judged(judged.held or seen.ended is not None, judged.actual)


def _survives(seen: Seen, _: str) -> Judged:
    if _tried(seen)["kind"] != "refused":
        raise Beside("not applicable", "It refused nothing.")
    return _served(seen, "")


def _failed(seen: Seen) -> Line:
    return seen.first("sends", "lifespan.startup.failed")


def _not_served(seen: Seen, _: str) -> Judged:
    failed = clock(_failed(seen))
    late = sum(clock(line) > failed for line in seen.requests)
    return Judged(not late, f"{count(late, 'request')} came after startup.failed; {seen.end}.")


def _exits(seen: Seen, _: str) -> Judged:
    _failed(seen)
    return Judged(seen.ended is not None and seen.stopped is None, f"{seen.end.capitalize()}.")


def _shows(seen: Seen, text: str) -> Judged:
    _ready(seen)
    steps = enumerate(seen.case.script)
    said = (step for step, it in steps if text in (it.text, it.keys.get("message")))
    step = next(said, 0)
    if not any(line["step"] == step for line in seen.all("plays")):
        raise Beside("not run", seen.stuck)
    return Judged(text in seen.output, _quoted(seen, text))


def _hides(seen: Seen, text: str) -> Judged:
    judged = _process_ends(seen, "")
    if text in seen.output:
        return Judged(held=False, actual=_quoted(seen, text))
    return judged


def _quoted(seen: Seen, text: str) -> str:
    lines = [line.strip() for line in seen.output.splitlines() if text in line]
    return f"The output says: {lines[0][:120]}" if lines else "The output does not have it."


def _tells(seen: Seen, _: str) -> Judged:
    _ready(seen)
    text = next((action.text for action in seen.case.script if action.verb == "raise"), "lifespan")
    found = re.search(f"(?i).*(?:lifespan|{re.escape(text)}).*", seen.output)
    said = (
        f"The output says: {found[0].strip()[:120]}" if found else "The output says nothing of it."
    )
    return Judged(bool(found), said)


def _as_empty(seen: Seen, _: str) -> Judged:
    send = [line for kind in ("sends", "refused") for line in seen.all(kind)]
    send = [line for line in send if str(line.get("type")).endswith(".failed")]
    if not send:
        raise Beside("not run", seen.stuck)
    errors = [line["error"] for line in send if line["kind"] == "refused"]
    if "KeyError" in [*errors, *re.findall("KeyError", seen.output)]:
        return Judged(held=False, actual="KeyError: it looks for the message.")
    late = any(clock(line) > clock(send[0]) for line in seen.requests)
    return Judged(not late, "A request came afterwards." if late else f"{seen.end.capitalize()}.")


# ---- what is sent ------------------------------------------------------------------------------


def _tried(seen: Seen, by: str = "") -> Line:
    """Return what became of the event of `try`, or of `later`."""
    verb = "later" if by else "try"
    step = [action.verb for action in seen.case.script].index(verb)
    seen.reached(verb)
    lines = [*seen.all("sent", by=by), *seen.all("refused", by=by)]
    found = [line for line in lines if by or line["step"] == step]
    if not found:
        raise Beside("not run", seen.stuck)
    return found[0]


def _sending(line: Line) -> str:
    if line["kind"] == "sent":
        return "send has returned."
    return f"send has raised {line['error']}: {line['text'][:120]}"


def _taken(seen: Seen, _: str) -> Judged:
    line = _tried(seen)
    return Judged(line["kind"] == "sent", _sending(line))


def _refused(seen: Seen, _: str) -> Judged:
    line = _tried(seen)
    return Judged(line["kind"] == "refused", _sending(line))


def _does_nothing(seen: Seen, _: str) -> Judged:
    line = _tried(seen, "child")
    return Judged(line["kind"] == "sent", _sending(line))


# ---- the end -----------------------------------------------------------------------------------


def _over(seen: Seen) -> Line:
    """Return how the call ended; raise Beside where it did not before the server was stopped."""
    seen.lifespans  # noqa: B018
    ends = [*seen.all("raised", "lifespan"), *seen.all("returned", "lifespan")]
    if not ends:
        raise Beside("not run", seen.stuck)
    return min(ends, key=clock)


def _quiet(seen: Seen, _: str) -> Judged:
    over = clock(_over(seen))
    late = [line for line in seen.all("received", by="child") if clock(line) > over]
    if late:
        return Judged(held=False, actual=f"Afterwards came {late[0]['type']}.")
    calls = [loop(line) for line in seen.lifespans]
    if len(set(calls)) < len(calls):
        return Judged(held=False, actual="Afterwards came another call with the scope.")
    return Judged(held=True, actual="No event came afterwards.")


def _stopped(seen: Seen) -> None:
    if seen.stopped is None:
        raise Beside("not run", f"It could not be told to stop; {seen.end}.")


def _shutdown_once(seen: Seen, _: str) -> Judged:
    seen.first("sent", "lifespan.startup.complete")
    if seen.case.meanwhile[0].verb != "occupy":
        _stopped(seen)
    for call in seen.lifespans:
        if own(seen.all("sent", "lifespan.startup.complete"), call):
            shutdowns = own(seen.all("received", "lifespan.shutdown"), call)
            if len(shutdowns) != 1:
                times = count(len(shutdowns), "time")
                return Judged(held=False, actual=f"Shutdown came {times}; {seen.end}.")
    return Judged(held=True, actual=f"Shutdown came once; {seen.end}.")


def _no_request_after(seen: Seen, _: str) -> Judged:
    seen.first("received", "lifespan.shutdown")
    for shutdown in seen.all("received", "lifespan.shutdown"):
        time = clock(shutdown)
        for call in (line for line in seen.requests if line["pid"] == shutdown["pid"]):
            ends = [line for kind in ("returned", "cancelled", "raised") for line in seen.all(kind)]
            if clock(call) > time:
                return Judged(held=False, actual="A request came after shutdown.")
            if not any(clock(line) < time for line in own(ends, call)):
                actual = f"Shutdown came while a request to {call['path']} was being answered."
                return Judged(held=False, actual=actual)
    return Judged(held=True, actual="No request was there, and none came.")


def _waits(seen: Seen, _: str) -> Judged:
    seen.first("received", "lifespan.shutdown")
    if "hang" in {verb for verb, _ in _script(seen)}:
        return _waits_on(seen)
    answers = {
        among(line, "pid", "call") for line in seen.all("sends", "lifespan.shutdown.complete")
    }
    stopping = seen.all("received", "lifespan.shutdown")
    if any(among(line, "pid", "call") not in answers for line in stopping):
        return Judged(held=False, actual=f"It did not wait; {seen.end}.")
    return Judged(held=True, actual=f"It waited; {seen.end}.")


def _waits_on(seen: Seen) -> Judged:
    since = clock(seen.first("received", "lifespan.shutdown"))
    if seen.ended is None:
        return Judged(held=True, actual=f"It waited still after {seen.told - since:.0f} s.")
    how = f"with status {seen.status}"
    return Judged(held=False, actual=f"It ended {how} after {seen.ended - since:.0f} s.")


def _process_ends(seen: Seen, _: str) -> Judged:
    """Hold that the process ends where it was told to stop, and has said all that it has to."""
    _stopped(seen)
    last = len(seen.case.script) - 1
    if not any(line["step"] == last for line in seen.all("plays")):
        raise Beside("not run", seen.stuck)
    return Judged(seen.ended is not None, f"{seen.end.capitalize()}.")


def _finishes(seen: Seen, _: str) -> Judged:
    seen.first("sent", "lifespan.shutdown.complete")
    return Judged(bool(seen.all("returned", "lifespan")), f"{seen.end.capitalize()}.")


# ---- state -------------------------------------------------------------------------------------


def _namespace(seen: Seen) -> Line:
    """Return the state as the application has made it last."""
    _offered(seen)
    seen.first("kept")
    return seen.all("kept")[-1]


def _copies(seen: Seen, _: str) -> Judged:
    kept = _namespace(seen)
    bodies = [answer.body for answer in seen.answers if answer.body is not None]
    if len(bodies) < len(seen.answers) or not bodies:
        raise Beside("not run", "Not every request was answered.")
    faults = [fault for body in bodies for fault in _of_copy(body, kept)]
    if not faults and bodies[-1]["state"].get("visitors") != ["Ada"]:
        faults = ["A change of a value did not reach the next request."]
    return Judged(not faults, faults[0] if faults else "Each request had a shallow copy.")


def _of_copy(body: Mapping[str, Any], kept: Line) -> list[str]:
    """Return what is wrong about the state of one request."""
    if "state" not in body:
        return ["A request had no state."]
    if body["state_id"] in body["offered"]:
        return ["A request had the state itself, not a copy."]
    if "taste" in body["state"] or body["state"].get("colour", "green") != "green":
        return ["A key that one request set came with another."]
    return [
        f"The {key} of a request is not that of the lifespan."
        for key, value in kept["ids"].items()
        if body["ids"].get(key) != value
    ]


def _late_key(seen: Seen, _: str) -> Judged:
    _namespace(seen)
    bodies = [answer.body for answer in seen.answers if answer.path == "/late" and answer.body]
    if not bodies:
        raise Beside("not run", "No request was answered afterwards.")
    held = "late" in bodies[-1].get("state", {})
    return Judged(held, "It came with later requests." if held else "It did not come.")


def _untouched(seen: Seen, _: str) -> Judged:
    kept = _namespace(seen)
    found = own(seen.all("received", "lifespan.shutdown"), kept)
    if not found:
        raise Beside("not run", "Shutdown was not received.")
    same = among(found[0], "ids", "state_id") == among(kept, "ids", "state_id")
    return Judged(same, f"At shutdown the state was {found[0]['state']}.")


PHRASES: Mapping[str, Callable[[Seen, str], Judged]] = {
    "lifespan scope": _lifespan_scope,
    "versions": _versions,
    "worker numbers": _worker_numbers,
    "namespace": _name_space,
    "empty state": _empty_state,
    "one call": _one_call,
    "same loop": _same_loop,
    "lasts": _lasts,
    "startup first": _startup_first,
    "startup before requests": _startup_before_requests,
    "no request before": _no_request_before,
    "served": _served,
    "not blocked": _not_blocked,
    "survives": _survives,
    "not served": _not_served,
    "exits": _exits,
    "process ends": _process_ends,
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
    "waits": _waits,
    "finishes": _finishes,
    "copies": _copies,
    "late key": _late_key,
    "untouched": _untouched,
}
