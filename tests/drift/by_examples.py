"""Measures how many changes of the code the pages' examples notice: `make drift`.

    python tests/drift/by_examples.py

Of the mutants of each file to copy a sample is taken, by a fixed seed.  Each is tried by the
examples and checks of the pages: if one of them fails, it has noticed the mutant.

What was tried stands in build/drift, so that a run that was stopped goes on where it was; the
result goes to docs/matrix/drift.json.  What none of them noticed is printed, and so is each check
about these files that none of their parts makes fail where it is taken away.
"""

import hashlib
import json
import os
import platform
import random
import resource
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import mutated
from journal import FOLDER, ROOT, Journal, Row, Task, side_by_side

from lifespec_docs.facts.recorded import made_with

__all__ = ["RESULT", "counted", "main", "missed", "sample"]

RESULT = ROOT / "docs" / "matrix" / "drift.json"
SEED, AT_MOST = 15, 100  # mutants of each file
WORKERS = min(2, os.cpu_count() or 1)
EVERY = 20  # mutants, from one line of progress to the next


def content() -> str:
    """Tell the sources from what they were."""
    digest = hashlib.sha256(sys.version.encode())
    for folder in ("docs", "locales", "src"):
        for path in sorted((ROOT / folder).rglob("*")):
            skipped = path.suffix in {".mo", ".pyc"} or path.parent.name == "matrix"
            if path.is_file() and not skipped:
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def sample(tasks: Sequence[Task]) -> list[Task]:
    """Take some mutants of each file, by chance but always the same."""
    chance, found = random.Random(SEED), []  # noqa: S311  the same each time
    for name in mutated.NAMES:
        own = [task for task in tasks if task.told["file"] == name]
        found += chance.sample(own, min(AT_MOST, len(own)))
    return found


def missed(row: Row) -> bool:
    """Whether no example noticed it."""
    return bool(row.get("stopped")) or not row["noticed"][0]


def told(row: Row) -> str:
    """Show a mutant in three lines."""
    return f"{row['file']}:{row['line']}: {row['where']}\n    - {row['old']}\n    + {row['new']}"


def processed() -> float:
    """Return the processor's time that this process and those that it started have used."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def pages() -> mutated.Pages:
    """Return the examples by page, and forget the package: each mutant imports it."""
    published = import_module("published").published()["en"]
    found = {name: [asdict(block) for block in blocks] for name, blocks in published.items()}
    for module in [
        name for name in sys.modules if name.partition(".")[0] in ("lifespec", "lifespec_docs")
    ]:
        del sys.modules[module]
    sys.path[:] = [each for each in sys.path if Path(each).resolve() != ROOT / "src"]
    mutated.warm()
    return found


def idle(of_pages: mutated.Pages) -> dict[str, str]:
    """Return by place the checks that no missing part of the files makes fail."""
    places = [mutated.place(FOLDER, number) for number in range(WORKERS)]
    work = partial(mutated.tried, pages=of_pages, look=mutated.failing)
    rows = [row for _, row in side_by_side(mutated.broken(), places, work)]
    failed = {place for row in rows for place in row.get("noticed", ())}
    return {at: text for at, text in mutated.checks(of_pages).items() if at not in failed}


def unchanged(of_pages: mutated.Pages) -> str:
    """Return what an example says where no file is changed, for it would notice every mutant."""
    tasks = [Task(name, {"file": name}, mutated.source(name)) for name in mutated.NAMES[:WORKERS]]
    places = [mutated.place(FOLDER, number) for number in range(WORKERS)]
    rows = side_by_side(tasks, places, partial(mutated.tried, pages=of_pages))
    found = (row.get("noticed", ("pages", "they did not end")) for _, row in rows)
    return next((": ".join(each) for each in found if any(each)), "")


def tried(tasks: Sequence[Task], journal: Journal, of_pages: mutated.Pages) -> list[Row]:
    """Try what was not tried yet; say now and then how far it is."""
    waiting = [task for task in tasks if task.key not in journal.rows]
    began, before = time.monotonic(), journal.seconds
    places = [mutated.place(FOLDER, number) for number in range(WORKERS)]
    work = partial(mutated.tried, pages=of_pages)
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


def of_code(tasks: Sequence[Task], rows: Sequence[Row]) -> dict[str, Any]:
    """Count the mutants of each file, those that were tried, and those that were noticed."""
    table: dict[str, Any] = {}
    for name in mutated.NAMES:
        own = [row for row in rows if row["file"] == name]
        mutants = sum(task.told["file"] == name for task in tasks)
        table[name] = {"mutants": mutants, "tried": len(own)}
        table[name]["noticed"] = sum(not missed(row) for row in own)
    return table


def counted(tasks: Sequence[Task], rows: Sequence[Row], seconds: float) -> dict[str, Any]:
    """Return the record of a run."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "mutmut": mutated.version(),
        "machine": machine(),
        "seconds": round(seconds),
        "code": of_code(tasks, rows),
    }


def machine() -> str:
    """Say how many processors there are, and name them."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} × {names[0] if names else platform.machine()}"


def main() -> int:
    """Try the sample, and write the record."""
    # Where it runs in the background an interruption is ignored, and so it is by the examples.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    for name in ("src", "docs", "docs/_ext", "tests/docs"):
        sys.path.insert(0, str(ROOT / name))
    state, digests = content(), made_with("drift")
    tasks = mutated.tasks(state, mutated.all_())
    chosen = sample(tasks)
    journal = Journal(FOLDER / f"code-{state}.jsonl")
    print(f"drift: {len(chosen)} of {len(tasks)} mutants", flush=True)
    of_pages = pages()
    if said := unchanged(of_pages):
        print(f"The pages fail where nothing is changed: {said}")
        return 1
    rows = tried(chosen, journal, of_pages)
    record = counted(tasks, rows, journal.seconds) | {"made_with": digests}
    RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"drift: {len(rows)} tried, {sum(map(missed, rows))} not noticed", flush=True)
    for place, text in idle(of_pages).items():
        print(f"{place}: no part of the files to copy makes this check fail:\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
