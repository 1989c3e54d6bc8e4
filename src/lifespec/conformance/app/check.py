"""Checks a target case by case, each in a process of its own.

So no case spoils the next, and nothing that a target does to its process does harm here: it may
exit, hang, print, crash.  That process plays the case, and writes a line of JSON for each of two
steps into a file: that it has the target, and what it found.
"""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases
from lifespec.conformance.app import assertions, fake_server, isolation, middleware, target
from lifespec.conformance.app import run as app_run
from lifespec.conformance.app.isolation import DELETED, GONE, Isolation, Pool
from lifespec.conformance.app.pipe import Pipe
from lifespec.conformance.app.run import CaseResult
from lifespec.conformance.findings import STOPPED, Outcome, expected, finding, without
from lifespec.conformance.oldreport import summary
from lifespec.conformance.oldreport.model import Course, Finding, Report
from lifespec.conformance.oldreport.notices import Notice
from lifespec.conformance.unchecked import unknown
from lifespec.testing.diagram import sequence
from lifespec.testing.trace import Conversation, Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lifespec.conformance.cases import Case
    from lifespec.conformance.findings import Tell
    from lifespec.conformance.language import Role

    Say = Callable[[str], object]

__all__ = ["SPARE", "AppCheck", "CaseRunner", "check", "main", "serve"]

SPARE = 30.0  # seconds for a process, beside the limits of what it does
AT_ONCE = os.cpu_count() or 1  # processes that work
MOST = 16  # with those that do little but wait
LITTLE = 0.5  # seconds of the processor
_SPOILED = {
    DELETED: "deletes a temporary folder of the suite: let it leave files alone that are not its",
    GONE: "ends the process of the suite that imported it: let it end no process but its own",
}


@dataclass(frozen=True, slots=True)
class AppCheck:
    """What is checked: see the options of `lifespec check app`.

    Where there is a `pipe`, that command is the application, and `target` no more than its name.
    `only` names the cases to report on, all of them where it is empty.
    """

    role: Role
    target: str
    spec: str = "asgi 2.0"
    factory: bool = False
    limit: float = app_run.LIMIT
    pipe: tuple[str, ...] = ()
    isolation: Isolation = "auto"
    only: tuple[str, ...] = ()

    def cases(self) -> list[Case]:
        """Return the cases to play, the one that says what is usual before the others."""
        cases_for = app_run.cases_for if self.role == "application" else middleware.cases_for
        return cases_for(self.spec)

    def chosen(self) -> list[Case]:
        """Return the cases to report on; raise Unchecked for the name of none."""
        known = {case.name: case for case in self.cases()}
        for name in self.only:
            if name not in known:
                lists = f"lifespec cases --role {self.role}"
                raise unknown(f"case for {self.role} by {self.spec}", name, known, lists)
        return [known[name] for name in known if name in (self.only or known)]


def check(job: AppCheck, tell: Tell = lambda *_: False, say: Say = lambda _: None) -> Report:
    """Check a target; raise Unchecked where it cannot be.

    `tell` is called after a case; where it returns True, cases that have not begun are not played.
    `say` is called with a sentence on what takes longer.
    """
    with Pool(__name__, asdict(job), job.isolation, job.limit * 2 + SPARE) as pool:
        bench = CaseRunner(job, pool, say, tell)
        first, chosen = job.cases()[0], job.chosen()
        usual = bench.play(first, bench.first)
        others = [case for case in chosen if case != first]
        threads = ThreadPoolExecutor(MOST)
        try:
            results = [usual, *threads.map(partial(bench.play, attempt=bench.tried), others)]
        finally:  # where one cannot be checked, or who asked has gone, none goes on
            pool.break_off()
            threads.shutdown(cancel_futures=True)
    if first not in chosen:
        del results[0]
    findings = tuple(finding for each in results for finding in each.findings)
    note = app_run.note_on(findings)
    found = Report(
        job.target, job.spec, findings, note, isolation=pool.way, role=job.role, times=bench.times
    )
    found = replace(found, partial=bool(job.only), notices=usual.notices, factory=job.factory)
    return assertions.concluded(found, bench.usual) if bench.usual else found


