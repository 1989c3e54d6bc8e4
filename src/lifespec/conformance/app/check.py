"""Check an application or middleware: play the cases, judge what was seen, make the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lifespec.conformance import cases
from lifespec.conformance.app import judge, process, target
from lifespec.conformance.app.loops import needs_trio
from lifespec.conformance.report import Fact, Finding, Report, fact, skipped
from lifespec.conformance.unchecked import known_rule, known_spec, unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from lifespec.conformance.app.play import Seen
    from lifespec.conformance.app.process import Played
    from lifespec.conformance.cases import Case

__all__ = ["LIMIT", "cases_for", "check_app", "check_middleware"]

LIMIT = 30.0  # seconds for an answer
FIRST = {"application": "start-and-stop", "middleware": "through-start-and-stop"}
SERVING = "request-while-running"
STOPPED = Fact("stopped")
AT_ONCE = os.cpu_count() or 1  # processes that work
MOST = 16  # processes that do little but wait
LITTLE = 0.5  # seconds of the processor

Tell = Callable[[str, "Sequence[Finding]"], bool]
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
    tell: Tell = lambda *_: False,
    tick: Tick = lambda *_: None,
) -> Report:
    """Check an application, and return the report.

    `app` is its name, as in `shop.main:app`, or the application.  Each case has a process of its
    own, in real time; a named application is imported once.  `spec` names the specification, such
    as `"amgi 2.0"`, or `"amgi"` for the newest version.  `only` names the cases to report on,
    `ignore` rules to leave out.  `timeout` is how many seconds the import or an answer may take.
    With `factory` a call of `app` makes the application.  `tell` is called with the name of each
    case and its findings, and ends the check by returning True; `tick` with the seconds that the
    suite has waited for a case.  Raises Unchecked for an unknown specification, case or rule.
    """
    check = _Check("application", app, spec, timeout, only, ignore, factory=factory, strict=strict)
    return check.run(tell, tick)


def check_middleware(
    wrap: Any,
    spec: str = "asgi 2.0",
    *,
    strict: bool = False,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    timeout: float = LIMIT,
    tell: Tell = lambda *_: False,
    tick: Tick = lambda *_: None,
) -> Report:
    """Check middleware, and return the report.

    `wrap` takes an application and returns one, or it is the name of such a function.  It is put
    between an application and a server of the suite, which compares what one of them sends with
    what the other receives.  The other arguments are those of `check_app`.
    """
    check = _Check("middleware", wrap, spec, timeout, only, ignore, strict=strict)
    return check.run(tell, tick)


def cases_for(role: str, spec: str) -> list[Case]:
    """Return the cases for a role, the one that is played alone before the others."""
    chosen = [each for each in cases.load() if each.role == role and spec in each.specs]
    return sorted(chosen, key=lambda each: each.name != FIRST[role])


class _Check:
    """One check."""

    def __init__(
        self,
        role: str,
        subject: Any,
        spec: str,
        limit: float,
        only: Collection[str],
        ignore: Collection[str],
        *,
        strict: bool,
        factory: bool = False,
    ) -> None:
        self.role, self.subject, self.spec, self.limit = role, subject, known_spec(spec), limit
        self.ignored = [*map(known_rule, ignore)]
        self.cases = {each.name: each for each in cases_for(role, self.spec)}
        for name in only:
            if name not in self.cases:
                lists = f"lifespec cases --role {role}"
                raise unknown("case", name, self.cases, lists)
        self.chosen = [name for name in self.cases if name in (only or self.cases)]
        first = FIRST[role]
        self.job = process.Job(role, subject, self.spec, factory, limit, first)
        name = subject if isinstance(subject, str) else _name(subject)
        self.report = Report(name, self.spec, role=role, strict=strict, partial=bool(only))  # type: ignore[arg-type]

    def run(self, tell: Tell, tick: Tick) -> Report:
        """Play the cases, and return the report."""
        began, clock = datetime.now(UTC), time.monotonic()
        with ExitStack() as stack:
            report = self._checked(stack, tell, tick)
        return replace(report, began=began, seconds=time.monotonic() - clock)

    def _checked(self, stack: ExitStack, tell: Tell, tick: Tick) -> Report:
        play: Any = partial(process.play_all, self.job)
        if isinstance(self.subject, str):
            if why := target.malformed(self.subject):
                return replace(self.report, obstacle=why)
            host = stack.enter_context(process.Host(self.job))
            why, play = host.obstacle(), partial(host.play, tick=tick)
        else:
            why = _not_callable(self.subject, self.role)
        if why:
            return replace(self.report, obstacle=why)
        first = next(play([self.job.first], 1))
        if _needs_trio(first.seen):
            if not find_spec("trio"):
                return replace(self.report, obstacle=Fact("needs-trio-installed"))
            play = partial(play, trio=True)
            first = next(play([self.job.first], 1))
        if why := _obstacle(first.seen):
            return replace(self.report, obstacle=why)
        return self._all(first, play, tell)

    def _all(self, first: Played, play: Any, tell: Tell) -> Report:
        """Play all other cases, and report."""
        found = {first.case: first}
        told = self._told(first, first, tell)
        reasons = {} if told else dict(self._left_out(first.seen))
        others = [name for name in self.chosen if name not in reasons and name != first.case]
        others = [] if told else others
        at_once = MOST if first.seen.cost < LITTLE else AT_ONCE
        for played in play(others, at_once) if others else ():
            found[played.case] = played
            if self._told(played, first, tell):
                break
        for name in [name for name in found if self._doubtful(found[name], first)]:
            found[name] = next(play([name], 1))
        for name in self.chosen:
            if name not in found:
                reasons.setdefault(name, STOPPED)
        findings = [
            each
            for name in self.chosen
            for each in (
                skipped(self.cases[name], self.spec, reasons[name])
                if name in reasons
                else self._findings(found[name], first)
            )
        ]
        report = replace(
            self.report,
            findings=tuple(findings),
            times={name: played.seconds for name, played in found.items()},
        )
        if self.role == "application":
            serving = found.get(SERVING, first)
            report = _with_course(report, first.seen, serving.seen, self.limit)
        return report.without(self.ignored)

    def _findings(self, played: Played, first: Played) -> list[Finding]:
        case = self.cases[played.case]
        return [*judge.findings(case, self.spec, played.seen, first.seen, self.limit)]

    def _told(self, played: Played, first: Played, tell: Tell) -> bool:
        """Tell of a case that was chosen; return whether to stop."""
        if played.case not in self.chosen:
            return False
        found = [each for each in self._findings(played, first) if each.rule not in self.ignored]
        return tell(played.case, found)

    def _doubtful(self, played: Played, first: Played) -> bool:
        """Tell whether a case may only have gone wrong because others were played beside it.

        They may want the same port, or the same file.
        """
        if played is first or played.seen.waited or self.role != "application":
            return False
        found = self._findings(played, first)
        return any(each.fails(strict=True) for each in found)

    def _left_out(self, seen: Seen) -> Iterator[tuple[str, Fact]]:
        """Yield the cases that say nothing of an application that goes like this, and why."""
        if self.role != "application":
            return
        starts = seen.startup == "complete"
        hangs = judge.shutdown(seen).startswith(judge.LATE)
        for name, case in self.cases.items():
            keys, verbs = case.script[0].keys, [each.verb for each in case.script]
            if "type" in keys or name == self.job.first:
                continue
            if judge.startup(seen) in (*judge.DECLINED, "refused"):
                yield name, Fact("unsupported")
            elif not starts:
                yield name, Fact("not-started")
            elif hangs and verbs.count("offer") > 1:
                yield name, Fact("not-stopped")


def _with_course(report: Report, seen: Seen, serving: Seen, limit: float) -> Report:
    """Return a report with how the application starts and stops."""
    if seen.shutdown == "complete" and not judge.stops(serving):  # it failed while it served
        seen = replace(serving, unrun=seen.unrun, given=seen.given)
    how = judge.startup(seen)
    supported = how not in judge.DECLINED
    starts = None if how in judge.DECLINED and not seen.received else how == "complete"
    report = replace(
        report,
        rows=tuple(judge.rows(seen, serving, limit)),
        starts=starts,
        stops=judge.stops(seen) if how == "complete" else None,
        ends=not (judge.lingers(seen) or judge.lingers(serving)) if how == "complete" else None,
        supported=supported,
        framework="" if supported or seen.received else seen.framework,
    )
    if how in (*judge.DECLINED, "complete") or any(each.fails() for each in report.findings):
        return report
    return replace(report, obstacle=Fact("not-started"))


def _needs_trio(seen: Seen) -> bool:
    return any(needs_trio(each) for each in (seen.error, seen.caught) if each)


def _obstacle(seen: Seen) -> Fact | None:
    if seen.no_application:
        return fact("no-application", value=seen.no_application)
    return seen.obstacle


def _not_callable(subject: Any, role: str) -> Fact | None:
    if not callable(subject):
        return fact("not-callable", target=_name(subject), value=repr(subject))
    return target.not_callable(subject) if role == "application" else None


def _name(subject: Any) -> str:
    return str(getattr(subject, "__qualname__", type(subject).__qualname__))
