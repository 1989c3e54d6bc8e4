"""How an application starts, serves and stops, by its cases: the first lines of a report.

What a headline says and what a line says come from the same case.  Where two cases differ, a line
says under which condition it holds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.outcome import (
    ENDED,
    RETURNED_EARLY,
    WHOLE,
    answer,
    answers,
    starts,
    stays,
    stops,
)
from lifespec.conformance.finding import Row
from lifespec.conformance.report import Report
from lifespec.diagnosis import advice
from lifespec.diagnosis.fact import Error, Fact, fact
from lifespec.diagnosis.logged import Logged

UNRUN = ("never-ran", "handler-ignored", "registered-late")  # kinds of lifespans that never ran
NOT_CLEANED = ("cut-off", "left-out")  # kinds of clean-up that did not run
NOTES = (  # kinds of facts that its author may want to know, in this order
    "state-rebound",
    "signal-taken",
    "loggers-disabled",
    "due",
    "context-variable",
    "entered-twice",
    "state-unseen",
    "state-dropped",
    "start-lost",
    "skipped",
)
MOST_SHOWN = 3  # lines of a stack, lifespans that never ran
FAILS, TOO_MANY = 400, 429  # statuses of HTTP: from here on a request fails; no fault of a start


class Summary:
    """How an application went in the cases that tell it.

    `first` is the case that starts and stops, `serving` the one that has a request meanwhile, and
    `again` the one that starts twice; None if it was not played.  `seen` is the case that the lines
    about its start and its stop are about: the one with the fault that comes sooner.
    """

    def __init__(
        self,
        first: Observation,
        serving: Observation | None,
        again: Observation | None,
        limit: float,
    ) -> None:
        self.first = first
        self.again = again
        self.limit = limit
        self.serving = serving or first
        self.seen = first
        if not stops(self.serving):
            # a case that stops at once has no fault of serving, and a fault at its stop comes later
            if first.shutdown.how == "complete" or self.serving.shutdown.when == "serving":
                self.seen = self.serving
        self.last = first  # the case that has left behind all that it leaves behind
        if self.serving.shutdown.how == "complete":
            self.last = self.serving

    # ---- the conclusion ----

    @property
    def is_supported(self) -> bool:
        """Whether it supports lifespan."""
        return answers(self.seen)[0].how not in ENDED

    @property
    def is_refused(self) -> bool:
        """Whether it supports no lifespan, and has received no event."""
        if self.is_supported:
            return False
        return not self.seen.received

    @property
    def starts(self) -> bool | None:
        """Whether it starts; None if it supports no lifespan, and has received no event."""
        if starts(self.seen):
            return True
        if self.is_refused:  # a server goes on without it then, and serves
            return None
        return False

    @property
    def stops(self) -> bool | None:
        """Whether it stops; None if it does not start."""
        if not self.starts:
            return None
        return stops(self.seen)

    @property
    def ends(self) -> bool | None:
        """Whether its process can end in both cases; None if it does not start."""
        if not self.starts:
            return None
        return not any(map(stays, (self.first, self.serving)))

    def concluded(self, report: Report) -> Report:
        """Return a report with how the application starts and stops."""
        obstacle = None
        if self.starts is False and self.is_supported:
            if not any(finding.fails() for finding in report.findings):
                obstacle = Fact("does-not-start")  # without a rule that says why
        framework = ""
        if self.is_refused:
            framework = self.seen.framework
        return replace(
            report,
            rows=tuple(self.rows()),
            starts=self.starts,
            stops=self.stops,
            ends=self.ends,
            supported=self.is_supported,
            framework=framework,
            obstacle=obstacle,
        )

    # ---- the lines ----

    def rows(self) -> Iterator[Row]:
        """Yield the first lines of a report."""
        left = list(self._left())
        logged = list(_logged(self.first))
        logged += _logged(self.serving)
        failed = self._both("died")
        never_ran = self._never_ran()
        to_change = left + failed
        if self.seen.shutdown.how == "complete":
            to_change += never_ran
        lines: dict[str, Iterable[Fact]] = {
            "starts": self._starts(),
            "stops": self._stops(),
            "where": _stack(self.seen),
            "still running": left,
            "left open": self._left_open(),
            "again": second_start(self.again, self.limit),
            "busy": self.serving.facts_of("busy"),
            "logged": dict.fromkeys(logged),
            "failed tasks": failed,
            "never ran": self._told_of(never_ran),
            "notes": self._notes(),
            "change": self._changes(to_change),
        }
        for label, facts in lines.items():
            for observed in facts:
                yield Row(label, observed)
        if False in (self.starts, self.stops):
            yield from printed(self.seen.printed)

    def _both(self, *kinds: str) -> list[Fact]:
        """Return facts of both cases, each once."""
        # the case with a request first, as it has usually seen more of the application
        of_both = self.serving.facts_of(*kinds) + self.first.facts_of(*kinds)
        return list(dict.fromkeys(of_both))

    def _starts(self) -> Iterator[Fact]:
        start = answer(self.seen, "startup", self.limit)
        # of a second case only if the first one has no such fault
        if starts(self.seen) or self.seen is self.first:
            yield start
        else:
            yield _under("if-anew", start)
            yield fact("yes-if", condition=Fact("if-first"))
        yield from _sent_text(self.seen)

    def _stops(self) -> Iterator[Fact]:
        """Yield how it stops; where one of two cases stops, the condition of each."""
        if not starts(self.seen):
            return
        stop = answer(self.seen, "shutdown", self.limit)
        other, here, there = self.serving, "if-at-once", "if-served"
        if self.seen is self.serving:
            other, here, there = self.first, "if-served", "if-at-once"
        # what fails while it serves says so by itself
        is_early = "serving" in (self.seen.shutdown.when, self.seen.awaited)
        differ = stops(other) and not stops(self.seen)
        if differ and not is_early:
            yield _under(here, stop)
            yield fact("yes-if", condition=Fact(there))
        else:
            yield stop

    def _left(self) -> Iterator[Fact]:
        """Yield what is left behind, and that the process stays; of the case that shows it."""
        yield from _leftovers(self.last)
        if stays(self.last):
            yield Fact("lingers")
        elif stays(self.first):
            keepers = self.first.facts_of("thread-", "process-")
            keepers.append(Fact("lingers"))
            for keeps in keepers:
                if keeps not in self.last.leftovers:
                    yield fact("only-if", what=keeps, condition=Fact("if-at-once"))

    def _left_open(self) -> Iterator[Fact]:
        yield from self.last.facts_of("unclosed", "unfinished")
        yield from self._both(*NOT_CLEANED)[:MOST_SHOWN]

    def _never_ran(self) -> list[Fact]:
        """Return what never ran, in no case; none if it had no time to run."""
        if self.seen.shutdown.how == "complete":
            return self._unentered(*UNRUN)
        if self.is_refused:  # it did not come so far
            return self._unentered(*UNRUN)
        # what was no context manager never ran, however early the start has failed
        if any(map(advice.is_misshapen, self.seen.errors)):
            return self._unentered(*UNRUN)
        return []

    def _unentered(self, *kinds: str) -> list[Fact]:
        """Return what neither case has entered, each once: a function may make two alike."""
        in_first = dict.fromkeys(self.first.facts_of(*kinds))
        return [unentered for unentered in in_first if unentered in self.serving.facts]

    def _told_of(self, never_ran: Sequence[Fact]) -> Iterator[Fact]:
        """Yield what never ran, and the author's line that has perhaps taken its place."""
        if not never_ran:
            return
        yield from never_ran[:MOST_SHOWN]
        if len(never_ran) > MOST_SHOWN:
            yield fact("and-more", count=len(never_ran) - MOST_SHOWN)
        if self.seen.answerer and self.seen.startup.how == "complete":
            yield fact("answered-by", place=self.seen.answerer)

    def _notes(self) -> Iterator[Fact]:
        seen = self.seen
        if seen.startup.how != "complete":
            return
        for kind in NOTES:
            if kind == "start-lost":  # the other case may have entered it
                yield from self._unentered(kind)
            else:
                yield from self._both(kind)
        yield from _not_begun_again(self.again)
        if seen.framework:
            if seen.shutdown == RETURNED_EARLY:
                yield fact("by-framework", framework=seen.framework)
        elif seen.shutdown.how == "complete" and not seen.ended:
            if not seen.idle:  # who waits for another event is cancelled, and that is usual
                yield Fact("does-not-return")

    # ---- what to change ----

    def _changes(self, others: Sequence[Fact]) -> Iterator[Fact]:
        """Yield what to change, each once: what explains a "no", then what explains the rest."""
        changes = list(self._on_the_answer())
        changes += map(advice.on, others)
        yield from dict.fromkeys(change for change in changes if change)

    def _on_the_answer(self) -> Iterator[Fact | None]:
        """Yield what to change in how it starts or stops."""
        seen = self.seen
        startup, shutdown = answers(seen)
        phase, given = "startup", startup
        where = "startup"
        if starts(seen):
            phase, given = "shutdown", shutdown
            where = "shutdown"
        elif seen.refuses and given.how in ENDED:
            where = "inner"
        if given.how in ("failed", "raised"):
            on_errors = list(self._on_errors())
            yield from on_errors
            if on_errors and given.when == "serving":
                return
        outcome = answer(seen, phase, self.limit)
        if outcome.kind in WHOLE and self._is_of_framework():
            return
        change = advice.on(outcome, where, error=seen.error)
        # only where one is known to be there
        if change == Fact("advise-find-lifespan") and seen.reached and self._never_ran():
            change = fact("advise-pass-on", place=seen.reached.fact())
        yield change

    def _is_of_framework(self) -> bool:
        """Tell whether a framework has ended the lifespan, and no line of its author's."""
        seen = self.seen
        if not seen.framework or seen.refuses:
            return False
        if seen.error and seen.error.place:
            return False
        # what its author has given to an application is dropped on its way to that
        return not self._never_ran()

    def _on_errors(self) -> Iterator[Fact]:
        """Yield advice by the kind of exception."""
        wrong = self.first.facts_of("given-")
        if wrong and any(map(_is_uncallable, self.seen.errors)):
            yield from wrong
            return
        for error in self.seen.errors:
            change = advice.on_error(error)
            if change:
                yield change
                return


