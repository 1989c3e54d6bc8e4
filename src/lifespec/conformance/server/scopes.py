"""Judge the scope, the event loop and the state that an application has from a server."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from lifespec.conformance.finding import Assessment
from lifespec.conformance.judge import NotJudged, breaks, holds, holds_if, leaves_open, skip
from lifespec.conformance.log import REQUESTS, LogLine
from lifespec.conformance.server.observed import Observed
from lifespec.validate import SPECS, Spec


class Scopes(Observed):
    """The phrases about scopes and state."""

    # ---- phrases: the scope, and the event loop -------------------------------------------------

    def lifespan_scope(self) -> Assessment:
        for line in self.lines("called"):
            if line.type == "lifespan":
                continue
            if line.type not in REQUESTS:
                return breaks("scope-type", type=repr(line.type))
        return holds("lifespan-scopes", count=len(self.calls))

    def versions(self) -> Assessment:
        spec = SPECS[self.seen.spec]
        versions = self.calls[0].event.get(spec.envelope)
        held = _has_versions(versions, spec)
        return holds_if(held, "versions", key=spec.envelope, value=str(versions))

    def scope_state(self) -> Any:
        """Return the state of the first scope; raise NotJudged if it has none."""
        scope = self.calls[0].event
        if "state" not in scope:
            skip("no-state")
        return scope["state"]

    def namespace(self) -> Assessment:
        state = self.scope_state()
        # a mapping that is no dict has its own word for this in what the probe notes
        held = isinstance(state, dict) and state.get("mutable", "!" not in state)
        return holds_if(held, "state", state=str(state))

    def empty_state(self) -> Assessment:
        state = self.scope_state()
        if not isinstance(state, dict):
            skip("state", state=str(state))
        return holds_if(not state.get("holds", state), "state", state=str(state))

    def one_call(self) -> Assessment:
        """Hold if no event loop has two calls, and no process serves without one."""
        # scopes of any type that is no request's: one with a wrong type stands for a lifespan
        calls = [line for line in self.lines("called") if line.type not in REQUESTS]
        serving = {line.pid for line in self.requests}
        each_has_one = serving <= {call.pid for call in calls}
        none_has_two = len({call.place for call in calls}) == len(calls)
        if each_has_one and none_has_two and len(calls) >= self.case.workers:
            return holds("calls", count=len(calls))
        return breaks("calls-and-processes", count=len(calls), serving=len(serving))

    def same_loop(self) -> Assessment:
        calls = self.calls
        loops = {line.place for line in calls}
        if not self.requests:
            skip("no-request")
        for request in self.requests:
            if request.place in loops:
                continue
            if not calls[0].loop:
                return breaks("no-loop")
            if request.pid != calls[0].pid:
                return breaks("other-pid")
            if request.thread != calls[0].thread:
                return breaks("other-thread")
            return breaks("other-loop")
        return holds("same-loop")

    def lasts(self) -> Assessment:
        """Hold if no loop has two calls, and the server cancels none before it is stopped.

        Whether a loop that serves again has another lifespan is an open question.
        """
        calls = self.calls
        if len({call.place for call in calls}) < len(calls):
            for call, later in combinations(calls, 2):
                if call.place == later.place and self.end_of(call) > later.time:
                    return breaks("calls-in-a-loop", count=len(calls))
            return leaves_open("calls-in-a-loop", count=len(calls))
        for cancelled in self.lines("cancelled", "lifespan"):
            if cancelled.time < self.stopped:
                return breaks("cancelled-early")
        return holds("not-cancelled")

    # ---- phrases: state ------------------------------------------------------------------------

    def app_state(self) -> LogLine:
        """Return the state of the first lifespan, as the application left it."""
        self.scope_state()
        return self.lines("kept", call=self.first("kept"))[-1]

    def copies(self) -> Assessment:
        if self.seen.unusable:
            raise NotJudged(self.seen.unusable)
        state, answers = self.app_state(), self.seen.answers
        begun = self.first("sends", "lifespan.startup.complete").time
        bodies = []
        for answer in answers:
            # what was sent before may have been answered with a copy of an unfinished state
            if answer.body is not None and answer.sent > begun:
                bodies.append(answer.body)
        if not bodies:
            skip("no-request-answered")
        values = [line.ids for line in self.lines("kept")]
        for body in bodies:
            fault = _fault_of_copy(body, state, values)
            if fault:
                return breaks(fault)
        # a copy is shallow: what a request appends to a list, the next one sees
        for answer in answers:
            if answer.body is None or not answer.path.startswith("/append"):
                continue
            if bodies[-1]["state"].get("visitors") != ["Ada"]:
                return breaks("change-lost")
        return holds("copies")

    def late_key(self) -> Assessment:
        if "late" not in self.app_state().state:
            self.give_up()
        body = None
        for answer in self.seen.answers:
            if answer.path == "/late" and answer.body:
                body = answer.body
        if body is None:
            skip("no-request-answered")
        if "late" in body.get("state", {}):
            return holds("late-key")
        return breaks("no-late-key")

    def untouched(self) -> Assessment:
        kept = self.app_state()
        shutdowns = self.lines("received", "lifespan.shutdown", call=kept)
        if not shutdowns:
            skip("no-shutdown")
        bodies = [answer.body for answer in self.seen.answers if answer.body]
        if any(body.get("state_id") == kept.state_id for body in bodies):
            skip("changed-by-requests")
        at_shutdown = shutdowns[0]
        same = (at_shutdown.ids, at_shutdown.state_id) == (kept.ids, kept.state_id)
        return holds_if(same, "state-at-shutdown", state=str(at_shutdown.state))


def _has_versions(versions: object, spec: Spec) -> bool:
    """Tell whether a scope has the versions that a specification asks for, each a text."""
    # the probe notes what is no dict with text as keys as an object with the key "!"
    if not isinstance(versions, dict) or "!" in versions:
        return False
    for key in spec.versions:
        if key not in versions:
            if key not in spec.optional:
                return False
        elif not isinstance(versions[key], str):
            return False
    return True


def _fault_of_copy(body: Mapping[str, Any], state: LogLine, values: Sequence[Any]) -> str:
    """Return what is wrong with the state of one request, or ""."""
    if "state" not in body:
        return "request-without-state"
    # the probe keeps the states of its lifespans, so that no other object has their identity
    if body["state_id"] in body["offered"]:
        return "state-itself"
    # requests before it have set `taste`, and another colour
    if "taste" in body["state"] or body["state"].get("colour", "green") != "green":
        return "key-of-another-request"
    ids = {key: body["ids"].get(key) for key in state.ids}
    if ids not in values:
        return "other-values"
    return ""
