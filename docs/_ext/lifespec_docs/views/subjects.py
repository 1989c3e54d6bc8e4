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
    _("one hook"),
    _("one function"),
    _("one middleware"),
    _("one listener"),
    _("exit stack"),
    _("strict"),
    _("called twice"),
    _("two workers"),
    _("three managers"),
    _("timeouts of 3 s"),
    _("no worker process"),
    _("one lifespan"),
    _("Session and a function"),
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
    of = row[KEYS[record]]
    name, _comma, variant = row["name"].partition(", ")
    short = row["name"]
    if variant and name == of:
        short = variant
    if variant not in VARIANTS:
        name, variant = row["name"], ""
    page = f"{record}/{page_name(of)}.md"
    return {"name": name, "variant": variant, "short": short, "page": page}


def answers(record: str, group: str, *kinds: str) -> Row:
    """Arrange a group of answers: a row for each subject that has it, perhaps of some kinds."""
    rows = []
    for row in by_python(read(record)["subjects"], group):
        if group not in row["answers"] or (kinds and row["kind"] not in kinds):
            continue
        answered = row["answers"][group]
        columns = list(answered)  # the same for all
        rows.append({**head(record, row), "python": row["on"], "answers": list(answered.values())})
    return {"of": record, "group": group, "columns": columns, "rows": rows}


def by_python(rows: Iterable[Row], group: str = "") -> list[Row]:
    """Return each row once, or, where its answers differ, once for each Python.

    A row gets the key `on`, which names the Python where that makes a difference, and `pythons`.
    """
    of_name: dict[str, list[Row]] = {}
    for row in rows:
        of_name.setdefault(row["name"], []).append(row)
    told_apart = []
    for same in of_name.values():
        answered = [row["answers"] for row in same]
        if group:
            answered = [of_groups.get(group, {}) for of_groups in answered]
        if answered.count(answered[0]) == len(answered):
            told_apart.append({**same[0], "on": "", "pythons": [row["python"] for row in same]})
            continue
        for row in same:
            on = f"Python {python_version(row)}"
            told_apart.append({**row, "on": on, "pythons": [row["python"]]})
    return told_apart


def profile(record: str, name: str) -> Row:
    """Arrange all that is known of a framework or host."""
    rows = by_python(row for row in read(record)["subjects"] if row[KEYS[record]] == name)
    if not rows:
        raise LookupError(f"{record}.json has no {KEYS[record]} {name!r}")
    subjects = []
    programs: dict[str, None] = {}
    groups: dict[str, dict[str, list[list[str]]]] = {}
    for row in rows:
        subjects.append({"command": "", **row, **head(record, row), "runs": _runs(row)})
        programs |= dict.fromkeys(_programs(row))
        for group, columns in row["answers"].items():
            groups[group] = _rows(rows, group, columns)
    return {"of": record, "subjects": subjects, "groups": groups, "programs": list(programs)}


def _rows(rows: Sequence[Row], group: str, columns: Iterable[str]) -> dict[str, list[list[str]]]:
    """Return by column the answer of each subject, without columns that no subject answers."""
    by_column = {}
    for column in columns:
        cells = [row["answers"].get(group, {}).get(column, NONE) for row in rows]
        if cells.count(NONE) < len(cells):
            by_column[column] = cells
    return by_column


def _programs(row: Row) -> Iterator[str]:
    """Yield the names of the programs of a row, but the one of all servers."""
    for program in (row["program"], *row.get("variants", {}).values()):
        if program != SHARED:
            yield program


def _runs(row: Row) -> str:
    """Return as text what happened in each run."""
    lines: list[str] = []
    for question, happened in row["happened"].items():
        lines += _run(question, happened)
    return "\n".join(lines)


def _run(question: str, happened: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines about a run: one of a server has a line for each of its log."""
    if happened and happened[0][0] == "server":
        yield f"{question}, {happened[0][1]}"
        for kind, *about in happened[1:]:
            text = " ".join(map(str, about))
            if kind == "logs":
                yield f"    {text}"
            elif kind in NOTES:
                yield f"    {kind} {text}".rstrip()
            else:  # what the log does not say
                yield f"    [{f'{kind} {text}'.rstrip()}]"
        return
    yield question
    parts = []
    for words in happened:
        parts.append(" ".join(map(str, words)).replace("\n", " … "))
    yield from textwrap.wrap(
        " · ".join(parts), WIDTH, initial_indent="    ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def choice(record: str) -> Row:
    """Return what the form above tables offers: kinds of hosts, and each framework or host."""
    names: dict[str, str] = {}
    pages: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for row in read(record)["subjects"]:
        page = page_name(row[KEYS[record]])
        names[page] = row[KEYS[record]]
        if "kind" in row:
            pages[row["kind"]].append(page)
    kinds = {kind: (title, pages[kind]) for kind, title in KINDS.items() if pages[kind]}
    return {"of": record, "kinds": kinds, "names": names}


TABLES = {"answers": answers, "choice": choice, "profile": profile}
