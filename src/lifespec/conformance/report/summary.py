"""The first lines of a report on an application: startup, shutdown, rules, what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifespec.conformance.i18n import ADVICE, STARTS, STOPS
from lifespec.conformance.report.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lifespec.conformance.i18n import Wording
    from lifespec.conformance.report.model import Course, Report

__all__ = ["rows"]

MOST = 3  # hints; the others are further down


def rows(report: Report, course: Course, verdict: str, wording: Wording) -> dict[str, str]:
    """Return the first rows of the report; `verdict` is the sentence on the rules."""
    late = course.received and course.startup in ("raised", "returned")
    found = {"starts": _told(STARTS, course.startup + " late" * late, course.detail, wording)}
    if course.shutdown:
        found["stops"] = _told(STOPS, course.shutdown, course.detail, wording)
    found["rules"] = verdict
    return found | {"to change": "\n".join(_changes(report, course, wording))}


def _told(table: Mapping[str, str], key: str, detail: str, wording: Wording) -> str:
    sentence = table[key]
    return wording.word(sentence, *[detail or wording.word("no message")] * sentence.count("%s"))


def _changes(report: Report, course: Course, wording: Wording) -> Iterator[str]:
    """Yield one line for each change that is needed."""
    if course.startup in ("failed", "exited"):
        yield wording.word(ADVICE["failed"])
        return
    if report.whose:
        yield report.whose
        return
    causes = not (report.supported or (course.startup == "raised" and course.received))
    if causes:
        yield wording.word(ADVICE["unsupported"])
    broken = (Verdict.FAIL, Verdict.WARN)
    worst = [found[0] for found in report.by_rule().values()]
    hints = [
        wording.word("%s: %s", each.rule, hint)
        for each in sorted(worst, key=lambda each: [*Verdict].index(each.verdict))
        if each.verdict in broken and not each.whose
        if (hint := wording.hint(each.rule, report.role))
    ]
    yield from hints[:MOST]
    if len(hints) > MOST:
        yield wording.word("and more: see below")
    elif not hints and not causes:
        yield wording.word(ADVICE[""])
