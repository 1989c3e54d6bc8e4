"""Measures whether a page can be left behind by the code: `make drift`.

    python tests/drift/by_examples.py [--again]

Each mutant of the files to copy is tried by the examples of the pages, in each language: one of
them has to fail.  `--again` tries only what nothing noticed the last time, with the sources as they
are now.

What was tried stands in build/drift, so that a run that was stopped goes on where it was; the
result goes to docs/matrix/drift.json.

Exit status: 0 an example of each language noticed every mutant that listed.toml does not list.
"""

import hashlib
import json
import os
import platform
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import mutated
from journal import FOLDER, ROOT, Journal, Row, Task, side_by_side

__all__ = ["LIST", "RESULT", "counted", "main", "missed", "reason"]

RESULT = ROOT / "docs" / "matrix" / "drift.json"
LIST = Path(__file__).with_name("listed.toml")
WORKERS = min(2, os.cpu_count() or 1)
EVERY = 100  # mutants, from one line of progress to the next


def content() -> str:
    """Tell the sources from what they were."""
    digest = hashlib.sha256(sys.version.encode())
    for folder in ("docs", "locales", "src"):
        for path in sorted((ROOT / folder).rglob("*")):
            skipped = path.suffix in {".mo", ".pyc"} or path.parent.name == "matrix"
            if path.is_file() and not skipped:
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def listed() -> list[Row]:
    """Return the mutants that no example can notice."""
    found: list[Row] = tomllib.loads(LIST.read_text("utf-8"))["mutant"]
    return found


def reason(row: Row) -> str:
    """Return why no example can notice a mutant, or "" where it is not listed."""
    keys = "file", "old", "new"
    return next((each["reason"] for each in listed() if all(each[k] == row[k] for k in keys)), "")


def named(row: Row) -> str:
    """Name a mutant: the file, and what stood there before and afterwards."""
    return "\0".join(str(row[key]) for key in ("file", "line", "old", "new"))


def missed(row: Row) -> bool:
    """Whether no example of one of the languages noticed it."""
    found = row.get("noticed", {})
    return bool(row.get("stopped")) or not found or not all(where for where, _ in found.values())


def told(row: Row) -> str:
    """Show a mutant in three lines."""
    return f"{row['file']}:{row['line']}: {row['where']}\n    - {row['old']}\n    + {row['new']}"


def processed() -> float:
    """Return the processor's time that this process and those that it started have used."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def last(state: str) -> Journal:
    """Return the results of the last run with other sources."""
    paths = sorted(FOLDER.glob("code-*.jsonl"), key=lambda path: path.stat().st_mtime)
    found = [path for path in paths if path.stem != f"code-{state}"]
    return Journal(found[-1] if found else FOLDER / "none.jsonl")


def taken_over(journal: Journal, tasks: Iterable[Task], before: Journal) -> None:
    """Take over what was noticed the last time, and the time it took."""
    if before.seconds and not journal.seconds:
        journal.add("seconds", {"seconds": before.seconds})
    known = {named(row): row for row in before.rows.values() if "file" in row}
    for task in tasks:
        row = known.get(named(task.told))
        if row and task.key not in journal.rows and not missed(row):
            journal.add(task.key, {**row, "key": task.key})


def pages() -> dict[str, dict[str, list[Any]]]:
    """Return the examples by language and page, and forget the package: each mutant imports it."""
    published = import_module("published").published()
    found = {
        language: {name: [asdict(block) for block in blocks] for name, blocks in each.items()}
        for language, each in published.items()
    }
    for module in [
        name for name in sys.modules if name.partition(".")[0] in ("lifespec", "lifespec_docs")
    ]:
        del sys.modules[module]
    sys.path[:] = [each for each in sys.path if Path(each).resolve() != ROOT / "src"]
    mutated.warm()
    return found


def tried(tasks: Sequence[Task], journal: Journal) -> list[Row]:
    """Try what was not tried yet; say now and then how far it is."""
    waiting = [task for task in tasks if task.key not in journal.rows]
    began, before = time.monotonic(), journal.seconds
    places = [mutated.place(FOLDER, number) for number in range(WORKERS)]
    work = partial(mutated.tried, pages=pages())
    try:
        for count, (task, row) in enumerate(side_by_side(waiting, places, work), 1):
            journal.add(task.key, {**task.told, **row})
            if missed(journal.rows[task.key]):
                print(told(journal.rows[task.key]), flush=True)
            if count % EVERY == 0:
                left = (time.monotonic() - began) / count * (len(waiting) - count) / 60
                print(f"{count} of {len(waiting)}, about {left:.0f} min left", flush=True)
    finally:
        journal.add("seconds", {"seconds": before + processed()})
    return [journal.rows[task.key] for task in tasks]


def of_code(rows: Sequence[Row]) -> dict[str, Any]:
    """Count the mutants of each file, and what became of them in each language."""
    table: dict[str, Any] = {}
    for name in mutated.NAMES:
        own = [row for row in rows if row["file"] == name]
        table[name] = {"mutants": len(own), "listed": sum(bool(reason(row)) for row in own)}
        for language in mutated.LANGUAGES:
            noticed = (row.get("noticed", {}).get(language, [""])[0] for row in own)
            table[name][language] = sum(map(bool, noticed))
    return table


def counted(rows: Sequence[Row], seconds: float) -> dict[str, Any]:
    """Return the record of a run."""
    alive = [row for row in rows if missed(row)]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "mutmut": mutated.version(),
        "machine": machine(),
        "seconds": round(seconds),
        "code": of_code(rows),
        "listed": [
            {"file": row["file"], "old": row["old"], "new": row["new"], "reason": reason(row)}
            for row in alive
            if reason(row)
        ],
        "survivors": [told(row) for row in alive if not reason(row)],
    }


def machine() -> str:
    """Say how many processors there are, and name them."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} × {names[0] if names else platform.machine()}"


def main(arguments: Sequence[str]) -> int:
    """Try them all, and write the record."""
    # Where it runs in the background an interruption is ignored, and so it is by the examples.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    for name in ("src", "docs", "docs/_ext", "tests/docs"):
        sys.path.insert(0, str(ROOT / name))
    state = content()
    tasks = mutated.tasks(state, mutated.all_())
    journal = Journal(FOLDER / f"code-{state}.jsonl")
    if "--again" in arguments:
        taken_over(journal, tasks, last(state))
    print(f"drift: {len(tasks)} mutants, in each language", flush=True)
    rows = tried(tasks, journal)
    kept = json.loads(RESULT.read_text("utf-8")).get("statements", {})
    record = counted(rows, journal.seconds) | {"statements": kept}
    RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    survivors = record["survivors"]
    print(f"drift: {len(rows)} tried, {len(survivors)} not noticed and not listed")
    return bool(survivors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
