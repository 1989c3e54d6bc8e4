"""The report for machines."""

import json
from xml.etree import ElementTree as ET

from lifespec.conformance.report import formats
from lifespec.conformance.report.model import Finding, Report, Verdict

__all__: list[str] = []

ODD = "no 数据库 \x1b[31m\udc80"


def finding(verdict: str, actual: str = "It left.") -> Finding:
    """Make a finding."""
    return Finding(
        "one", "startup-answered", Verdict.named(verdict), "It answers.", "it answers", actual
    )


def test_json() -> None:
    """The JSON has subject, specification, and the findings with all their fields."""
    found = Report("it", "asgi 2.0", (finding("fail", actual=ODD),))
    read = json.loads(formats.as_json(found))
    assert (read["subject"], read["spec"]) == ("it", "asgi 2.0")
    assert [*map(Finding.read, read["findings"])] == list(found.findings)


def test_a_command_with_control_characters() -> None:
    """The XML is well-formed whatever was given."""
    found = Report("a \x01\x00 b]]>\udc80", "asgi 2.0", (finding("pass"),))
    suite = ET.fromstring(formats.as_junit(found).encode("utf-8"))
    assert suite.attrib["name"] == "a \\x01\\x00 b]]>\\udc80, asgi 2.0"


def test_junit() -> None:
    """Each finding is a test case: failed, skipped, or passed with what was seen."""
    findings = (
        finding("pass"),
        finding("fail", actual=ODD),
        finding("warn"),
        finding("skip"),
        finding("skip"),
        finding("info"),
    )
    found = Report("it", "asgi 2.0", findings)
    suite = ET.fromstring(formats.as_junit(found).encode("utf-8"))
    assert suite.attrib == {
        "name": "it, asgi 2.0",
        "tests": "6",
        "failures": "1",
        "errors": "0",
        "skipped": "2",
    }
    outcomes = [case[0].tag for case in suite]
    assert outcomes == ["system-out", "failure", "system-out", "skipped", "skipped", "system-out"]
    assert suite[1].attrib == {"classname": "startup-answered", "name": "one"}
    assert suite[1][0].attrib["message"] == "FAIL: no 数据库 \\x1b[31m\\udc80"
    assert "expected: it answers\nactual: It left." in (suite[0][0].text or "")
    strict = ET.fromstring(formats.as_junit(found, strict=True).encode("utf-8"))
    assert (strict[2][0].tag, strict.attrib["failures"]) == ("failure", "2")
