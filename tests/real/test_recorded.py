"""What is installed here does what the published records say of it, in part.

Verdicts and what was seen are compared exactly; only numbers, which are times, ports and processes,
are left out of the latter.  If something differs because it was repaired, `make measure` renews the
records.
"""

import json
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import loglines
import matrix
from lifespec.conformance.server import check as server_check

RECORDS = Path(__file__).parents[2] / "docs" / "matrix"
HERE = Path(sys.prefix)
UVICORN = (
    "well-behaved raises-after-startup returns-after-startup failed-with-message slow-shutdown"
    " failed-without-message answers-both-at-once completes-twice sends-an-unknown-type two-workers"
    " state crashes-while-serving sends-after-its-end shutdown-failed-with-message"
)
STARLETTE = (
    "well-behaved raises-on-the-scope returns-after-startup failed-with-message failed-then-raises"
    " completes-twice sends-no-type answers-shutdown-early crashes-while-serving state"
    " shutdown-failed-with-message"
)
LOGGED = "answers", "raises", "fails", "fails-to-stop"  # the programs that end soon


def recorded(record: str, name: str) -> dict[str, Any]:
    """Return what was recorded of a subject."""
    rows: list[dict[str, Any]] = json.loads((RECORDS / f"{record}.json").read_text("utf-8"))[
        "subjects"
    ]
    return next(row for row in rows if row["name"] == name)


def compared(findings: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what is compared, by case and rule."""
    return {
        (each["case"], each["rule"]): (
            each["verdict"],
            re.sub(r"\d+(\.\d+)?", "…", json.dumps(each["observed"])),
        )
        for each in findings
    }


@pytest.mark.parametrize(
    ("record", "name", "cases"),
    [("servers", "uvicorn", UVICORN), ("drivers", "starlette", STARLETTE)],
)
def test_the_cases_of_a_server_end_as_recorded(record: str, name: str, cases: str) -> None:
    row, subject = recorded(record, name), matrix.RECORDS[record][name]
    assert row["versions"] == {package: version(package) for package in subject.packages}
    assert row["command"] == subject.command
    target = subject.target(HERE, name if record == "drivers" else "")
    report = server_check.check(target, server_check.chosen(cases.split()))
    now, before = compared(matrix.findings(report)), compared(row["findings"])
    assert now == {key: before[key] for key in now}
    for case, seen in matrix.exits([report] if record == "servers" else []).items():
        assert all(each in row["exits"][case] for each in seen), case
    verdicts = {verdict for verdict, _ in now.values()}
    assert verdicts >= {"pass", "info"}
    assert bool(verdicts & {"fail", "warn"}) == (name != "uvicorn")


@pytest.mark.parametrize(
    ("record", "name"),
    [("frameworks", "Starlette"), ("middleware", "Starlette Mount"), ("hosts", "httpx")],
)
def test_a_row_that_is_measured_here_has_the_answers_of_the_record(record: str, name: str) -> None:
    row = import_module(record).row(HERE, name)
    assert row["answers"] == recorded(record, name)["answers"]


def test_a_server_among_the_hosts_does_what_was_recorded() -> None:
    hosts = import_module("hosts")
    found = hosts.relevant(hosts.observed(hosts.SUBJECTS["uvicorn"], HERE, "usual"))
    assert found == recorded("hosts", "uvicorn")["happened"]["usual"]


@pytest.mark.parametrize("name", ["uvicorn", "hypercorn"])
def test_a_server_logs_what_was_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loglines, "OFTEN", 1)  # one of the statuses that the record has
    programs = {each: loglines.PROGRAMS[each] for each in LOGGED}
    runs = recorded("loglines", name)["runs"]  # those of the oldest Python come first
    for program, ways in loglines.recorded(HERE, name, programs).items():
        for way, now in ways.items():
            before = runs[program][way]
            assert {*now["statuses"]} <= {*before["statuses"]}, (program, way)
            assert now | {"statuses": []} == before | {"statuses": []}, (program, way)
