"""Judge what was observed of a server in a case."""

import re
import signal

from lifespec.conformance.finding import Assessment
from lifespec.conformance.judge import NotJudged, breaks, holds, holds_if, leaves_open, skip
from lifespec.conformance.log import LogLine
from lifespec.conformance.server.observed import (
    LONG_FOLDERS,
    NEVER,
    disordered,
    in_output,
    short,
    time_of,
    without_tracebacks,
)
from lifespec.conformance.server.scopes import Scopes
from lifespec.diagnosis.fact import Fact, fact

SLACK = 0.4  # seconds in which the end of a connection is noticed, on a busy machine
KEY_ERROR = re.compile(r"[\s|]*KeyError: 'message'\s*")
BEFORE_ANSWER = ("receive", "listen")  # verbs before an application answers startup
# phrases that say something as soon as the application was called
AT_CALL = ("lifespan scope", "versions", "namespace", "empty state", "one call", "startup first")


class ServerJudge(Scopes):
    """Judge one observation."""

    # ---- phrases: startup ----------------------------------------------------------------------

    def startup_first(self) -> Assessment:
        """Hold if each process had startup first; one of its calls may get no event at all."""
        served = {call.pid for call in self.calls if self.events(call)}
        for call in self.calls:
            types = self.events(call)
            if disordered(types):
                if types[0] == "lifespan.startup":  # it came twice, which no specification forbids
                    return leaves_open("events", events=tuple(types))
                return breaks("events", events=tuple(types))
            if call.pid not in served:
                return breaks("no-events")
        return holds("startup-first")

    def startup_before_requests(self) -> Assessment:
        startup = self.first("received", "lifespan.startup", side=None).time
        early = sum(line.time < startup for line in self.requests)
        return holds_if(not early, "requests-before-startup", count=early)

    def no_request_before(self) -> Assessment:
        self.first("received", "lifespan.startup", side=None)
        early = 0
        cut = NEVER
        for call in self.calls:
            startups = self.lines("received", "lifespan.startup", side=None, call=call)
            startup = min(map(time_of, startups), default=NEVER)
            complete = self.startup_answered(call)
            for request in self.requests:  # each worker has a startup of its own
                if request.pid == call.pid and startup < request.time < complete:
                    early += 1
            if complete == NEVER:
                cut = min(cut, self.cut_after(call, startup, self.stopped))
        if cut == NEVER:
            return holds_if(not early, "requests-before-answer", count=early)
        if not early:
            return leaves_open("startup-cut", seconds=round(cut), way=self.way)
        return breaks("requests-before-answer-cut", count=early, seconds=round(cut))

    # ---- phrases: serving ----------------------------------------------------------------------

    def need_answer(self) -> None:
        """Raise NotJudged if the application has not done what decides whether it is served."""
        step = 0
        while self.verbs[step] in BEFORE_ANSWER:
            step += 1
        self.need_step(step)

    def served(self) -> Assessment:
        self.need_answer()
        wanted = [action for action in self.case.meanwhile if action.verb == "request"]
        bodies = [answer.body for answer in self.seen.answers]
        if None not in bodies and len(bodies) >= len(wanted):
            return holds("served")
        if self.by_itself:
            return breaks("not-served", end=self.end)
        return breaks("not-served-waits", end=self.end)

    def not_blocked(self) -> Assessment:
        served = self.served()
        if served.how == "broken" and self.by_itself:  # it did not wait, and it did not serve
            skip("not-served", end=self.end)
        return served

    def not_served(self) -> Assessment:
        failed = self.first("sends", "lifespan.startup.failed").time
        late = sum(line.time > failed for line in self.requests)
        return holds_if(not late, "requests-after-failed", count=late, end=self.end)

    def tells(self) -> Assessment:
        """Hold if the output mentions the lifespan, as the exception does, other than in a path."""
        self.need_answer()
        if self.by_itself:  # what it writes then is about its own end
            skip("app-not-served", end=self.end)
        for line in without_tracebacks(self.seen.output):
            text = LONG_FOLDERS.sub("", line)  # the probe's own folder is named like that
            if "lifespan" in text.lower():
                return in_output(line)
        return in_output("")

    # ---- phrases: what the application sends ----------------------------------------------------

    def attempt(self) -> LogLine:
        """Return what became of the event of `try`."""
        step = self.verbs.index("try")
        self.need_step(step)
        for line in self.lines("sent") + self.lines("refused"):
            if line.step == step:
                return line
        return self.give_up()

    def sent(self, line: LogLine) -> Fact:
        """Return what became of an event."""
        if line.kind == "refused":
            return fact("send-raised", error=line.error, text=short(line.text))
        return fact("send-returned")

    def became(self, line: LogLine, wanted: str) -> Assessment:
        """Return whether an event was sent, or refused, as wanted."""
        return Assessment("held" if line.kind == wanted else "broken", self.sent(line))

    def taken(self) -> Assessment:
        return self.became(self.attempt(), "sent")

    def refused(self) -> Assessment:
        return self.became(self.attempt(), "refused")

    def survives(self) -> Assessment:
        line = self.attempt()
        if line.kind == "sent":
            raise NotJudged(self.sent(line))
        return self.served()

    def does_nothing(self) -> Assessment:
        lines = self.lines("sent", side="child") + self.lines("refused", side="child")
        return self.became(self.needed(lines)[0], "sent")

    def quiet(self) -> Assessment:
        """Hold if no event comes after the end: only a task that outlives the call can see one."""
        ends = self.lines("raised", "lifespan") + self.lines("returned", "lifespan")
        over = min(map(time_of, self.needed(ends)))
        for line in self.lines("received", side="child"):
            if line.time > over:
                return leaves_open("late-event", event=line.type)
        return holds("no-late-event")

    def shows(self) -> Assessment:
        wanted = self.wanted.argument
        texts = [(action.text, action.keys.get("message")) for action in self.case.script]
        has_text = [wanted in of_action for of_action in texts]
        self.need_step(has_text.index(True))  # the step that has the text to be shown
        return in_output(self.line_with(wanted))

    def hides(self) -> Assessment:
        outcome = self.process_ends()  # before it has ended, the output may not be all of it
        line = self.line_with(self.wanted.argument)
        if line:
            return breaks("output", line=short(line))
        return outcome

    def as_empty(self) -> Assessment:
        self.need_whole_script()
        if any(line.error == "KeyError" for line in self.lines("refused")):
            return breaks("key-error")
        # a server may catch it in its own task, where the application does not see it
        for text in without_tracebacks(self.seen.output):
            if KEY_ERROR.fullmatch(text):
                return breaks("key-error")
        return holds("no-message-needed", end=self.end)

    # ---- phrases: the end ----------------------------------------------------------------------

    def exits(self) -> Assessment:
        self.first("sends", "lifespan.startup.failed")
        return holds_if(self.by_itself, "end", end=self.end)

    def exit_status(self) -> Assessment:
        """Hold if a supervisor notices the failure.

        A server that ends by the signal that it was sent ends like that without a failure, too.
        """
        self.need_whole_script()
        if self.seen.status is None:
            skip("end", end=self.end)
        if self.seen.status in (0, -signal.SIGTERM):
            return breaks("end", end=self.way)
        return holds("noticed", way=self.way)

    def gone(self) -> Assessment:
        self.need_whole_script()
        return holds_if(self.seen.ended is not None, "end", end=self.end)

    def need_stop(self) -> None:
        """Raise NotJudged if the process was not stopped."""
        if self.seen.stopped is None:
            skip("not-stopped", end=self.end)

    def process_ends(self) -> Assessment:
        self.need_stop()
        return self.gone()

    def shutdown_once(self) -> Assessment:
        occupied = self.case.meanwhile[0].verb == "occupy"
        # a server may look for its port first, and call nothing if another program has it
        if occupied and not self.lines("called", "lifespan"):
            skip("port-in-use")
        self.first("sent", "lifespan.startup.complete")
        if not occupied:  # else it ends by itself, and has to clean up all the same
            self.need_stop()
        for call in self.calls:
            # who has not started has nothing to clean up
            if not self.lines("sent", "lifespan.startup.complete", call=call):
                continue
            for cancelled in self.lines("cancelled", call=call):
                if cancelled.time < self.stopped < NEVER:
                    skip("cancelled-before-stop")
            count = len(self.lines("received", "lifespan.shutdown", call=call))
            if count == 0:
                return breaks("shutdown-times", count=count, end=self.end)
            if count > 1:
                return leaves_open("shutdown-times", count=count, end=self.end)
        return holds("shutdown-once", end=self.end)

    def no_request_after(self) -> Assessment:
        self.first("received", "lifespan.shutdown")
        for shutdown in self.lines("received", "lifespan.shutdown"):
            for request in self.requests:
                if request.pid != shutdown.pid:  # of another worker
                    continue
                if request.time > shutdown.time:
                    return breaks("request-after-shutdown")
                if self.end_of(request) >= shutdown.time:
                    return breaks("request-during-shutdown", path=request.path)
        return holds("no-request-at-shutdown")

    def connections_closed(self) -> Assessment:
        """Hold if no call for a request went on at shutdown, and break if its connection was open.

        A server that has closed a connection may let the call for its request run on.
        """
        shutdown = self.first("received", "lifespan.shutdown").time
        if not self.seen.closed:
            skip("no-request")
        for request in self.requests:
            if self.end_of(request) <= shutdown:
                continue
            if max(self.seen.closed) > shutdown + SLACK:
                return breaks("connection-at-shutdown")
            return leaves_open("request-during-shutdown", path=request.path)
        return holds("connections-closed")

    def no_connection_after(self) -> Assessment:
        """Hold if no connection was served while the application handled shutdown.

        The system completes connections to a listening socket even if the server accepts none; the
        specifications are about the server.
        """
        self.first("received", "lifespan.shutdown")
        if not self.seen.knocks:
            self.give_up()
        if "answered" in self.seen.knocks:
            return breaks("answered-after-shutdown")
        if "unanswered" in self.seen.knocks:
            return leaves_open("connected-after-shutdown")
        return holds("refused-after-shutdown")

    def waits(self) -> Assessment:
        since = self.first("received", "lifespan.shutdown").time
        for call in self.lines("received", "lifespan.shutdown"):
            if self.lines("sends", "lifespan.shutdown.complete", call=call):
                continue
            cut = self.cut_after(call, call.time)
            if cut != NEVER:
                return breaks("clean-up-cut", seconds=round(cut), way=self.way)
            seconds = round(self.seen.last_action - since)
            return holds("waited-still", seconds=seconds)
        return holds("waited", end=self.end)

    def finishes(self) -> Assessment:
        self.first("sent", "lifespan.shutdown.complete")
        if self.lines("returned", "lifespan"):
            return holds("end", end=self.end)
        return breaks("not-returned", end=self.end)
