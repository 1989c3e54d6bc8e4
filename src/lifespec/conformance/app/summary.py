"""How an application starts, serves and stops, by its cases: the first lines of a report.

What a headline says and what a line says come from the same case.  Where two cases differ, a line
says under which condition it holds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.outcome import (
    ENDED,
    RETURNED_EARLY,
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
ENTERED = "made-only"  # what the other case may have entered
CUT_OFF = ("cut-off", "left-out")  # kinds of clean-up that did not run
NOTES = (  # kinds of facts that its author may want to know, in this order
    "state-rebound",
    "signal-taken",
    "due",
    "context-variable",
    "entered-twice",
    "state-unseen",
    "state-dropped",
    ENTERED,
    "skipped",
)
OF_FRAMEWORKS = ("raised-on-scope", "returned-on-scope", "returned-early")  # and not of authors
MOST = 3  # lines of a stack, lifespans that never ran
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
        self.first, self.again, self.limit = first, again, limit
        self.serving = serving or first
        self.seen = first
        is_sooner = first.shutdown.how == "complete" or self.serving.shutdown.when == "serving"
        if is_sooner and not stops(self.serving):
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
    def starts(self) -> bool | None:
        """Whether it starts; None if it supports no lifespan, and has received no event."""
        if starts(self.seen):
            return True
        if self.is_supported or self.seen.received:
            return False
        return None

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
        return not (stays(self.first) or stays(self.serving))

    def concluded(self, report: Report) -> Report:
        """Return a report with how the application starts and stops."""
        is_broken = any(finding.fails() for finding in report.findings)
        obstacle = None
        if self.starts is False and self.is_supported and not is_broken:
            obstacle = Fact("does-not-start")
        framework = ""
        if not self.is_supported and not self.seen.received:
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
        left = [*self._left()]
        failed = self._both("died")
        never_ran = self._never_ran()
        is_whole = self.seen.shutdown.how == "complete"
        lines: dict[str, Iterable[Fact]] = {
            "starts": self._starts(),
            "stops": self._stops(),
            "where": _stack(self.seen),
            "still running": left,
            "left open": self._left_open(),
            "again": second_start(self.again, self.limit),
            "busy": self.serving.known("busy"),
            "logged": dict.fromkeys([*_logged(self.first), *_logged(self.serving)]),
            "failed tasks": failed,
            "never ran": self._told_of(never_ran),
            "notes": self._notes(),
            "change": self._changes([*left, *failed, *(never_ran if is_whole else [])]),
        }
        for label, facts in lines.items():
            for each in facts:
                yield Row(label, each)
        if False in (self.starts, self.stops):
            yield from printed(self.seen.printed)

    def _both(self, *kinds: str) -> list[Fact]:
        """Return facts of both cases, each once."""
        return [*dict.fromkeys([*self.serving.known(*kinds), *self.first.known(*kinds)])]

    def _starts(self) -> Iterator[Fact]:
        start = answer(self.seen, "startup", self.limit)
        if self.seen is not self.first and not starts(self.seen):
            yield _under("if-anew", start)
            yield fact("yes-if", condition=Fact("if-first"))
        else:
            yield start
        yield from _sent_text(self.seen)

    def _stops(self) -> Iterator[Fact]:
        """Yield how it stops; where one of two cases stops, the condition of each."""
        if not starts(self.seen):
            return
        stop = answer(self.seen, "shutdown", self.limit)
        has_served = self.seen is self.serving
        other = self.first if has_served else self.serving
        # what fails while it serves says so by itself
        early = self.seen.shutdown.when == "serving" or self.seen.awaited == "serving"
        if stops(self.seen) or early or not stops(other):
            yield stop
            return
        here, there = ("if-served", "if-at-once") if has_served else ("if-at-once", "if-served")
        yield _under(here, stop)
        yield fact("yes-if", condition=Fact(there))

    def _left(self) -> Iterator[Fact]:
        """Yield what is left behind, and that the process stays; of the case that shows it."""
        yield from _leftovers(self.last)
        if stays(self.last):
            yield Fact("lingers")
        elif stays(self.first):
            keeps = [*self.first.known("thread-", "process-"), Fact("lingers")]
            for each in keeps:
                if each not in self.last.leftovers:
                    yield fact("only-if", what=each, condition=Fact("if-at-once"))

    def _left_open(self) -> Iterator[Fact]:
        yield from self.last.known("unclosed")
        yield from self._both(*CUT_OFF)[:MOST]

    def _never_ran(self) -> list[Fact]:
        """Return what never ran, in no case; none if it had no time to run."""
        is_misshapen = any(map(advice.is_misshapen, self.seen.errors))
        if self.seen.shutdown.how != "complete" and not is_misshapen:
            return []
        return self._unentered(*UNRUN)

    def _unentered(self, *kinds: str) -> list[Fact]:
        """Return what neither case has entered."""
        return [each for each in self.first.known(*kinds) if each in self.serving.facts]

    def _told_of(self, never_ran: Sequence[Fact]) -> Iterator[Fact]:
        """Yield what never ran, and the author's line that has perhaps taken its place."""
        yield from never_ran[:MOST]
        if len(never_ran) > MOST:
            yield fact("and-more", count=len(never_ran) - MOST)
        if self.seen.answerer and never_ran and self.seen.startup.how == "complete":
            yield fact("answered-by", place=self.seen.answerer)

    def _notes(self) -> Iterator[Fact]:
        seen = self.seen
        if seen.startup.how != "complete":
            return
        for kind in NOTES:
            yield from self._unentered(kind) if kind == ENTERED else self._both(kind)
        if seen.shutdown == RETURNED_EARLY and seen.framework:
            yield fact("by-framework", framework=seen.framework)
        if seen.shutdown.how == "complete" and not (seen.ended or seen.framework or seen.idle):
            yield Fact("does-not-return")

    # ---- what to change ----

    def _changes(self, others: Sequence[Fact]) -> Iterator[Fact]:
        """Yield what to change, each once: what explains a "no", then what explains the rest."""
        found = [*self._on_the_answer(), *(advice.on(each) for each in others)]
        yield from dict.fromkeys(filter(None, found))

    def _on_the_answer(self) -> Iterator[Fact | None]:
        """Yield what to change in how it starts or stops."""
        seen = self.seen
        phase = "shutdown" if starts(seen) else "startup"
        given = answers(seen)[phase == "shutdown"]
        on_errors = []
        if given.how in ("failed", "raised"):
            on_errors = [*self._on_errors()]
        yield from on_errors
        if on_errors and given.when == "serving":
            return
        said = answer(seen, phase, self.limit)
        is_own = seen.refuses or (seen.error and seen.error.place)
        if seen.framework and not is_own and said.kind in OF_FRAMEWORKS:
            return
        where = "inner" if seen.refuses and phase == "startup" and given.how in ENDED else phase
        yield advice.on(said, where, error=seen.error)

    def _on_errors(self) -> Iterator[Fact]:
        """Yield advice by the kind of exception."""
        wrong = self.first.known("given-")
        if wrong and any(map(_is_uncallable, self.seen.errors)):
            yield from wrong
            return
        yield from islice(filter(None, map(advice.on_error, self.seen.errors)), 1)


