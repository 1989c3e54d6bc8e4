"""A report for machines: JSON, and JUnit XML.  Its sentences are English."""

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from lifespec.conformance.finding import Finding, Verdict
from lifespec.conformance.report import Report
from lifespec.conformance.rules import rules
from lifespec.diagnosis.fact import Fact, fact
from lifespec.words import english, printable

FORMAT = 3  # of the JSON; a consumer can rely on each key as long as it is the same


def as_json(report: Report) -> str:
    """Return the report as a JSON object."""
    times = {name: round(seconds, 3) for name, seconds in report.times.items()}
    counts = report.counts()
    names = dict.fromkeys(each.case for each in report.findings)
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
        "problems": {
            name: [_worded(each) for each in facts] for name, facts in report.problems.items()
        },
        "counts": {verdict: counts[verdict] for verdict in Verdict},
        "rules": [{"id": name, "verdict": each} for name, each in report.verdicts().items()],
        "cases": [{"name": name, "seconds": times.get(name)} for name in names],
        "findings": [_finding(each) for each in report.findings],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def version() -> str | None:
    """Return the version of lifespec; None if it is not installed."""
    from importlib.metadata import distributions  # noqa: PLC0415  it imports much

    found = next(iter(distributions(name="lifespec")), None)
    return found.version if found else None


def _worded(observed: Fact) -> dict[str, Any]:
    return {"says": english(observed), **observed.data()}


def _finding(each: Finding) -> dict[str, Any]:
    entries = [(asdict(entry), entry.detail) for entry in each.entries]
    return {
        "case": each.case,
        "rule": each.rule,
        "verdict": each.verdict,
        "framework": each.framework,
        "own": each.own,
        "expected": " ".join(filter(None, (each.phrase, each.argument))),
        "observed": _worded(each.observed),
        "sequence": [
            entry | ({"detail": _worded(detail)} if isinstance(detail, Fact) else {})
            for entry, detail in entries
        ],
    }


def as_junit(report: Report) -> str:
    """Return the report as JUnit XML, with a test case for each finding.

    A broken MUST is a failure and, if strict, a missed SHOULD, what lifespec does otherwise, and
    each problem that was found beside the rules.  All other findings that were not skipped, and
    problems, have passed and say what was observed.  What else ends the check with another status
    than 0 is a test case of its own.
    """
    from xml.etree import ElementTree as ET  # noqa: PLC0415

    rows = []
    for each in report.findings:
        fails = each.fails(strict=report.strict)
        other = "skipped" if each.verdict == Verdict.SKIP else "system-out"
        says = f"{each.verdict.upper()}: {english(each.observed)}"
        if fails and each.own:
            rule = rules()[each.rule].says(report.spec)
            says = f"{says} {english(fact('requirement-ours', says=rule))}"
        rows.append((each.rule, each.case, "failure" if fails else other, says))
    for name, facts in report.problems.items():
        tag = "failure" if report.strict else "system-out"
        rows.append((name, "found", tag, " ".join(map(english, facts))))
    if report.status and not any(tag == "failure" for _rule, _case, tag, _says in rows):
        why = report.unchecked or report.unjudged
        facts = [why] if why else [row.fact for row in report.rows]
        tag = "error" if why else "failure"
        rows.append(("lifespan", "checked", tag, " ".join(map(english, facts))))
    tags = Counter(tag for _rule, _case, tag, _says in rows)
    counts = {"tests": len(rows), "failures": tags["failure"], "errors": tags["error"]}
    named = {"name": "".join(map(printable, f"{report.subject}, {report.spec}"))}
    root = ET.Element("testsuites", named | {key: str(count) for key, count in counts.items()})
    suite = ET.SubElement(root, "testsuite", root.attrib | {"skipped": str(tags["skipped"])})
    for rule_id, name, tag, says in rows:
        case = ET.SubElement(suite, "testcase", {"classname": f"lifespec.{rule_id}", "name": name})
        element = ET.SubElement(case, tag, {} if tag == "system-out" else {"message": says})
        element.text = says
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
