"""Measure what middleware lets through: `make middleware`.

`middleware.toml` has the rows, and pyproject.toml what they need, in the group `middleware`.
`between.py` puts each around an application, in a process of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from environments import Needs
from happened import NONE, Answer, Happened
from records import ADDRESS, Row, measure, table, versions

SUBJECTS: dict[str, dict[str, str]] = table("middleware")
BETWEEN = Path(__file__).with_name("between.py")
LIMIT = 120  # seconds for a subject
FAULTS = "fail", "warn", "info"  # the findings that the record has one by one
UNCHANGED, LOST = ["unchanged"], ["lost"]

Runs = Mapping[str, Happened]  # by the fault of the application


def scope(runs: Runs) -> Answer:
    """Say with which scope the application was called."""
    _kind, *found = runs["usual"].first("scope") or [""]
    if not found:
        return ["not passed on"]
    what, *differs = found
    if what == "same":
        return ["the same"]
    return ["a copy, other in", *differs] if differs else ["a copy"]


def state(runs: Runs) -> Answer:
    """Say whether a request has what was written at startup."""
    usual = runs["usual"]
    if usual.first("written")[1:] != ["open"] or usual.first("request")[1:] == ["no state"]:
        return LOST
    return ["the same"] if usual.has("state", "same") else ["another object"]


def events(runs: Runs) -> Answer:
    """Say whether both events and their answers get through."""
    if not runs["usual"].has("application"):
        return LOST
    found = runs["usual"].names("server")
    whole = found == ["startup.complete", "shutdown.complete"]
    return UNCHANGED if whole else ["the server receives", *found]


def failures(runs: Runs) -> Answer:
    """Say what becomes of startup.failed and shutdown.failed."""
    startup, shutdown = (runs[f"at {phase}"].names("server") for phase in ("startup", "shutdown"))
    if (startup, shutdown) == (["startup.failed"], ["startup.complete", "shutdown.failed"]):
        return UNCHANGED
    if "startup.failed" not in startup and "shutdown.failed" not in shutdown:
        return LOST
    return ["the server receives", ", ".join(startup), ", ".join(shutdown)]


def exceptions(runs: Runs) -> Answer:
    """Say what the call with the lifespan raises, where the application raises."""
    ends = [runs[fault].all[-1] for fault in ("on the scope", "while serving")]
    if all(end == ["raised the same"] for end in ends):
        return UNCHANGED
    raised = [end[1] for end in ends if end[0] == "raised"]
    return ["raises another", raised[0]] if raised else LOST


def own(runs: Runs) -> Answer:
    """Say when the functions that the middleware was given ran."""
    if not runs["usual"].has("opens its own"):
        return NONE
    around = runs["usual"].has("application")
    return ["around the application"] if around else ["instead of it"]


COLUMNS: tuple[Callable[[Runs], Answer], ...] = scope, state, events, failures, exceptions, own


def answers(
    happened: Mapping[str, Sequence[Sequence[Any]]], verdicts: Iterable[str]
) -> dict[str, Answer]:
    """Return the answer of each column, and the worst verdict of the suite."""
    runs = {fault: Happened(each) for fault, each in happened.items()}
    found = set(verdicts)
    worst = next(each for each in ("fail", "warn", "pass") if each in found)
    return {**{say.__name__: say(runs) for say in COLUMNS}, "check": [worst]}


def row(environment: Path, name: str) -> Row:
    """Measure a subject; return its row of the record."""
    subject = SUBJECTS[name]
    with tempfile.TemporaryDirectory() as folder:  # some write files where they run
        run = subprocess.run(
            [environment / "bin" / "python", BETWEEN],
            input=f"{subject['needs']}\ndef wrap(app):\n    return {subject['code']}\n",
            env={**os.environ, "PYTHONPATH": str(BETWEEN.parents[2] / "src")},
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT,
            check=False,
        )
    if run.returncode:
        raise RuntimeError(run.stderr)
    found = json.loads(ADDRESS.sub("0x…", run.stdout))
    findings = found["findings"]
    return {
        "name": name,
        "needs": subject["needs"],
        "code": subject["code"],
        "versions": versions(environment, subject["packages"].split()),
        "answers": answers(found["passed"], [each["verdict"] for each in findings]),
        "happened": found["passed"],
        "findings": [each for each in findings if each["verdict"] in FAULTS],
    }


if __name__ == "__main__":
    needs = {
        name: Needs("middleware", [*subject["packages"].split(), "starlette"])
        for name, subject in SUBJECTS.items()
    }
    sys.exit(measure(sys.argv[1:], needs, row, at_once=8))
