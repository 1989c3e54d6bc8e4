"""Judge what was observed in a case: each phrase that a case can expect is a method.

A method returns whether its phrase holds, and a fact about what was observed.  It raises NotJudged
if the sequence did not come so far that the phrase says anything: so a report names the rule that a
server breaks, and not all rules that follow.
"""

import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, starmap
from typing import Any, NoReturn

from lifespec.conformance.finding import How, Outcome
from lifespec.conformance.processes import SIGNALLED
from lifespec.conformance.server.play import REQUESTS, Line, Observation
from lifespec.diagnosis.fact import Fact, fact
from lifespec.validate import SPECS
from lifespec.words import Told

NEVER = float("inf")
LONGEST = 160  # characters of what a server wrote
FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/){2,}")  # long, and of one machine
MARGIN = " \t|+-"  # the margin of a traceback of an exception group
FRAME = re.compile(r'[\s|+-]*File ".*", line \d+, in ')
HEAD = re.compile(r"Traceback \(most recent call last\):|^[\s|+-]+$")
KEY_ERROR = re.compile(r"[\s|]*KeyError: 'message'\s*")
BEFORE_ANSWER = ("receive", "state", "listen")  # verbs before an application answers startup
ENDS = "returned", "cancelled", "raised"  # of a call
# phrases that say something as soon as the application was called
AT_CALL = ("lifespan scope", "versions", "namespace", "empty state", "one call", "startup first")


class NotJudged(Told):
    """A phrase says nothing about this sequence; `fact` says why."""


def clock(line: Line) -> float:
    """Return when a line was noted."""
    return float(line["time"])


def without_tracebacks(output: str) -> Iterator[str]:
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


def short(text: str) -> str:
    """Return a text of a server without folders, cut at a word if it is long."""
    text = FOLDERS.sub("…/", text.strip())
    begin = text[:LONGEST]
    return text if text == begin else f"{begin.rpartition(' ')[0] or begin} …"


def _in_output(line: str) -> Outcome:
    return _either(line, "output", line=short(line)) if line else _broken("not-in-output")


def _found(how: How, kind: str, /, **parts: Any) -> Outcome:
    return Outcome(how, fact(kind, **parts))


_held, _broken = partial(_found, "held"), partial(_found, "broken")
_unspecified = partial(_found, "unspecified")


def _either(held: object, kind: str, /, **parts: Any) -> Outcome:
    return _found("held" if held else "broken", kind, **parts)


def _skip(kind: str, /, **parts: Any) -> NoReturn:
    raise NotJudged(fact(kind, **parts))


def _loop(line: Line) -> tuple[Any, ...]:
    """Return the event loop in which a line was noted."""
    return line["pid"], line["thread"], line["loop"]


def _disordered(types: Sequence[str]) -> bool:
    return types[:1] not in ([], ["lifespan.startup"]) or types.count("lifespan.startup") > 1


