"""Judge what was observed of a server in a case."""

import re
import signal

from lifespec.conformance.finding import Outcome
from lifespec.conformance.judge import NotJudged, breaks, either, holds, leaves_open, skip
from lifespec.conformance.log import Line
from lifespec.conformance.server.observed import (
    ENDS,
    FOLDERS,
    NEVER,
    clock,
    disordered,
    in_output,
    short,
    without_tracebacks,
)
from lifespec.conformance.server.scopes import Scopes
from lifespec.diagnosis.fact import Fact, fact

SLACK = 0.4  # seconds in which the end of a connection is noticed, on a busy machine
KEY_ERROR = re.compile(r"[\s|]*KeyError: 'message'\s*")
BEFORE_ANSWER = ("receive", "listen")  # verbs before an application answers startup
# phrases that say something as soon as the application was called
AT_CALL = ("lifespan scope", "versions", "namespace", "empty state", "one call", "startup first")


class OfServer(Scopes):
    """Judge one observation."""

    # ---- phrases: startup ----------------------------------------------------------------------

    def startup_first(self) -> Outcome:
        """Hold if each process had startup first; one of its calls may get no event at all."""
        served = {call.pid for call in self.calls if self.events(call)}
        for call in self.calls:
            types = self.events(call)
            if disordered(types):
                known = types[0] == "lifespan.startup"
                return (leaves_open if known else breaks)("events", events=tuple(types))
            if not types and call.pid not in served:
                return breaks("no-events")
        return either(served, "startup-first")

    def startup_before_requests(self) -> Outcome:
        startup = self.first("received", "lifespan.startup", side=None).time
        early = sum(line.time < startup for line in self.requests)
        return either(not early, "requests-before-startup", count=early)

    def no_request_before(self) -> Outcome:
        self.first("received", "lifespan.startup", side=None)
        early, cut = 0, NEVER
        for call in self.calls:
            startups = self.lines("received", "lifespan.startup", side=None, call=call)
            startup = min(map(clock, startups), default=NEVER)
            answers = self.lines("sends", "lifespan.startup.complete", call=call)
            complete = min(map(clock, answers), default=NEVER)
            requests = (line for line in self.requests if line.pid == call.pid)
            early += sum(startup < line.time < complete for line in requests)
            cut = cut if answers else min(cut, self.cut(call, startup, self.stopped))
        if cut == NEVER:
            return either(not early, "requests-before-answer", count=early)
        if not early:
            return leaves_open("startup-cut", seconds=round(cut), way=self.way)
        return breaks("requests-before-answer-cut", count=early, seconds=round(cut))

    # ---- phrases: serving ----------------------------------------------------------------------

    def answered(self) -> None:
        """Raise NotJudged if the application has not done what decides whether it is served."""
        self.reached(next(at for at, verb in enumerate(self.verbs) if verb not in BEFORE_ANSWER))

    def served(self) -> Outcome:
        self.answered()
        wanted = sum(action.verb == "request" for action in self.case.meanwhile)
        bodies = [answer.body for answer in self.seen.answers]
        if None not in bodies and len(bodies) >= wanted:
            return either(bodies, "served")
        return breaks("not-served" if self.by_itself else "not-served-waits", end=self.end)

    def not_blocked(self) -> Outcome:
        found = self.served()
        if found.how == "broken" and self.by_itself:  # it did not wait, and it did not serve
            skip("not-served", end=self.end)
        return found

    def not_served(self) -> Outcome:
        failed = self.first("sends", "lifespan.startup.failed").time
        late = sum(line.time > failed for line in self.requests)
        return either(not late, "requests-after-failed", count=late, end=self.end)

    def tells(self) -> Outcome:
        """Hold if the output mentions the lifespan or the exception, other than in a path."""
        self.answered()
        if self.by_itself:  # what it writes then is about its own end
            skip("app-not-served", end=self.end)
        raised = (action.text for action in self.case.script if action.verb == "raise")
        named = re.compile(f"(?i)lifespan|{re.escape(next(raised, 'lifespan'))}")
        lines = without_tracebacks(self.seen.output)
        return in_output(next((x for x in lines if named.search(FOLDERS.sub("", x))), ""))

    # ---- phrases: what the application sends ----------------------------------------------------

    def attempt(self) -> Line:
        """Return what became of the event of `try`."""
        step = self.verbs.index("try")
        self.reached(step)
        lines = self.lines("sent") + self.lines("refused")
        return ([line for line in lines if line.step == step] or self.stop())[0]

    def sent(self, line: Line) -> Fact:
        """Return what became of an event."""
        if line.kind == "refused":
            return fact("send-raised", error=line.error, text=short(line.text))
        return fact("send-returned")

    def became(self, line: Line, wanted: str) -> Outcome:
        """Return whether an event was sent, or refused, as wanted."""
        return Outcome("held" if line.kind == wanted else "broken", self.sent(line))

    def taken(self) -> Outcome:
        return self.became(self.attempt(), "sent")

    def refused(self) -> Outcome:
        return self.became(self.attempt(), "refused")

    def survives(self) -> Outcome:
        line = self.attempt()
        if line.kind == "sent":
            raise NotJudged(self.sent(line))
        return self.served()

    def does_nothing(self) -> Outcome:
        lines = self.lines("sent", side="child") + self.lines("refused", side="child")
        return self.became((lines or self.stop())[0], "sent")

    def quiet(self) -> Outcome:
        """Hold if no event comes after the end: only a task that outlives the call can see one."""
        ends = self.lines("raised", "lifespan") + self.lines("returned", "lifespan")
        over = min(map(clock, ends or self.stop()))
        late = [line for line in self.lines("received", side="child") if line.time > over]
        if late:
            return leaves_open("late-event", event=late[0].type)
        return either(ends, "no-late-event")

    def shows(self) -> Outcome:
        steps = enumerate(self.case.script)
        texts = ((step, (it.text, it.keys.get("message"))) for step, it in steps)
        self.reached(next(step for step, of in texts if self.wanted.argument in of))
        return in_output(self.line_with(self.wanted.argument))

    def hides(self) -> Outcome:
        found, line = self.process_ends(), self.line_with(self.wanted.argument)
        return breaks("output", line=short(line)) if line else found

    def as_empty(self) -> Outcome:
        self.finished()
        refused = any(line.error == "KeyError" for line in self.lines("refused"))
        if refused or any(map(KEY_ERROR.fullmatch, without_tracebacks(self.seen.output))):
            return breaks("key-error")
        return holds("no-message-needed", end=self.end)

    # ---- phrases: the end ----------------------------------------------------------------------

    def exits(self) -> Outcome:
        self.first("sends", "lifespan.startup.failed")
        return either(self.by_itself, "end", end=self.end)

    def exit_status(self) -> Outcome:
        """Hold if a supervisor notices the failure.

        A server that ends by the signal that it was sent ends like that without a failure, too.
        """
        self.finished()
        if self.seen.status is None:
            skip("end", end=self.end)
        if self.seen.status in (0, -signal.SIGTERM):
            return breaks("end", end=self.way)
        return holds("noticed", way=self.way)

    def gone(self) -> Outcome:
        self.finished()
        return either(self.seen.ended is not None, "end", end=self.end)

    def was_stopped(self) -> None:
        """Raise NotJudged if the process was not stopped."""
        if self.seen.stopped is None:
            skip("not-stopped", end=self.end)

    def process_ends(self) -> Outcome:
        self.was_stopped()
        return self.gone()

    def shutdown_once(self) -> Outcome:
        occupied = self.case.meanwhile[0].verb == "occupy"
        if occupied and not self.lines("called", "lifespan"):
            skip("port-in-use")
        self.first("sent", "lifespan.startup.complete")
        if not occupied:
            self.was_stopped()
        for call in self.calls:
            if self.lines("sent", "lifespan.startup.complete", call=call):
                cancelled = self.lines("cancelled", call=call)
                if cancelled and cancelled[0].time < (self.seen.stopped or 0):
                    skip("cancelled-before-stop")
                count = len(self.lines("received", "lifespan.shutdown", call=call))
                if count != 1:
                    judged = leaves_open if count else breaks
                    return judged("shutdown-times", count=count, end=self.end)
        return holds("shutdown-once", end=self.end)

    def no_request_after(self) -> Outcome:
        self.first("received", "lifespan.shutdown")

        def ends(request: Line) -> list[Line]:
            return [line for kind in ENDS for line in self.lines(kind, call=request)]

        for shutdown in self.lines("received", "lifespan.shutdown"):
            time = shutdown.time
            for request in (line for line in self.requests if line.pid == shutdown.pid):
                if request.time > time:
                    return breaks("request-after-shutdown")
                if not any(line.time < time for line in ends(request)):
                    return breaks("request-during-shutdown", path=request.path)
        return holds("no-request-at-shutdown")

    def connections_closed(self) -> Outcome:
        """Hold if no call for a request went on at shutdown, and break if its connection was open.

        A server that has closed a connection may let the call for its request run on.
        """
        shutdown = self.first("received", "lifespan.shutdown").time
        if not self.seen.closed:
            skip("no-request")
        for request in self.requests:
            ends = [line.time for kind in ENDS for line in self.lines(kind, call=request)]
            if min(ends, default=NEVER) > shutdown:
                if max(self.seen.closed) > shutdown + SLACK:
                    return breaks("connection-at-shutdown")
                return leaves_open("request-during-shutdown", path=request.path)
        return holds("connections-closed")

    def no_connection_after(self) -> Outcome:
        """Hold if no connection was served while the application handled shutdown.

        The system completes connections to a listening socket even if the server accepts none; the
        specifications are about the server.
        """
        self.first("received", "lifespan.shutdown")
        if "answered" in (self.seen.knocks or self.stop()):
            return breaks("answered-after-shutdown")
        if "unanswered" in self.seen.knocks:
            return leaves_open("connected-after-shutdown")
        return holds("refused-after-shutdown")

    def waits(self) -> Outcome:
        since = self.first("received", "lifespan.shutdown").time
        for call in self.lines("received", "lifespan.shutdown"):
            if not self.lines("sends", "lifespan.shutdown.complete", call=call):
                if (cut := self.cut(call, call.time)) != NEVER:
                    return breaks("clean-up-cut", seconds=round(cut), way=self.way)
                seconds = round(self.seen.last_action - since)
                return holds("waited-still", seconds=seconds)
        return holds("waited", end=self.end)

    def finishes(self) -> Outcome:
        self.first("sent", "lifespan.shutdown.complete")
        if self.lines("returned", "lifespan"):
            return holds("end", end=self.end)
        return breaks("not-returned", end=self.end)
