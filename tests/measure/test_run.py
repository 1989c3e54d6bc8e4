"""A record keeps what was otherwise in the record before."""

import runpy
from pathlib import Path
from typing import Any

import pytest

COMPARED = runpy.run_path(str(Path(__file__).with_name("run.py")))["compared"]
OLD = "2026-01-01"


def row(version: str, *, silent: bool = False, **verdicts: str) -> dict[str, Any]:
    """Return a subject's row of a record: its verdicts by case, all on one rule."""
    findings = [
        {"case": case[0], "rule": "startup-sent", "verdict": verdict, "silent": silent}
        for case, verdict in verdicts.items()
    ]
    return {"name": "quick", "versions": {"quick": version}, "findings": findings}


def before(version: str, *changed: dict[str, Any]) -> dict[str, Any]:
    """Return what the row says of the record before."""
    return {"date": OLD, "versions": {"quick": version}, "changed": [*changed]}


def test_a_verdict_that_differs_is_kept() -> None:
    found = COMPARED(row("1", a="fail", b="pass"), OLD, row("1", a="warn", b="pass"))
    was = {"row": "startup-sent", "silent": False, "verdict": "fail"}
    assert found == row("1", a="warn", b="pass") | {"before": before("1", was)}


def test_the_row_of_a_case_that_is_not_specified_is_the_case() -> None:
    found = COMPARED(row("1", a="pass"), OLD, row("1", a="info", silent=True))
    was = {"row": "a", "silent": True, "verdict": "pass"}
    assert found["before"] == before("1", was)


def test_another_version_is_kept_though_no_verdict_differs() -> None:
    found = COMPARED(row("1", a="pass"), OLD, row("2", a="pass"))
    assert found["before"] == before("1")


def test_the_same_again_keeps_what_was_said() -> None:
    first = row("2", a="pass") | {"before": {"date": "2025-12-31", "versions": {}, "changed": []}}
    assert COMPARED(first, OLD, row("2", a="pass")) == first


@pytest.mark.parametrize(("old", "new"), [("a", "b"), ("b", "a")])
def test_a_case_that_only_one_record_has_is_not_compared(old: str, new: str) -> None:
    found = COMPARED(row("1", **{old: "fail"}), OLD, row("1", **{new: "pass"}))
    assert "before" not in found
