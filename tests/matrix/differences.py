"""Tells which verdicts of two records of `make matrix` differ, as a table in Markdown.

    python tests/matrix/differences.py BEFORE AFTER

BEFORE and AFTER are folders of records, such as docs/matrix.  Exit status 0: no verdict differs
(nothing is printed), 1: at least one does, 2: a folder has no records.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Change", "changes", "table"]

RECORDS = ("servers", "adapted", "drivers", "amgi", "pagi")
NOT_MEASURED = "not measured"
HEAD = "| who | rule | case | before | after | observed |\n|---|---|---|---|---|---|\n"


class Change(NamedTuple):
    """A verdict that differs: of whom, on which rule, in which case, and what was seen."""

    who: str
    rule: str
    case: str
    before: str
    after: str
    observed: str


def changes(before: Path, after: Path) -> Iterator[Change]:
    """Yield the verdicts that differ between two folders, in the order of the newer records."""
    for name in RECORDS:
        old, new = _findings(before, name), _findings(after, name)
        for key in [*new, *(key for key in old if key not in new)]:
            (was, _, _), (now, who, observed) = old.get(key, _NONE), new.get(key, _NONE)
            if was != now:
                yield Change(who or old[key][1], key[2], key[1], was, now, observed)


_NONE = (NOT_MEASURED, "", "")


def _findings(folder: Path, name: str) -> dict[tuple[str, str, str], tuple[str, str, str]]:
    """Return verdict, subject with versions and observation by subject, case and rule."""
    file = folder / f"{name}.json"
    if not file.exists():
        return {}
    return {
        (subject["name"], each["case"], each["rule"]): (
            each["verdict"],
            ", ".join(f"{package} {version}" for package, version in subject["versions"].items()),
            each["actual"],
        )
        for subject in json.loads(file.read_text(encoding="utf-8"))["subjects"]
        for each in subject["findings"]
    }


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
