"""Measure what middleware lets through: `make middleware`.

    python tests/measure/middleware.py PYTHON FILE [SUBJECT...]

PYTHON has the packages of `.ci/middleware.txt`, and FILE is the record.  `middleware.toml` has the
subjects, and `between.py` puts each around an application, in a process of its own.  Where subjects
are named, the rows of the others stay as they are.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from happened import NONE, Answer, Happened
from kept import keep, select, versions

__all__ = ["SUBJECTS", "answers", "main", "row"]

SUBJECTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
BETWEEN = Path(__file__).with_name("between.py")
SOURCES = Path(__file__).parents[2] / "src"
LIMIT = 120  # seconds for a subject
AT_ONCE = 8  # as they wait most of the time
FAULTS = "fail", "warn", "info"  # the findings that the record has one by one
ADDRESS = re.compile(r"\b0x[0-9a-f]+")
FAILED = ("startup", "shutdown")
UNCHANGED, LOST = ["unchanged"], ["lost"]

Runs = Mapping[str, Happened]  # by the fault of the application


def arrived(run: Happened) -> list[str]:
    """Return the events that the server received."""
    return run.names("server")


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
    usual = runs["usual"]
    if not usual.has("application"):
        return LOST
    found = arrived(usual)
    whole = found == ["startup.complete", "shutdown.complete"]
    return UNCHANGED if whole else ["the server receives", *found]


def failures(runs: Runs) -> Answer:
    """Say what becomes of startup.failed and shutdown.failed."""
    found = [arrived(runs[f"at {phase}"]) for phase in FAILED]
    if found == [["startup.failed"], ["startup.complete", "shutdown.failed"]]:
        return UNCHANGED
    if not any(f"{phase}.failed" in each for phase, each in zip(FAILED, found, strict=True)):
        return LOST
    return ["the server receives", *map(", ".join, found)]


def exceptions(runs: Runs) -> Answer:
    """Say what the call with the lifespan raises, where the application raises."""
    ends = [runs[fault].all[-1] for fault in ("on the scope", "while serving")]
    if all(end == ["raised the same"] for end in ends):
        return UNCHANGED
    raised = [end[1] for end in ends if end[0] == "raised"]
    return ["raises another", raised[0]] if raised else LOST


def own(runs: Runs) -> Answer:
    """Say when the functions that the middleware was given ran."""
    usual = runs["usual"]
    if not usual.has("opens its own"):
        return NONE
    return ["around the application"] if usual.has("application") else ["instead of it"]


COLUMNS: Mapping[str, Callable[[Runs], Answer]] = {
    "scope": scope,
    "state": state,
    "events": events,
    "failures": failures,
    "exceptions": exceptions,
    "own": own,
}


def answers(
    happened: Mapping[str, Sequence[Sequence[Any]]], verdicts: Iterable[str]
) -> dict[str, Answer]:
    """Return what is said of the runs, and the worst verdict of the suite."""
    runs = {fault: Happened(each) for fault, each in happened.items()}
    found = {*verdicts}
    worst = next(each for each in ("fail", "warn", "pass") if each in found)
    return {**{name: say(runs) for name, say in COLUMNS.items()}, "check": [worst]}


def program(subject: Mapping[str, str]) -> str:
    """Return the program that `between.py` runs."""
    return f"{subject['needs']}\ndef wrap(app):\n    return {subject['code']}\n"


def finding(parts: Sequence[str]) -> dict[str, str]:
    """Return a finding of the suite by name, with what was seen in Chinese, too."""
    return dict(zip(("case", "rule", "verdict", "actual", "zh"), parts, strict=True))


def row(python: str, name: str) -> dict[str, Any]:
    """Measure a subject; return its row of the record."""
    subject = SUBJECTS[name]
    with tempfile.TemporaryDirectory() as folder:  # some write files where they run
        run = subprocess.run(
            [python, str(BETWEEN)],
            input=program(subject),
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT,
            check=False,
        )
    if run.returncode:
        raise RuntimeError(f"{name}: {run.stderr}")
    found = json.loads(ADDRESS.sub("0x…", run.stdout))
    findings = [*map(finding, found["findings"])]
    return {
        "name": name,
        "needs": subject["needs"],
        "code": subject["code"],
        "versions": versions(python, subject["packages"].split()),
        "answers": answers(found["passed"], [each["verdict"] for each in findings]),
        "happened": found["passed"],
        "findings": [each for each in findings if each["verdict"] in FAULTS],
    }


def rows(python: str, names: Iterable[str], failed: list[str]) -> Iterator[dict[str, Any]]:
    """Measure the subjects, some at once; note those that cannot be measured."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        waits = {name: pool.submit(row, python, name) for name in names}
        for name, each in waits.items():
            try:
                yield each.result()
            except (RuntimeError, subprocess.SubprocessError) as error:
                failed.append(f"{name}: {error}")
            else:
                print(name, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Measure the subjects that are named, or all; return 1 if one could not be measured."""
    python, file, *names = arguments
    failed: list[str] = []
    found = rows(str(Path(python).absolute()), select(names, SUBJECTS), failed)
    keep(Path(file), [*SUBJECTS], found)
    sys.stderr.writelines(f"{each}\n" for each in failed)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