class CaseRunner:
    """Tries cases, several at a time.

    In real time many more of them, unless the first one has shown that they need the processor:
    then the others would have to wait, and perhaps too long.
    """

    def __init__(
        self, job: AppCheck, pool: Pool, say: Say = lambda _: None, tell: Tell = lambda *_: False
    ) -> None:
        self.job, self.pool, self.say, self.tell = job, pool, say, tell
        self.over = threading.Event()  # cases that have not begun are not played
        self.times: dict[str, float] = {}
        self.places = threading.Semaphore(AT_ONCE)
        self.real = bool(job.pipe)
        self.usual: Course | None = None
        self.cost = 0.0
        self.blocks = False  # so that cases wait, and need no processor, on either clock
        self.doubts: dict[str, bool] = {}  # those told of, and whether the virtual clock was right

    def play(self, case: Case, attempt: Callable[[Case], CaseResult]) -> CaseResult:
        """Attempt a case unless the check is over, note the seconds, and tell what was found."""
        if self.over.is_set():
            return CaseResult(tuple(without(case, self.job.spec, "skip", STOPPED)))
        began = time.monotonic()
        found = attempt(case)
        self.times[case.name] = time.monotonic() - began
        if case.name in (self.job.only or (case.name,)) and self.tell(case.name, found.findings):
            self.over.set()
        return found

    def first(self, case: Case) -> CaseResult:
        """Try the case that says what is usual, and which clock the others need.

        Where an application does not answer on either clock, and in one way, the virtual one is
        right with the other cases, too, as far as they leave no other doubt.
        """
        found = self._apart(case, real=self.real)
        if doubt := found.doubt:
            self._tell(doubt)
            virtual, found = found.course, self._apart(case, real=True)
            self.doubts[doubt] = virtual == found.course and _waited(virtual)
            self.real = not self.doubts[doubt]
        self.blocks = bool(found.course and found.course.detail.startswith(fake_server.BLOCKED))
        self.usual = found.course if self.job.role == "application" else None
        return found

    def tried(self, case: Case) -> CaseResult:
        """Try a case, again in real time where the virtual clock left a doubt."""
        if reason := app_run.left_out(case, self.usual):
            return CaseResult(tuple(without(case, self.job.spec, *reason)))
        if not self.real:
            with nullcontext() if self.blocks else self.places:
                found = self._apart(case, real=False)
            if not found.doubt or self.doubts.get(found.doubt):
                return found
            self._tell(found.doubt)
        with self.places if self.cost > LITTLE else nullcontext():
            return self._apart(case, real=True)

    def _tell(self, doubt: str) -> None:
        """Say once why cases are tried again."""
        if doubt not in self.doubts:
            self.doubts[doubt] = False
            self.say(f"again in real time: {doubt}")

    def _apart(self, case: Case, *, real: bool) -> CaseResult:
        """Try a case in a process of its own; read what it wrote, or what its end says."""
        job, limit = self.job, self.job.limit * 6 + SPARE
        usual = asdict(self.usual) if self.usual else None
        lines, how = self.pool.run({"case": case.name, "usual": usual, "real": real}, limit)
        if how in _SPOILED:
            raise cases.Unchecked(f"{job.target} {_SPOILED[how]}")
        steps = [json.loads(line) for line in lines]
        last = steps[-1] if steps else {}
        if "unchecked" in last:
            raise cases.Unchecked(last["unchecked"])
        if "findings" in last:
            self.cost = max(self.cost, last["cost"])
            course = Course(**last["course"]) if last["course"] else None
            notices = tuple(Notice(*each) for each in last["notices"])
            found = tuple(map(Finding.read, last["findings"]))
            return CaseResult(found, course, last["doubt"], notices)
        end = f"the process ended {how}" if how else f"the process had not ended after {limit:g} s"
        if not steps:
            raise cases.Unchecked(
                f"{job.target} cannot be imported: {end}; make `python -c 'import"
                f" {job.target.partition(':')[0]}'` work first"
            )
        entries = [Entry(**step["entry"]) for step in steps if "entry" in step]
        course = _ended(entries, how.removeprefix("with "), end)
        return CaseResult(tuple(_after(case, job.spec, course, entries)), course)


def _waited(course: Course | None) -> bool:
    """Whether an application gave no answer until its time was over."""
    return bool(course and {course.startup, course.shutdown} & {"hung", "silent"})


