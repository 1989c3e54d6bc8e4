"""A report for machines: JSON, and JUnit's XML."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from lifespec.conformance.report.model import Verdict
from lifespec.conformance.texts import printable

if TYPE_CHECKING:
    from lifespec.conformance.report.model import Finding, Report

__all__ = ["as_json", "as_junit"]


def as_json(report: Report) -> str:
    """Return the report as a JSON object: subject, spec, note, and the findings' fields."""
    return json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n"


def as_junit(report: Report, *, strict: bool = False) -> str:
    """Return the report as JUnit XML, a test case for each finding.

    A failure is a must that was broken, or with `strict` a should that was missed; the rest that
    was not skipped has passed, and says what was seen.
    """
    counted = Counter(_outcome(finding, strict=strict) for finding in report.findings)
    numbers: dict[str, str] = {
        "tests": str(len(report.findings)),
        "failures": str(counted["failure"]),
        "errors": "0",
        "skipped": str(counted["skipped"]),
    }
    suite = ET.Element("testsuite", {"name": _xml(f"{report.subject}, {report.spec}"), **numbers})
    for finding in report.findings:
        names = {"classname": finding.rule, "name": finding.case}
        _add(ET.SubElement(suite, "testcase", names), finding, strict=strict)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _outcome(finding: Finding, *, strict: bool) -> str:
    if finding.fails(strict=strict):
        return "failure"
    return "skipped" if finding.verdict == Verdict.SKIP else "system-out"


def _add(case: ET.Element, finding: Finding, *, strict: bool) -> None:
    outcome = _outcome(finding, strict=strict)
    said: dict[str, Any] = {}
    if outcome != "system-out":
        said = {"message": _xml(f"{finding.verdict.word}: {finding.actual}")}
    body = f"{finding.requirement}\nexpected: {finding.expected}\nactual: {finding.actual}\n"
    ET.SubElement(case, outcome, said).text = _xml(f"{body}\n{finding.conversation}")


def _xml(text: str) -> str:
    """Write what XML has no character for as an escape."""
    return "".join(c if c in "\n\t" or c.isprintable() else printable(c) for c in text)
