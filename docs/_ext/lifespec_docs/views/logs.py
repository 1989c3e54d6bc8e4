"""What servers log and do when a lifespan fails, and what readers compare who choose a server."""

from collections.abc import Callable, Mapping
from typing import Any

from lifespec_docs.views.conditions import Split, split
from lifespec_docs.views.records import python_version, read, shell_status
from lifespec_docs.views.signals import by_way, named, servers, waiting
from lifespec_docs.views.verdicts import has_lifespan, subjects

Row = dict[str, Any]
SIGNALS = ("SIGTERM", "SIGINT")
TWO = "two workers"
CASES = dict.fromkeys(SIGNALS, "failed-with-message") | {TWO: "two-workers-failed"}  # of the suite
# The key of a column in the record of a run, and the run: None is that with the signal of the row.
FACTS = {
    "served": ("served", None),
    "shutdown": ("shutdown", None),
    "ended": ("ended", None),
    "exit": ("exit", None),
    "exit-of-two": ("exit", TWO),
    "status": ("statuses", None),
    "status-of-two": ("statuses", TWO),
}


def by_name() -> dict[str, list[Row]]:
    """Return the rows of the record by server: one for each Python."""
    rows: dict[str, list[Row]] = {}
    for subject in read("loglines")["subjects"]:
        rows.setdefault(subject["name"], []).append(subject)
    return rows


def loglines(program: str, *facts: str) -> Row:
    """Return what each server logs for a program: a row for each signal or Python that differs."""
    rows = []
    for of_server in by_name().values():
        values = {}
        for signal in SIGNALS:
            for subject in of_server:
                conditions = (signal, f"Python {python_version(subject)}")
                values[conditions] = _logged(subject, program, signal, facts)
        for row in split(values):
            rows.append({"server": named(of_server), "conditions": row.conditions, **row.value})
    subject = read("loglines")["subjects"][0]
    both = program in subject["runs"] and program in subject["starlette"]
    return {"rows": rows, "facts": facts, "both": both}


def _logged(subject: Row, program: str, signal: str, facts: tuple[str, ...]) -> Row:
    """Return the lines of a run, those with Starlette, and the facts."""
    other = subject["starlette"].get(program)
    runs = subject["runs"].get(program, other)
    return {
        "lines": runs[signal]["lines"],
        "others": other[signal]["lines"] if other else [],
        "cells": [_fact(subject, runs, signal, fact) for fact in facts],
    }


def _fact(subject: Row, runs: Row, signal: str, fact: str) -> bool | list[str]:
    """Return whether something happened, or the exit statuses; none if there was no such run."""
    name, of = FACTS[fact]
    if name == "exit":
        return exits(subject, of or signal)
    run = runs.get(of or signal)
    if not run:
        return []
    if name == "statuses":
        return list(map(shell_status, run[name]))
    return bool(run[name])


def exits(subject: Row, way: str) -> list[str]:
    """Return each status with which a server ended by itself after a failed startup.

    Two records have run this on the same Python: a status that either has seen is one.
    """
    run = subject["runs"]["fails"].get(way)
    if not run or not run["alone"]:
        return []
    statuses = set(run["statuses"])
    for row in subjects("servers"):
        if row["command"] != subject["command"] or python_version(row) != python_version(subject):
            continue
        for status, by in row.get("exits", {}).get(CASES[way], []):
            if by == "itself":
                statuses.add(status)
    return list(map(shell_status, sorted(statuses)))


def which_server() -> Row:
    """Return a column for each server, and by row its cells: values with their conditions."""
    verdicts = {row["name"]: row for row in subjects("servers")}
    signalled = servers()
    columns, cells = [], []
    for name, of_server in by_name().items():
        row = verdicts.get(name) or verdicts[f"{name}, asyncio"]
        starts = has_lifespan(row)
        columns.append({"server": named(of_server), "starts": starts})
        cells.append(_cells(of_server, signalled[name], row) if starts else {})
    rows = {}
    for key in cells[0]:
        rows[key] = [of_server_cells.get(key, []) for of_server_cells in cells]
    return {"columns": columns, "cells": rows}


def _cells(of_server: list[Row], signalled: list[Row], verdict: Row) -> dict[str, list[Split]]:
    """Return what the records say of a server, by row of the table."""

    def logged(observed: Callable[[Row], Any]) -> list[Split]:
        values = {}
        for row in of_server:
            values[(f"Python {python_version(row)}",)] = observed(row)
        return split(values)

    def waited(key: str) -> list[Split]:
        return by_way(signalled, lambda subject: _of_runs(waiting(subject), key))

    def sent(signal: str) -> list[Split]:
        def observed(subject: Row) -> dict[str, Any]:
            return _of_runs(_of_signal(subject["stops"], signal), "shutdown")

        return by_way(signalled, observed)

    return {
        "serves": logged(lambda row: row["runs"]["fails"]["SIGTERM"]["served"]),
        "exits": logged(lambda row: [exits(row, way) for way in (SIGNALS[0], TWO)]),
        "hanging": logged(lambda row: row["runs"]["hangs-at-startup"]["SIGTERM"]["served"]),
        "ended": logged(lambda row: row["runs"]["hangs-at-startup"]["SIGTERM"]["ended"]),
        "SIGTERM": sent("SIGTERM"),
        "SIGINT": sent("SIGINT"),
        "waits": waited("wait"),
        "late": waited("shutdown"),
        "copies": [Split([], verdict["rules"]["state-shallow-copy"] == ["pass"])],
        "options": [Split([], of_server[0]["options"])],
    }


def _of_signal(ways: Mapping[str, Row], signal: str) -> dict[str, Row]:
    """Return the runs in which this signal was sent, by the whole way."""
    return {way: run for way, run in ways.items() if way.startswith(f"{signal}, ")}


def _of_runs(ways: Mapping[str, Row], key: str) -> dict[str, Any]:
    """Return one value of each run, by way."""
    return {way: run[key] for way, run in ways.items()}


TABLES = {"loglines": loglines, "which-server": which_server}
