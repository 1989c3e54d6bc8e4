"""What servers log and do when a lifespan fails, and what readers compare who choose a server."""

from typing import Any

from lifespec_docs.views.records import read, shell_status
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


def loglines(program: str, *facts: str) -> Row:
    """Return what each server logs for a program: a row for each signal if these differ."""
    rows = []
    for subject in read("loglines")["subjects"]:
        other = subject["starlette"].get(program)
        runs = subject["runs"].get(program, other)
        found = [
            {
                "server": named(subject),
                "signal": signal,
                "lines": runs[signal]["lines"],
                "others": other[signal]["lines"] if other else [],
                "cells": [
                    exits(subject, FACTS[fact][1] or signal)
                    if FACTS[fact][0] == "exit"
                    else _fact(runs, signal, fact)
                    for fact in facts
                ],
            }
            for signal in SIGNALS
        ]
        if found[0] | {"signal": ""} == found[1] | {"signal": ""}:
            found = [found[0] | {"signal": ""}]
        rows += found
    both = [program in subject[key] for key in ("runs", "starlette")]
    return {"rows": rows, "facts": facts, "both": all(both)}


def _fact(runs: Row, signal: str, fact: str) -> bool | list[str]:
    """Return whether something happened, or the exit statuses; none if there was no such run."""
    name, of = FACTS[fact]
    if not (run := runs.get(of or signal)):
        return []
    return [*map(shell_status, run[name])] if name == "statuses" else bool(run[name])


def exits(subject: Row, way: str) -> list[str]:
    """Return each status with which a server ended by itself after a failed startup.

    Both records have run this: a status that either has seen is one.
    """
    run = subject["runs"]["fails"].get(way)
    if not run or not run["alone"]:
        return []
    found = {*run["statuses"]}
    for row in subjects("servers"):
        if row["command"] == subject["command"]:
            seen = row.get("exits", {}).get(CASES[way], [])
            found |= {status for status, by in seen if by == "itself"}
    return [*map(shell_status, sorted(found))]


def named(subject: Row) -> str:
    """Return a server's name with its version."""
    return f"{subject['name']} {next(iter(subject['versions'].values()))}"


def open_requests() -> Row:
    """Return how long each server waits for a request that is open when it stops."""
    rows = [
        {
            "server": named(subject),
            "option": next(filter(None, subject["waits"]), ""),
            "default": subject["waits"][""],
            "limited": [*subject["waits"].values()][-1],
        }
        for subject in read("loglines")["subjects"]
    ]
    return {"rows": rows}


def hangs() -> Row:
    """Return by what a server waits for: its last line after Ctrl-C, and the key that ends it."""
    rows = [
        {
            "server": named(subject),
            "waits": waits,
            "last": run["last"],
            "key": next(key for key, seen in run.items() if key != "last" and seen["ended"]),
        }
        for subject in read("loglines")["subjects"]
        if subject["runs"]["answers"]["SIGTERM"]["shutdown"]
        for waits, run in subject["given up"].items()
    ]
    return {"rows": rows}


def which_server() -> Row:
    """Return a column for each server, with what the records say of it."""
    verdicts = subjects("servers")
    columns = []
    for subject in read("loglines")["subjects"]:
        first = next(row for row in verdicts if row["name"].startswith(subject["name"]))
        columns.append(
            {
                "server": named(subject),
                "starts": has_lifespan(first),
                "runs": {name: runs["SIGTERM"] for name, runs in subject["runs"].items()},
                "sends": [subject["runs"]["answers"][signal]["shutdown"] for signal in SIGNALS],
                "exits": [exits(subject, way) for way in (SIGNALS[0], TWO)],
                "waits": subject["waits"][""],
                "late": [*subject["waits"].values()][-1]["shutdown"],
                "copies": first["rules"]["state-shallow-copy"] == ["pass"],
                "options": subject["options"],
            }
        )
    return {"columns": columns}


TABLES = {
    "hangs": hangs,
    "loglines": loglines,
    "open-requests": open_requests,
    "which-server": which_server,
}