def _is_uncallable(error: Error) -> bool:
    """Tell whether an exception says that something cannot be called."""
    return any("object is not callable" in each.text for each in error.of("builtins.TypeError"))


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
    for phase, first, second in zip(
        ("startup", "shutdown"), answers(before), answers(again), strict=True
    ):
        if first.how == "complete" and second.how != "complete" and again.startup.how:
            yield fact("again", answer=answer(again, phase, limit))
            yield from filter(None, map(advice.on_error, again.errors[:1]))
            return
    if before.reply and again.reply and fails(again.reply) and not fails(before.reply):
        yield fact("again", answer=fact("replies", first=before.reply, second=again.reply))
    for path in _doubled(before, again):
        yield fact("again", answer=fact("doubled", path=path))


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
    if seen.startup.how != "failed" or not seen.framework or caught is None:
        return
    if caught.text == seen.message:
        yield fact("sends-only-text", message=seen.message, framework=seen.framework)


def _stack(seen: Observation) -> Iterator[Fact]:
    """Yield the author's own lines at which it was when its time was over, the outermost first."""
    if seen.awaited:
        for place in seen.stack[-MOST:]:
            yield fact("source", **place._asdict())


def _leftovers(seen: Observation) -> Iterator[Fact]:
    """Yield what is left behind; the tasks of libraries on one line."""
    libraries: dict[str, None] = {}
    for each in seen.leftovers:
        name = each.parts["name"]
        if each.kind == "task-left" and isinstance(name, str):
            libraries[name] = None
    for each in seen.leftovers:
        if each.parts["name"] not in libraries:
            yield each
    if libraries:
        yield fact("library-tasks", names=tuple(libraries))


def _logged(seen: Observation) -> Iterator[Fact]:
    """Yield each error that was logged, and when; without those that are the cause."""
    for each in seen.logged:
        when = seen.moment(each.time)
        if when != "request" and not _is_cause(each, seen.errors):
            yield fact("logged-when", when=Fact(f"when-{when}"), record=each.fact())


def _is_cause(record: Logged, causes: Sequence[Error]) -> bool:
    for cause in causes:
        if record.error:
            if (record.error.type, record.error.text) == (cause.type, cause.text):
                return True
        elif cause.text and cause.text in record.message:
            return True
    return False
