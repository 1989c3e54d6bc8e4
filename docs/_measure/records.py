"""What the measuring programs have in common: the rows of a TOML file, and a record of docs/matrix.

    python docs/_measure/PROGRAM.py ENVIRONMENT FILE [NAME...]

ENVIRONMENT is a folder with a Python and what is measured, FILE is the record.  If rows are named,
only they are measured; the others stay as they are, with their dates.

    python docs/_measure/records.py FILE

puts the rows of two branches together if FILE conflicts in a merge.
"""

import datetime as dt
import json
import platform
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

Row = dict[str, Any]
WIDTH = 100  # a list or a mapping that is longer has a line for each of its items
ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object: it differs from run to run


def table(name: str) -> dict[str, Any]:
    """Return what stands in a TOML file of this folder."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


def connection(kind: str, path: str) -> dict[str, Any]:
    """Return the scope of a request, or of a WebSocket."""
    return {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "scheme": "ws" if kind == "websocket" else kind,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8000"), (b"accept", b"*/*")],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8000),
        **({"subprotocols": []} if kind == "websocket" else {"method": "GET"}),
    }


def data(fact: Any) -> Any:
    """Return a fact as its kind and parts, without the addresses of objects."""
    return json.loads(ADDRESS.sub("0x…", json.dumps(fact.data())))


def measure(
    arguments: Sequence[str],
    known: Iterable[str],
    row: Callable[[Path, str], Row],
    *,
    at_once: int = 1,
    **about: Any,
) -> int:
    """Measure the rows that are named, or all; return 1 if one could not be measured."""
    environment, file, *names = arguments
    order, failed = [*known], []

    def rows() -> Iterator[Row]:
        with ThreadPoolExecutor(at_once) as pool:
            place = Path(environment).absolute()
            waits = {name: pool.submit(row, place, name) for name in select(names, order)}
            for name, each in waits.items():
                try:
                    yield each.result()
                except (RuntimeError, subprocess.SubprocessError) as error:
                    failed.append(f"{name}: {error}\n")
                else:
                    print(name, flush=True)

    keep(Path(file), order, rows(), **about)
    sys.stderr.writelines(failed)
    return bool(failed)


def versions(environment: Path, packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages of an environment."""
    program = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    command = [environment / "bin" / "python", "-c", program, *packages]
    output = subprocess.check_output(command, text=True, timeout=60)
    return dict(zip(packages, output.split(), strict=True))


def select(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the names, or all that are known; end with a sentence if one is not."""
    rows = [*known]
    for name in names:
        if name not in rows:
            raise SystemExit(f"The record has no row {name!r}: name one of {', '.join(rows)}.")
    return [*names] or rows


def now() -> dict[str, str]:
    """Return what a row says of its measurement: the date, the Python and the system."""
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
    }


def keep(path: Path, order: Sequence[str], rows: Iterable[Row], **about: Any) -> None:
    """Write the record after each row, which replaces the row of that name.

    `about` is what the record says of all rows; a row that `order` does not have is dropped.  The
    date of the record is the oldest of its rows.
    """
    kept = {}
    if path.exists():
        kept = {each["name"]: each for each in json.loads(path.read_text("utf-8"))["subjects"]}
    for row in rows:
        kept[row["name"]] = {"name": row["name"], **now(), **row}
        subjects = [kept[each] for each in order if each in kept]
        path.write_text(written({**about, "subjects": subjects}), "utf-8")


def merged(path: str) -> None:
    """Keep the rows of both branches of a merge in which a record conflicts: the newer of each."""
    show = (("git", "show", f":{stage}:{path}") for stage in (2, 3))
    record, theirs = (json.loads(subprocess.check_output(each, timeout=60)) for each in show)
    rows = {row["name"]: row for row in record["subjects"]}
    for row in theirs["subjects"]:
        if row["date"] >= rows.get(row["name"], row)["date"]:
            rows[row["name"]] = row
    Path(path).write_text(written(record | {"subjects": [*rows.values()]}), "utf-8")


def written(record: Row) -> str:
    """Return a record as JSON, as old as its oldest row; each change is a line of its own."""
    oldest = min(record["subjects"], key=lambda each: str(each["date"]))
    measured = {key: oldest[key] for key in ("date", "python", "system")}
    head = json.dumps(measured | record | measured | {"subjects": 0}, indent=1, ensure_ascii=False)
    rows = ",\n".join(map(_row, record["subjects"]))
    return head.removesuffix("0\n}") + f"[\n{rows}\n ]\n}}\n"


def _row(row: Row) -> str:
    parts = (f"   {json.dumps(key)}: {_part(value)}" for key, value in row.items())
    return "  {\n" + ",\n".join(parts) + "\n  }"


def _part(value: Any) -> str:
    """Return a value in one line, or in a line for each of its items."""
    whole = json.dumps(value, ensure_ascii=False)
    if len(whole) <= WIDTH or not isinstance(value, list | dict):
        return whole
    items = [json.dumps(each, ensure_ascii=False) for each in value]
    if isinstance(value, dict):
        values = (json.dumps(each, ensure_ascii=False) for each in value.values())
        items = [f"{name}: {each}" for name, each in zip(items, values, strict=True)]
    lines = ",\n".join(f"    {item}" for item in items)
    return f"{whole[0]}\n{lines}\n   {whole[-1]}"


if __name__ == "__main__":
    merged(*sys.argv[1:])
