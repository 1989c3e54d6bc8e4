"""What is installed here does what the published matrix says of it, in part.

Verdicts and what was seen are compared exactly; only numbers, which are times, ports and processes,
are left out of the latter.  Where something differs because it was repaired: `make matrix`.
"""

import importlib
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.server import check as server_check

__all__: list[str] = []

ROOT = Path(__file__).parents[2]
MEASURE = ROOT / "tests" / "measure"
UVICORN = [
    "well-behaved",
    "raises-after-startup",
    "returns-after-startup",
    "failed-with-message",
    "failed-without-message",
    "answers-both-at-once",
    "completes-twice",
    "sends-an-unknown-type",
    "slow-shutdown",
    "crashes-while-serving",
    "sends-after-its-end",
    "shutdown-failed-with-message",
    "state",
    "two-workers",
]
STARLETTE = [
    "well-behaved",
    "raises-on-the-scope",
    "returns-after-startup",
    "failed-with-message",
    "failed-then-raises",
    "completes-twice",
    "sends-no-type",
    "answers-shutdown-early",
    "crashes-while-serving",
    "shutdown-failed-with-message",
    "state",
]
AMGI = [
    "well-behaved",
    "slow-start",
    "raises-on-the-scope",
    "returns-after-startup",
    "failed-with-message",
    "failed-with-empty-message",
    "completes-twice",
    "crashes-while-serving",
    "shutdown-failed-with-message",
    "works-after-shutdown",
    "state",
]
TRIED = [
    ("servers", "uvicorn", UVICORN),
    ("drivers", "starlette", STARLETTE),
    ("amgi", "amgi-common", AMGI),
    pytest.param("amgi", "amgi-redis", AMGI, marks=pytest.mark.needs("redis-server")),
]


def recorded(record: str, name: str) -> dict[str, Any]:
    """Return what was recorded of a subject."""
    file = ROOT / "docs" / "matrix" / f"{record}.json"
    rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))["subjects"]
    return next(row for row in rows if row["name"] == name)


def compared(findings: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return what is compared, by case and rule."""
    return {
        (each["case"], each["rule"]): (each["verdict"], re.sub(r"\d+(\.\d+)?", "…", each["actual"]))
        for each in findings
    }


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(MEASURE))
    return importlib.import_module("run")


@pytest.mark.parametrize(("record", "name", "cases"), TRIED)
def test_it_does_what_was_recorded(run: Any, record: str, name: str, cases: list[str]) -> None:
    """In the versions that are installed here, case by case."""
    row, subject = recorded(record, name), run.RECORDS[record][name]
    assert row["versions"] == {package: version(package) for package in subject.packages}
    assert row["command"] == subject.command
    target = subject.job(Path(sys.executable).parent)
    report = server_check.check(target, server_check.chosen(cases))
    now, before = compared(run.findings(report)), compared(row["findings"])
    assert now == {key: before[key] for key in now}
    verdicts = {verdict for verdict, _ in now.values()}
    assert verdicts >= {"pass", "info"}
    assert bool(verdicts & {"fail", "warn"}) == (name != "uvicorn")
