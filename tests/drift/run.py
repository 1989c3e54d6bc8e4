"""Measures how far code and documents can drift apart before something says so.

    python tests/drift/run.py [code] [documents] [--again] [--sample [SEED]]

code        each mutant of the files to copy: does an example of the pages fail, in each language?
documents   each single change to a normative token of the sources: who notices?
--again     tries those alone that nothing noticed the last time, with what the sources are now
--sample    tries a few of both, chosen by a seed that is printed, and writes no record

What was tried stands in build/drift, so that a run that was stopped goes on where it was; the
result of a whole run goes to docs/matrix/drift.json.  Nothing else is written into the tree.

Exit status: 0 all was noticed, but what listed.toml lists with its reason; 1 something was not.
"""

import argparse
import hashlib
import json
import os
import platform
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import listed
import mutated
from changes import GONE, Change, changes
from guards import KINDS, Editions
from journal import FOLDER, ROOT, Journal, Row, Task, emptied, side_by_side

__all__ = ["RESULT", "counted", "main"]

RESULT = ROOT / "docs" / "matrix" / "drift.json"
WORKERS = min(2, os.cpu_count() or 1)
EVERY = 100  # tasks, from one line of progress to the next
AGAIN, POLL = 5.0, 0.02  # seconds
SAMPLE = {"code": 8, "documents": 60}


def content() -> str:
    """Tell the sources from what they were."""
    digest = hashlib.sha256(sys.version.encode())
    for folder in ("docs", "locales", "src"):
        for path in sorted((ROOT / folder).rglob("*")):
            skipped = path.suffix in {".mo", ".pyc"} or path.parent.name == "matrix"
            if path.is_file() and not skipped:
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def named(row: Row) -> str:
    """Name what was tried: the file, and what stood there before and afterwards."""
    return "\0".join(str(row[key]) for key in ("file", "line", "old", "new"))


def missed(row: Row) -> bool:
    """Whether nothing noticed it: a mutant in one language, a change by any guard at all."""
    found = row.get("noticed", {})
    if row.get("stopped") or not found:
        return True
    return "en" in found and not all(where for where, _ in found.values())


def told(row: Row) -> str:
    """Show a mutant or a change in three lines."""
    what = row.get("where") or f"{row['language']}, {row['place']}, {row['token']}"
    new = "(left out)" if row["new"] == GONE else row["new"]
    return f"{row['file']}:{row['line']}: {what}\n    - {row['old']}\n    + {new}"


def tried(
    what: str, tasks: Sequence[Task], journal: Journal, work: Callable[[Task, Path], Row]
) -> list[Row]:
    """Try what was not tried yet; say now and then how far it is."""
    waiting = [task for task in tasks if task.key not in journal.rows]
    began, total, before = time.monotonic(), len(tasks), journal.seconds
    places = [emptied(FOLDER / f"{what}-{number}") for number in range(WORKERS)]
    if what == "code":
        places = [mutated.place(FOLDER, number) for number in range(WORKERS)]
    try:
        for count, (task, row) in enumerate(side_by_side(waiting, places, work), 1):
            journal.add(task.key, {**task.told, **row})
            if missed(journal.rows[task.key]):
                print(told(journal.rows[task.key]), flush=True)
            if count % EVERY == 0:
                left = (time.monotonic() - began) / count * (len(waiting) - count) / 60
                done = total - len(waiting) + count
                print(f"{what}: {done} of {total}, about {left:.0f} min left", flush=True)
    finally:
        journal.add("seconds", {"seconds": before + processed()})
    return [journal.rows[task.key] for task in tasks]


