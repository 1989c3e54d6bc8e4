"""Tells what differs between two records of what servers, frameworks and others do, in Markdown.

    python tests/measure/differences.py BEFORE AFTER

BEFORE and AFTER are folders of records, such as docs/matrix.  Exit status 0: nothing differs
(nothing is printed), 1: a verdict or an answer does, 2: a folder has no records.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Change", "changes", "table"]

RECORDS = (
    *("servers", "adapted", "drivers", "amgi", "pagi"),
    *("middleware", "frameworks", "hosts", "loglines"),
)
NOT_MEASURED = "not measured"
HEAD = "| who | rule | case or question | before | after | observed |\n|---|---|---|---|---|---|\n"


class Change(NamedTuple):
    """What differs: of whom, a verdict on a rule in a case, or what happened to a question."""

    who: str
    rule: str
    case: str
    before: str
    after: str
    observed: str


def changes(before: Path, after: Path) -> Iterator[Change]:
    """Yield what differs between two folders, in the order of the newer records."""
    for name in RECORDS:
        old, new = _cells(before, name), _cells(after, name)
        for key in [*new, *(key for key in old if key not in new)]:
            (was, _, _), (now, who, observed) = old.get(key, _NONE), new.get(key, _NONE)
            if was != now:
                yield Change(who or old[key][1], key[2], key[1], *_told(was, now), observed)


_NONE = (NOT_MEASURED, "", "")


def _cells(folder: Path, name: str) -> dict[tuple[str, str, str], tuple[Any, str, str]]:
    """Return verdict or events, subject with versions and observation: by subject, case, rule."""
    file = folder / f"{name}.json"
    found = dict[tuple[str, str, str], tuple[Any, str, str]]()
    if not file.exists():
        return found
    for row in json.loads(file.read_text(encoding="utf-8"))["subjects"]:
        versions = ", ".join(f"{package} {number}" for package, number in row["versions"].items())
        for each in row.get("findings", ()):
            found[row["name"], each["case"], each["rule"]] = (
                each["verdict"],
                versions,
                each["actual"],
            )
        for question, events in row.get("happened", {}).items():
            found[row["name"], question, ""] = events, versions, ""
        for program, runs in row.get("runs", {}).items():
            lines = [[by, key, told] for by, run in runs.items() for key, told in run.items()]
            found[row["name"], program, ""] = lines, versions, ""
    return found


def _told(*values: Any) -> Iterator[str]:
    """Yield texts of two cells; of two lists of events, those that the other one has not."""
    for value, other in zip(values, reversed(values), strict=True):
        events = [each for each in value if each not in other]
        yield value if isinstance(value, str) else ", ".join(map(_event, events))


def _event(event: list[Any]) -> str:
    return " ".join(map(str, event))


def table(found: Sequence[Change]) -> str:
    """Return the changes as a table; a cell has neither a bar nor a line break."""
    rows = (" | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in row) for row in found)
    return HEAD + "".join(f"| {row} |\n" for row in rows)


def main(arguments: Sequence[str]) -> int:
    """Print the table of what differs."""
    before, after = map(Path, arguments)
    for folder in before, after:
        if not any((folder / f"{name}.json").exists() for name in RECORDS):
            print(f"{folder} has no record: name a folder such as docs/matrix", file=sys.stderr)
            return 2
    found = list(changes(before, after))
    if found:
        print(table(found), end="")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
