"""Keep a record of `docs/matrix`: a row for each subject, with its date, and a line for each part.

A row that is measured alone gets a date of its own; that of the record is the oldest of its rows.
"""

import datetime as dt
import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

__all__ = ["keep", "now", "select", "versions", "written"]

WIDTH = 100  # a list or a mapping that is longer has a line for each of its items


def versions(python: str, packages: Sequence[str]) -> dict[str, str]:
    """Ask a Python for the versions of packages."""
    program = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    command = [python, "-c", program, *packages]
    output = subprocess.check_output(command, text=True, timeout=60)
    return dict(zip(packages, output.split(), strict=True))


def select(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the names, or all that are known; end with a sentence if one is not."""
    rows = {each.lower(): each for each in known}
    for name in names:
        if name not in rows.values():
            near = get_close_matches(name.lower(), rows, n=3)
            meant = " or ".join(rows[each] for each in near) or ", ".join(rows.values())
            raise SystemExit(f"The record has no row {name!r}: did you mean {meant}?")
    return [*names] or [*rows.values()]


def now() -> dict[str, str]:
    """Return what a row says of its measurement: the date, the Python and the system."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
    }


def keep(
    path: Path, order: Sequence[str], rows: Iterable[dict[str, Any]], **about: Any
) -> dict[str, Any]:
    """Write the record after each row, which replaces the row of that name; return the record.

    `about` is what the record says of all rows; a row that `order` does not have is dropped.
    """
    record = json.loads(path.read_text("utf-8")) if path.exists() else {"subjects": []}
    kept = {each["name"]: each for each in record["subjects"]}
    for row in rows:
        name = row["name"]
        kept[name] = {"name": name, **now(), **row}
        subjects = [kept[each] for each in order if each in kept]
        oldest = min(subjects, key=lambda each: str(each["date"]))
        measured = {key: oldest[key] for key in ("date", "python", "system")}
        record = {**measured, **about, "subjects": subjects}
        path.write_text(written(record), "utf-8")
    return record


def written(record: dict[str, Any]) -> str:
    """Return a record as JSON in which each change is a line of its own."""
    head = json.dumps({**record, "subjects": 0}, indent=1, ensure_ascii=False)
    rows = ",\n".join(_row(row) for row in record["subjects"])
    return head.removesuffix("0\n}") + f"[\n{rows}\n ]\n}}\n"


def _row(row: dict[str, Any]) -> str:
    parts = (f"   {json.dumps(key)}: {_part(value)}" for key, value in row.items())
    return "  {\n" + ",\n".join(parts) + "\n  }"


def _part(value: Any) -> str:
    """Return a value in one line, or in a line for each of its items."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= WIDTH or not isinstance(value, list | dict):
        return whole
    opening, closing = whole[0], whole[-1]
    items = [json.dumps(each, ensure_ascii=False) for each in value]
    if isinstance(value, dict):
        values = (json.dumps(each, ensure_ascii=False) for each in value.values())
        items = [f"{name}: {each}" for name, each in zip(items, values, strict=True)]
    lines = ",\n".join(f"    {item}" for item in items)
    return f"{opening}\n{lines}\n   {closing}"
