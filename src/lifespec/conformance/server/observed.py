"""What was observed of a server in a case: the log of the probe, the output and the end."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NoReturn

from lifespec.conformance.cases import Expectation
from lifespec.conformance.finding import Assessment
from lifespec.conformance.judge import Judge, NotJudged, breaks, holds
from lifespec.conformance.log import REQUESTS, Log, LogLine
from lifespec.conformance.processes import signal_name
from lifespec.conformance.server.play import ServerObservation
from lifespec.diagnosis.exits import SIGNALLED
from lifespec.diagnosis.fact import Fact, fact

time_of = attrgetter("time")
NEVER = float("inf")
LONGEST_OUTPUT = 160  # characters of what a server wrote
LONG_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/){2,}")  # long, and of one machine
MARGIN = " \t|+-"  # the margin of a traceback of an exception group
FRAME = re.compile(r'[\s|+-]*File ".*", line \d+, in ')
HEAD = re.compile(r"Traceback \(most recent call last\):|^[\s|+-]+$")
ENDS = "returned", "cancelled", "raised"  # of a call


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
    text = LONG_FOLDERS.sub("…/", text.strip())
    if len(text) <= LONGEST_OUTPUT:
        return text
    begin = text[:LONGEST_OUTPUT]
    words = begin.rpartition(" ")[0]
    return f"{words or begin} …"  # a text may be one word


def in_output(line: str) -> Assessment:
    """Hold if there is such a line of the output."""
    if line:
        return holds("output", line=short(line))
    return breaks("not-in-output")


def disordered(types: Sequence[str]) -> bool:
    """Tell whether startup was not the first event, or came twice."""
    if not types:
        return False
    return types[0] != "lifespan.startup" or types.count("lifespan.startup") > 1


class Observed(Judge):
    """One observation, as `judge` asks for it.

    Whoever judges what is no server, such as a test client, replaces `way` and `end`.
    """

    def __init__(self, seen: ServerObservation) -> None:
        self.seen, self.case = seen, seen.case
        self.verbs = [action.verb for action in seen.case.script]
        self.requests = [line for line in self.lines("called") if line.type in REQUESTS]
        self.stopped = NEVER
        if seen.stopped is not None:
            self.stopped = seen.stopped
        self.by_caller = defaultdict[tuple[int, int], Log](Log)  # a server may call very often
        for line in seen.log:
            self.by_caller[line.caller].append(line)

    def outcome(self, wanted: Expectation) -> Assessment:
        """Return what became of an expectation.

        It is met only if the script was played to its end: a sequence that ended early shows
        nothing.
        """
        outcome = super().outcome(wanted)
        if outcome.how == "held":
            # what is broken stays so, however the sequence might have gone on
            unfinished = self.unreached(len(self.verbs) - 1)
            if unfinished:
                return Assessment("skip", unfinished)
        return outcome

    # ---- the log of the probe ------------------------------------------------------------------

    def lines(
        self,
        kind: str,
        type_: str | None = None,
        side: str | None = "application",
        call: LogLine | None = None,
    ) -> list[LogLine]:
        """Return the lines of a kind, a type, a side, or any, and of the call of a line."""
        log = self.by_caller[call.caller] if call else self.seen.log
        return log.of(kind, type_=type_, side=side)

    def first(
        self, kind: str, type_: str | None = None, side: str | None = "application"
    ) -> LogLine:
        """Return the first of these lines; raise NotJudged if there is none."""
        return min(self.needed(self.lines(kind, type_, side)), key=time_of)

    def needed(self, lines: list[LogLine]) -> list[LogLine]:
        """Return these lines; raise NotJudged if there are none."""
        if not lines:
            self.give_up()
        return lines

    @property
    def calls(self) -> list[LogLine]:
        """The calls with a lifespan scope; raises NotJudged if there is none."""
        return self.needed(self.lines("called", "lifespan"))

    def startup_answered(self, call: LogLine) -> float:
        """Return when a call completed startup; NEVER if it did not."""
        answers = self.lines("sends", "lifespan.startup.complete", call=call)
        return min(map(time_of, answers), default=NEVER)

    def end_of(self, call: LogLine) -> float:
        """Return when a call ended, in whichever way; NEVER if it did not."""
        log = self.by_caller[call.caller].of(*ENDS, type_=call.type, side="application")
        return min(map(time_of, log), default=NEVER)

    def events(self, call: LogLine) -> list[str]:
        """Return the types of the events that a call received, also in its tasks."""
        received = self.lines("received", side=None, call=call)
        return [line.type for line in sorted(received, key=time_of)]

    def misled(self) -> Fact | None:
        """Return that startup was not the first event, or came twice; None if all is in order."""
        for call in self.lines("called", "lifespan"):
            types = self.events(call)
            if disordered(types):
                if types[0] == "lifespan.startup":
                    return Fact("startup-twice")
                return Fact("misled")
        return None

    def progress(self) -> Fact:
        """Return how far the application has come."""
        if not self.lines("called", "lifespan"):
            return fact("no-lifespan-call")
        of_calls = [line for line in self.seen.log if line.call]  # else it is of the import
        last = max(of_calls, key=time_of)
        return fact("progress", last=f"{last.kind} {last.type or ''}".rstrip())

    def give_up(self) -> NoReturn:
        """Raise NotJudged: the sequence has not come so far."""
        raise NotJudged(self.progress())

    def unreached(self, step: int) -> Fact | None:
        """Return that the script did not come to a step, or None."""
        if any(line.step == step for line in self.lines("plays")):
            return None
        line, progress = self.case.lines[step], self.progress()
        return fact("not-reached", number=step + 1, line=line, progress=progress)

    def need_step(self, step: int) -> None:
        """Raise NotJudged if the script did not come to a step."""
        unreached = self.unreached(step)
        if unreached:
            raise NotJudged(unreached)

    def need_whole_script(self) -> None:
        """Raise NotJudged if the script did not come to its last step."""
        self.need_step(len(self.verbs) - 1)

    # ---- the end and the output of the process --------------------------------------------------

    @property
    def way(self) -> Fact:
        """In which way the process ended."""
        status = self.seen.status
        if status is None or status >= 0:
            return fact("ended-with-status", status=status)
        number = -status  # subprocess negates the number of a signal; a shell adds 128 to it
        return fact("ended-by-signal", status=SIGNALLED + number, name=signal_name(number))

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
        for line in without_tracebacks(self.seen.output):
            if text in line:
                return line
        return ""

    def cut_after(self, call: LogLine, since: float, stopped: float = NEVER) -> float:
        """Return after how many seconds the server ended a phase by itself; NEVER if it did not."""
        # a call may be cancelled while its process goes on, or its process end without a word
        ends = [line.time for line in self.lines("cancelled", "lifespan", call=call)]
        if self.seen.ended is not None:
            ends.append(self.seen.ended)
        end = min(ends, default=NEVER)
        if end > stopped:
            return NEVER
        return end - since