def _ended(entries: Sequence[Entry], how: str, end: str) -> Course:
    """Return how an application went that ended its process, or that had to be ended with it."""
    said = {(each.kind, each.type): each for each in entries}
    received = ("received", "lifespan.startup") in said
    if failed := said.get(("sent", "lifespan.startup.failed")):
        return Course("failed", "", received, failed.detail.strip().rpartition("\n")[2].strip())
    word, detail = ("exited", how.removeprefix("by ")) if how else ("killed", end)
    if ("sent", "lifespan.startup.complete") not in said:
        return Course(word, "", received, detail)
    early = " early" * bool(how and ("received", "lifespan.shutdown") not in said)
    return Course("complete", word + early, received, detail)


def _after(case: Case, spec: str, course: Course, entries: Sequence[Entry]) -> Iterator[Finding]:
    """Yield the findings of a case in which the process of an application ended so."""
    phase = "shutdown" if course.starts else "startup"
    said = summary.sentence(course, phase).removeprefix("no, ")
    actual = f"{said[0].upper()}{said[1:]}."
    for each in expected(case, spec):
        broken = each.phrase == "no exit" and course.startup == "exited"
        told = Outcome("broken" if broken else "skip", actual)
        yield finding(case, spec, each, told, sequence(entries))


# ---- the process -------------------------------------------------------------------------------


def serve(channel: str, shared: str) -> None:
    """Find the target, and fork a process for each case."""
    job = json.loads(shared)
    cases.load()  # here, so that no process that is forked has to
    isolation.host(int(channel), lambda: _found(job), _work)


def main(told: str, work: str) -> None:
    """Find the target, and try a case, in this process."""
    job = json.loads(work)
    try:
        subject = _found(job)
    except cases.Unchecked as error:
        Path(told).write_text(json.dumps({"unchecked": str(error)}) + "\n", "utf-8")
    else:
        _work(subject, told, work)


def _found(job: dict[str, Any]) -> Any:
    """Find the target; a program is started anew for each case."""
    if job["pipe"]:
        return None
    process = os.getpid()
    try:
        return target.find(job["target"], factory=job["factory"], limit=job["limit"])
    finally:
        if os.getpid() != process:  # its import has forked: one of the two goes on
            os._exit(0)


def _work(found: Any, told: str, work: str) -> None:
    """Try a case, and write a line of JSON for each step."""
    job, process = json.loads(work), os.getpid()
    with Path(told).open("w", encoding="utf-8", buffering=1) as file:

        def tell(**step: Any) -> None:
            if os.getpid() == process:  # the application may have forked it
                file.write(f"{json.dumps(step)}\n")

        class Recorder(Conversation):
            """Writes each entry at once, as the application may end the process."""

            def note(self, *entry: Any) -> None:
                super().note(*entry)
                tell(entry=asdict(self.entries[-1]))

        began = sum(os.times()[:4])
        try:
            with _subject(found, job) as subject:
                tell(found=True)
                result = _played(subject, job, Recorder)
        except cases.Unchecked as error:
            tell(unchecked=str(error))
        else:
            findings = [asdict(finding) for finding in result.findings]
            cost = sum(os.times()[:4]) - began
            course = asdict(result.course) if result.course else None
            how = {"doubt": result.doubt, "notices": result.notices}
            tell(findings=findings, course=course, cost=cost, **how)


@contextmanager
def _subject(found: Any, job: dict[str, Any]) -> Iterator[Any]:
    """Give what is called: the target, or a program, which is ended."""
    if not job["pipe"]:
        yield found
        return
    with Pipe(job["pipe"], job["limit"]) as app:
        yield app
        if app.fault:
            raise cases.Unchecked(app.fault)


def _played(subject: Any, job: dict[str, Any], spoken: type[Conversation]) -> CaseResult:
    case = next(case for case in cases.load() if case.name == job["case"])
    spec, limits = job["spec"], {"limit": job["limit"], "real": job["real"]}
    try:
        if case.role == "middleware":
            return middleware.run_case(subject, case, spec, **limits)
        usual = Course(**job["usual"]) if job["usual"] else None
        own = job["target"].partition(":")[0].partition(".")[0]
        return app_run.run_case(subject, case, spec, usual, own=own, spoken=spoken, **limits)
    except cases.Unchecked as error:
        raise cases.Unchecked(f"{job['target']}: {error}") from None
