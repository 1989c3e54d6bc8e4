"""Records: what is kept when a row is measured, and that answers follow from what was observed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import framework_answers
import host_answers
import middleware
import pytest
import records
from published import ROOT

import matrix


def test_a_row_measured_alone_leaves_the_dates_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(day: str, *names: str) -> int:
        monkeypatch.setattr(
            records, "now", lambda: dict.fromkeys(("date", "python", "system"), day)
        )
        return records.measure(["build", str(file), *names], "ab", lambda _, name: {"name": name})

    file = tmp_path / "a.json"
    assert measure("Monday") == measure("Tuesday", "b") == 0
    record = json.loads(file.read_text("utf-8"))
    assert record["date"] == "Monday"
    assert {each["name"]: each["date"] for each in record["subjects"]} == {
        "a": "Monday",
        "b": "Tuesday",
    }


ANSWERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "servers": lambda row: matrix.answers(row["findings"]),
    "drivers": lambda row: matrix.answers(row["findings"]),
    "frameworks": lambda row: framework_answers.answers(row["happened"]),
    "hosts": lambda row: host_answers.answers(row["happened"]),
    "middleware": lambda row: middleware.answers(row["happened"], row["answers"]["check"]),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answers_of_a_record_follow_from_what_it_observed(name: str) -> None:
    text = (ROOT / "docs" / "matrix" / f"{name}.json").read_text("utf-8")
    assert records.written(json.loads(text)) == text
    for row in json.loads(text)["subjects"]:
        found = ANSWERS[name](row)
        assert {key: row.get("answers", row)[key] for key in found} == found, row["name"]
