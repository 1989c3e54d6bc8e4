"""The list of mutants that are no other program."""

import tomllib
from pathlib import Path

import pytest

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
LISTED = tomllib.loads(Path(__file__).with_name("equivalent.toml").read_text())["equivalent"]


def words(text: str) -> str:
    """Return a text as if it had no lines."""
    return " ".join(text.split())


@pytest.mark.parametrize("row", LISTED, ids=lambda row: row["new"])
def test_what_is_listed_stands_in_the_sources(row: dict[str, str]) -> None:
    """A line that is listed is still there, is changed, and has a reason."""
    source = (ROOT / "src/lifespec" / f"{row['file']}.py").read_text()
    assert words(row["old"]) in words(source)
    assert row["old"] != row["new"]
    assert row["reason"].endswith(".")
