"""Checks an application: plays the cases to it, and collects what is found."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from lifespec.conformance import cases, findings
from lifespec.conformance.app import assertions, fake_server, mounted, player
from lifespec.conformance.app.noticing import noticed
from lifespec.conformance.oldreport.model import Report
from lifespec.conformance.rules import known_spec
from lifespec.testing.trace import Conversation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from lifespec.conformance.cases import Case
    from lifespec.conformance.findings import How
    from lifespec.conformance.oldreport.model import Course, Finding
    from lifespec.conformance.oldreport.notices import Notice

    Application = Callable[[Any, Any, Any], Awaitable[Any]]

__all__ = ["LIMIT", "USUAL", "CaseResult", "cases_for", "check", "left_out", "note_on", "run_case"]

LIMIT = 30.0  # seconds for an answer
USUAL = "start-and-stop"  # the case that says how an application answers in general


class CaseResult(NamedTuple):
    """What came of one case, and how the application went in it.

    `doubt` says why it is to be tried again in real time, or is "".
    """

    findings: tuple[Finding, ...]
    course: Course | None = None
    doubt: str = ""
    notices: tuple[Notice, ...] = ()


def check(app: Application, spec: str = "asgi 2.0", limit: float = LIMIT) -> Report:
    """Check an application, here and now, and return the report.

    `app` is called with scope, receive and send; the same one goes through all cases, one after the
    other, each in event loops of its own.  `spec` names the specification, such as "amgi 2.0"
    or "amgi" for the newest of AMGI.  `limit` is the seconds that an answer has; the clock is
    virtual until the application needs the real one.  Raises Unchecked where there is no such text
    or `app` is no application, and RuntimeError inside of an event loop.
    """
    spec = known_spec(spec)
    usual: Course | None = None
    notices: tuple[Notice, ...] = ()
    found: list[Finding] = []
    real = False
    for case in cases_for(spec):
        if reason := left_out(case, usual):
            found += findings.without(case, spec, *reason)
            continue
        tried = run_case(app, case, spec, usual, limit=limit, real=real)
        if tried.doubt:
            real = True
            tried = run_case(app, case, spec, usual, limit=limit, real=real)
        if usual is None:
            usual, notices = tried.course, tried.notices
        found += tried.findings
    name = getattr(app, "__qualname__", type(app).__qualname__)
    report = Report(name, spec, tuple(found), note_on(found), notices=notices)
    return assertions.concluded(report, usual) if usual else report


def note_on(findings: Sequence[Finding]) -> str:
    """Say in a sentence how an application usually goes, by the findings of all cases."""
    usual = (each for each in findings if (each.case, each.rule) == (USUAL, "startup-answered"))
    return next((each.actual for each in usual), "")


def cases_for(spec: str) -> list[Case]:
    """Return the cases of applications for a text, start-and-stop before the others."""
    chosen = [c for c in cases.load() if c.role == "application" and spec in c.specs]
    return sorted(chosen, key=lambda case: case.name != USUAL)


def left_out(case: Case, usual: Course | None) -> tuple[How, str] | None:
    """Say why a case is not played to an application that usually does so, or None."""
    if usual is None or "type" in case.script[0].keys:
        return None
    if not usual.supports:
        return "skip", "It does not support lifespan."
    return None if usual.starts else ("skip", f"It does not start: see {USUAL}.")


def run_case(
    app: Application,
    case: Case,
    spec: str,
    usual: Course | None,
    *,
    limit: float = LIMIT,
    real: bool = False,
    own: str = "",
    spoken: Callable[[], Conversation] = Conversation,
) -> CaseResult:
    """Play one case to an application, and check it; raise Unchecked where it is none.

    `own` is the package that is checked: what others do is theirs.  `spoken` makes what a message
    sequence is written to.
    """
    _look(app)
    with mounted.watched(app) as not_run:
        seen = player.play(app, case, spec, limit, real=real, own=own, spoken=spoken)
    for each in seen:
        if isinstance(each.error, fake_server.NoApplication):
            raise cases.Unchecked(f"this is not an application: {each.error}")
    now = assertions.course_of(seen[-1], own)
    found = tuple(assertions.findings(case, spec, seen, usual or now, own))
    doubts = [each.doubt for each in seen if each.doubt]
    framework = bool(assertions.whose(seen[-1], own))
    notices = tuple(noticed(seen[-1], not_run, framework=framework))
    return CaseResult(found, now, doubts[0] if doubts else "", notices)


def _look(app: Application) -> None:
    """Raise Unchecked where an application cannot be called with scope, receive and send."""
    try:
        inspect.signature(app).bind({}, None, None)
    except ValueError:  # it does not say what it can be called with
        return
    except TypeError as error:
        raise cases.Unchecked(
            f"this cannot be called with scope, receive and send ({error}): if it makes an"
            " application, give --factory; if it is a two-callable (legacy) one, name what"
            " lifespec.double_to_single_callable makes of it"
        ) from None
