"""A report in Markdown: for an issue, or for the summary of a CI job."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING

from lifespec.conformance import cases
from lifespec.conformance.explain import base
from lifespec.conformance.i18n import ENGLISH
from lifespec.conformance.oldreport import summary
from lifespec.conformance.oldreport.formats import installed
from lifespec.conformance.oldreport.model import Verdict
from lifespec.conformance.oldreport.programs import (
    of_application,
    of_middleware,
    of_server,
)
from lifespec.conformance.rules import rules, sources
from lifespec.conformance.sections import addresses
from lifespec.conformance.texts import printable
from lifespec.conformance.words import mark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lifespec.conformance.cases import Case
    from lifespec.conformance.oldreport.formats import Checked
    from lifespec.conformance.oldreport.model import Finding, Report
    from lifespec.conformance.oldreport.programs import Program

__all__ = ["as_markdown"]

_SHOWN = Verdict.FAIL, Verdict.WARN
_SPECIAL = re.compile(r"[\\`*_<>|\[\]]")
_COMMAND = {
    "application": "lifespec check app {subject}{factory} --only {case}",
    "middleware": "lifespec check middleware {subject} --only {case}",
    "server": "lifespec check server --only {case} -- {subject}",
    "driver": "lifespec check driver {subject} --only {case}",
}


def as_markdown(checked: Checked) -> str:
    """Return the report: what it comes to, and each rule that was broken or missed.

    A finding has the sentence of the rule and its section, what was expected and observed, the
    message sequence, the command that repeats its case, and a program that does so without us.
    """
    return "\n".join(_lines(checked)).rstrip("\n") + "\n"


def _lines(checked: Checked) -> Iterator[str]:
    report = checked.report
    yield f"### {_code(report.subject)}, checked against {ENGLISH.title(report.spec)}"
    yield ""
    counts = report.counts()
    numbers = ", ".join(f"{each.word} {counts[each]}" for each in Verdict if counts[each])
    told = f"{summary.of_rules(report, ENGLISH)}\n{numbers}"
    rows = summary.rows(report, told, ENGLISH) or {"rules": told}
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {head} | {_text(said)} |" for head, said in rows.items())
    for verdict in _SHOWN:
        for found in report.by_rule().values():
            if found[0].verdict == verdict and not (found[0].whose and report.course):
                yield from _finding(found, report)
    yield ""
    made = f"lifespec {installed('lifespec')}, Python {platform.python_version()}"
    yield f"{made}, {platform.system()}, {checked.began:%Y-%m-%d}"


def _finding(found: Sequence[Finding], report: Report) -> Iterator[str]:
    """Yield the decisive finding of a rule, and the other cases with its verdict."""
    finding, *others = (each for each in found if each.verdict == found[0].verdict)
    also = dict.fromkeys(each.case for each in others if each.case != finding.case)
    rule = rules()[finding.rule]
    case = next((each for each in cases.load() if each.name == finding.case), None)
    section = _linked(_text(sources(rule, report.spec, mark)), addresses(rule, report.spec))
    named = (
        f"[`{rule.rule_id}`]({ENGLISH.address(rule.rule_id)})" if base() else _code(rule.rule_id)
    )
    role = "driver" if report.role == "server" and "{app}" not in report.subject else report.role
    factory = " --factory" * report.factory
    command = _COMMAND[role].format(subject=report.subject, factory=factory, case=finding.case)
    yield ""
    yield f"#### {finding.verdict.word}: {named}"
    yield ""
    yield f"> {_text(finding.requirement)} {section}"
    yield ""
    yield f"- Case: {_text(case.says if case else finding.case)}"
    yield f"- Expected: {_text(finding.expected)}"
    yield f"- Observed: {_text(finding.actual)}"
    yield from (f"- {_text(each)}" for each in [finding.whose] if each)
    yield f"- Again: {_code(command)}"
    yield from (f"- Also in {_code(name)}" for name in also)
    if finding.conversation:
        yield ""
        yield from _block("text", finding.conversation)
    if shown := case and _program(report, case, finding.rule):
        yield ""
        yield f"This program shows it without lifespec, as {_code(shown.name)}:"
        yield ""
        yield from _block("python", shown.text.rstrip("\n"))
        yield ""
        yield from _block("sh", "\n".join(shown.run))


def _program(report: Report, case: Case, rule: str) -> Program | None:
    subject, spec = report.subject, report.spec
    if report.role == "application":
        return of_application(subject, case, spec, factory=report.factory)
    if report.role == "middleware":
        return of_middleware(subject, case, spec)
    return of_server(subject, case, rule, spec)


def _block(language: str, text: str) -> Iterator[str]:
    yield f"```{language}"
    yield from (_printable(line).replace("```", "'''") for line in text.split("\n"))
    yield "```"


def _linked(text: str, found: Mapping[str, str]) -> str:
    """Return a text with each section as a link."""
    for section, where in found.items():
        text = text.replace(f"“{section}”", f"[“{section}”]({where})")
    return text


def _text(text: str) -> str:
    """Return a text for one line of Markdown or a cell, with code in backquotes alone as markup."""
    parts = re.split(r"(`[^`]*`)", "\n".join(map(_printable, text.strip().split("\n"))))
    parts[::2] = (_SPECIAL.sub(r"\\\g<0>", part) for part in parts[::2])
    parts[1::2] = (part.replace("|", r"\|") for part in parts[1::2])
    return "".join(parts).replace("\n", "<br>")


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{_printable(text.replace(chr(10), ' '))}{fence}"


def _printable(text: str) -> str:
    return "".join(map(printable, text))
