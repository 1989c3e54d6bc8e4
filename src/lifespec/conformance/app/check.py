"""Check an application or middleware: play the cases, judge what was seen, make the report."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from lifespec.conformance import cases
from lifespec.conformance.app import process
from lifespec.conformance.app.command import CommandHost
from lifespec.conformance.app.compare import MiddlewareJudge
from lifespec.conformance.app.judge import ApplicationJudge
from lifespec.conformance.app.observation import Observation
from lifespec.conformance.app.outcome import ENDED, LATE, answers, stops
from lifespec.conformance.app.plan import SERVING, Plan, planned
from lifespec.conformance.app.process import Result
from lifespec.conformance.app.summary import Summary, printed, second_start
from lifespec.conformance.app.target import Job, NotFound
from lifespec.conformance.cases import Case
from lifespec.conformance.finding import (
    Finding,
    OnCase,
    OnFirst,
    OnPlan,
    OnWait,
    Row,
    Verdict,
    judged,
    known_spec,
    skipped,
    unknown,
)
from lifespec.conformance.judge import Judge
from lifespec.conformance.report import Report
from lifespec.conformance.rules import rules
from lifespec.diagnosis.fact import Fact, fact
from lifespec.diagnosis.problem import FAILING, problem_of

LIMIT = 30.0  # seconds for an answer
MOST_FAILURES = 3  # of lifespec itself that a report shows


class Callbacks(NamedTuple):
    """Who is told what a check does: what it will run, what came first, each case, each wait."""

    case: OnCase
    wait: OnWait
    plan: OnPlan = lambda _: None
    first: OnFirst = lambda _: None


def check_app(
    app: Any,
    spec: str = "asgi 2.0",
    *,
    strict: bool = False,
    only: Collection[str] = (),
    ignore: Collection[str] = (),
    timeout: float = LIMIT,
    factory: bool = False,
    quick: bool = False,
    at_once: int | None = None,
    on_case: OnCase = lambda *_: None,
    on_wait: OnWait = lambda *_: None,
    on_plan: OnPlan = lambda _: None,
    on_first: OnFirst = lambda _: None,
) -> Report:
    """Check an application, and return the report.

    `app` is its name, as in `shop.main:app`, or the application; or a list of words, the command
    that serves it, such as `["uvicorn", "shop.main:app"]`.  Each case has a process of its
    own, in real time; a named application is imported once.  `spec` names the specification, such
    as `"amgi 2.0"`, or `"amgi"` for the newest version.  `only` names the cases to report on,
    `ignore` rules and problems to leave out.  `timeout` is how many seconds the import or an
    answer may take.  With `factory` a call of `app` makes the application.  `quick` plays one case
    only, in which it starts, handles a request and stops; `at_once` is how many cases may be played
    at a time.  Raises Unchecked for an unknown specification, case, rule or problem.
    """
    subject = tuple(app) if isinstance(app, list) else app
    job = Job("application", subject, known_spec(spec), timeout, factory)
    plan = planned("application", job.spec, only, quick=quick, limit=at_once)
    on = Callbacks(on_case, on_wait, on_plan, on_first)
    return _checked(job, plan, ignore, strict=strict, on=on)


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
    plan = planned("middleware", job.spec, only)
    return _checked(job, plan, ignore, strict=strict, on=Callbacks(on_case, on_wait))


def known_name(name: str) -> str:
    """Return what can be left out: a rule ID, or the name of a problem; raise Unchecked if none."""
    known = list(rules())
    known += FAILING
    if name not in known:
        raise unknown("name", name, known, "lifespec cases")
    return name


def _checked(
    job: Job,
    plan: Plan,
    ignore: Collection[str],
    *,
    strict: bool,
    on: Callbacks,
) -> Report:
    # before the process is started, since it raises for a name that nobody knows
    ignored = list(map(known_name, ignore))
    with _host(job) as host:  # which imports the target meanwhile
        report = Report(job.name, job.spec, role=job.role, strict=strict)
        try:
            results, pace = _results(job, plan, host, on)
        except NotFound as error:
            rows = tuple(printed(error.printed))
            return replace(report, subject=host.name, obstacle=error.fact, rows=rows)
    findings: list[Finding] = []
    for case in plan.cases.values():
        findings += _findings(job, case, results, results[plan.first].seen)
    report = replace(
        report,
        subject=host.name,
        findings=tuple(findings),
        times={name: result.seconds for name, result in results.items()},
        pace=pace,
    )
    if job.role == "application":
        report = _summary(job, plan, results, ignored).concluded(report)
    if isinstance(host, CommandHost):
        if host.is_off:  # the application was checked all the same, by the suite's own server
            off = Row("never ran", fact("lifespan-off", server=host.hello["server"]))
            report = replace(report, rows=(*report.rows, off))
    return _with_failures(report, results).without(ignored)


def _with_failures(report: Report, results: Mapping[str, Result]) -> Report:
    """Return a report that says what went wrong in lifespec itself: then it is no verdict."""
    failures: dict[Fact, None] = {}  # each once
    for result in results.values():
        failures |= dict.fromkeys(result.seen.failures)
    if not failures:
        return report
    # above all others: what stands below may be the doing of the failure
    rows = [Row("lifespec", failure) for failure in failures][:MOST_FAILURES]
    rows += report.rows
    return replace(report, obstacle=next(iter(failures)), rows=tuple(rows))


def _host(job: Job) -> process.Host | process.HostHere:
    """Return what plays cases, and raises NotFound if there is no subject."""
    if isinstance(job.subject, tuple):
        return CommandHost(job, job.subject)
    if isinstance(job.subject, str):
        return process.Host(job)
    return process.HostHere(job)  # an object cannot be sent to another process


def _results(
    job: Job, plan: Plan, host: process.Host | process.HostHere, on: Callbacks
) -> tuple[dict[str, Result], Fact]:
    """Play the first case, and then the others that apply; in doubt a case is played again.

    Return what came of them, and how many were played side by side.
    """
    host.find()
    on.plan(plan.fact())
    first = _play_first(job, plan, host, on)
    results = {plan.first: first}
    at_once, pace = plan.at_once(first.seen)
    apply = []
    for case in plan.cases.values():
        if case.name == plan.first:
            continue
        if not _reason(job, case, first.seen):
            apply.append(case.name)
    others = list(plan.lives(apply))
    doubtful = []
    if others:
        for life in host.play(others, at_once, on.wait):
            for name in life.case.split("+"):
                results[name] = life._replace(case=name)
                findings = list(_findings(job, plan.cases[name], results, first.seen))
                if _is_doubtful(job, life, name, findings):
                    doubtful.append(name)
                else:
                    on.case(name, findings)
    for name in doubtful:
        results[name] = next(host.play([name], 1, on.wait))
        on.case(name, list(_findings(job, plan.cases[name], results, first.seen)))
    return results, pace


def _play_first(
    job: Job, plan: Plan, host: process.Host | process.HostHere, on: Callbacks
) -> Result:
    """Play the first case; raise NotFound if it shows that nothing can be checked."""
    first = next(host.play([plan.first], 1, on.wait))
    if first.seen.blocker:
        not_found = NotFound(first.seen.blocker)
        not_found.printed = first.seen.printed
        raise not_found
    if first.seen.unplayed:  # nothing is known of the application
        raise NotFound(first.seen.failures[0])
    if job.role == "application":
        known = Summary(first.seen, None, None, job.limit).rows()
        on.first([row for row in known if row.label in ("starts", "stops")])
    return first


def _is_doubtful(job: Job, life: Result, name: str, findings: Collection[Finding]) -> bool:
    """Tell whether a case may have gone wrong only because of others that were played beside it.

    They may want the same port, or the same file; in one life with others, what shows anything may
    be another case's.  Middleware has neither.
    """
    if job.role == "middleware":
        return False
    if name != life.case:
        return any(finding.verdict in (Verdict.FAIL, Verdict.WARN) for finding in findings)
    # it would take its whole time once more, and a failure of lifespec itself would come again
    if life.seen.awaited or life.seen.unplayed:
        return False
    # what these two show is told in the first rows of a report, and need not be in a finding
    if name == SERVING and not stops(life.seen):
        return True
    if name == cases.TWICE and any(second_start(life.seen, job.limit)):
        return True
    return any(finding.fails(strict=True) for finding in findings)


def _reason(job: Job, case: Case, seen: Observation) -> Fact | None:
    """Return why a case does not apply to an application that was seen like this, or None."""
    if job.role == "middleware":
        return None
    # a scope that is no lifespan's: how the application answers a lifespan says nothing of it
    if "type" in case.script[0].keys:
        return None
    startup, shutdown = answers(seen)
    if startup.how in ENDED or startup.how == "refused":
        return Fact("unsupported")
    if seen.startup.how != "complete":
        return Fact("does-not-start")
    events = [action for action in case.script if action.verb == "offer"]
    if shutdown.how in LATE:
        if len(events) > 1:  # the case goes on to shutdown, where it would wait its whole time
            return Fact("does-not-stop")
    return None


def _findings(
    job: Job, case: Case, results: Mapping[str, Result], first: Observation
) -> Iterator[Finding]:
    """Return the findings of a case, or that it does not apply."""
    why = _reason(job, case, first)
    # the first case has a result even then: it is the one that shows why others do not apply
    if why and case.name not in results:
        return skipped(case, job.spec, why)
    seen = results[case.name].seen
    if seen.unplayed:
        return skipped(case, job.spec, seen.failures[0])
    judge: Judge
    if case.role == "middleware":
        judge = MiddlewareJudge(case, seen)
    else:
        judge = ApplicationJudge(job, seen, first)
    return judged(case, job.spec, judge.outcome, seen.entries, seen.framework)


def _summary(
    job: Job, plan: Plan, results: Mapping[str, Result], ignored: Collection[str]
) -> Summary:
    """Return how the application went, without the problems that are ignored."""
    seen = {}
    for name, result in results.items():
        if not result.seen.unplayed:
            seen[name] = _without(result.seen, ignored)
    again = None
    # this problem is no fact of an observation: it comes of comparing two starts
    if "second-start" not in ignored:
        again = seen.get(cases.TWICE)
    return Summary(seen[plan.first], seen.get(SERVING), again, job.limit)


def _without(seen: Observation, ignored: Collection[str]) -> Observation:
    """Return what was observed without these problems."""
    seen = replace(seen, facts=[kept for kept in seen.facts if problem_of(kept) not in ignored])
    if "logged-error" in ignored:
        seen.logged = []
    return seen
