"""What the measuring programs have in common: the rows of a TOML file, and a record of docs/matrix.

    python docs/_measure/PROGRAM.py FILE [NAME...]

FILE is the record.  If rows are named, only they are measured; the others stay as they are, with
their dates.  `environments.py` says where what is measured is installed.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from environments import Needs, Python, environment, pythons
from serving import in_foreground

Row = dict[str, Any]
WIDTH = 100  # a list or a mapping that is longer has a line for each of its items
ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object: it differs from run to run


def table(name: str) -> dict[str, Any]:
    """Return what stands in a TOML file of this folder."""
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))


def connection(kind: str, path: str) -> dict[str, Any]:
    """Return the scope of a request, or of a WebSocket."""
    scope = {
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
    }
    if kind == "websocket":
        scope["subprotocols"] = []
    else:
        scope["method"] = "GET"
    return scope


def data(fact: Any) -> Any:
    """Return a fact as its kind and parts, without the addresses of objects."""
    return json.loads(ADDRESS.sub("0x…", json.dumps(fact.data())))


def never(_name: str) -> bool:
    """Answer for rows that are measured on one Python."""
    return False


def measure(
    arguments: Sequence[str],
    needs: Mapping[str, Needs],
    row: Callable[[Path, str], Row],
    *,
    on_newest: Callable[[str], bool] = never,
    at_once: int = 1,
    **about: Any,
) -> int:
    """Measure the rows that are named, or all; return 1 if one could not be measured.

    A row that is measured on the newest Python, too, has two entries in the record.
    """
    in_foreground()
    file, *names = arguments
    failed = []
    wanted = []
    for name in select(names, needs):
        for python in pythons() if on_newest(name) else pythons()[:1]:
            wanted.append((name, python))

    def made(name: str, python: Python) -> Row:
        place = environment(needs[name], python, alone=bool(names))
        return {"name": name, **now(place), **row(place, name)}

    def rows() -> Iterator[Row]:
        with ThreadPoolExecutor(at_once) as pool:
            waits = {job: pool.submit(made, *job) for job in wanted}
            for (name, python), wait in waits.items():
                try:
                    yield wait.result()
                except (RuntimeError, subprocess.SubprocessError) as error:
                    failed.append(f"{name}, Python {python.version}: {error}\n")
                else:
                    print(f"{name}, Python {python.version}", flush=True)

    keep(Path(file), list(needs), rows(), on_newest=on_newest, **about)
    sys.stderr.writelines(failed)
    return bool(failed)


def versions(environment: Path, packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages of an environment."""
    program = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    command: list[str | Path] = [environment / "bin" / "python", "-c", program, *packages]
    output = subprocess.check_output(command, text=True, timeout=60)
    return dict(zip(packages, output.split(), strict=True))


def select(names: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the names, or all that are known; end with a sentence if one is not."""
    rows = list(known)
    for name in names:
        if name not in rows:
            raise SystemExit(f"The record has no row {name!r}: name one of {', '.join(rows)}.")
    return list(names) or rows


def now(environment: Path) -> dict[str, str]:
    """Return what a row says of its measurement: the date, the Python and the system."""
    program = "import platform as p; print(p.python_implementation(), p.python_version())"
    command: list[str | Path] = [environment / "bin" / "python", "-c", program]
    return {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": subprocess.check_output(command, text=True, timeout=60).strip(),
        "system": platform.system(),
    }


def minor(row: Row) -> str:
    """Return the version of the Python of a row, such as "3.11"."""
    version: str = row["python"].partition(" ")[2]
    return version.rpartition(".")[0]


def keep(
    path: Path,
    order: Sequence[str],
    rows: Iterable[Row],
    *,
    on_newest: Callable[[str], bool] = never,
    **about: Any,
) -> None:
    """Write the record after each row, which replaces the row of that name (and that Python).

    `about` is what the record says of all rows; a row that `order` does not have is dropped, and so
    is one of a Python that is no longer measured.  The record is as old as its oldest row.
    """

    def key(row: Row) -> tuple[str, str]:
        return row["name"], minor(row) if on_newest(row["name"]) else ""

    kept: dict[tuple[str, str], Row] = {}
    if path.exists():
        kept = {key(row): row for row in json.loads(path.read_text("utf-8"))["subjects"]}
    measured = {python.version for python in pythons()}
    for row in rows:
        kept[key(row)] = row
        if on_newest(row["name"]) and len(measured) > 1:
            for name, python in list(kept):
                if name == row["name"] and python not in measured:
                    del kept[name, python]
        path.write_text(written({**about, "subjects": in_order(kept.values(), order)}), "utf-8")


def in_order(rows: Iterable[Row], order: Sequence[str]) -> list[Row]:
    """Return the rows in this order, those of one name by their Python; without others."""
    known = [row for row in rows if row["name"] in order]

    def place(row: Row) -> tuple[int, int]:
        return order.index(row["name"]), int(minor(row).rpartition(".")[2])

    return sorted(known, key=place)


def merged(path: str) -> None:
    """Keep the rows of both branches of a merge in which a record conflicts: the newer of each."""
    conflicting = "git", "ls-files", "--unmerged", path
    if not subprocess.check_output(conflicting, timeout=60):
        print(f"{path}: nothing to merge, git has no conflict in it")
        return
    record, theirs = _stage(2, path), _stage(3, path)
    rows = {(row["name"], minor(row)): row for row in record["subjects"]}
    for row in theirs["subjects"]:
        key = row["name"], minor(row)
        if row["date"] >= rows.get(key, row)["date"]:
            rows[key] = row
    Path(path).write_text(written(record | {"subjects": list(rows.values())}), "utf-8")


def _stage(number: int, path: str) -> Row:
    """Return one of the sides of a conflict: 2 is ours, 3 theirs."""
    show = "git", "show", f":{number}:{path}"
    record: Row = json.loads(subprocess.check_output(show, timeout=60))
    return record


def written(record: Row) -> str:
    """Return a record as JSON, as old as its oldest row; each change is a line of its own."""
    oldest = min(record["subjects"], key=lambda row: str(row["date"]))
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
    items = []
    for item in value:  # of a mapping its keys
        text = json.dumps(item, ensure_ascii=False)
        if isinstance(value, dict):
            text = f"{text}: {json.dumps(value[item], ensure_ascii=False)}"
        items.append(text)
    lines = ",\n".join(f"    {item}" for item in items)
    return f"{whole[0]}\n{lines}\n   {whole[-1]}"


if __name__ == "__main__":
    merged(*sys.argv[1:])
