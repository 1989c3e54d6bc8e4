"""What frameworks and hosts do with a lifespan: tables of all, and the page of each."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lifespec_docs.views.records import python_version, read
from lifespec_docs.words import mark as _

Row = dict[str, Any]
KEYS = {"frameworks": "framework", "hosts": "host"}  # what a row of a record is about
SHARED = "shop"  # the program of servers, which the page of hosts shows
VARIANTS = {  # words after the name of a row; names and options are not translated
    *(_("one hook"), _("one function"), _("one middleware"), _("one listener")),
    *(_("exit stack"), _("strict"), _("called twice"), _("two workers"), _("three managers")),
    *(_("timeouts of 3 s"), _("no worker process"), _("one lifespan"), _("Session and a function")),
}
KINDS = {
    "adapter": _("Adapters"),
    "client": _("Test clients"),
    "server": _("Servers"),
    "platform": _("Platforms for models"),
}
NONE = ["none"]  # the answer to a question that was not run, or that does not apply
WIDTH = 96  # of a line about what happened
NOTES = ("connect", "disconnect")  # what a program prints between the lines of a log


def page_name(name: str) -> str:
    """Return the name of the page of a subject."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def head(record: str, row: Row) -> Row:
    """Return the name of a row, in a table of all and on its page, and that page."""
    name, _comma, variant = row["name"].partition(", ")
    known, of = variant in VARIANTS, row[KEYS[record]]
    return {
        "name": name if known else row["name"],
        "variant": variant if known else "",
        "short": variant if variant and name == of else row["name"],
        "page": f"{record}/{page_name(of)}.md",
    }


def answers(record: str, group: str, *kinds: str) -> Row:
    """Arrange a group of answers: a row for each subject that has it, perhaps of some kinds."""
    found = [
        row
        for row in by_python(read(record)["subjects"], group)
        if group in row["answers"] and (not kinds or row["kind"] in kinds)
    ]
    return {
        "of": record,
        "group": group,
        "columns": [*found[0]["answers"][group]],
        "rows": [
            {
                **head(record, row),
                "python": row["on"],
                "answers": [*row["answers"][group].values()],
            }
            for row in found
        ],
    }


def by_python(rows: Iterable[Row], group: str = "") -> list[Row]:
    """Return each row once, or, where its answers differ, once for each Python.

    A row gets the key `on`, which names the Python where that makes a difference, and `pythons`.
    """
    of_name: dict[str, list[Row]] = {}
    for row in rows:
        of_name.setdefault(row["name"], []).append(row)
    found = []
    for same in of_name.values():
        answered = [row["answers"].get(group, {}) if group else row["answers"] for row in same]
        if all(each == answered[0] for each in answered):
            found.append({**same[0], "on": "", "pythons": [row["python"] for row in same]})
        else:
            found += [
                {**row, "on": f"Python {python_version(row)}", "pythons": [row["python"]]}
                for row in same
            ]
    return found


def profile(record: str, name: str) -> Row:
    """Arrange all that is known of a framework or host."""
    found = by_python(row for row in read(record)["subjects"] if row[KEYS[record]] == name)
    if not found:
        raise LookupError(f"{record}.json has no {KEYS[record]} {name!r}")
    names = {group: columns for row in found for group, columns in row["answers"].items()}
    return {
        "of": record,
        "subjects": [
            {"command": "", **row, **head(record, row), "runs": _runs(row)} for row in found
        ],
        "groups": {group: _rows(found, group, columns) for group, columns in names.items()},
        "programs": [*dict.fromkeys(each for row in found for each in _programs(row))],
    }


def _rows(found: Sequence[Row], group: str, columns: Iterable[str]) -> dict[str, list[list[str]]]:
    """Return by column the answer of each subject, without columns that no subject answers."""
    rows = {
        column: [row["answers"].get(group, {}).get(column, NONE) for row in found]
        for column in columns
    }
    return {column: cells for column, cells in rows.items() if cells != [NONE] * len(found)}


def _programs(row: Row) -> Iterator[str]:
    """Yield the names of the programs of a row, but the one of all servers."""
    for each in (row["program"], *row.get("variants", {}).values()):
        if each != SHARED:
            yield each


def _runs(row: Row) -> str:
    """Return as text what happened in each run."""
    return "\n".join(line for each in row["happened"].items() for line in _run(*each))


def _run(question: str, happened: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines about a run: one of a server has a line for each of its log."""
    parts = [" ".join(str(part).replace("\n", " … ") for part in each) for each in happened]
    if not happened or happened[0][0] != "server":
        yield question
        yield from textwrap.wrap(
            " · ".join(parts), WIDTH, initial_indent="    ", subsequent_indent="    ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        return
    yield f"{question}, {happened[0][1]}"
    for kind, *about in happened[1:]:
        text = " ".join(map(str, about if kind == "logs" else (kind, *about)))
        yield f"    {text}" if kind in (*NOTES, "logs") else f"    [{text}]"


def choice(record: str) -> Row:
    """Return what the form above tables offers: kinds of hosts, and each framework or host."""
    rows = read(record)["subjects"]
    names = dict.fromkeys(row[KEYS[record]] for row in rows)
    kinds = {
        kind: (title, [page_name(row[KEYS[record]]) for row in rows if row.get("kind") == kind])
        for kind, title in KINDS.items()
    }
    return {
        "of": record,
        "kinds": {kind: (title, pages) for kind, (title, pages) in kinds.items() if pages},
        "names": {page_name(name): name for name in names},
    }


TABLES = {"answers": answers, "choice": choice, "profile": profile}
