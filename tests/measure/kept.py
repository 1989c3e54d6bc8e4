"""Keeps the record of a command beside this: subject by subject, and a line for each question."""

import datetime as dt
import hashlib
import json
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lifespec_docs.facts.recorded import made_with

__all__ = ["keep", "left", "versions", "written"]


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


def left(path: Path, name: str, order: Sequence[str]) -> list[str]:
    """Return the subjects that a renewal has yet to observe: all, unless it was interrupted."""
    done = _read(path).get("renewed", {})
    return [each for each in order if done.get("with") != _now(name) or each not in done["rows"]]


def keep(
    path: Path, name: str, order: Sequence[str], rows: Iterable[dict[str, Any]], *, whole: bool
) -> None:
    """Write the record after each row; it is of now when the whole was observed.

    Until then it has the date, the Python and the digests that it had, and says under "renewed"
    which rows are new.
    """
    before, now = _read(path), _now(name)
    today = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
    }
    about = {key: before.get(key, value) for key, value in today.items()}
    kept = {each["name"]: each for each in before["subjects"]}
    digests, renewed = before.get("made_with", {}), before.get("renewed", {})
    if renewed.get("with") != now:
        renewed = {"with": now, "rows": []}
    for row in rows:
        kept[row["name"]] = row
        renewed["rows"] += [row["name"]] * whole
        if {*order} <= {*renewed["rows"]}:
            digests, renewed, about = made_with(name), {}, today
        record = {
            **about,
            "made_with": digests,
            **({"renewed": renewed} if renewed.get("rows") else {}),
            "subjects": [kept[each] for each in order if each in kept],
        }
        path.write_text(written(record), "utf-8")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"subjects": []}
    return json.loads(path.read_text("utf-8")) if path.exists() else found


def _now(name: str) -> dict[str, str]:
    """Return the digests of what a record is made with, and of the packages."""
    lock = Path(__file__).parents[2] / ".ci" / f"{name}.txt"
    return {**made_with(name), "lock": hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}
