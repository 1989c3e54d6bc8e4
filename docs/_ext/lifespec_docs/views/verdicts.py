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
    "failed-with-message",
    "two-workers-failed",
    "shutdown-failed-with-message",
    "two-workers-shutdown-failed",
    "well-behaved",
)
KINDS = {"rules": "rule", "cases": "case"}  # a case is a row if it is not specified


def subjects(name: str) -> list[Row]:
    """Return the rows of a record, each with its part of an anchor."""
    rows = []
    for row in read(name)["subjects"]:
        rows.append({**row, "key": key(row["name"]), "release": _release(row["versions"])})
    return rows


def _release(versions: dict[str, str]) -> str:
    """Return the version of the first package, and the others by name."""
    (_first, version), *others = versions.items()
    for package, other in others:
        version += f", {package} {other}"
    return version


def sentences() -> dict[str, str]:
    """Return what happens in each case of the suite; a record may have one that is gone."""
    return {case.name: case.says for case in cases.load()}


def has_lifespan(row: Row) -> bool:
    """Tell whether anything could be observed."""
    return bool(row["counts"]["skip"] < sum(row["counts"].values()))


def anchors(name: str, row: Row) -> dict[str, str]:
    """Return the anchor of the sentence about each rule and case that is not just PASS."""
    of_cell: dict[str, str] = {}
    for number, (_reason, cells) in enumerate(_skipped(row)):
        for _kind, cell in cells:
            of_cell[cell] = f"seen-{name}-{row['key']}-skip-{number}"
    for kind in KINDS:
        for cell, verdicts in row[kind].items():
            if verdicts not in (["pass"], ["skip"]):
                of_cell[cell] = f"seen-{name}-{cell}-{row['key']}"
    return of_cell


def _skipped(row: Row) -> list[tuple[Row, list[tuple[str, str]]]]:
    """Return each reason, with the kinds and names of what could not be observed for it."""
    first: dict[tuple[str, str], Row] = {}  # of a rule or case the first counts
    for finding in row["findings"]:
        kind = "cases" if finding["unspecified"] else "rules"
        first.setdefault((kind, finding[KINDS[kind]]), finding["observed"])
    reasons: list[Row] = []  # they are dicts, and no keys
    cells: list[list[tuple[str, str]]] = []
    for (kind, cell), reason in first.items():
        if row[kind][cell] != ["skip"]:
            continue
        if reason not in reasons:
            reasons.append(reason)
            cells.append([])
        cells[reasons.index(reason)].append((kind, cell))
    return list(zip(reasons, cells, strict=True))


def subject(name: str, of: str) -> Row:
    """Return a row, for the head of its section."""
    (row,) = (row for row in subjects(name) if row["name"] == of)
    return {"subject": row}


def findings(name: str, of: str) -> Row:
    """Arrange the sentences about a subject, the worst first, then what could not be observed."""
    (row,) = (row for row in subjects(name) if row["name"] == of)
    return {
        "items": list(_items(row, anchors(name, row))),
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
    for finding in row["findings"]:
        if finding["verdict"] not in FAULTS:
            continue
        number, unspecified = FAULTS.index(finding["verdict"]), finding["unspecified"]
        cell = finding["case" if unspecified else "rule"]
        groups.setdefault((number, unspecified, cell, finding["rule"]), []).append(finding)
    for group in sorted(groups, key=lambda group: group[:2]):
        number, unspecified, cell, rule = group
        item = {"verdict": FAULTS[number], "unspecified": unspecified, "rule": rule}
        item |= {"findings": groups[group], "anchor": ""}
        if row["cases" if unspecified else "rules"][cell][-1] == FAULTS[number]:
            item["anchor"] = places.pop(cell, "")
        yield item


def scores(name: str) -> Row:
    """Count the rules of each subject by verdict."""
    return {"of": name, "subjects": subjects(name), "signs": SIGNS}


def matrix(name: str, kind: str = "rules", *form: str) -> Row:
    """Arrange the verdicts: the rules by stage of a lifespan, or the unspecified cases."""
    rows = subjects(name)
    of_stage: dict[str, dict[str, None]] = {"": {}, **{stage: {} for stage in STAGES}}
    for row in rows:
        for cell in row[kind]:
            stage = rules()[cell].stage if cell in rules() else ""  # a case has none
            of_stage[stage][cell] = None
    groups = {}
    for stage, cells in of_stage.items():
        if cells:
            groups[stage] = (STAGES.get(stage, ""), list(cells))
    return {
        "of": name,
        "kind": kind,
        "form": form == ("form",),
        "subjects": rows,
        "groups": groups,
        "places": {row["key"]: anchors(name, row) for row in rows},
        "says": sentences(),
        "signs": {**SIGNS, "later": "?"},
    }


def exits(name: str) -> Row:
    """Return with which status each server ends after a failure, or after none."""
    rows = [row for row in subjects(name) if has_lifespan(row)]
    ended_by: dict[str, set[str]] = {case: set() for case in ENDING}
    for row in rows:
        row["statuses"] = []
        for case in ENDING:
            row["statuses"].append(_statuses(row["exits"][case]))
            ended_by[case].update(by for _status, by in row["exits"][case] if by)
    return {"subjects": rows, "ends": map(sorted, ended_by.values())}


def _statuses(exits: list[list[Any]]) -> list[str]:
    """Return each exit status once, whoever ended the process."""
    words = []
    for status in dict.fromkeys(status for status, _by in exits):
        if isinstance(status, int):
            words.append(shell_status(status))
        else:  # "running": it did not end
            words.append(status)
    return words


TABLES = {
    "exits": exits,
    "findings": findings,
    "matrix": matrix,
    "scores": scores,
    "subject": subject,
}
