"""Keeps the record of a command beside this: subject by subject, and a line for each question."""

import datetime as dt
import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lifespec_docs.facts.recorded import made_with

__all__ = ["keep", "versions", "written"]


def versions(python: str, packages: Sequence[str]) -> dict[str, str]:
    """Ask a Python for the versions of packages."""
    program = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    said = subprocess.check_output([python, "-c", program, *packages], text=True, timeout=60)
    return dict(zip(packages, said.split(), strict=True))


def written(record: dict[str, Any]) -> str:
    """Return a record as it is kept: a line for each question of a mapping in a row."""
    text = json.dumps(record | {"subjects": []}, indent=1).removesuffix("[]\n}")
    return f"{text}[\n" + ",\n".join(map(_row, record["subjects"])) + "\n ]\n}\n"


def _row(row: dict[str, Any]) -> str:
    told = {key: row[key] for key in ("happened", "variants") if key in row}
    head = json.dumps({key: each for key, each in row.items() if key not in told})
    parts = (_part(key, each) for key, each in told.items())
    return f"  {head[:-1]},\n" + ",\n".join(parts) + "\n  }"


def _part(key: str, told: dict[str, Any]) -> str:
    lines = (f"   {json.dumps(name)}: {json.dumps(said)}" for name, said in told.items())
    return f'  "{key}": {{\n' + ",\n".join(lines) + "\n  }"


def keep(
    path: Path, name: str, order: Sequence[str], rows: Iterable[dict[str, Any]], *, whole: bool
) -> None:
    """Write the record after each row; it has the digests of now when the whole was observed."""
    before = json.loads(path.read_text("utf-8")) if path.exists() else {"subjects": []}
    kept = {each["name"]: each for each in before["subjects"]}
    digests, now = before.get("made_with", {}), made_with(name)
    seen: set[str] = set()
    for row in rows:
        kept[row["name"]] = row
        seen.add(row["name"])
        if whole and len(seen) == len(order):
            digests = now  # until then some rows are those of the record before
        record = {
            "date": dt.datetime.now(dt.UTC).date().isoformat(),
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "system": platform.system(),
            "made_with": digests,
            "subjects": [kept[each] for each in order if each in kept],
        }
        path.write_text(written(record), "utf-8")
