"""Records: what is kept when a row is measured, and that answers follow from what was observed."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import records

FOLDER = Path(__file__).parents[2] / "docs" / "matrix"
MONDAY, TUESDAY = (
    {"date": f"2026-01-0{day}", "python": f"CPython 3.{day}", "system": "Linux"} for day in (5, 6)
)


def measure(file: Path, *names: str) -> int:
    def row(environment: Path, name: str) -> records.Row:
        if name == "broken":
            raise RuntimeError("no such module")
        return {"name": name, "command": f"{environment.name}/{name}"}

    return records.measure(["build", str(file), *names], ["a", "broken", "b"], row, spec="x")


def test_a_row_measured_alone_leaves_the_dates_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.json"
    monkeypatch.setattr(records, "now", lambda: MONDAY)
    assert measure(file) == 1
    assert capsys.readouterr().err == "broken: no such module\n"
    monkeypatch.setattr(records, "now", lambda: TUESDAY)
    assert measure(file, "b") == 0
    assert json.loads(file.read_text("utf-8")) == {
        **MONDAY,
        "spec": "x",
        "subjects": [
            {"name": "a", **MONDAY, "command": "build/a"},
            {"name": "b", **TUESDAY, "command": "build/b"},
        ],
    }
    records.keep(file, ["b"], [{"name": "b"}])
    assert [each["name"] for each in json.loads(file.read_text("utf-8"))["subjects"]] == ["b"]


def test_a_name_that_no_row_has_is_refused_with_what_was_meant(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no row 'Broke': did you mean broken"):
        measure(tmp_path / "a.json", "Broke")


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
