"""Records: what is kept when a row is measured, and that answers follow from what was observed."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import ROOT

import framework_answers
import host_answers
import matrix
import middleware
import records


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


def test_branches_that_each_add_a_row_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str, status: int = 0) -> None:
        who = "-c", "user.name=a", "-c", "user.email=a@example.org"
        assert subprocess.run(["git", *who, *words], timeout=60).returncode == status

    def commit(branch: str, *rows: str) -> None:
        about = {"date": "2026-11-01", "python": "3", "system": "Linux"}
        names = [{"name": row, **about, "why": "x" * 90} for row in rows]
        record.write_text(records.written({**about, "subjects": names}))
        table.write_text("[rows]\n" + "".join(f'"{row}" = {{ kind = "a" }}\n' for row in rows))
        git("add", ".")
        git("commit", "-q", "-m", branch)

    monkeypatch.chdir(tmp_path)
    record, table = Path("hosts.json"), Path("docs/_measure/hosts.toml")
    table.parent.mkdir(parents=True)
    git("init", "-q", "-b", "main")
    Path(".gitattributes").write_text((ROOT / ".gitattributes").read_text())
    commit("main", "one")
    git("switch", "-q", "-c", "other")
    commit("other", "one", "two")
    git("switch", "-q", "main")
    commit("main", "one", "three")
    git("merge", "-q", "other", status=1)
    records.merged("hosts.json")
    assert [row["name"] for row in json.loads(record.read_text())["subjects"]] == [
        *("one", "three", "two")
    ]
    assert {*tomllib.loads(table.read_text())["rows"]} == {"one", "two", "three"}


def record(name: str) -> Any:
    return json.loads((ROOT / "docs" / "matrix" / f"{name}.json").read_text("utf-8"))


def test_nothing_is_quicker_than_the_floor_and_lifespec_is_ahead_of_every_peer() -> None:
    bench = record("bench")
    for measured in bench, *bench["pythons"]:
        seconds = {row["name"]: row["seconds"] for row in measured["lifespan"]}
        floor, lifespec, *peers = seconds.values()
        assert [*seconds][:2] == ["floor", "lifespec"]
        assert floor < lifespec < min(peers), measured["python"]


def test_the_sums_of_a_record_are_those_of_its_parts() -> None:
    for name, row in record("mutants")["rows"].items():
        assert 0 < row["page"] + (row["test"] or 0) <= row["changes"], name
    exhaustive = record("exhaustive")
    for size, counts in exhaustive["server"].items():
        assert counts["runs"] == sum(exhaustive["runs by length"][: int(size)])


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
