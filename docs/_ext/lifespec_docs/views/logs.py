"""What servers log and do when a lifespan fails, and what readers compare who choose a server."""

from typing import Any

from lifespec_docs.views.records import read, shell_status
from lifespec_docs.views.verdicts import has_lifespan, subjects

Row = dict[str, Any]
SIGNALS = ("SIGTERM", "SIGINT")
TWO = "two workers"
# The key of a column in the record of a run, and the run: None is that with the signal of the row.
FACTS = {
    "served": ("served", None),
    "shutdown": ("shutdown", None),
    "ended": ("ended", None),
    "exit": ("exit", None),
    "exit-of-two": ("exit", TWO),
    "status": ("status", None),
    "status-of-two": ("status", TWO),
}


def loglines(program: str, *facts: str) -> Row:
    """Return what each server logs for a program: a row for each signal if these differ."""
    rows = []
    for subject in read("loglines")["subjects"]:
        runs = subject["runs"][program]
        found = [
            {
                "server": named(subject),
                "signal": signal,
                "lines": runs[signal]["lines"],
                "cells": [_fact(runs, signal, fact) for fact in facts],
            }
            for signal in SIGNALS
        ]
        if found[0] | {"signal": ""} == found[1] | {"signal": ""}:
            found = [found[0] | {"signal": ""}]
        rows += found
    return {"rows": rows, "facts": facts}


def _fact(runs: Row, signal: str, fact: str) -> bool | str | None:
    """Return whether something happened, or an exit status; None if there was no such run."""
    name, of = FACTS[fact]
    run = runs.get(of or signal)
    if run is None or name not in ("exit", "status"):
        return run and run[name]
    return ended(run) if name == "exit" or run["status"] is None else shell_status(run["status"])


def ended(run: Row) -> str | None:
    """Return the exit status of a server that ended without a signal."""
    return shell_status(run["status"]) if run["alone"] else None


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
                "exits": [
                    ended(subject["runs"]["fails"].get(way, {"alone": False}))
                    for way in (SIGNALS[0], TWO)
                ],
                "waits": subject["waits"][""],
                "late": [*subject["waits"].values()][-1]["shutdown"],
                "copies": first["rules"]["state-shallow-copy"] == ["pass"],
                "options": subject["options"],
            }
        )
    return {"columns": columns}


TABLES = {"loglines": loglines, "open-requests": open_requests, "which-server": which_server}
