"""What `make mutation` found: recorded, shown, and up to date with the sources."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
RECORD: dict[str, Any] = json.loads((ROOT / "docs/matrix/mutation.json").read_text())
LISTED = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text())["equivalent"]
PAGE = (ROOT / "docs/mutation.md").read_text()
COLUMNS = "mutants", "noticed", "equivalent", "survived"


def words(text: str) -> str:
    """Return a text as if it had no lines."""
    return " ".join(text.split())


def parts(name: str) -> list[str]:
    """Return what was counted of a file: its functions, its tables."""
    return [part for part in RECORD["parts"] if part.split()[0] == name]


def test_none_survived() -> None:
    """Every mutant of each file, and of its tables, was noticed or is listed with its reason."""
    assert {part.split()[0] for part in RECORD["parts"]} == {"server", "application", "validate"}
    for found in RECORD["parts"].values():
        assert found["survived"] == 0
        assert found["mutants"] == found["noticed"] + found["equivalent"] > 0


def test_as_many_are_listed_as_were_counted() -> None:
    """The equivalent mutants of a file are those listed; the same line can stand twice in it."""
    for name in ("server", "application", "validate"):
        counted = sum(RECORD["parts"][part]["equivalent"] for part in parts(name))
        listed = [row for row in LISTED if row["file"] == name]
        assert len(listed) <= counted
        assert bool(listed) == bool(counted)


@pytest.mark.parametrize("row", LISTED, ids=lambda row: row["new"])
def test_what_is_listed_stands_in_the_sources(row: dict[str, str]) -> None:
    """A line that is listed is still there, is changed, and has a reason."""
    source = (ROOT / "src/lifespec" / f"{row['file']}.py").read_text()
    assert words(row["old"]) in words(source)
    assert row["old"] != row["new"]
    assert row["reason"].endswith(".")


def test_the_page_shows_the_numbers() -> None:
    """The table of the page is the record; the page names the versions."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines()]
    for part, found in RECORD["parts"].items():
        name, _, tables = part.partition(" ")
        title = f"`{name}.py`" + ", its tables" * bool(tables)
        assert [title, *(f"{found[column]:,}" for column in COLUMNS)] in rows
    assert f"Python {RECORD['python']}, mutmut {RECORD['mutmut']}" in PAGE
