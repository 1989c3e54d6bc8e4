"""Verdicts on servers, test clients and adapters, by rule or case, and exit statuses."""

from typing import Any

from lifespec.conformance.rules import STAGES, rules
from lifespec_docs.views.findings import SIGNS, anchors, has_lifespan, sentences, subjects
from lifespec_docs.views.records import shell_status

__all__ = ["TABLES", "best", "exits", "matrix", "scores"]

Row = dict[str, Any]
STATUSES = {  # the cases that end a process, by what the template calls them
    "failed": "failed-with-message",
    "failed_of_two": "two-workers-failed",
    "stop_failed": "shutdown-failed-with-message",
    "stop_failed_of_two": "two-workers-shutdown-failed",
    "stopped": "well-behaved",
}


def scores(name: str) -> Row:
    """Count the rules of each subject by verdict."""
    return {"of": name, "subjects": subjects(name), "signs": SIGNS}


def best(name: str) -> Row:
    """Say what is wrong with each server, and count those with which nothing is."""
    rows = subjects(name)
    good: dict[str, bool] = {}  # by server, which may have several rows
    for row in rows:
        row["starts"] = has_lifespan(row)
        row["wrong"] = [verdict for verdict in ("fail", "warn") if row["counts"][verdict]]
        server = row["name"].partition(",")[0]
        good[server] = good.get(server, True) and row["starts"] and not row["wrong"]
    return {"of": name, "subjects": rows, "signs": SIGNS, "good": [*good.values()]}


def matrix(name: str, kind: str = "rules", *form: str) -> Row:
    """Arrange the verdicts: the rules by stage of a lifespan, or the unspecified cases."""
    found = subjects(name)
    names = dict.fromkeys(each for row in found for each in row[kind])
    book = rules()
    stages = {each: book[each].stage if each in book else "" for each in names}
    groups = {
        stage: (title, here)
        for stage, title in STAGES.items()
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
    """Return with which status each server ends after a failure."""
    rows = [row for row in subjects(name) if has_lifespan(row)]
    for row in rows:
        statuses = {what: row["exits"][case] for what, case in STATUSES.items()}
        row["status"] = {
            what: shell_status(status) if isinstance(status, int) else status
            for what, status in statuses.items()
        }
    return {"subjects": rows}


TABLES = {"best": best, "exits": exits, "matrix": matrix, "scores": scores}
