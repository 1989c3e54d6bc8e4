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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases
from lifespec.conformance.app import assertions, isolation, middleware, target
from lifespec.conformance.app import run as app_run
from lifespec.conformance.app.assertions import Usual
from lifespec.conformance.app.isolation import Ended, Isolation, Pool
from lifespec.conformance.app.pipe import Pipe
from lifespec.conformance.app.run import CaseResult
from lifespec.conformance.report.model import Finding, Report
from lifespec.conformance.texts import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lifespec.conformance.cases import Case
    from lifespec.conformance.language import Role

    Tell = Callable[[str, Sequence[Finding]], bool]

__all__ = ["SPARE", "STOPPED", "Bench", "Job", "Tell", "check", "main", "serve"]

SPARE = 30.0  # seconds for a process, beside the limits of what it does
AT_ONCE = os.cpu_count() or 1  # processes that work
MOST = 16  # with those that do little but wait
STOPPED = "Not run: another case failed before."
LITTLE = 0.5  # seconds of the processor


@dataclass(frozen=True, slots=True)
class Job:
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


def check(job: Job, tell: Tell = lambda *_: False) -> Report:
    """Check a target; raise Unchecked where it cannot be.

    `tell` is called after a case; where it returns True, cases that have not begun are not played.
    """
    with Pool(__name__, asdict(job), job.isolation, job.limit * 2 + SPARE) as pool:
        bench = Bench(job, pool)
        first, *others = job.cases()
        began = time.monotonic()
        usual = bench.first(first)
        times = {first.name: time.monotonic() - began}
        over = threading.Event()

        def told(case: Case, found: CaseResult) -> CaseResult:
            if case.name in (job.only or (case.name,)) and tell(case.name, found.findings):
                over.set()
            return found

        def tried(case: Case) -> CaseResult:
            if over.is_set():
                skipped = assertions.without(case, job.spec, "skip", STOPPED)
                return CaseResult(tuple(skipped), Usual("", ""))
            began = time.monotonic()
            found = bench.tried(case)
            times[case.name] = time.monotonic() - began
            return told(case, found)

        told(first, usual)
        others = [case for case in others if case.name in (job.only or (case.name,))]
        threads = ThreadPoolExecutor(MOST)
        try:
            results = [usual, *threads.map(tried, others)]
        finally:  # where one cannot be checked, or who asked has gone, none goes on
            pool.break_off()
            threads.shutdown(cancel_futures=True)
    if job.only and first.name not in job.only:
        del results[0]
    findings = tuple(finding for each in results for finding in each.findings)
    note = app_run.note_on(findings)
    found = Report(
        job.target, job.spec, findings, note, isolation=pool.way, role=job.role, times=times
    )
    return assertions.concluded(found, bench.usual) if bench.usual else found


class Bench:
    """Tries cases, several at a time.

    In real time many more of them, unless the first one has shown that they need the processor:
    then the others would have to wait, and perhaps too long.
    """

    def __init__(self, job: Job, pool: Pool) -> None:
        self.job, self.pool = job, pool
        self.places = threading.Semaphore(AT_ONCE)
        self.real = bool(job.pipe)
        self.usual: Usual | None = None
        self.cost = 0.0

    def first(self, case: Case) -> CaseResult:
        """Try the case that says what is usual, and which clock the others need."""
        found = self._apart(case, real=self.real)
        if found.doubt and not self.real:
            self.real = True
            found = self._apart(case, real=True)
        self.usual = found.usual if self.job.role == "application" else None
        return found

    def tried(self, case: Case) -> CaseResult:
        """Try a case, again in real time where the virtual clock left a doubt."""
        if reason := app_run.left_out(case, self.usual):
            return CaseResult(
                tuple(assertions.without(case, self.job.spec, *reason)), Usual("", "")
            )
        if not self.real:
            with self.places:
                found = self._apart(case, real=False)
            if not found.doubt:
                return found
        with self.places if self.cost > LITTLE else nullcontext():
            return self._apart(case, real=True)

    def _apart(self, case: Case, *, real: bool) -> CaseResult:
        work = {"case": case.name, "usual": self.usual, "real": real}
        limit = self.job.limit * 6 + SPARE
        steps, how = self.pool.run(work, limit)
        end = f"the process ended {how}" if how else f"the process had not ended after {limit:g} s"
        return self._read(case, Ended(steps, end))

    def _read(self, case: Case, ended: Ended) -> CaseResult:
        """Read what a process wrote about a case, or what its end says about it."""
        job = self.job
        if not ended.lines:
            raise cases.Unchecked(
                f"{job.target} cannot be imported: {ended.how}; make `python -c 'import"
                f" {job.target.partition(':')[0]}'` work first"
            )
        last = json.loads(ended.lines[-1])
        if "unchecked" in last:
            raise cases.Unchecked(last["unchecked"])
        if "findings" in last:
            self.cost = max(self.cost, last["cost"])
            found = tuple(map(Finding.read, last["findings"]))
            return CaseResult(found, Usual(*last["usual"]), last["doubt"])
        return CaseResult(tuple(_after(case, job.spec, ended.how)), Usual("exited", ""))


def _after(case: Case, spec: str, end: str) -> Iterator[Finding]:
    """Yield the findings of a case in which the target ended its process."""
    for each in assertions.expected(case, spec):
        how: assertions.How = "broken" if each.phrase == "no exit" else "skip"
        told = assertions.Told(how, f"T{end[1:]}.")
        yield assertions.finding(case, spec, each, told)


# ---- the process -------------------------------------------------------------------------------


def serve(channel: str, shared: str) -> None:
    """Find the target, and fork a process for each case."""
    job = json.loads(shared)
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
    return target.find(job["target"], factory=job["factory"], limit=job["limit"])


def _work(found: Any, told: str, work: str) -> None:
    """Try a case, and write a line of JSON for each step."""
    job = json.loads(work)
    with Path(told).open("w", encoding="utf-8", buffering=1) as file:

        def tell(**step: Any) -> None:
            file.write(f"{json.dumps(step)}\n")

        began = sum(os.times()[:4])
        try:
            with _subject(found, job) as subject:
                tell(found=True)
                result = _played(subject, job)
        except cases.Unchecked as error:
            tell(unchecked=str(error))
        else:
            findings = [asdict(finding) for finding in result.findings]
            cost = sum(os.times()[:4]) - began
            tell(findings=findings, usual=result.usual, doubt=result.doubt, cost=cost)


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


def _played(subject: Any, job: dict[str, Any]) -> CaseResult:
    case = next(case for case in cases.load() if case.name == job["case"])
    spec, limits = job["spec"], {"limit": job["limit"], "real": job["real"]}
    try:
        if case.role == "middleware":
            return middleware.run_case(subject, case, spec, **limits)
        usual = Usual(*job["usual"]) if job["usual"] else None
        own = job["target"].partition(":")[0].partition(".")[0]
        return app_run.run_case(subject, case, spec, usual, own=own, **limits)
    except cases.Unchecked as error:
        raise cases.Unchecked(f"{job['target']}: {error}") from None
