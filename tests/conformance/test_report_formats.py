"""The report for machines, read by parsers that are not ours."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from email.message import Message
from importlib import metadata, resources
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import jsonschema
import junitparser
import pytest
import sarif_pydantic

from lifespec.conformance import explain
from lifespec.conformance.oldreport import formats
from lifespec.conformance.oldreport.formats import Checked
from lifespec.conformance.oldreport.model import Course, Finding, Report, Verdict
from lifespec.conformance.rules import rules

__all__: list[str] = []

ODD = "no 数据库 \x1b[31m\udc80"
BEGAN = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
SCHEMA = json.loads(
    resources.files("lifespec.conformance").joinpath("data/report.schema.json").read_text("utf-8")
)
GOOD = Course("complete", "complete", received=True, detail="")
HANGS = Course("complete", "hung", detail="it was in x.py:2", limit=30)


def finding(
    verdict: str, actual: str = "It left.", rule_id: str = "startup-answered", whose: str = ""
) -> Finding:
    """Make a finding."""
    said = "It answers.", "it answers", actual, "a | b", whose
    return Finding("one", rule_id, Verdict.named(verdict), *said)


def checked(*findings: Finding, strict: bool = False, **facts: Any) -> Checked:
    """Make what was checked."""
    found = Report(**{"subject": "shop.main:app", "spec": "asgi 2.0", "findings": findings} | facts)
    return Checked(found, strict, BEGAN, 2.5)


def as_json(found: Checked) -> dict[str, Any]:
    """Return the JSON, which keeps to the schema."""
    read: dict[str, Any] = json.loads(formats.as_json(found))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(read)
    return read


def test_json() -> None:
    """Who checked what, when, by what; the verdict on each rule and the exit status."""
    findings = (finding("fail", actual=ODD), finding("pass", rule_id="events-known"))
    read = as_json(checked(*findings, course=GOOD, times={"one": 0.12345}))
    assert [*map(Finding.read, read.pop("findings"))] == [*findings]
    first, second = read.pop("rules")
    assert (first["id"], first["verdict"]) == ("startup-answered", "fail")
    assert first["page"] == "en/startup.html#startup-answered"
    assert first["hint"].startswith("Startup code waits")
    assert (second["id"], second["verdict"]) == ("events-known", "pass")
    assert read["tool"] == {"name": "lifespec", "version": metadata.version("lifespec")}
    assert read["subject"] == {"name": "shop.main:app", "role": "application", "version": None}
    assert (read["began"], read["seconds"]) == ("2026-02-03T04:05:06+00:00", 2.5)
    assert (read["status"], read["unchecked"], read["strict"]) == (1, "", False)
    assert read["course"] == asdict(GOOD)
    assert read["counts"] == {"fail": 1, "warn": 0, "pass": 1, "info": 0, "skip": 0}
    assert read["cases"] == [{"name": "one", "seconds": 0.123}]


def test_json_of_what_could_not_be_checked() -> None:
    """The reason is in it; a case of which no time is known has none."""
    found = checked(finding("skip"), obstacle="No.", role="server")
    read = as_json(found)
    assert (read["status"], read["unchecked"], read["course"]) == (2, "No.", None)
    assert read["cases"] == [{"name": "one", "seconds": None}]
    (invocation,) = json.loads(formats.as_sarif(found, Path()))["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "No."
    assert invocation["endTimeUtc"] == "2026-02-03T04:05:08Z"
    bare = checked(obstacle="No.")
    assert (as_json(bare)["rules"], sarif(bare).runs[0].results) == ([], [])
    assert junit(bare).errors == 1


@pytest.mark.parametrize(
    ("subject", "role", "package"),
    [
        ("starlette.applications:Starlette", "application", "starlette"),
        ("pytest:app", "middleware", "pytest"),
        ("/usr/bin/uvicorn {app} --port {port}", "server", "uvicorn"),
        ("python -m hypercorn {app}", "server", "hypercorn"),
        ("nosuch {app}", "server", ""),
        ("'", "server", ""),
        ("", "application", ""),
    ],
)
def test_the_version_of_what_was_checked(subject: str, role: str, package: str) -> None:
    """That of its distribution, where one is installed."""
    wanted = metadata.version(package) if package else None
    assert as_json(checked(subject=subject, role=role))["subject"]["version"] == wanted


def test_the_address_of_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full URL where the site's address is known: by the environment, or by the package."""
    project = Message()
    monkeypatch.setattr(metadata, "metadata", lambda _: project)
    monkeypatch.delenv("LIFESPEC_BASE_URL", raising=False)
    project["Project-URL"] = "Source, https://b.invalid/"
    assert explain.base() == ""
    project["Project-URL"] = "Documentation, https://a.invalid"
    assert explain.base() == "https://a.invalid/"
    monkeypatch.setattr(metadata, "metadata", Mock(side_effect=metadata.PackageNotFoundError))
    assert explain.base() == ""
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://c.invalid/x/")
    address = explain.address(rules()["startup-sent"], "zh")
    assert address == "https://c.invalid/x/zh-cn/startup.html#startup-sent"


