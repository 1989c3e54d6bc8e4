"""Check an application or middleware: play the cases, judge what was seen, make the report."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases
from lifespec.conformance.app import cause, judge, process, target
from lifespec.conformance.app.loops import needs_trio
from lifespec.conformance.app.target import NotFound
from lifespec.conformance.report import (
    Fact,
    Finding,
    Report,
    fact,
    known_rule,
    known_spec,
    skipped,
    unknown,
)
from lifespec.conformance.words import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from lifespec.conformance.app.play import Seen
    from lifespec.conformance.app.process import Job, Played
    from lifespec.conformance.cases import Case

    Results = dict[str, Played | Fact]  # what was seen in a case, or why it was not played

__all__ = ["LIMIT", "cases_for", "check_app", "check_middleware"]

LIMIT = 30.0  # seconds for an answer
FIRST = {"application": "start-and-stop", "middleware": "through-start-and-stop"}
SERVING = "request-while-running"
AT_ONCE = os.cpu_count() or 1  # processes that work
MOST = 16  # processes that do little but wait
LITTLE = 0.5  # seconds of the processor

Tell = Callable[[str, "Collection[Finding]"], object]
Tick = Callable[[str, float], object]


def check_app(
    app: Any,
    spec: str = "asgi 2.0",
    *,
    strict: bool = False,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    timeout: float = LIMIT,
    factory: bool = False,
    tell: Tell = lambda *_: None,
    tick: Tick = lambda *_: None,
) -> Report:
    """Check an application, and return the report.

    `app` is its name, as in `shop.main:app`, or the application.  Each case has a process of its
    own, in real time; a named application is imported once.  `spec` names the specification, such
    as `"amgi 2.0"`, or `"amgi"` for the newest version.  `only` names the cases to report on,
    `ignore` rules to leave out.  `timeout` is how many seconds the import or an answer may take.
    With `factory` a call of `app` makes the application.  Raises Unchecked for an unknown
    specification, case or rule.
    """
    looked = (FIRST["application"], SERVING)
    job = process.Job("application", app, known_spec(spec), factory, timeout, looked)
    return _check(job, only, ignore, strict=strict, tell=tell, tick=tick)


def check_middleware(
    wrap: Any,
    spec: str = "asgi 2.0",
    *,
    strict: bool = False,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    timeout: float = LIMIT,
    tell: Tell = lambda *_: None,
    tick: Tick = lambda *_: None,
) -> Report:
    """Check middleware, and return the report.

    `wrap` takes an application and returns one, or it is the name of such a function.  It is put
    between an application and a server of the suite, which compares what one of them sends with
    what the other receives.  The other arguments are those of `check_app`.
    """
    job = process.Job("middleware", wrap, known_spec(spec), limit=timeout)
    return _check(job, only, ignore, strict=strict, tell=tell, tick=tick)


def cases_for(role: str, spec: str) -> dict[str, Case]:
    """Return the cases for a role by name, the one that is played before the others first."""
    chosen = [each for each in cases.load() if each.role == role and spec in each.specs]
    chosen.sort(key=lambda each: each.name != FIRST[role])
    return {each.name: each for each in chosen}


def _check(
    job: Job,
    only: Collection[str],
    ignore: Collection[str],
    *,
    strict: bool,
    tell: Tell,
    tick: Tick,
) -> Report:
    known = cases_for(job.role, job.spec)
    for name in only:
        if name not in known:
            raise unknown("case", name, known, f"lifespec cases --role {job.role}")
    ignored = [*map(known_rule, ignore)]
    chosen = {name: known[name] for name in known if name in (only or known)}
    name = job.subject if isinstance(job.subject, str) else _name(job.subject)
    report = Report(name, job.spec, role=job.role, strict=strict)  # type: ignore[arg-type]
    try:
        with ExitStack() as stack:
            results = _results(job, chosen, _player(job, stack, tick), tell)
    except NotFound as error:
        return replace(report, obstacle=error.fact)
    first = results[FIRST[job.role]].seen  # type: ignore[union-attr]
    report = replace(
        report,
        findings=tuple(
            each
            for case in chosen.values()
            for each in _findings(job, case, results[case.name], first)
        ),
        times={name: each.seconds for name, each in results.items() if not isinstance(each, Fact)},
    )
    if job.role == "application":
        serving = results.get(SERVING)
        served = first if serving is None or isinstance(serving, Fact) else serving.seen
        report = _with_course(report, first, served, job.limit)
    return report.without(ignored)


def _player(job: Job, stack: ExitStack, tick: Tick) -> Callable[..., Iterator[Played]]:
    """Return what plays cases; raise NotFound if there is no subject."""
    if isinstance(job.subject, str):
        if why := target.malformed(job.subject):
            raise NotFound(why)
        return partial(stack.enter_context(process.Host(job)).play, tick=tick)
    if not callable(job.subject):
        raise NotFound(fact("not-callable", target=_name(job.subject), value=shown(job.subject)))
    if job.role == "application":
        target.check_signature(job.subject)

    def play(names: Sequence[str], at_once: int, *, trio: bool = False) -> Iterator[Played]:
        return process.play_all(job._replace(trio=trio), names, at_once)

    return play


def _results(
    job: Job, chosen: Mapping[str, Case], play: Callable[..., Iterator[Played]], tell: Tell
) -> Results:
    """Play the first case, and then the others that say something of such an application."""
    name = FIRST[job.role]
    first = next(play([name], 1))
    if any(map(needs_trio, cause.errors(first.seen))):
        if not find_spec("trio"):
            raise NotFound(Fact("needs-trio-installed"))
        play = partial(play, trio=True)
        first = next(play([name], 1))
    if why := first.seen.obstacle:
        raise NotFound(why)
    results: Results = {name: first}
    for each in chosen.values():
        if job.role == "application" and (why := _not_played(each, first.seen)):
            results.setdefault(each.name, why)
    others = [name for name in chosen if name not in results]
    at_once = MOST if first.seen.cost < LITTLE else AT_ONCE
    doubtful: list[str] = []
    for played in play(others, at_once) if others else ():
        results[played.case] = played
        found = [*_findings(job, chosen[played.case], played, first.seen)]
        tell(played.case, found)
        if job.role == "application" and _is_doubtful(played.seen, found):
            doubtful.append(played.case)
    results |= {name: next(play([name], 1)) for name in doubtful}
    return results


def _is_doubtful(seen: Seen, found: Collection[Finding]) -> bool:
    """Tell whether a case may only have gone wrong because others were played beside it.

    They may want the same port, or the same file.
    """
    return not seen.waited and any(each.fails(strict=True) for each in found)


def _not_played(case: Case, seen: Seen) -> Fact | None:
    """Return why a case says nothing of an application that goes like this, or None."""
    if "type" in case.script[0].keys:
        return None
    startup, shutdown = cause.answers(seen)
    if startup in (*cause.DECLINED, "refused"):
        return Fact("unsupported")
    if seen.startup != "complete":
        return Fact("does-not-start")
    hangs = shutdown.startswith(cause.LATE)
    events = [each for each in case.script if each.verb == "offer"]
    return Fact("does-not-stop") if hangs and len(events) > 1 else None


def _findings(job: Job, case: Case, result: Played | Fact, first: Seen) -> Iterator[Finding]:
    if isinstance(result, Fact):
        return skipped(case, job.spec, result)
    return judge.findings(case, job.spec, result.seen, first, job.limit)


def _with_course(report: Report, seen: Seen, serving: Seen, limit: float) -> Report:
    """Return a report with how the application starts and stops."""
    if seen.shutdown == "complete" and not cause.stops(serving):  # it failed while it served
        seen = replace(serving, unrun=seen.unrun, given=seen.given)
    how = cause.answers(seen)[0]
    starts, supported = how == "complete", how not in cause.DECLINED
    fails = any(each.fails() for each in report.findings)
    return replace(
        report,
        rows=tuple(cause.rows(seen, serving, limit)),
        starts=starts if supported or seen.received else None,
        stops=cause.stops(seen) if starts else None,
        ends=not (cause.lingers(seen) or cause.lingers(serving)) if starts else None,
        supported=supported,
        framework="" if supported or seen.received else seen.framework,
        obstacle=None if starts or fails or not supported else Fact("does-not-start"),
    )


def _name(subject: Any) -> str:
    return str(getattr(subject, "__qualname__", type(subject).__qualname__))
