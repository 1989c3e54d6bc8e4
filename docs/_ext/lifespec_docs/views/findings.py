"""What was observed of a server, test client or adapter: a sentence for each cell but PASS."""

from collections.abc import Iterator
from typing import Any

from lifespec.conformance import cases
from lifespec_docs.views.records import key, read

__all__ = [
    "SIGNS",
    "TABLES",
    "anchors",
    "findings",
    "has_lifespan",
    "sentences",
    "subject",
    "subjects",
]

Row = dict[str, Any]
SIGNS = {"fail": "✗", "warn": "△", "pass": "✓", "info": "○", "skip": "·"}
FAULTS = ("fail", "warn", "info")  # what has a sentence for each case
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
    for number, cells in enumerate(_skipped(row).values()):
        found |= {cell: f"seen-{name}-{row['key']}-skip-{number}" for _, cell in cells}
    for kind in KINDS:
        for cell, verdicts in row[kind].items():
            if verdicts not in (["pass"], ["skip"]):
                found[cell] = f"seen-{name}-{cell}-{row['key']}"
    return found


def _skipped(row: Row) -> dict[str, list[tuple[str, str]]]:
    """Return by reason the kinds and names of what could not be observed."""
    reasons: dict[tuple[str, str], str] = {}  # of a rule or case the first counts
    for each in row["findings"]:
        kind = "cases" if each["unspecified"] else "rules"
        reasons.setdefault((kind, each[KINDS[kind]]), each["actual"])
    found: dict[str, list[tuple[str, str]]] = {}
    for (kind, cell), reason in reasons.items():
        if row[kind][cell] == ["skip"]:
            found.setdefault(reason, []).append((kind, cell))
    return found


def subject(name: str, of: str) -> Row:
    """Return a row, for the head of its section."""
    (row,) = (row for row in subjects(name) if row["name"] == of)
    return {"subject": row, "signs": SIGNS}


def findings(name: str, of: str) -> Row:
    """Arrange the sentences about a subject, the worst first, then what could not be observed."""
    (row,) = (row for row in subjects(name) if row["name"] == of)
    return {
        "subject": row,
        "items": [*_items(row, anchors(name, row))],
        "skipped": _skipped(row),
        "places": anchors(name, row),
        "starts": has_lifespan(row),
        "chinese": {each["actual"]: each["zh"] for each in row["findings"] if "zh" in each},
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


TABLES = {"findings": findings, "subject": subject}