# ---- JUnit -------------------------------------------------------------------------------------


def junit(found: Checked) -> junitparser.JUnitXml:
    """Return the XML as another parser reads it."""
    return junitparser.JUnitXml.fromstring(formats.as_junit(found).encode("utf-8"))


def test_junit() -> None:
    """A suite for each rule, a case for each finding: failed, skipped, or passed."""
    findings = (
        finding("pass"),
        finding("fail", actual=ODD),
        finding("warn", whose="From Starlette."),
        finding("skip", rule_id="events-known"),
        finding("info", rule_id="events-known"),
        finding("warn", rule_id="events-known"),
    )
    read = junit(checked(*findings, times={"one": 3.0}, subject="a \x01 b]]>\udc80"))
    assert read.name == "a \\x01 b]]>\\udc80, asgi 2.0"
    assert (read.tests, read.failures, read.errors, read.time) == (6, 1, 0, 2.5)
    first, second = read
    assert (first.name, first.tests, first.failures, first.skipped) == ("startup-answered", 3, 1, 0)
    assert (second.name, second.tests, second.skipped) == ("events-known", 3, 1)
    assert first.timestamp == "2026-02-03T04:05:06"
    cases = [*first, *second]
    assert {case.name for case in cases} == {"one"}
    assert cases[0].classname == "lifespec.startup-answered"
    assert [case.time for case in cases] == [0.5] * 6
    ((failure,), *others) = [case.result for case in cases]
    assert isinstance(failure, junitparser.Failure)
    assert (failure.type, failure.message) == ("FAIL", "FAIL: no 数据库 \\x1b[31m\\udc80")
    assert "expected: it answers\nactual: no" in failure.text
    assert failure.text.endswith("\na | b")
    assert [type(each).__name__ for other in others for each in other] == ["Skipped"]
    assert "From Starlette." in str(cases[1].system_out)
    strict = junit(checked(*findings, strict=True))
    assert strict.failures == 2


@pytest.mark.parametrize(
    ("facts", "counts", "message"),
    [
        ({"obstacle": "It is not there."}, (0, 1), "It is not there."),
        ({"supported": False, "strict": True}, (1, 0), "does not support lifespan"),
        ({"supported": False}, (0, 0), ""),
        ({"course": HANGS}, (1, 0), "It does not stop: not within 30 s; it was in x.py:2"),
    ],
)
def test_junit_is_red_where_the_exit_status_is(
    facts: dict[str, Any], counts: tuple[int, int], message: str
) -> None:
    """Also for what could not be checked, and for what does not support lifespan."""
    text = formats.as_junit(checked(finding("pass"), **facts))
    read = junitparser.JUnitXml.fromstring(text.encode())
    assert (read.failures, read.errors) == counts
    assert message in text


# ---- SARIF -------------------------------------------------------------------------------------


def sarif(found: Checked, folder: Path = Path("/nowhere")) -> sarif_pydantic.Sarif:
    """Return the SARIF as another parser reads it."""
    return sarif_pydantic.Sarif.model_validate_json(formats.as_sarif(found, folder))


