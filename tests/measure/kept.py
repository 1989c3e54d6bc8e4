"""Keep a record: a row for each subject, with the date and the Python of its own measurement."""

import datetime as dt
import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["keep", "measured", "versions", "written"]


def versions(python: str, packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages in the environment of a Python."""
    program = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    found = subprocess.check_output([python, "-c", program, *packages], text=True, timeout=60)
    return dict(zip(packages, found.split(), strict=True))


def measured() -> dict[str, str]:
    """Return when and where a row was measured."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
    }


def keep(path: Path, order: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Write the record after each new row; the other rows stay as they are."""
    subjects = json.loads(path.read_text("utf-8"))["subjects"] if path.exists() else []
    kept = {each["name"]: each for each in subjects}
    for row in rows:
        kept[row["name"]] = row
        path.write_text(written([kept[each] for each in order if each in kept]), "utf-8")


def written(rows: Iterable[dict[str, Any]]) -> str:
    """Return a record as JSON with a line for each entry of a row's mappings and lists."""
    return '{"subjects": [\n' + ",\n".join(map(_row, rows)) + "\n]}\n"


def _row(row: dict[str, Any]) -> str:
    long = {key: each for key, each in row.items() if isinstance(each, dict | list)}
    head = json.dumps({key: each for key, each in row.items() if key not in long})
    return ",\n  ".join([f" {head[:-1]}", *(_entries(key, each) for key, each in long.items())]) + "}"


def _entries(key: str, entries: dict[str, Any] | list[Any]) -> str:
    if not entries:
        return f'"{key}": {json.dumps(entries)}'
    if isinstance(entries, list):
        return f'"{key}": [\n   ' + ",\n   ".join(map(json.dumps, entries)) + "]"
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in entries.items())
    return f'"{key}": {{\n   ' + ",\n   ".join(lines) + "}"
