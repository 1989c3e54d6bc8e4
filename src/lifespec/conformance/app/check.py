"""Check an application or middleware: play the cases, judge what was seen, make the report."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from lifespec.conformance import cases
from lifespec.conformance.app import process, rows
from lifespec.conformance.app.compare import OfMiddleware
from lifespec.conformance.app.judge import OfApplication
from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.process import Result
from lifespec.conformance.app.target import Job, NotFound
from lifespec.conformance.cases import Case
from lifespec.conformance.finding import (
    Finding,
    OnCase,
    OnWait,
    judged,
    known_rule,
    known_spec,
    skipped,
    unknown,
)
from lifespec.conformance.judge import Judge
from lifespec.conformance.processes import free_memory
from lifespec.conformance.report import Report
from lifespec.diagnosis.fact import Fact, fact

Play = Callable[[Sequence[str], int], Iterator[Result]]

LIMIT = 30.0  # seconds for an answer
SERVING, AGAIN = cases.COURSE[1], "two-loops"
LITTLE = 0.5  # seconds of the processor: a first case that took fewer mostly waited
AT_ONCE = os.cpu_count() or 1  # cases at a time, and
MOST = 16  # cases at a time if the first one mostly waited


def check_app(
    app: Any,
    spec: str = "asgi 2.0",
    *,
    strict: bool = False,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    timeout: float = LIMIT,
    factory: bool = False,
    on_case: OnCase = lambda *_: None,
    on_wait: OnWait = lambda *_: None,
) -> Report:
    """Check an application, and return the report.

    `app` is its name, as in `shop.main:app`, or the application.  Each case has a process of its
    own, in real time; a named application is imported once.  `spec` names the specification, such
    as `"amgi 2.0"`, or `"amgi"` for the newest version.  `only` names the cases to report on,
    `ignore` rules to leave out.  `timeout` is how many seconds the import or an answer may take.
    With `factory` a call of `app` makes the application.  Raises Unchecked for an unknown
    specification, case or rule.
    """
    job = Job("application", app, known_spec(spec), timeout, factory)
    return _check(job, only, ignore, strict=strict, on_case=on_case, on_wait=on_wait)


def check_middleware(
    wrap: Any,
    spec: str = "asgi 2.0",
    *,
    strict: bool = False,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    timeout: float = LIMIT,
    on_case: OnCase = lambda *_: None,
    on_wait: OnWait = lambda *_: None,
) -> Report:
    """Check middleware, and return the report.

    `wrap` takes an application and returns one, or it is the name of such a function.  It is put
    between an application and a server of the suite, which compares what one of them sends with
    what the other receives.  The other arguments are those of `check_app`.
    """
    job = Job("middleware", wrap, known_spec(spec), timeout)
    return _check(job, only, ignore, strict=strict, on_case=on_case, on_wait=on_wait)


def cases_for(role: str, spec: str) -> dict[str, Case]:
    """Return the cases for a role by name, the one that is played before the others first."""
    chosen = [each for each in cases.load() if each.role == role and spec in each.specs]
    chosen.sort(key=lambda each: each.name != cases.FIRST[role])
    return {each.name: each for each in chosen}


def _check(
    job: Job,
    only: Collection[str],
    ignore: Collection[str],
    *,
    strict: bool,
    on_case: OnCase,
    on_wait: OnWait,
) -> Report:
    with _player(job, on_wait) as play:  # which imports the target meanwhile
        known = cases_for(job.role, job.spec)
        for name in only:
            if name not in known:
                raise unknown("case", name, known, f"lifespec cases --role {job.role}")
        ignored = [*map(known_rule, ignore)]
        chosen = {name: known[name] for name in known if name in (only or known)}
        report = Report(job.name, job.spec, role=job.role, strict=strict)
        try:
            results, pace = _results(job, chosen, play, on_case)
        except NotFound as error:
            return replace(report, obstacle=error.fact)
    first = results[cases.FIRST[job.role]]
    report = replace(
        report,
        findings=tuple(
            each for case in chosen.values() for each in _findings(job, case, results, first.seen)
        ),
        times={name: each.seconds for name, each in results.items()},
        pace=pace,
    )
    if job.role == "application":
        serving, again = (results.get(name, first).seen for name in (SERVING, AGAIN))
        report = _with_run(report, first.seen, serving, again, job.limit)
    return report.without(ignored)


@contextmanager
def _player(job: Job, on_wait: OnWait) -> Iterator[Play]:
    """Yield what plays cases, and raises NotFound if there is no subject."""
    if isinstance(job.subject, str):
        with process.Host(job) as host:
            yield partial(host.play, on_wait=on_wait)
    else:
        yield partial(process.play_all, job)


def _results(
    job: Job, chosen: Mapping[str, Case], play: Play, on_case: OnCase
) -> tuple[dict[str, Result], Fact]:
    """Play the first case, and then the others that apply; in doubt a case is played again.

    Return what came of them, and how many were played side by side.
    """
    name = cases.FIRST[job.role]
    first = next(play([name], 1))
    if why := first.seen.blocker:
        raise NotFound(why)
    results, doubtful = {name: first}, []
    apply = [each.name for each in chosen.values() if not _reason(job, each, first.seen)]
    others = [each for each in apply if each != name]
    at_once, pace = _at_once(first.seen)
    for played in play(others, at_once) if others else ():
        results[played.case] = played
        found = [*_findings(job, chosen[played.case], results, first.seen)]
        on_case(played.case, found)
        if job.role == "application" and _is_doubtful(played.seen, found):
            doubtful.append(played.case)
    return results | {name: next(play([name], 1)) for name in doubtful}, pace


def _at_once(seen: Observation) -> tuple[int, Fact]:
    """Return how many cases may be played side by side by what the first one took, and why.

    All of them take at most half of the memory that is free.
    """
    most, free = (MOST if seen.cost < LITTLE else AT_ONCE), free_memory()
    count = max(1, min(most, free // 2 // seen.memory)) if seen.memory and free else most
    took = {"cost": f"{seen.cost:.2f}", "memory": round(seen.memory / 1e6)}
    return count, fact("pace", count=count, **took, free=round(free / 1e6))


def _is_doubtful(seen: Observation, found: Collection[Finding]) -> bool:
    """Tell whether a case may have gone wrong only because others were played at the same time.

    They may want the same port, or the same file.
    """
    return not seen.awaited and any(each.fails(strict=True) for each in found)


def _reason(job: Job, case: Case, seen: Observation) -> Fact | None:
    """Return why a case does not apply to an application that was seen like this, or None."""
    if job.role == "middleware" or "type" in case.script[0].keys:
        return None
    startup, shutdown = rows.answers(seen)
    if startup.how in (*rows.ENDED, "refused"):
        return Fact("unsupported")
    if seen.startup.how != "complete":
        return Fact("does-not-start")
    hangs = shutdown.how in rows.LATE
    events = [each for each in case.script if each.verb == "offer"]
    return Fact("does-not-stop") if hangs and len(events) > 1 else None


def _findings(
    job: Job, case: Case, results: Mapping[str, Result], first: Observation
) -> Iterator[Finding]:
    """Return the findings of a case, or that it does not apply."""
    why = _reason(job, case, first)
    if why and case.name not in results:
        return skipped(case, job.spec, why)
    seen = results[case.name].seen
    of_middleware = case.role == "middleware"
    judge: Judge = OfMiddleware(case, seen) if of_middleware else OfApplication(job, seen, first)
    return judged(case, job.spec, judge.outcome, seen.entries, seen.framework)


def _with_run(
    report: Report, seen: Observation, serving: Observation, again: Observation, limit: float
) -> Report:
    """Return a report with how the application starts and stops."""
    sooner = seen.shutdown.how == "complete" or serving.shutdown.when == "serving"
    if sooner and not rows.stops(serving):  # it failed while it served
        others = [each for each in serving.facts if each not in serving.known(*rows.ENTERED)]
        seen = replace(serving, facts=[*others, *seen.known(*rows.ENTERED)])
    how = rows.answers(seen)[0].how
    starts, supported = how == "complete", how not in rows.ENDED
    fails = any(each.fails() for each in report.findings)
    return replace(
        report,
        rows=tuple(rows.rows(seen, serving, again, limit)),
        starts=starts if supported or seen.received else None,
        stops=rows.stops(seen) if starts else None,
        ends=not (rows.stays(seen) or rows.stays(serving)) if starts else None,
        supported=supported,
        framework="" if supported or seen.received else seen.framework,
        obstacle=None if starts or fails or not supported else Fact("does-not-start"),
    )