def test_sarif(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was broken or missed, with the rule, a level, a place, and what stays the same."""
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://c.invalid")
    findings = (
        finding("pass", rule_id="message-is-text"),
        finding("fail", actual=ODD),
        finding("pass"),
        finding("warn", rule_id="events-known", whose="From X."),
        finding("info", rule_id="state-keys-text"),
    )
    found = checked(*findings)
    read = sarif(found)
    (run,) = read.runs
    assert (read.version, run.tool.driver.name) == ("2.1.0", "lifespec")
    assert run.tool.driver.version == metadata.version("lifespec")
    assert [rule.id for rule in run.tool.driver.rules] == ["startup-answered", "events-known"]
    rule = run.tool.driver.rules[0]
    assert rule.help.text.startswith("Startup code waits")
    assert str(rule.help_uri) == "https://c.invalid/en/startup.html#startup-answered"
    assert [(r.rule_id, r.rule_index, r.level) for r in run.results] == [
        ("startup-answered", 0, "error"),
        ("events-known", 1, "warning"),
    ]
    assert run.results[0].message.text == "It answers. Case one: no 数据库 \x1b[31m\\udc80"
    assert run.results[1].message.text == "It answers. Case one: It left. From X."
    (place,) = run.results[0].locations[0].logical_locations
    assert (place.fully_qualified_name, place.kind) == ("shop.main:app", "function")
    assert run.results[0].locations[0].physical_location is None
    prints = [result.partial_fingerprints["case/v1"] for result in run.results]
    assert len({*prints}) == 2
    again = sarif(found).runs[0].results
    assert prints == [result.partial_fingerprints["case/v1"] for result in again]
    (invocation,) = json.loads(formats.as_sarif(found, Path()))["runs"][0]["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, 1)


def test_sarif_without_an_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no version then."""
    monkeypatch.setattr(formats, "installed", lambda *_: None)
    driver = json.loads(formats.as_sarif(checked(finding("fail")), Path()))["runs"][0]["tool"]
    assert "version" not in driver["driver"]


@pytest.mark.parametrize(
    ("file", "source", "line"),
    [
        ("shop/main.py", "import x\n\napp = x.App()\n", 3),
        ("shop/main/__init__.py", "\n\n\nasync def app(scope, receive, send):\n    pass\n", 4),
        ("src/shop/main.py", "app: object = 3\n", 1),
        ("shop/main.py", "\n(app)\nfrom x import *\n", 1),
        ("shop/main.py", "not python\n", 1),
        ("main.py", "app = 3\n", None),
    ],
)
def test_the_place_of_a_target(file: str, source: str, line: int | None, tmp_path: Path) -> None:
    """File and line of the attribute, if the file is in the folder."""
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    place = sarif(checked(finding("fail")), tmp_path).runs[0].results[0].locations[0]
    found = place.physical_location
    assert (found and (found.artifact_location.uri, found.region.start_line)) == (
        (file, line) if line else None
    )


def test_a_server_has_no_place(tmp_path: Path) -> None:
    """Its name is the command."""
    found = checked(finding("fail"), subject="x:y {app}", role="server")
    (place,) = sarif(found, tmp_path).runs[0].results[0].locations[0].logical_locations
    assert (place.fully_qualified_name, place.kind) == ("x:y {app}", "module")


@pytest.mark.parametrize(
    ("course", "file", "said", "line"),
    [
        (
            Course("raised", received=True, detail="KeyError: 1", place="`up`, shop/main.py:2"),
            "shop/main.py",
            "",
            0,
        ),
        (
            Course("failed", received=True, detail="KeyError: 1", place="`up`, shop/main.py:2"),
            "shop/main.py",
            "starts: The application does not start: its startup failed: KeyError: 1, in `up`, ",
            2,
        ),
        (
            Course("complete", "failed", detail="no room", place="`down`, x.py:7"),
            "shop/main.py",
            "stops: The application does not stop: its clean-up failed: no room, in `down`, ",
            3,
        ),
    ],
)
def test_sarif_tells_what_does_not_start_or_stop(
    course: Course, file: str, said: str, line: int, tmp_path: Path
) -> None:
    """With the author's own line, if its file is in the folder, else with that of the target."""
    path = tmp_path / file
    path.parent.mkdir()
    path.write_text("\n\napp = 1\n")
    (run,) = sarif(checked(finding("pass"), course=course), tmp_path).runs
    told = [f"{each.rule_id}: {each.message.text}" for each in run.results]
    assert [each[: len(said)] for each in told] == [said] * bool(said)
    assert [rule.id for rule in run.tool.driver.rules] == [each.rule_id for each in run.results]
    for each in run.results:
        found = each.locations[0].physical_location
        assert (found.artifact_location.uri, found.region.start_line) == (file, line)


def test_sarif_tells_a_fault_once(tmp_path: Path) -> None:
    """A broken rule that says that it does not stop has the author's own line."""
    (tmp_path / "x.py").write_text("\n\n")
    course = Course("complete", "hung", detail="it was in x.py:2", place="`down`, x.py:2")
    (run,) = sarif(checked(finding("fail"), course=course), tmp_path).runs
    assert [each.rule_id for each in run.results] == ["startup-answered"]
    found = run.results[0].locations[0].physical_location
    assert (found.artifact_location.uri, found.region.start_line) == ("x.py", 2)
