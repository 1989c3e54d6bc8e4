"""Verdicts on servers, test clients and adapters, by rule or case, and exit statuses."""

from typing import Any

from lifespec.conformance.rules import STAGES, rules
from lifespec_docs.views.findings import SIGNS, anchors, has_lifespan, sentences, subjects
from lifespec_docs.views.records import shell_status

__all__ = ["TABLES", "best", "exits", "matrix", "scores"]

Row = dict[str, Any]
STARTUP = ("failed-with-message", "two-workers-failed")  # the cases that end a process
SHUTDOWN = ("shutdown-failed-with-message", "two-workers-shutdown-failed", "well-behaved")


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


def exits(name: str, *only: str) -> Row:
    """Return with which status each server ends after a failure, or after that of startup alone."""
    cases = STARTUP if only == ("startup",) else STARTUP + SHUTDOWN
    rows = [row for row in subjects(name) if has_lifespan(row)]
    for row in rows:
        statuses = {case: row["exits"][case] for case in cases}
        row["status"] = {
            case: shell_status(status) if isinstance(status, int) else status
            for case, status in statuses.items()
        }
    return {"subjects": rows, "shutdown": not only}


TABLES = {"best": best, "exits": exits, "matrix": matrix, "scores": scores}