def _is_uncallable(error: Error) -> bool:
    """Tell whether an exception says that something cannot be called."""
    return any("object is not callable" in cause.text for cause in error.of("builtins.TypeError"))


def _under(condition: str, stop: Fact) -> Fact:
    """Return a no with its condition."""
    if stop.kind != "no":
        return stop
    return fact("no-if", condition=Fact(condition), why=stop.parts["why"])


def printed(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the last lines that an application has printed."""
    for line in lines:
        yield Row("printed", fact("text", text=line))


def second_start(again: Observation | None, limit: float) -> Iterator[Fact]:
    """Yield what fails the second time, in a new event loop, and did not the first time."""
    if again is None or again.before is None:
        return
    before = again.before
    if again.startup.how:  # else it was not started again
        pairs = zip(answers(before), answers(again), strict=True)
        for phase, (first, second) in zip(("startup", "shutdown"), pairs, strict=True):
            if first.how == "complete" and second.how != "complete":
                yield fact("again", answer=answer(again, phase, limit))
                for error in again.errors[:1]:
                    change = advice.on_error(error)
                    if change:
                        yield change
                return
    if before.reply and again.reply:
        if fails(again.reply) and not fails(before.reply):
            yield fact("again", answer=fact("replies", first=before.reply, second=again.reply))
    for path in _doubled(before, again):
        yield fact("again", answer=fact("doubled", path=path))


def _not_begun_again(again: Observation | None) -> Iterator[Fact]:
    """Yield the tasks that the first startup has begun, and that the second start never begins.

    Those that ran on until it was to stop: what startup itself needs once may be done once.  A
    second start that runs the same function in a task, from whatever line, has begun it.
    """
    if again is None or again.before is None:
        return
    if again.startup.how != "complete" or again.shutdown.how != "complete":  # told otherwise
        return
    before = again.before
    _begin, end = before.span("startup")
    names = []
    for task in sorted(before.running):
        if task.time <= end and task.source not in again.task_sources:
            names.append(fact("task", name=f"`{task.function}`", place=task.place.fact()))
    for name in dict.fromkeys(names):
        yield fact("not-begun-again", name=name)


def _doubled(before: Observation, again: Observation) -> list[str]:
    """Return the paths that each start adds to its routes, so that the first of them answers."""
    first, second = Counter(before.routes), Counter(again.routes)
    return [path for path in second if 0 < first[path] < second[path]]


def fails(reply: Fact) -> bool:
    """Tell whether a request failed: without an answer, or by the status of its answer.

    Applications have good reasons for other answers that differ: what is told is always one that
    was fine before.
    """
    if reply.kind == "replied-event":
        return str(reply.parts["event"]).endswith("nack")
    if reply.kind != "replied-status":
        return True
    status = int(reply.parts["status"])
    return status >= FAILS and status != TOO_MANY


def _sent_text(seen: Observation) -> Iterator[Fact]:
    """Yield that a framework sends only the text of the exception that it had caught."""
    caught = seen.caught
    if caught is None:
        return
    if not seen.framework:
        return
    if seen.startup.how == "failed" and caught.text == seen.message:
        yield fact("sends-only-text", message=seen.message, framework=seen.framework)


def _stack(seen: Observation) -> Iterator[Fact]:
    """Yield the author's own lines at which it was when its time was over, the outermost first."""
    if seen.awaited:
        for place in seen.stack[-MOST_SHOWN:]:
            yield fact("source", **place._asdict())


def _leftovers(seen: Observation) -> Iterator[Fact]:
    """Yield what is left behind; the tasks of libraries on one line."""
    libraries: dict[str, None] = {}
    for left in seen.leftovers:
        name = left.parts["name"]
        if left.kind == "task-left" and isinstance(name, str):
            libraries[name] = None
    for left in seen.leftovers:
        if left.parts["name"] not in libraries:
            yield left
    if libraries:
        yield fact("library-tasks", names=tuple(libraries))


def _logged(seen: Observation) -> Iterator[Fact]:
    """Yield each error that was logged, and when; without those that are the cause."""
    for record in seen.logged:
        when = seen.moment(record.time)
        if when == "request":
            continue
        if not _is_cause(record, seen.errors):
            yield fact("logged-when", when=Fact(f"when-{when}"), record=record.fact())


def _is_cause(record: Logged, causes: Sequence[Error]) -> bool:
    for cause in causes:
        if record.error:
            if (record.error.type, record.error.text) == (cause.type, cause.text):
                return True
        elif cause.text and cause.text in record.message:
            return True
    return False
