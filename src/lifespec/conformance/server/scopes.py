"""Judge the scope, the event loop and the state that an application has from a server."""

from collections.abc import Mapping, Sequence
from itertools import combinations, starmap
from typing import Any

from lifespec.conformance.finding import Outcome
from lifespec.conformance.judge import NotJudged, breaks, either, leaves_open, skip
from lifespec.conformance.log import REQUESTS, Line
from lifespec.conformance.server.observed import ENDS, NEVER, Observed, clock
from lifespec.validate import SPECS


class Scopes(Observed):
    """The phrases about scopes and state."""

    # ---- phrases: the scope, and the event loop -------------------------------------------------

    def lifespan_scope(self) -> Outcome:
        for line in self.lines("called"):
            if line.type not in ("lifespan", *REQUESTS):
                return breaks("scope-type", type=repr(line.type))
        return either(self.calls, "lifespan-scopes", count=len(self.calls))

    def versions(self) -> Outcome:
        spec, held = SPECS[self.seen.spec], False
        versions = self.calls[0].event.get(spec.envelope)
        if isinstance(versions, dict) and "!" not in versions:
            whole = dict.fromkeys(spec.optional, "") | versions
            held = all(isinstance(whole.get(key), str) for key in spec.versions)
        return either(held, "versions", key=spec.envelope, value=str(versions))

    def scope_state(self) -> Any:
        """Return the state of the first scope; raise NotJudged if it has none."""
        scope = self.calls[0].event
        if "state" not in scope:
            skip("no-state")
        return scope["state"]

    def namespace(self) -> Outcome:
        state = self.scope_state()
        held = isinstance(state, dict) and state.get("mutable", "!" not in state)
        return either(held, "state", state=str(state))

    def empty_state(self) -> Outcome:
        state = self.scope_state()
        if not isinstance(state, dict):
            skip("state", state=str(state))
        return either(not state.get("holds", state), "state", state=str(state))

    def one_call(self) -> Outcome:
        """Hold if no event loop has two calls, and no process serves without one."""
        loops = [line.place for line in self.lines("called") if line.type not in REQUESTS]
        serving = {line.pid for line in self.requests}
        enough = serving <= {pid for pid, *_ in loops} and len(loops) >= self.case.workers
        if enough and len(set(loops)) == len(loops):
            return either(loops, "calls", count=len(loops))
        return breaks("calls-and-processes", count=len(loops), serving=len(serving))

    def same_loop(self) -> Outcome:
        calls = self.calls
        loops = {line.place for line in calls}
        if not self.requests:
            skip("no-request")
        for request in self.requests:
            if request.place not in loops:
                places = ("pid", "thread", "loop")
                differs = next(
                    key for key in places if getattr(request, key) != getattr(calls[0], key)
                )
                return breaks(f"other-{differs}" if calls[0].loop else "no-loop")
        return either(loops, "same-loop")

    def lasts(self) -> Outcome:
        """Hold if no loop has two calls, and the server cancels none before it is stopped.

        Whether a loop that serves again has another lifespan is an open question.
        """
        if len({each.place for each in self.calls}) < len(self.calls):
            overlap = any(starmap(self._running, combinations(self.calls, 2)))
            judged = breaks if overlap else leaves_open
            return judged("calls-in-a-loop", count=len(self.calls))
        cancelled = self.lines("cancelled", "lifespan") if self.calls else []
        if any(line.time < self.stopped for line in cancelled):
            return breaks("cancelled-early")
        return either(self.calls, "not-cancelled")

    def _running(self, call: Line, other: Line) -> bool:
        """Return whether a call had not ended when another one began in its event loop."""
        ends = (line for kind in ENDS for line in self.lines(kind, "lifespan", call=call))
        return call.place == other.place and min(map(clock, ends), default=NEVER) > other.time

    # ---- phrases: state ------------------------------------------------------------------------

    def app_state(self) -> Line:
        """Return the state of the first lifespan, as the application left it."""
        self.scope_state()
        return self.lines("kept", call=self.first("kept"))[-1]

    def copies(self) -> Outcome:
        if self.seen.unusable:
            raise NotJudged(self.seen.unusable)
        state, answers = self.app_state(), self.seen.answers
        begun = self.first("sends", "lifespan.startup.complete").time
        bodies = [each.body for each in answers if each.sent > begun and each.body is not None]
        if not bodies:
            skip("no-request-answered")
        values = [line.ids for line in self.lines("kept")]
        fault = next(filter(None, (_fault_of_copy(body, state, values) for body in bodies)), "")
        changed = any(each.path.startswith("/append") for each in answers if each.body)
        if changed and not fault and bodies[-1]["state"].get("visitors") != ["Ada"]:
            fault = "change-lost"
        return either(not fault, fault or "copies")

    def late_key(self) -> Outcome:
        if "late" not in self.app_state().state:
            self.stop()
        bodies = [each.body for each in self.seen.answers if each.path == "/late" and each.body]
        if not bodies:
            skip("no-request-answered")
        came = "late" in bodies[-1].get("state", {})
        return either(came, "late-key" if came else "no-late-key")

    def untouched(self) -> Outcome:
        kept, answers = self.app_state(), self.seen.answers
        found = self.lines("received", "lifespan.shutdown", call=kept)
        if not found:
            skip("no-shutdown")
        if any(each.body and each.body.get("state_id") == kept.state_id for each in answers):
            skip("changed-by-requests")
        same = (found[0].ids, found[0].state_id) == (kept.ids, kept.state_id)
        return either(same, "state-at-shutdown", state=str(found[0].state))


def _fault_of_copy(body: Mapping[str, Any], state: Line, values: Sequence[Any]) -> str:
    """Return what is wrong with the state of one request, or ""."""
    if "state" not in body:
        return "request-without-state"
    if body["state_id"] in body["offered"]:
        return "state-itself"
    if "taste" in body["state"] or body["state"].get("colour", "green") != "green":
        return "key-of-another-request"
    found = {key: body["ids"].get(key) for key in state.ids}
    return "" if found in values else "other-values"
