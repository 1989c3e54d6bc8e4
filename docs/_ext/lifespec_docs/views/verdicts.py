"""Verdicts on servers, test clients and adapters, by rule or case, and exit statuses.

Each cell but PASS has a sentence that says what was observed.
"""

from collections.abc import Iterator
from typing import Any

from lifespec.conformance import cases
from lifespec.conformance.rules import STAGES, rules
from lifespec_docs.views.records import key, read, shell_status
from lifespec_docs.views.sentences import sentence

Row = dict[str, Any]
SIGNS = {"fail": "✗", "warn": "△", "pass": "✓", "info": "○", "skip": "·"}
FAULTS = ("fail", "warn", "info")  # what has a sentence for each case
ENDING = (  # the cases that end a process
    *("failed-with-message", "two-workers-failed"),
    *("shutdown-failed-with-message", "two-workers-shutdown-failed", "well-behaved"),
)
KINDS = {"rules": "rule", "cases": "case"}  # a case is a row if it is not specified


def subjects(name: str) -> list[Row]:
    """Return the rows of a record, each with its part of an anchor."""
    return [
        {**row, "key": key(row["name"]), "release": _release(row["versions"])}
        for row in read(name)["subjects"]
    ]


def _release(versions: dict[str, str]) -> str:
    """Return the version of the first package, and the others by name."""
    (_, version), *others = versions.items()
    return ", ".join([version, *map(" ".join, others)])


def sentences() -> dict[str, str]:
    """Return what happens in each case of the suite; a record may have one that is gone."""
    return {case.name: case.says for case in cases.load()}


def has_lifespan(row: Row) -> bool:
    """Tell whether anything could be observed."""
    return bool(row["counts"]["skip"] < sum(row["counts"].values()))


def anchors(name: str, row: Row) -> dict[str, str]:
    """Return the anchor of the sentence about each rule and case that is not just PASS."""
    found: dict[str, str] = {}
    for number, (_reason, cells) in enumerate(_skipped(row)):
        found |= {cell: f"seen-{name}-{row['key']}-skip-{number}" for _, cell in cells}
    for kind in KINDS:
        for cell, verdicts in row[kind].items():
            if verdicts not in (["pass"], ["skip"]):
                found[cell] = f"seen-{name}-{cell}-{row['key']}"
    return found


def _skipped(row: Row) -> list[tuple[Row, list[tuple[str, str]]]]:
    """Return each reason, with the kinds and names of what could not be observed for it."""
    reasons: dict[tuple[str, str], Row] = {}  # of a rule or case the first counts
    for each in row["findings"]:
        kind = "cases" if each["unspecified"] else "rules"
        reasons.setdefault((kind, each[KINDS[kind]]), each["observed"])
    found: list[tuple[Row, list[tuple[str, str]]]] = []
    for (kind, cell), reason in reasons.items():
        if row[kind][cell] == ["skip"]:
            cells = next((cells for other, cells in found if other == reason), None)
            if cells is None:
                found.append((reason, cells := []))
            cells.append((kind, cell))
    return found


def subject(name: str, of: str) -> Row:
    """Return a row, for the head of its section."""
    (row,) = (row for row in subjects(name) if row["name"] == of)
    return {"subject": row}


def findings(name: str, of: str) -> Row:
    """Arrange the sentences about a subject, the worst first, then what could not be observed."""
    (row,) = (row for row in subjects(name) if row["name"] == of)
    return {
        "items": [*_items(row, anchors(name, row))],
        "skipped": _skipped(row),
        "places": anchors(name, row),
        "starts": has_lifespan(row),
        "sentence": sentence,
        "says": sentences(),
        "signs": SIGNS,
    }


def _items(row: Row, places: dict[str, str]) -> Iterator[Row]:
    """Yield the findings of each rule with the same verdict.

    An anchor is that of the first item with the verdict that its cell shows last.
    """
    groups: dict[tuple[int, bool, str, str], list[Row]] = {}
    for each in row["findings"]:
        if each["verdict"] in FAULTS:
            cell = each["case" if each["unspecified"] else "rule"]
            order = FAULTS.index(each["verdict"]), each["unspecified"]
            groups.setdefault((*order, cell, each["rule"]), []).append(each)
    for (number, unspecified, cell, rule), found in sorted(
        groups.items(), key=lambda item: item[0][:2]
    ):
        leads = row["cases" if unspecified else "rules"][cell][-1] == FAULTS[number]
        yield {
            "verdict": FAULTS[number],
            "unspecified": unspecified,
            "rule": rule,
            "findings": found,
            "anchor": places.pop(cell, "") if leads else "",
        }


def scores(name: str) -> Row:
    """Count the rules of each subject by verdict."""
    return {"of": name, "subjects": subjects(name), "signs": SIGNS}


def matrix(name: str, kind: str = "rules", *form: str) -> Row:
    """Arrange the verdicts: the rules by stage of a lifespan, or the unspecified cases."""
    found = subjects(name)
    names = dict.fromkeys(each for row in found for each in row[kind])
    book = rules()
    stages = {each: book[each].stage if each in book else "" for each in names}
    groups = {
        stage: (title, here)
        for stage, title in {"": "", **STAGES}.items()
        if (here := [each for each in names if stages[each] == stage])
    }
    return {
        "of": name,
        "kind": kind,
        "form": form == ("form",),
        "subjects": found,
        "groups": groups,
        "places": {row["key"]: anchors(name, row) for row in found},
        "says": sentences(),
        "signs": {**SIGNS, "later": "?"},
    }


def exits(name: str) -> Row:
    """Return with which status each server ends after a failure, or after none."""
    rows = [row for row in subjects(name) if has_lifespan(row)]
    ends = [{by for row in rows for _, by in row["exits"][case] if by} for case in ENDING]
    for row in rows:
        row["statuses"] = [_statuses(row["exits"][case]) for case in ENDING]
    return {"subjects": rows, "ends": map(sorted, ends)}


def _statuses(seen: list[list[Any]]) -> list[str]:
    """Return each exit status once, whoever ended the process."""
    statuses = dict.fromkeys(status for status, _by in seen)
    return [shell_status(each) if isinstance(each, int) else each for each in statuses]


TABLES = {
    "exits": exits,
    "findings": findings,
    "matrix": matrix,
    "scores": scores,
    "subject": subject,
}