class Judge:
    """Judge one observation; `argument` is the text that follows a phrase in a case."""

    def __init__(self, seen: Observation, argument: str = "") -> None:
        self.seen, self.case, self.text = seen, seen.case, argument
        self.verbs = [action.verb for action in seen.case.script]
        self.requests = [line for line in self.lines("called") if line["type"] in REQUESTS]
        self.stopped = NEVER if seen.stopped is None else seen.stopped
        self.by_call: dict[tuple[int, int], list[Line]] = {}  # a server may call very often
        for line in seen.lines:
            self.by_call.setdefault((line["pid"], line["call"]), []).append(line)

    def judge(self, phrase: str) -> Outcome:
        """Return whether a phrase holds of what was observed.

        It holds only if the script was played to its end: a sequence that ended early shows
        nothing.
        """
        try:
            found = self.outcome(phrase)
            if found.how == "held":
                self.finished()
        except NotJudged as reason:
            return Outcome("skip", reason.fact)
        return found

    def outcome(self, phrase: str) -> Outcome:
        """Return what the method of a phrase says."""
        found: Outcome = getattr(self, phrase.replace(" ", "_"))()
        return found

    # ---- the log of the probe ------------------------------------------------------------------

    def lines(
        self, kind: str, type_: str | None = None, by: str | None = "", call: Line | None = None
    ) -> list[Line]:
        """Return the lines of a kind, a type and a call.

        Of a task of the application if `by` is "child", of all if it is None.
        """
        lines = self.by_call[call["pid"], call["call"]] if call else self.seen.lines
        return [
            line
            for line in lines
            if line["kind"] == kind
            and type_ in (None, line.get("type"))
            and by in (None, line.get("by", ""))
        ]

    def first(self, kind: str, type_: str | None = None, by: str | None = "") -> Line:
        """Return the first of these lines; raise NotJudged if there is none."""
        return min(self.lines(kind, type_, by) or self.stop(), key=clock)

    @property
    def calls(self) -> list[Line]:
        """The calls with a lifespan scope; raises NotJudged if there is none."""
        return self.lines("called", "lifespan") or self.stop()

    def events(self, call: Line) -> list[str]:
        """Return the types of the events that a call received, also in its tasks."""
        received = self.lines("received", by=None, call=call)
        return [line["type"] for line in sorted(received, key=clock)]

    def misled(self) -> bool:
        """Return whether startup was not the first event, or came twice."""
        return any(_disordered(self.events(call)) for call in self.lines("called", "lifespan"))

    def progress(self) -> Fact:
        """Return how far the application has come."""
        if not self.lines("called", "lifespan"):
            return fact("no-lifespan-call")
        last = max((line for line in self.seen.lines if line["call"]), key=clock)
        return fact("progress", last=f"{last['kind']} {last.get('type') or ''}".rstrip())

    def stop(self) -> list[Line]:
        """Raise NotJudged: the sequence has not come so far."""
        raise NotJudged(self.progress())

    def reached(self, step: int) -> None:
        """Raise NotJudged if the script did not come to a step."""
        if not any(line["step"] == step for line in self.lines("plays")):
            line, progress = self.case.lines[step], self.progress()
            _skip("not-reached", number=step + 1, line=line, progress=progress)

    def finished(self) -> None:
        """Raise NotJudged if the script did not come to its last step."""
        self.reached(len(self.verbs) - 1)

    # ---- the end and the output of the process --------------------------------------------------

    @property
    def way(self) -> Fact:
        """In which way the process ended."""
        if self.seen.status is not None and self.seen.status < 0:
            number = -self.seen.status
            name = next((each.name for each in signal.Signals if each == number), f"{number}")
            return fact("ended-by-signal", status=SIGNALLED + number, name=name)
        return fact("ended-with-status", status=self.seen.status)

    @property
    def end(self) -> Fact:
        """How the process ended, and after how many seconds."""
        seen = self.seen
        if seen.ended is None:
            return fact("remained", seconds=seen.timeout)
        if seen.stopped is None:
            return self.way
        seconds = round(max(seen.ended - seen.last_action, 0), 1)
        return fact("ended-after", way=self.way, seconds=seconds)

    @property
    def by_itself(self) -> bool:
        """Whether the process ended before it was stopped."""
        return self.seen.ended is not None and self.seen.stopped is None

    def line_with(self, text: str) -> str:
        """Return the first line of the output with a text, or ""."""
        return next((line for line in without_tracebacks(self.seen.output) if text in line), "")

    def cut(self, call: Line, since: float, stopped: float = NEVER) -> float:
        """Return after how many seconds the server ended a phase by itself; NEVER if it did not."""
        ends = [clock(line) for line in self.lines("cancelled", "lifespan", call=call)]
        end = min([*ends, NEVER if self.seen.ended is None else self.seen.ended])
        return end - since if end <= stopped else NEVER

    # ---- phrases: the scope, and the event loop -------------------------------------------------

    def lifespan_scope(self) -> Outcome:
        for line in self.lines("called"):
            if line["type"] not in ("lifespan", *REQUESTS):
                return _broken("scope-type", type=repr(line["type"]))
        return _either(self.calls, "lifespan-scopes", count=len(self.calls))

    def versions(self) -> Outcome:
        spec, held = SPECS[self.seen.spec], False
        versions = self.calls[0]["scope"].get(spec.envelope)
        if isinstance(versions, dict) and "!" not in versions:
            whole = dict.fromkeys(spec.optional, "") | versions
            held = all(isinstance(whole.get(key), str) for key in spec.versions)
        return _either(held, "versions", key=spec.envelope, value=str(versions))

    def scope_state(self) -> Any:
        """Return the state of the first scope; raise NotJudged if it has none."""
        scope = self.calls[0]["scope"]
        if "state" not in scope:
            _skip("no-state")
        return scope["state"]

    def namespace(self) -> Outcome:
        state = self.scope_state()
        held = isinstance(state, dict) and state.get("mutable", "!" not in state)
        return _either(held, "state", state=str(state))

    def empty_state(self) -> Outcome:
        state = self.scope_state()
        if not isinstance(state, dict):
            _skip("state", state=str(state))
        return _either(not state.get("holds", state), "state", state=str(state))

    def one_call(self) -> Outcome:
        """Hold if no event loop has two calls, and no process serves without one."""
        loops = [_loop(line) for line in self.lines("called") if line["type"] not in REQUESTS]
        serving = {line["pid"] for line in self.requests}
        enough = serving <= {pid for pid, *_ in loops} and len(loops) >= self.case.workers
        if enough and len(set(loops)) == len(loops):
            return _either(loops, "calls", count=len(loops))
        return _broken("calls-and-processes", count=len(loops), serving=len(serving))

    def same_loop(self) -> Outcome:
        calls = self.calls
        loops = {_loop(line) for line in calls}
        if not self.requests:
            _skip("no-request")
        for request in self.requests:
            if _loop(request) not in loops:
                places = ("pid", "thread", "loop")
                differs = next(key for key in places if request[key] != calls[0][key])
                return _broken(f"other-{differs}" if calls[0]["loop"] else "no-loop")
        return _either(loops, "same-loop")

    def lasts(self) -> Outcome:
        """Hold if no loop has two calls, and the server cancels none before it is stopped.

        Whether a loop that serves again has another lifespan is an open question.
        """
        if len({*map(_loop, self.calls)}) < len(self.calls):
            overlap = any(starmap(self._running, combinations(self.calls, 2)))
            judged = _broken if overlap else _unspecified
            return judged("calls-in-a-loop", count=len(self.calls))
        cancelled = self.lines("cancelled", "lifespan") if self.calls else []
        if any(clock(line) < self.stopped for line in cancelled):
            return _broken("cancelled-early")
        return _either(self.calls, "not-cancelled")

    def _running(self, call: Line, other: Line) -> bool:
        """Return whether a call had not ended when another one began in its event loop."""
        ends = (line for kind in ENDS for line in self.lines(kind, "lifespan", call=call))
        return _loop(call) == _loop(other) and min(map(clock, ends), default=NEVER) > clock(other)

    # ---- phrases: startup ----------------------------------------------------------------------

    def startup_first(self) -> Outcome:
        """Hold if each process had startup first; one of its calls may get no event at all."""
        served = {call["pid"] for call in self.calls if self.events(call)}
        for call in self.calls:
            types = self.events(call)
            if _disordered(types):
                known = types[0] == "lifespan.startup"
                return (_unspecified if known else _broken)("events", events=tuple(types))
            if not types and call["pid"] not in served:
                return _broken("no-events")
        return _either(served, "startup-first")

    def startup_before_requests(self) -> Outcome:
        startup = clock(self.first("received", "lifespan.startup", by=None))
        early = sum(clock(line) < startup for line in self.requests)
        return _either(not early, "requests-before-startup", count=early)

    def no_request_before(self) -> Outcome:
        self.first("received", "lifespan.startup", by=None)
        early, cut = 0, NEVER
        for call in self.calls:
            startups = self.lines("received", "lifespan.startup", by=None, call=call)
            startup = min(map(clock, startups), default=NEVER)
            answers = self.lines("sends", "lifespan.startup.complete", call=call)
            complete = min(map(clock, answers), default=NEVER)
            requests = (line for line in self.requests if line["pid"] == call["pid"])
            early += sum(startup < clock(line) < complete for line in requests)
            cut = cut if answers else min(cut, self.cut(call, startup, self.stopped))
        if cut == NEVER:
            return _either(not early, "requests-before-answer", count=early)
        if not early:
            return _unspecified("startup-cut", seconds=round(cut), way=self.way)
        return _broken("requests-before-answer-cut", count=early, seconds=round(cut))

    # ---- phrases: serving ----------------------------------------------------------------------

    def answered(self) -> None:
        """Raise NotJudged if the application has not done what decides whether it is served."""
        self.reached(next(at for at, verb in enumerate(self.verbs) if verb not in BEFORE_ANSWER))

    def served(self) -> Outcome:
        self.answered()
        wanted = sum(action.verb == "request" for action in self.case.meanwhile)
        bodies = [answer.body for answer in self.seen.answers]
        if None not in bodies and len(bodies) >= wanted:
            return _either(bodies, "served")
        if (option := self.seen.demand) and self.by_itself and not self.lines("sends"):
            return _unspecified("not-served-on-demand", end=self.end, option=option)
        return _broken("not-served" if self.by_itself else "not-served-waits", end=self.end)

    def not_blocked(self) -> Outcome:
        found = self.served()
        if found.how == "broken" and self.by_itself:  # it did not wait, and it did not serve
            _skip("not-served", end=self.end)
        return found

    def not_served(self) -> Outcome:
        failed = clock(self.first("sends", "lifespan.startup.failed"))
        late = sum(clock(line) > failed for line in self.requests)
        return _either(not late, "requests-after-failed", count=late, end=self.end)

    def tells(self) -> Outcome:
        """Hold if the output mentions the lifespan or the exception, other than in a path."""
        self.answered()
        if self.by_itself:  # what it writes then is about its own end
            _skip("app-not-served", end=self.end)
        raised = (action.text for action in self.case.script if action.verb == "raise")
        named = re.compile(f"(?i)lifespan|{re.escape(next(raised, 'lifespan'))}")
        lines = without_tracebacks(self.seen.output)
        return _in_output(next((x for x in lines if named.search(FOLDERS.sub("", x))), ""))

    # ---- phrases: what the application sends ----------------------------------------------------

    def attempt(self) -> Line:
        """Return what became of the event of `try`."""
        step = self.verbs.index("try")
        self.reached(step)
        lines = self.lines("sent") + self.lines("refused")
        return ([line for line in lines if line["step"] == step] or self.stop())[0]

    def sent(self, line: Line) -> Fact:
        """Return what became of an event."""
        if line["kind"] == "refused":
            return fact("send-raised", error=line["error"], text=short(line["text"]))
        return fact("send-returned")

    def became(self, line: Line, wanted: str) -> Outcome:
        """Return whether an event was sent, or refused, as wanted."""
        return Outcome("held" if line["kind"] == wanted else "broken", self.sent(line))

    def taken(self) -> Outcome:
        return self.became(self.attempt(), "sent")

    def refused(self) -> Outcome:
        return self.became(self.attempt(), "refused")

    def survives(self) -> Outcome:
        line = self.attempt()
        if line["kind"] == "sent":
            raise NotJudged(self.sent(line))
        return self.served()

    def does_nothing(self) -> Outcome:
        lines = self.lines("sent", by="child") + self.lines("refused", by="child")
        return self.became((lines or self.stop())[0], "sent")

    def quiet(self) -> Outcome:
        """Hold if no event comes after the end: only a task that outlives the call can see one."""
        ends = self.lines("raised", "lifespan") + self.lines("returned", "lifespan")
        over = clock(min(ends or self.stop(), key=clock))
        late = [line for line in self.lines("received", by="child") if clock(line) > over]
        if late:
            return _unspecified("late-event", event=late[0]["type"])
        return _either(ends, "no-late-event")

    def shows(self) -> Outcome:
        steps = enumerate(self.case.script)
        texts = ((step, (it.text, it.keys.get("message"))) for step, it in steps)
        self.reached(next(step for step, of in texts if self.text in of))
        return _in_output(self.line_with(self.text))

    def hides(self) -> Outcome:
        found, line = self.process_ends(), self.line_with(self.text)
        return _broken("output", line=short(line)) if line else found

    def as_empty(self) -> Outcome:
        self.finished()
        refused = any(line["error"] == "KeyError" for line in self.lines("refused"))
        if refused or any(map(KEY_ERROR.fullmatch, without_tracebacks(self.seen.output))):
            return _broken("key-error")
        return _held("no-message-needed", end=self.end)

    # ---- phrases: the end ----------------------------------------------------------------------

    def exits(self) -> Outcome:
        self.first("sends", "lifespan.startup.failed")
        return _either(self.by_itself, "end", end=self.end)

    def exit_status(self) -> Outcome:
        """Hold if a supervisor notices the failure; no specification mentions the exit status.

        A server that ends by the signal that it was sent ends like that without a failure, too.
        """
        self.finished()
        if self.seen.status is None:
            _skip("end", end=self.end)
        if self.seen.status in (0, -signal.SIGTERM):
            return _unspecified("end", end=self.way)
        return _held("noticed", way=self.way)

    def gone(self) -> Outcome:
        self.finished()
        return _either(self.seen.ended is not None, "end", end=self.end)

    def was_stopped(self) -> None:
        """Raise NotJudged if the process was not stopped."""
        if self.seen.stopped is None:
            _skip("not-stopped", end=self.end)

    def process_ends(self) -> Outcome:
        self.was_stopped()
        return self.gone()

    def shutdown_once(self) -> Outcome:
        occupied = self.case.meanwhile[0].verb == "occupy"
        if occupied and not self.lines("called", "lifespan"):
            _skip("port-in-use")
        self.first("sent", "lifespan.startup.complete")
        if not occupied:
            self.was_stopped()
        for call in self.calls:
            if self.lines("sent", "lifespan.startup.complete", call=call):
                cancelled = self.lines("cancelled", call=call)
                if cancelled and clock(cancelled[0]) < (self.seen.stopped or 0):
                    _skip("cancelled-before-stop")
                count = len(self.lines("received", "lifespan.shutdown", call=call))
                if count != 1:
                    judged = _unspecified if count else _broken
                    return judged("shutdown-times", count=count, end=self.end)
        return _held("shutdown-once", end=self.end)

    def no_request_after(self) -> Outcome:
        self.first("received", "lifespan.shutdown")

        def ends(request: Line) -> list[Line]:
            return [line for kind in ENDS for line in self.lines(kind, call=request)]

        for shutdown in self.lines("received", "lifespan.shutdown"):
            time = clock(shutdown)
            for request in (line for line in self.requests if line["pid"] == shutdown["pid"]):
                if clock(request) > time:
                    return _broken("request-after-shutdown")
                if not any(clock(line) < time for line in ends(request)):
                    return _broken("request-during-shutdown", path=request["path"])
        return _held("no-request-at-shutdown")

    def no_connection_after(self) -> Outcome:
        """Hold if no connection was served while the application handled shutdown.

        The system completes connections to a listening socket even if the server accepts none; the
        specifications are about the server.
        """
        self.first("received", "lifespan.shutdown")
        if "answered" in (self.seen.knocks or self.stop()):
            return _broken("answered-after-shutdown")
        if "unanswered" in self.seen.knocks:
            return _unspecified("connected-after-shutdown")
        return _held("refused-after-shutdown")

    def waits(self) -> Outcome:
        since = clock(self.first("received", "lifespan.shutdown"))
        for call in self.lines("received", "lifespan.shutdown"):
            if not self.lines("sends", "lifespan.shutdown.complete", call=call):
                if (cut := self.cut(call, clock(call))) != NEVER:
                    return _broken("clean-up-cut", seconds=round(cut), way=self.way)
                seconds = round(self.seen.last_action - since)
                return _held("waited-still", seconds=seconds)
        return _held("waited", end=self.end)

    def finishes(self) -> Outcome:
        self.first("sent", "lifespan.shutdown.complete")
        return _either(self.lines("returned", "lifespan"), "end", end=self.end)

    # ---- phrases: state ------------------------------------------------------------------------

    def app_state(self) -> Line:
        """Return the state of the first lifespan, as the application left it."""
        self.scope_state()
        return self.lines("kept", call=self.first("kept"))[-1]

    def copies(self) -> Outcome:
        if self.seen.unusable:
            raise NotJudged(self.seen.unusable)
        state, answers = self.app_state(), self.seen.answers
        begun = clock(self.first("sends", "lifespan.startup.complete"))
        bodies = [each.body for each in answers if each.sent > begun and each.body is not None]
        if not bodies:
            _skip("no-request-answered")
        values = [line["ids"] for line in self.lines("kept")]
        fault = next(filter(None, (_fault_of_copy(body, state, values) for body in bodies)), "")
        changed = any(each.path.startswith("/append") for each in answers if each.body)
        if changed and not fault and bodies[-1]["state"].get("visitors") != ["Ada"]:
            fault = "change-lost"
        return _either(not fault, fault or "copies")

    def late_key(self) -> Outcome:
        if "late" not in self.app_state()["state"]:
            self.stop()
        bodies = [each.body for each in self.seen.answers if each.path == "/late" and each.body]
        if not bodies:
            _skip("no-request-answered")
        came = "late" in bodies[-1].get("state", {})
        return _either(came, "late-key" if came else "no-late-key")

    def untouched(self) -> Outcome:
        kept, answers = self.app_state(), self.seen.answers
        found = self.lines("received", "lifespan.shutdown", call=kept)
        if not found:
            _skip("no-shutdown")
        if any(each.body and each.body.get("state_id") == kept["state_id"] for each in answers):
            _skip("changed-by-requests")
        same = all(found[0][key] == kept[key] for key in ("ids", "state_id"))
        return _either(same, "state-at-shutdown", state=str(found[0]["state"]))


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
