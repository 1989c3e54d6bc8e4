"""A report for machines: JSON, and JUnit XML.  Its sentences are English."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from lifespec.conformance.finding import Finding, Verdict
from lifespec.conformance.report import Report
from lifespec.conformance.rules import rules
from lifespec.diagnosis.fact import Fact, fact
from lifespec.words import english, printable

FORMAT = 3  # of the JSON; a consumer can rely on each key as long as it is the same


def as_json(report: Report) -> str:
    """Return the report as a JSON object."""
    counts = report.counts()
    problems = {name: list(map(_worded, facts)) for name, facts in report.problems.items()}
    rules_ = []
    for rule_id, verdict in report.verdicts().items():
        rules_.append({"id": rule_id, "verdict": verdict})
    cases = []
    for name in dict.fromkeys(finding.case for finding in report.findings):
        seconds = report.times.get(name)  # None of a case that was not played
        cases.append({"name": name, "seconds": None if seconds is None else round(seconds, 3)})
    whole = {
        "format": FORMAT,
        "tool": {"name": "lifespec", "version": version()},
        "subject": {"name": report.subject, "role": report.role},
        "spec": report.spec,
        "strict": report.strict,
        "status": report.status,
        "unchecked": _worded(report.unchecked) if report.unchecked else None,
        "unjudged": _worded(report.unjudged) if report.unjudged else None,
        "supported": report.supported,
        "starts": report.starts,
        "stops": report.stops,
        "ends": report.ends,
        "rows": [{"label": row.label, **_worded(row.fact)} for row in report.rows],
        "problems": problems,
        "counts": {verdict: counts[verdict] for verdict in Verdict},
        "rules": rules_,
        "cases": cases,
        "findings": [_finding(finding) for finding in report.findings],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def version() -> str | None:
    """Return the version of lifespec; None if it is not installed."""
    from importlib.metadata import distributions  # noqa: PLC0415  it imports much

    # it may run from its source, where `importlib.metadata.version` would raise
    installed = next(iter(distributions(name="lifespec")), None)
    return installed.version if installed else None


def _worded(observed: Fact) -> dict[str, Any]:
    return {"says": english(observed), **observed.data()}


def _finding(finding: Finding) -> dict[str, Any]:
    sequence = []
    for entry in finding.entries:
        drawn = asdict(entry)
        detail: Any = entry.detail
        drawn["detail"] = _worded(detail) if isinstance(detail, Fact) else detail
        sequence.append(drawn)
    return {
        "case": finding.case,
        "rule": finding.rule,
        "verdict": finding.verdict,
        "framework": finding.framework,
        "own": finding.own,
        "expected": f"{finding.phrase} {finding.argument}".strip(),
        "observed": _worded(finding.observed),
        "sequence": sequence,
    }


def as_junit(report: Report) -> str:
    """Return the report as JUnit XML, with a test case for each finding.

    A broken MUST is a failure and, if strict, a missed SHOULD, what lifespec does otherwise, and
    each problem that was found beside the rules.  All other findings that were not skipped, and
    problems, have passed and say what was observed.  What else ends the check with another status
    than 0 is a test case of its own.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415  it imports much

    tests = list(_tests(report))
    tags = Counter(test.tag for test in tests)
    root = ET.Element("testsuites")
    # XML has no word for a control character, and a subject may be any command
    root.set("name", "".join(map(printable, f"{report.subject}, {report.spec}")))
    root.set("tests", str(len(tests)))
    root.set("failures", str(tags["failure"]))
    root.set("errors", str(tags["error"]))
    suite = ET.SubElement(root, "testsuite", root.attrib)
    suite.set("skipped", str(tags["skipped"]))  # the outer element has no such attribute
    for test in tests:
        case = ET.SubElement(suite, "testcase")
        case.set("classname", f"lifespec.{test.rule}")
        case.set("name", test.case)
        element = ET.SubElement(case, test.tag)
        element.text = test.says
        if test.tag != "system-out":  # the others have it as an attribute, too, which is shown
            element.set("message", test.says)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


class _Test(NamedTuple):
    """A test case: a rule or a problem, the case, what it ended with (an element), the text."""

    rule: str
    case: str
    tag: str
    says: str


def _tests(report: Report) -> Iterator[_Test]:
    failed = False
    for finding in report.findings:
        says = f"{finding.verdict.upper()}: {english(finding.observed)}"
        if finding.fails(strict=report.strict):
            failed = True
            tag = "failure"
            if finding.own:
                rule = rules()[finding.rule].says(report.spec)
                says = f"{says} {english(fact('requirement-ours', says=rule))}"
        elif finding.verdict == Verdict.SKIP:
            tag = "skipped"
        else:
            tag = "system-out"
        yield _Test(finding.rule, finding.case, tag, says)
    for name, facts in report.problems.items():
        says = " ".join(map(english, facts))
        if report.strict:
            failed = True
            yield _Test(name, "found", "failure", says)
        else:
            yield _Test(name, "found", "system-out", says)
    # who reads the file does not see the status: where the check fails, a test has to have failed
    if report.status and not failed:
        why = report.unchecked or report.unjudged
        if why:
            yield _Test("lifespan", "checked", "error", english(why))
        else:
            says = " ".join(english(row.fact) for row in report.rows)
            yield _Test("lifespan", "checked", "failure", says)
