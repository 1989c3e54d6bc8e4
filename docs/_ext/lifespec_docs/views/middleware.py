"""What middleware lets through: those that change something, the others, and the findings."""

from typing import Any

from lifespec_docs.views.records import key, read
from lifespec_docs.views.sentences import sentence
from lifespec_docs.views.verdicts import SIGNS, sentences

Row = dict[str, Any]
UNTOUCHED = (["unchanged"], ["the same"], ["none"])
COLUMNS = ("scope", "state", "events", "failures", "exceptions", "own")


def rows() -> list[Row]:
    """Return the rows of the record, with the version of the package and a part of an anchor."""
    return [
        {**row, "version": next(iter(row["versions"].values())), "key": key(row["name"])}
        for row in read("middleware")["subjects"]
    ]


def passes(row: Row) -> bool:
    """Tell whether all gets through, and the suite found nothing."""
    return not row["findings"] and all(row["answers"][name] in UNTOUCHED for name in COLUMNS)


def middleware() -> Row:
    """Arrange those that change or add anything."""
    return {"columns": COLUMNS, "rows": [row for row in rows() if not passes(row)], "signs": SIGNS}


def passing() -> Row:
    """List the others."""
    return {"rows": [row for row in rows() if passes(row)]}


def findings() -> Row:
    """Arrange what the suite found, by middleware."""
    with_findings = []
    for row in rows():
        if row["findings"]:
            told = [finding for finding in row["findings"] if finding["verdict"] != "info"]
            with_findings.append({**row, "findings": told})
    return {"rows": with_findings, "says": sentences(), "signs": SIGNS, "sentence": sentence}


TABLES = {"middleware": middleware, "middleware-findings": findings, "middleware-passing": passing}
