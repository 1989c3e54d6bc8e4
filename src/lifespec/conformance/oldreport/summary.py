"""The first lines of a report on an application or middleware: what it does, what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.i18n import (
    CAUSES,
    ENGLISH,
    FIND_LIFESPAN,
    GIVE_LIFESPAN,
    NO_CHANGE,
    START_ADVICE,
    STARTS,
    STOP_ADVICE,
    STOPS,
)
from lifespec.conformance.oldreport.model import Course, Verdict
from lifespec.conformance.oldreport.notices import NOTICES
from lifespec.conformance.words import mark as _

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lifespec.conformance.i18n import Wording
    from lifespec.conformance.oldreport.model import Finding, Report
    from lifespec.conformance.oldreport.notices import Notice

__all__ = ["of_rules", "rows", "sentence", "theirs", "told_of"]

PASSES = {
    _("passes lifespan on"): (
        *("scope-type", "scope-versions", "startup-sent", "shutdown-sent"),
        *("startup-answered", "failed-to-prevent-start", "shutdown-answered"),
    ),
    _("passes state on"): ("state-untouched", "state-shallow-copy"),
}
NO_COURSE = Course("")  # of middleware
_KEEPS = {  # whether only some rules were checked, whether one was missed
    (False, False): _("It keeps every MUST and SHOULD of %s."),
    (False, True): _("It keeps every MUST of %s. Missed SHOULD rules: %s."),
    (True, False): _("It keeps the rules that were checked: %s."),
    (True, True): _(
        "It keeps every MUST of the rules that were checked: %s. Missed SHOULD rules: %s."
    ),
}
MOST = 3  # hints; the others are further down


def of_rules(report: Report, wording: Wording) -> str:
    """Return the sentence on the rules with which a report begins."""
    word, title = wording.word, wording.title(report.spec)
    worst = [found[0] for found in report.by_rule().values()]
    broken = sum(each.verdict == Verdict.FAIL for each in worst)
    if broken:
        return word("Broken MUST rules of %s: %s.", title, str(broken))
    if report.course and report.course.supports and not report.course.starts:
        return word("checked in part: its startup has to succeed first")
    if report.unchecked:
        return word("It could not be checked: %s", wording.seen(report.unchecked))
    if not report.supported:
        return word("The application does not support lifespan.")
    some = report.partial or report.left_out
    what = str(sum(each.verdict != Verdict.SKIP for each in worst)) if some else title
    missed = sum(each.verdict == Verdict.WARN for each in worst)
    return word(_KEEPS[bool(some), bool(missed)], *[what, str(missed)][: 1 + bool(missed)])


def rows(report: Report, verdict: str, wording: Wording) -> dict[str, str]:
    """Return the first rows of the report, none for a server; `verdict` is that on the rules."""
    if report.course:
        found = _of_application(report.course, wording)
    elif report.role == "middleware":
        found = _of_middleware(report, wording)
    else:
        return {}
    changes = _changes(report, report.course or NO_COURSE, wording)
    found |= {_("rules"): verdict, _("to change"): "\n".join(changes)}
    known = [*theirs(report.findings, wording), *told_of(report.notices, wording)]
    return found | ({_("to know"): "\n".join(known)} if known else {})


def _of_application(course: Course, wording: Wording) -> dict[str, str]:
    found = {_("starts"): sentence(course, "startup", wording)}
    if course.shutdown:
        found[_("stops")] = sentence(course, "shutdown", wording)
    return found


def _of_middleware(report: Report, wording: Wording) -> dict[str, str]:
    """Say for the lifespan and for its state whether they go through."""
    return {row: _passes(report, rules, wording) for row, rules in PASSES.items()}


def _passes(report: Report, rules: Sequence[str], wording: Wording) -> str:
    """Say what the worst finding of these rules says."""
    findings = [each for each in report.findings if each.rule in rules]
    order = [Verdict.FAIL, Verdict.WARN, Verdict.SKIP, Verdict.PASS, Verdict.INFO]
    worst = min(findings, key=lambda each: order.index(each.verdict), default=None)
    if worst is None:
        return wording.word("not specified")
    if worst.verdict in (Verdict.PASS, Verdict.INFO):
        return wording.word("yes")
    said = wording.seen(worst.actual)
    said = f"{said[:1].lower()}{said[1:]}".rstrip(".。")
    sentence = _("not checked: %s") if worst.verdict == Verdict.SKIP else _("no, %s")
    return wording.word(sentence, said)


def sentence(course: Course, phase: str, wording: Wording = ENGLISH) -> str:
    """Say how an application starts or stops, where in its code, and why."""
    late = course.received and course.startup in ("raised", "returned")
    said = STARTS[course.startup + " late" * late] if phase == "startup" else STOPS[course.shutdown]
    if said == STARTS["complete"]:
        return wording.word(said)
    detail = wording.seen(course.detail.removesuffix(".")) or wording.word("no message")
    parts = [f"{course.limit:g}", detail][2 - said.count("%s") :]
    found = wording.word(said, *parts)
    where = course.place and course.place not in detail
    return wording.word("%s, in %s", found, course.place) if where else found


def told_of(notices: Iterable[Notice], wording: Wording = ENGLISH) -> Iterator[str]:
    """Yield a line for each notice, with the page to read."""
    for notice in notices:
        row = NOTICES[notice.id]
        page = wording.page(row.page, row.title)
        yield wording.word(_("%s See %s."), notice.said(wording.word), page)


def theirs(findings: Iterable[Finding], wording: Wording = ENGLISH) -> Iterator[str]:
    """Yield a line for each framework whose doing it is that rules were missed."""
    missed: dict[str, set[str]] = {}
    for each in findings:
        if each.whose:
            missed.setdefault(_framework(each.whose), set()).add(each.rule)
    for name, rule_ids in missed.items():
        yield wording.word(
            "%s SHOULD missed by %s, not by your code: lifespec explain %s",
            str(len(rule_ids)),
            name,
            wording.word(", ").join(sorted(rule_ids)),
        )


def _framework(whose: str) -> str:
    """Return the name in a sentence that says that something comes from a framework."""
    return whose.removeprefix("This comes from ").partition(" (")[0]


def _changes(report: Report, course: Course, wording: Wording) -> Iterator[str]:
    """Yield one line for each change that is needed, what explains a "no" before the others."""
    cause, rule_id = _cause(course)
    if cause or rule_id:
        yield wording.word(cause) if cause else _hint(rule_id, report, wording)
    if report.course and course.supports and not course.starts:
        return
    if report.whose:
        page = wording.page("opt-out.html", _("Opt out of lifespan"))
        advice = wording.word(_("%s See %s."), wording.word(GIVE_LIFESPAN), page)
        yield wording.word(_("%s %s"), wording.seen(report.whose), advice)
        return
    causes = not (report.supported or (course.startup == "raised" and course.received))
    if causes:
        yield wording.word(FIND_LIFESPAN)
    broken = (Verdict.FAIL, Verdict.WARN)
    worst = [found[0] for found in report.by_rule().values()]
    hints = [
        _hint(each.rule, report, wording)
        for each in sorted(worst, key=lambda each: [*Verdict].index(each.verdict))
        if each.verdict in broken and not each.whose and each.rule != rule_id
        if wording.hint(each.rule, report.role)
    ]
    yield from hints[:MOST]
    if len(hints) > MOST:
        yield wording.word("and more: see below")
    elif not (hints or causes or cause or rule_id):
        yield wording.word(NO_CHANGE)


def _hint(rule_id: str, report: Report, wording: Wording) -> str:
    return wording.word("%s: %s", rule_id, wording.hint(rule_id, report.role))


def _cause(course: Course) -> tuple[str, str]:
    """Return what explains that it does not start or stop: advice, and the rule that says so."""
    phase, how = ("shutdown", course.shutdown) if course.starts else ("startup", course.startup)
    advice = (STOP_ADVICE if course.starts else START_ADVICE).get(how, "")
    if (how, phase) == ("failed", "startup"):
        advice = CAUSES[course.cause]
    if how == "refused":
        return "", course.rule
    if how == "silent" or (how, phase) == ("returned", "shutdown"):
        return "", f"{phase}-answered"
    return advice, f"{phase}-answered" * bool(advice)
