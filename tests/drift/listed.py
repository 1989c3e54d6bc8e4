"""What nothing notices, with the reason: listed.toml."""

import fnmatch
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["LIST", "change", "mutant", "reason", "rows"]

LIST = Path(__file__).with_name("listed.toml")
Row = dict[str, Any]


@cache
def rows(table: str) -> list[Row]:
    """Return the rows of a table: "mutant" or "change"."""
    found: list[Row] = tomllib.loads(LIST.read_text("utf-8")).get(table, [])
    return found


def mutant(row: Row) -> str:
    """Return why a mutant is the same program to who reads the pages, or "" where it is not."""
    for each in rows("mutant"):
        if all(each[key] == row[key] for key in ("file", "old", "new")):
            return str(each["reason"])
    return ""


def change(row: Row) -> str:
    """Return why nothing but a copy can notice a change, or nothing at all."""
    for each in rows("change"):
        keys = [key for key in ("language", "place", "token", "file", "old", "new") if key in each]
        if all(fnmatch.fnmatchcase(row[key], each[key]) for key in keys):
            return str(each["reason"])
    return ""


def reason(row: Row) -> str:
    """Return the reason of either."""
    return change(row) if "token" in row else mutant(row)
