"""What phrases mean about that which a server offers: scope, event loop, state.

As in `assertions.py`, a function says whether its phrase holds, and what was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lifespec.conformance.server.observation import (
    REQUESTS,
    Beside,
    Result,
    among,
    clock,
    count,
    loop,
    own,
)
from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lifespec.conformance.server.observation import Line, ServerObservation

__all__ = ["OFFERED"]


# ---- the scope, and where it comes -------------------------------------------------------------


def _lifespan_scope(seen: ServerObservation, _: str) -> Result:
    known = ("lifespan", *REQUESTS)
    others = [line for line in seen.all("called") if line["type"] not in known]
    if others:
        return Result(held=False, actual=f"A scope had the type {others[0]['type']!r}.")
    return Result(held=True, actual=f"{count(len(seen.lifespans), 'lifespan')}.")


def _versions(seen: ServerObservation, _: str) -> Result:
    scope = seen.lifespans[0]["scope"]
    spec = SPECS[seen.spec]
    box = scope.get(spec.envelope)
    if not isinstance(box, dict) or "!" in box:
        return Result(held=False, actual=f"The scope has the {spec.envelope} {box!r}.")
    default = dict.fromkeys(spec.optional, "")
    held = all(isinstance((default | box).get(key), str) for key in spec.versions)
    return Result(held, f"{spec.envelope} is {box}.")


def _worker_numbers(seen: ServerObservation, _: str) -> Result:
    boxes = [call["scope"].get("pagi") for call in seen.lifespans]
    if not all(isinstance(box, dict) for box in boxes):
        raise Beside("The scope is none of PAGI.")
    told = [(box.get("is_worker"), box.get("worker_num")) for box in boxes]
    numbers = [number for _, number in told if number is not None]
    right = all(_of_worker(*each) or _of_nobody(*each, seen.case.workers) for each in told)
    actual = "; ".join(sorted(f"is_worker {worker}, worker_num {n}" for worker, n in told))
    return Result(right and len({*numbers}) == len(numbers), f"{actual}.")


def _of_worker(worker: object, number: object) -> bool:
    return worker == 1 and (number is None or (isinstance(number, int) and number > 0))


def _of_nobody(worker: object, number: object, workers: int) -> bool:
    """Whether this says nothing of a worker: one of several can be no 0."""
    return number is None and (worker is None or (worker == 0 and workers == 1))


def _offered(seen: ServerObservation) -> Any:
    """Return the state that the first lifespan was offered."""
    scope = seen.lifespans[0]["scope"]
    if "state" not in scope:
        raise Beside("The server offers no state.")
    return scope["state"]


def _name_space(seen: ServerObservation, _: str) -> Result:
    state = _offered(seen)
    held = isinstance(state, dict) and bool(state.get("mutable", "!" not in state))
    return Result(held, f"The state was {state}.")


def _empty_state(seen: ServerObservation, _: str) -> Result:
    state = _offered(seen)
    if not isinstance(state, dict):
        raise Beside(f"The state was {state}, no namespace.")
    return Result(not state.get("holds", state), f"The state was {state}.")


def _one_call(seen: ServerObservation, _: str) -> Result:
    """Hold that no loop has two calls, and no process serves without one; see "same loop"."""
    calls = [loop(line) for line in seen.all("called") if line["type"] not in REQUESTS]
    serving = {line["pid"] for line in seen.requests}
    enough = serving <= {pid for pid, *_ in calls} and len(calls) >= seen.case.workers
    lifespans, served = count(len(calls), "lifespan"), count(len(serving), "process", "processes")
    if enough and len(set(calls)) == len(calls):
        return Result(held=True, actual=f"{lifespans}; each process that served had its own.")
    return Result(held=False, actual=f"{lifespans}, {served} that served.")


def _same_loop(seen: ServerObservation, _: str) -> Result:
    loops = {loop(line) for line in seen.lifespans}
    elsewhere = [line for line in seen.requests if loop(line) not in loops]
    if not seen.requests:
        raise Beside("No request reached the application.")
    if elsewhere:
        what = _differs(elsewhere[0], seen.lifespans[0])
        return Result(held=False, actual=f"A request came in another {what}.")
    return Result(held=True, actual="All requests came in an event loop that has a lifespan.")


def _differs(one: Line, other: Line) -> str:
    keys = {"pid": "process", "thread": "thread", "loop": "event loop"}
    return next(word for key, word in keys.items() if one[key] != other[key])


def _lasts(seen: ServerObservation, _: str) -> Result:
    """Hold that the server breaks no call off before it is told to stop."""
    told = seen.stopped or float("inf")
    seen.first("called", "lifespan")
    if any(clock(end) < told for end in seen.all("cancelled", "lifespan")):
        return Result(held=False, actual="The call was broken off while the server served.")
    return Result(held=True, actual="The call was not broken off.")


# ---- state -------------------------------------------------------------------------------------


def _namespace(seen: ServerObservation) -> Line:
    """Return the state of the first lifespan, as the application has made it last."""
    _offered(seen)
    return own(seen.all("kept"), seen.first("kept"))[-1]


def _copies(seen: ServerObservation, _: str) -> Result:
    if seen.hindrance:
        raise Beside(seen.hindrance)
    _namespace(seen)
    begun = clock(seen.first("sends", "lifespan.startup.complete"))
    bodies = [each.body for each in seen.answers if each.asked > begun and each.body is not None]
    if not bodies:
        raise Beside("No request was answered.")
    faults = [fault for body in bodies for fault in _of_copy(body, seen)]
    changed = any(each.path.startswith("/append") for each in seen.answers if each.body)
    if changed and not faults and bodies[-1]["state"].get("visitors") != ["Ada"]:
        faults = ["A change of a value did not reach the next request."]
    return Result(not faults, faults[0] if faults else "Each request had a shallow copy.")


def _of_copy(body: Mapping[str, Any], seen: ServerObservation) -> list[str]:
    """Return what is wrong about the state of one request."""
    if "state" not in body:
        return ["A request had no state."]
    if body["state_id"] in body["offered"]:
        return ["A request had the state itself, not a copy."]
    if "taste" in body["state"] or body["state"].get("colour", "green") != "green":
        return ["A key that one request set came with another."]
    values = {key: body["ids"].get(key) for key in _namespace(seen)["ids"]}
    if any(values == line["ids"] for line in seen.all("kept")):
        return []
    return ["The values of a request are not those of a lifespan."]


def _late_key(seen: ServerObservation, _: str) -> Result:
    if "late" not in _namespace(seen)["state"]:
        seen.beside()
    bodies = [answer.body for answer in seen.answers if answer.path == "/late" and answer.body]
    if not bodies:
        raise Beside("No request was answered afterwards.")
    held = "late" in bodies[-1].get("state", {})
    return Result(held, "It came with later requests." if held else "It did not come.")


def _untouched(seen: ServerObservation, _: str) -> Result:
    kept = _namespace(seen)
    found = own(seen.all("received", "lifespan.shutdown"), kept)
    if not found:
        raise Beside("Shutdown was not received.")
    if any(each.body and each.body.get("state_id") == kept["state_id"] for each in seen.answers):
        raise Beside("Requests had the state itself, and have changed it.")
    same = among(found[0], "ids", "state_id") == among(kept, "ids", "state_id")
    return Result(same, f"At shutdown the state was {found[0]['state']}.")


OFFERED: Mapping[str, Callable[[ServerObservation, str], Result]] = {
    "lifespan scope": _lifespan_scope,
    "versions": _versions,
    "worker numbers": _worker_numbers,
    "namespace": _name_space,
    "empty state": _empty_state,
    "one call": _one_call,
    "same loop": _same_loop,
    "lasts": _lasts,
    "copies": _copies,
    "late key": _late_key,
    "untouched": _untouched,
}