def processed() -> float:
    """Return the processor's time that this process and those that it started have used."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


def taken_over(journal: Journal, tasks: Iterable[Task], before: Journal) -> None:
    """Take over what was noticed the last time, by more than a copy, and the time it took."""
    if before.seconds and not journal.seconds:
        journal.add("seconds", {"seconds": before.seconds})
    known = {named(row): row for row in before.rows.values() if "file" in row}
    for task in tasks:
        row = known.get(named(task.told))
        if (
            row
            and task.key not in journal.rows
            and not (missed(row) or set(row["noticed"]) == {"copy"})
        ):
            journal.add(task.key, {**row, "key": task.key})


def last(what: str, state: str) -> Journal:
    """Return the results of the last run with other sources."""
    paths = sorted(FOLDER.glob(f"{what}-*.jsonl"), key=lambda path: path.stat().st_mtime)
    found = [path for path in paths if path.stem != f"{what}-{state}"]
    return Journal(found[-1] if found else FOLDER / "none.jsonl")


def code(state: str, *, again: bool, seed: str) -> list[Row]:
    """Try the mutants."""
    published = import_module("published").published()
    pages = {
        language: {name: [asdict(block) for block in blocks] for name, blocks in found.items()}
        for language, found in published.items()
    }
    for module in [name for name in sys.modules if name.partition(".")[0] == "lifespec"]:
        del sys.modules[module]  # each mutant imports its own
    sys.path[:] = [each for each in sys.path if Path(each).resolve() != ROOT / "src"]
    mutated.warm()
    tasks = mutated.tasks(state, mutated.sampled(seed, SAMPLE["code"]) if seed else mutated.all_())
    journal = Journal(FOLDER / f"code-{state}.jsonl")
    if again:
        taken_over(journal, tasks, last("code", state))
    print(f"code: {len(tasks)} mutants, in each language", flush=True)
    return tried("code", tasks, journal, partial(mutated.tried, pages=pages))


def documents(state: str, *, again: bool, seed: str) -> list[Row]:
    """Try the changes."""
    editions = Editions(emptied(FOLDER / "editions"))
    found = changes(editions.kinds, editions.slugs)
    if seed:
        found = random.Random(seed).sample(found, SAMPLE["documents"])  # noqa: S311  a sample
    print(f"documents: {len(found)} changes", flush=True)
    tasks = [Task(f"{state}-{change.key}", change._asdict(), "") for change in found]
    journal = Journal(FOLDER / f"documents-{state}.jsonl")
    if again:
        taken_over(journal, tasks, last("documents", state))
    for task, change in zip(tasks, found, strict=True):
        if task.key not in journal.rows and (row := editions.at_once(change)) is not None:
            journal.add(task.key, {**task.told, "noticed": row})
    editions.warm(found)
    return tried("documents", tasks, journal, lambda task, _: editions.noticed(Change(**task.told)))


def of_code(rows: Sequence[Row]) -> dict[str, Any]:
    """Count the mutants of each file, and what became of them in each language."""
    table: dict[str, Any] = {}
    for name in mutated.NAMES:
        own = [row for row in rows if row["file"] == name]
        lists = [row for row in own if listed.mutant(row)]
        count = {"mutants": len(own), "listed": len(lists)}
        for language in mutated.LANGUAGES:
            count[language] = sum(
                bool(row.get("noticed", {}).get(language, [""])[0]) for row in own
            )
        table[name] = count
    return table


def of_documents(rows: Sequence[Row]) -> list[Row]:
    """Count the changes of each class, by the first kind of guard that noticed."""
    classes: dict[tuple[str, str, str], Counter[str]] = {}
    for row in rows:
        found = row.get("noticed", {})
        kind = next((each for each in KINDS if each in found), "none")
        if kind == "none" and listed.change(row):
            kind = "listed"
        classes.setdefault((row["language"], row["place"], row["token"]), Counter())[kind] += 1
    return [
        {"language": language, "place": place, "token": token, "made": counter.total(), **counter}
        for (language, place, token), counter in sorted(classes.items())
    ]


def of_list(rows: Sequence[Row]) -> list[Row]:
    """Count what is listed and was noticed by nothing, by what it is and its reason."""
    keys = "language", "place", "token", "reason"
    counter = Counter(
        (*(_kind(row)[key] for key in keys[:3]), listed.reason(row))
        for row in rows
        if missed(row) and listed.reason(row)
    )
    counts = sorted(counter.items())
    return [{**dict(zip(keys, of, strict=True)), "number": number} for of, number in counts]


def _kind(row: Row) -> Row:
    mutant = {"language": "code", "place": f"{row['file']}.py", "token": "mutant"}
    return row if "token" in row else mutant


def counted(found: dict[str, list[Row]], seconds: dict[str, float]) -> dict[str, Any]:
    """Return the record of a run."""
    rows = [row for each in found.values() for row in each]
    return {
        "date": time.strftime("%Y-%m-%d"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "sphinx": metadata.version("sphinx"),
        "mutmut": mutated.version(),
        "machine": machine(),
        "seconds": {what: round(of) for what, of in seconds.items()},
        "code": of_code(found["code"]),
        "documents": of_documents(found["documents"]),
        "listed": of_list(rows),
        "survivors": [told(row) for row in rows if missed(row) and not listed.reason(row)],
    }


def machine() -> str:
    """Say how many processors there are, and name them."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} × {names[0] if names else platform.machine()}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", nargs="*", help="code, documents, or both")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--sample", nargs="?", const=str(random.SystemRandom().randrange(10**6)))
    given = parser.parse_args(arguments)
    # Where it runs in the background an interruption is ignored, and so it is by the examples.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    for name in ("src", "docs", "docs/_ext", "tests/docs"):
        sys.path.insert(0, str(ROOT / name))
    state = content()
    if given.sample:
        print(f"drift: a sample, by the seed {given.sample}", flush=True)
    parts = {"code": code, "documents": documents}
    found = {
        what: apart(partial(run, state, again=given.again, seed=given.sample or ""), what)
        for what, run in parts.items()
        if what in (given.what or parts)
    }
    alive = [row for rows in found.values() for row in rows if missed(row)]
    new = [row for row in alive if not listed.reason(row)]
    for row in new:
        print("Nothing notices:", told(row), flush=True)
    total = sum(map(len, found.values()))
    print(f"drift: {total} tried, {len(alive)} not noticed, {len(new)} of these not listed")
    if not given.sample and len(found) == len(parts):
        journals = {what: Journal(FOLDER / f"{what}-{state}.jsonl") for what in parts}
        record = counted(found, {what: each.seconds for what, each in journals.items()})
        RESULT.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return bool(new)


