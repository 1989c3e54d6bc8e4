"""Records: what is kept when a row is measured, and that answers follow from what was observed."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import records

FOLDER = Path(__file__).parents[2] / "docs" / "matrix"


def test_a_row_measured_alone_leaves_the_dates_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def row(environment: Path, name: str) -> records.Row:
        if name == "broken":
            raise RuntimeError("no such module")
        return {"name": name, "command": f"{environment.name}/{name}"}

    def measure(day: str, *names: str) -> int:
        monkeypatch.setattr(
            records, "now", lambda: dict.fromkeys(("date", "python", "system"), day)
        )
        return records.measure(["build", str(file), *names], ["a", "broken", "b"], row)

    file = tmp_path / "a.json"
    assert measure("Monday") == 1
    assert capsys.readouterr().err == "broken: no such module\n"
    assert measure("Tuesday", "b") == 0
    record = json.loads(file.read_text("utf-8"))
    assert record["date"] == "Monday"
    assert [(each["command"], each["date"]) for each in record["subjects"]] == [
        ("build/a", "Monday"),
        ("build/b", "Tuesday"),
    ]
    records.keep(file, ["b"], [{"name": "b"}])
    assert [each["name"] for each in json.loads(file.read_text("utf-8"))["subjects"]] == ["b"]


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("servers", "matrix"),
        ("drivers", "matrix"),
        ("frameworks", "framework_answers"),
        ("hosts", "host_answers"),
        ("middleware", "middleware"),
    ],
)
def test_the_answers_of_a_record_follow_from_what_it_observed(name: str, module: str) -> None:
    text = (FOLDER / f"{name}.json").read_text("utf-8")
    assert records.written(json.loads(text)) == text
    answers: Any = import_module(module).answers
    for row in json.loads(text)["subjects"]:
        if module == "matrix":
            found = answers(row["findings"])
            assert {key: row[key] for key in found} == found, row["name"]
        elif module == "middleware":
            assert answers(row["happened"], row["answers"]["check"]) == row["answers"], row["name"]
        else:
            assert answers(row["happened"]) == row["answers"], row["name"]
