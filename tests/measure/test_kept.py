"""A record is kept row by row, and each row has the date of its own measurement."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

ORDER = ["a", "b"]


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("kept")


def row(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "versions": {name: "1"}, **more}


def test_a_row_measured_alone_leaves_the_dates_of_the_others(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hosts.json"
    monday = {"date": "2026-01-05", "python": "CPython 3.11.2", "system": "Linux"}
    monkeypatch.setattr(kept, "now", lambda: monday)
    kept.keep(path, ORDER, map(row, ORDER))
    tuesday = {"date": "2026-01-06", "python": "CPython 3.14.0", "system": "Linux"}
    monkeypatch.setattr(kept, "now", lambda: tuesday)
    kept.keep(path, ORDER, [row("b")])
    record = json.loads(path.read_text("utf-8"))
    assert [(each["name"], each["date"]) for each in record["subjects"]] == [
        ("a", "2026-01-05"), ("b", "2026-01-06"),
    ]  # fmt: skip
    assert (record["date"], record["python"]) == ("2026-01-05", "CPython 3.11.2")


def test_a_renewal_that_is_interrupted_keeps_what_it_measured(kept: Any, tmp_path: Path) -> None:
    def rows() -> Any:
        yield row("a")
        raise KeyboardInterrupt

    path = tmp_path / "hosts.json"
    with pytest.raises(KeyboardInterrupt):
        kept.keep(path, ORDER, rows())
    assert [each["name"] for each in json.loads(path.read_text("utf-8"))["subjects"]] == ["a"]


def test_a_row_that_is_no_longer_known_is_dropped(kept: Any, tmp_path: Path) -> None:
    path = tmp_path / "hosts.json"
    kept.keep(path, ORDER, map(row, ORDER))
    assert [each["name"] for each in kept.keep(path, ["b"], [row("b")])["subjects"]] == ["b"]


def test_each_item_of_a_long_part_has_a_line(kept: Any) -> None:
    long, short = {"usual": ["x" * 90], "raises": []}, ["é"]
    text = kept.written({"date": "2026-01-05", "subjects": [row("a", happened=long, more=short)]})
    assert json.loads(text)["subjects"][0]["happened"] == long
    assert '    "raises": []\n' in text
    assert '   "more": ["é"]\n' in text


def test_a_name_that_no_row_has_is_refused_with_what_was_meant(kept: Any) -> None:
    assert kept.select([], ["Starlette", "Quart"]) == ["Starlette", "Quart"]
    assert kept.select(["Quart"], ["Starlette", "Quart"]) == ["Quart"]
    with pytest.raises(SystemExit, match="no row 'starlete': did you mean Starlette"):
        kept.select(["starlete"], ["Starlette", "Quart"])