def apart(work: Callable[[], list[Row]], what: str) -> list[Row]:
    """Run a part in a process of its own: what it imports is no affair of the other's."""
    answer = FOLDER / f"{what}.answer.json"
    answer.parent.mkdir(parents=True, exist_ok=True)
    answer.unlink(missing_ok=True)
    child = os.fork()
    if not child:
        os.setpgid(0, 0)  # so that who interrupts the command interrupts this once
        try:
            answer.write_text(json.dumps(work()), "utf-8")
        except KeyboardInterrupt:
            pass
        except BaseException:  # noqa: BLE001  this process ends here
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    try:
        os.waitpid(child, 0)
    except KeyboardInterrupt:
        _interrupted(child)
        raise SystemExit("drift: interrupted; called again it goes on where it was") from None
    if not answer.exists():
        raise SystemExit(f"drift: the part {what} ended before its end; see above")
    rows: list[Row] = json.loads(answer.read_text("utf-8"))
    return rows


def _interrupted(child: int) -> None:
    """Interrupt a process until it has ended all that it started: an example can swallow that."""
    gone = False
    while not gone:
        os.kill(child, signal.SIGTERM)
        until = time.monotonic() + AGAIN
        while not gone and time.monotonic() < until:
            gone = bool(os.waitpid(child, os.WNOHANG)[0])
            time.sleep(POLL)


if __name__ == "__main__":
    sys.exit(main())
