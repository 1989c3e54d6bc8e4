"""A report for machines: JSON, JUnit's XML, and SARIF.

The JSON is described by data/report.schema.json.
"""

from __future__ import annotations

import ast
import hashlib
import json
import shlex
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from lifespec.conformance.i18n import ENGLISH
from lifespec.conformance.oldreport.model import Verdict
from lifespec.conformance.oldreport.summary import sentence
from lifespec.conformance.texts import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lifespec.conformance.oldreport.model import Course, Finding, Report

__all__ = ["Checked", "as_json", "as_junit", "as_sarif", "installed"]

FORMAT = 1  # of the JSON; a consumer can rely on each key as long as it is the same
_NOT = {"starts": "The application does not start", "stops": "The application does not stop"}
_ANSWERED = {"startup-answered", "shutdown-answered"}  # rules that say the same
_LEVELS = {Verdict.FAIL: "error", Verdict.WARN: "warning"}


@dataclass(frozen=True, slots=True)
class Checked:
    """A report, whether a missed SHOULD fails it, when the check began, and how long it took."""

    report: Report
    strict: bool
    began: datetime
    seconds: float

    @property
    def status(self) -> int:
        """The exit status."""
        return self.report.status(strict=self.strict)


def as_json(checked: Checked) -> str:
    """Return the report as a JSON object."""
    report = checked.report
    subject = {"name": report.subject, "role": report.role, "version": _version(report)}
    rules = [
        {
            "id": rule_id,
            "verdict": verdict,
            "page": ENGLISH.address(rule_id),
            "hint": ENGLISH.hint(rule_id, report.role),
        }
        for rule_id, verdict in report.verdicts().items()
    ]
    names = dict.fromkeys(each.case for each in report.findings)
    cases = [{"name": name, "seconds": _rounded(report.times.get(name))} for name in names]
    counts = report.counts()
    whole = {
        "format": FORMAT,
        "tool": {"name": "lifespec", "version": installed("lifespec")},
        "subject": subject,
        "spec": report.spec,
        "strict": checked.strict,
        "began": checked.began.isoformat(),
        "seconds": round(checked.seconds, 3),
        "status": checked.status,
        "unchecked": report.unchecked,
        "supported": report.supported,
        "whose": report.whose,
        "note": report.note,
        "left_out": report.left_out,
        "course": asdict(report.course) if report.course else None,
        "notices": [{"id": each.id, "says": each.said()} for each in report.notices],
        "isolation": report.isolation,
        "counts": {verdict: counts[verdict] for verdict in Verdict},
        "rules": rules,
        "cases": cases,
        "findings": [asdict(finding) for finding in report.findings],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _version(report: Report) -> str | None:
    """Return the version of what was checked, where a distribution that is installed has it."""
    if report.role == "server":
        with suppress(ValueError):
            words = shlex.split(report.subject)
            return installed(words[2] if words[1:2] == ["-m"] else Path(words[0]).name)
        return None
    package = report.subject.partition(":")[0].partition(".")[0]
    return installed(*metadata.packages_distributions().get(package, [package]))


def installed(*names: str) -> str | None:
    """Return the version of the first of these distributions that is installed."""
    for name in names:
        with suppress(metadata.PackageNotFoundError, ValueError):
            return metadata.version(name)
    return None


# ---- JUnit -------------------------------------------------------------------------------------


def as_junit(checked: Checked) -> str:
    """Return the report as JUnit XML: a test suite for each rule, a test case for each finding.

    A broken MUST is a failure and, with `strict`, a missed SHOULD.  All other findings that were
    not skipped have passed and say what was observed.  If nothing could be checked, there is one
    error in a separate test suite.
    """
    report, root = checked.report, ET.Element("testsuites")
    in_case = Counter(each.case for each in report.findings)
    for rule_id, findings in report.by_rule().items():
        suite = ET.SubElement(root, "testsuite", {"name": rule_id})
        for finding in findings:
            seconds = report.times.get(finding.case, 0.0) / in_case[finding.case]
            case = _case(suite, rule_id, finding.case, seconds)
            _add(case, finding, strict=checked.strict)
    if checked.status and not any(each.fails(strict=checked.strict) for each in report.findings):
        tag = "error" if report.unchecked else "failure"
        said = report.unchecked or _fault(report)
        suite = ET.SubElement(root, "testsuite", {"name": "lifespan"})
        ET.SubElement(_case(suite, "lifespan", "checked", 0.0), tag, {"message": _xml(said)})
    for suite in root:
        _count(suite)
        suite.set("timestamp", checked.began.strftime("%Y-%m-%dT%H:%M:%S"))
    _count(root, "disabled")
    root.set("name", _xml(f"{report.subject}, {report.spec}"))
    root.set("time", f"{checked.seconds:.3f}")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _fault(report: Report) -> str:
    """Say what no finding says, and yet ends a check with status 1."""
    course = report.course
    if not course or not course.starts:
        return "The application does not support lifespan."
    return f"It does not stop: {sentence(course, 'shutdown').removeprefix('no, ')}."


def _case(suite: ET.Element, rule_id: str, name: str, seconds: float) -> ET.Element:
    facts = {"classname": f"lifespec.{rule_id}", "name": name, "time": f"{seconds:.3f}"}
    return ET.SubElement(suite, "testcase", facts)


def _count(element: ET.Element, skipped: str = "skipped") -> None:
    """Write into a suite how many cases it has, and how they ended."""
    cases = [*element.iter("testcase")]
    counted = Counter(case[0].tag for case in cases)
    element.set("tests", str(len(cases)))
    for key, tag in (("failures", "failure"), ("errors", "error"), (skipped, "skipped")):
        element.set(key, str(counted[tag]))
    element.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")


def _add(case: ET.Element, finding: Finding, *, strict: bool) -> None:
    outcome = "skipped" if finding.verdict == Verdict.SKIP else "system-out"
    said: dict[str, str] = {}
    if finding.fails(strict=strict):
        outcome, said = "failure", {"type": finding.verdict.word}
    if outcome != "system-out":
        said["message"] = _xml(f"{finding.verdict.word}: {finding.actual}")
    body = f"{finding.requirement}\nexpected: {finding.expected}\nactual: {finding.actual}\n"
    body += f"{finding.whose}\n" * bool(finding.whose)
    ET.SubElement(case, outcome, said).text = _xml(f"{body}\n{finding.conversation}")


def _xml(text: str) -> str:
    """Write what XML has no character for as an escape."""
    return "".join(c if c in "\n\t" or c.isprintable() else printable(c) for c in text)


# ---- SARIF -------------------------------------------------------------------------------------


def as_sarif(checked: Checked, folder: Path) -> str:
    """Return broken and missed rules as SARIF 2.1.0, with paths relative to a folder."""
    report = checked.report
    worst = {rule_id: found[0] for rule_id, found in report.by_rule().items()}
    rules = [rule_id for rule_id, finding in worst.items() if finding.verdict in _LEVELS]
    target, cause = _location(report, folder), _where(report, folder)
    results = [
        _result(finding, rules.index(rule_id), report, cause if rule_id in _ANSWERED else target)
        for rule_id in rules
        for finding in report.by_rule()[rule_id]
        if finding.verdict in _LEVELS
    ]
    described = [_described(worst[rule_id], report) for rule_id in rules]
    for name, said in () if _ANSWERED & {*rules} else _undone(report.course):
        text = f"{_NOT[name]}: {said}."
        found = {"ruleId": name, "ruleIndex": len(described), "level": "error"}
        results.append(found | _told(report, name, "", text) | {"locations": [cause]})
        described.append({"id": name, "shortDescription": {"text": f"{_NOT[name]}."}})
    ended = checked.began + timedelta(seconds=checked.seconds)
    invocation = {
        "executionSuccessful": checked.status != 2,  # noqa: PLR2004  the exit status
        "exitCode": checked.status,
        "startTimeUtc": _utc(checked.began),
        "endTimeUtc": _utc(ended),
    }
    if report.unchecked:
        notification = {"level": "error", "message": {"text": _utf8(report.unchecked)}}
        invocation["toolExecutionNotifications"] = [notification]
    version = installed("lifespec")
    driver = {"name": "lifespec", "rules": described} | ({"version": version} if version else {})
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    whole = {"$schema": schema, "version": "2.1.0", "runs": [run]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _undone(course: Course | None) -> Iterator[tuple[str, str]]:
    """Yield "starts" or "stops" if an application does not, and why."""
    if course and course.supports and not course.starts:
        yield "starts", sentence(course, "startup").removeprefix("no, ")
    elif course and course.starts and not course.stops:
        yield "stops", sentence(course, "shutdown").removeprefix("no, ")


def _where(report: Report, folder: Path) -> dict[str, Any]:
    """Return where an application was or raised, if that is in the folder, else where it is."""
    found = _location(report, folder)
    file, _, line = (
        (report.course.place if report.course else "").rpartition(", ")[2].rpartition(":")
    )
    if line and (folder / file).is_file():
        place = {"artifactLocation": {"uri": file}, "region": {"startLine": int(line)}}
        return found | {"physicalLocation": place}
    return found


def _described(finding: Finding, report: Report) -> dict[str, Any]:
    rule_id = finding.rule
    hint, page = ENGLISH.hint(rule_id, report.role), ENGLISH.address(rule_id)
    found: dict[str, Any] = {
        "id": rule_id,
        "shortDescription": {"text": finding.requirement},
        "help": {"text": hint or finding.requirement},
        "defaultConfiguration": {"level": _LEVELS[finding.verdict]},
    }
    return found | ({"helpUri": page} if "://" in page else {})


def _result(
    finding: Finding, index: int, report: Report, location: dict[str, Any]
) -> dict[str, Any]:
    said = f"{finding.requirement} Case {finding.case}: {finding.actual} {finding.whose}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.verdict],
        "locations": [location],
        **_told(report, finding.rule, finding.case, said.rstrip()),
    }


def _told(report: Report, rule_id: str, case: str, said: str) -> dict[str, Any]:
    """Return the message of a result, and what stays the same when it is found again."""
    key = _utf8(f"{report.subject}\n{report.spec}\n{rule_id}\n{case}")
    prints = {"case/v1": hashlib.sha256(key.encode()).hexdigest()}
    return {"message": {"text": _utf8(said)}, "partialFingerprints": prints}


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _location(report: Report, folder: Path) -> dict[str, Any]:
    """Return where the target is: its name and, if its source is here, file and line."""
    kind = "function" if ":" in report.subject and report.role != "server" else "module"
    logical = {"fullyQualifiedName": _utf8(report.subject), "kind": kind}
    found: dict[str, Any] = {"logicalLocations": [logical]}
    for file in _files(report.subject, folder) if kind == "function" else ():
        uri = file.relative_to(folder).as_posix()
        line = _line(file, report.subject.partition(":")[2].partition(".")[0])
        place = {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}
        return found | {"physicalLocation": place}
    return found


def _files(subject: str, folder: Path) -> Iterator[Path]:
    """Yield the file of a target's module, in the folder or below src."""
    path = subject.partition(":")[0].replace(".", "/")
    names = [f"{top}{path}{end}" for top in ("", "src/") for end in (".py", "/__init__.py")]
    yield from (folder / name for name in names if (folder / name).is_file())


def _line(file: Path, name: str) -> int:
    """Return the line where a module gives something this name, 1 if none is found."""
    with suppress(OSError, SyntaxError, ValueError):
        for node in ast.parse(file.read_bytes()).body:
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            names = [getattr(each, "id", "") for each in targets]
            if name in [*names, getattr(node, "name", "")]:
                return node.lineno
    return 1
