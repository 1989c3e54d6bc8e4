"""Check the current servers and test clients, and record what was found: `make matrix`.

    python tests/measure/run.py FOLDER MATRIX [SUBJECT...]

FOLDER is an environment with what is checked; a subject that does not go with the others has one
of its own in it, of its name. MATRIX is the folder of the records. If subjects are named, only
they are checked, and the rows of the others stay with their dates.
"""

import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kept import keep, select, versions

from lifespec.conformance.cases import Case
from lifespec.conformance.observed import translated
from lifespec.conformance.report.model import Verdict
from lifespec.conformance.server import brokers, clients
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import ServerCheck
from lifespec.conformance.server.servers import COMMANDS
from lifespec.conformance.words import translator

__all__ = ["RECORDS", "answers", "findings", "recorded", "varying"]

Finding = dict[str, Any]
TEXT = "asgi 2.0"
SERVERS = {  # name: the packages whose versions count, and the command
    "uvicorn": (["uvicorn"], COMMANDS["uvicorn"]),
    "hypercorn, asyncio": (["Hypercorn"], COMMANDS["hypercorn, asyncio"]),
    "hypercorn, trio": (["Hypercorn", "trio"], COMMANDS["hypercorn, trio"]),
    "granian": (["granian"], COMMANDS["granian"]),
    "daphne": (["daphne"], COMMANDS["daphne"]),
    "gunicorn, asgi": (["gunicorn"], COMMANDS["gunicorn, asgi"]),
    "gunicorn, uvicorn-worker": (
        ["gunicorn", "uvicorn-worker", "uvicorn"],
        COMMANDS["gunicorn, uvicorn-worker"],
    ),
}
DRIVERS = ["asgi-lifespan", "litestar", "mangum", "quart", "starlette"]
AMGI = {  # name: the broker, and the program that serves its messages
    "amgi-paho-mqtt": (
        "mosquitto",
        "from amgi_paho_mqtt import run; run(app, topic, host='127.0.0.1', port=int(port))",
    ),
    "amgi-redis": (
        "redis",
        "from amgi_redis import run; run(app, topic, url=f'redis://127.0.0.1:{port}')",
    ),
}
CONSUME = """\
import importlib, sys
target, topic, port = sys.argv[1:]
module, _, name = target.partition(":")
app = getattr(importlib.import_module(module), name)
"""
LOCKED = Path(__file__).parents[2] / ".ci" / "matrix.txt"
ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object: it differs from run to run
EXITS = {  # the cases that end a process, and the rule whose finding says with which status
    "failed-with-message": "startup-failed-exits",
    "two-workers-failed": "startup-failed-exits",
    "shutdown-failed-with-message": "shutdown-failed-ends",
    "two-workers-shutdown-failed": "shutdown-failed-ends",
    "well-behaved": "shutdown-sent",
}
STATUS = re.compile(r"ended with status (\d+)")
BY_SIGNAL = re.compile(r"ended by signal (\d+)")
SIGNALLED = 128  # what a shell adds to the number of a signal


class Subject(NamedTuple):
    """What is checked by the programs of a folder; how it is started; whose versions count."""

    job: Callable[[Path], ServerCheck]
    command: str
    packages: Sequence[str]


def server(packages: Sequence[str], command: str) -> Subject:
    """Return a server, with the command that its users type."""
    program, *words = command.split()
    return Subject(
        lambda folder: ServerCheck((str(folder / program), *words), TEXT), command, packages
    )


def driver(name: str, *others: str) -> Subject:
    """Return a test client or adapter; the versions of others count, too."""
    command = f"lifespec check driver {name}"
    return Subject(
        lambda folder: clients.job(name, python=f"{folder / 'python'}"), command, [name, *others]
    )


def consumer(name: str) -> Subject:
    """Return a server of messages."""
    broker, serves = AMGI[name]
    words = ["-c", CONSUME + serves, "{app}", "{topic}", "{port}"]

    def job(folder: Path) -> ServerCheck:
        return brokers.job([f"{folder / 'python'}", *words], broker, "amgi 2.0")

    return Subject(job, serves, [name, "amgi-common"])


RECORDS: dict[str, dict[str, Subject]] = {
    "servers": {name: server(*row) for name, row in SERVERS.items()},
    "drivers": {name: driver(name) for name in DRIVERS},
    "amgi": {
        **{name: consumer(name) for name in AMGI},
        "amgi-common": driver("amgi-common"),
        "pytest-amgi": driver("pytest-amgi", "amgi-common"),
    },
}


def findings(job: ServerCheck, chosen: Sequence[Case]) -> list[Finding]:
    """Check a subject; return what was found, and in Chinese what a page shows of it."""
    cases = {case.name: case for case in chosen}
    chinese = translator("zh")
    found = []
    for each in server_check.check(job, chosen).findings:
        actual = plain(each.actual)
        row = {
            "case": each.case,
            "rule": each.rule,
            "verdict": str(each.verdict),
            "unspecified": cases[each.case].silent_on(each.rule, job.spec),
            "actual": actual,
        }
        if each.verdict != Verdict.PASS and (text := translated(actual, chinese)):
            row["zh"] = text
        found.append(row)
    return found


def plain(sentence: str) -> str:
    """Return a sentence without addresses, and with the exit status that a shell has."""
    return BY_SIGNAL.sub(by_signal, ADDRESS.sub("0x…", sentence))


def by_signal(ended: re.Match[str]) -> str:
    """Say with which status a process ends for a shell, if a signal ends it."""
    number = int(ended[1])
    return f"ended with status {SIGNALLED + number} ({signal.Signals(number).name})"


def varying(found: Sequence[Finding], again: Sequence[Finding]) -> list[Finding]:
    """Note in each finding which verdict a second run had instead, if it had another one."""
    first, second = verdicts(found), verdicts(again)
    rows = []
    for each in found:
        key = each["case"], each["rule"]
        others = second.get(key, first[key]) - first[key]
        rows.append(each | ({"varies": sorted(others)} if others else {}))
    return rows


def verdicts(found: Iterable[Finding]) -> dict[tuple[str, str], set[str]]:
    """Return the verdicts by case and rule."""
    rows: dict[tuple[str, str], set[str]] = {}
    for each in found:
        rows.setdefault((each["case"], each["rule"]), set()).add(each["verdict"])
    return rows


def answers(found: Sequence[Finding]) -> dict[str, Any]:
    """Say for each rule, and for each unspecified case, which verdicts count; count the rules."""
    by_rule: dict[str, list[Verdict]] = {}
    cells: dict[str, dict[str, list[Verdict]]] = {"rules": {}, "cases": {}}
    for each in found:
        verdict = Verdict.named(each["verdict"])
        by_rule.setdefault(each["rule"], []).append(verdict)
        kind, name = ("cases", "case") if each["unspecified"] else ("rules", "rule")
        cells[kind].setdefault(each[name], []).append(verdict)
    counted = [Verdict.of(verdicts) for verdicts in by_rule.values()]
    return {
        "counts": {str(verdict): counted.count(verdict) for verdict in Verdict},
        **{
            kind: {name: shown(verdicts) for name, verdicts in rows.items()}
            for kind, rows in cells.items()
        },
    }


def shown(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the verdict that counts; a PASS does not hide an INFO."""
    counts = Verdict.of(verdicts)
    both = counts == Verdict.PASS and Verdict.INFO in verdicts
    return [str(counts), *([str(Verdict.INFO)] if both else [])]


def exits(found: Iterable[Finding]) -> dict[str, Any]:
    """Return with which status the process ended in each case of EXITS, as a shell has it."""
    return {
        each["case"]: None if each["verdict"] == Verdict.SKIP else status(each["actual"])
        for each in found
        if EXITS.get(each["case"]) == each["rule"]
    }


def status(sentence: str) -> int | str:
    """Return the exit status that a sentence names."""
    ended = STATUS.search(sentence)
    return int(ended[1]) if ended else "running"


def recorded(record: str, name: str, environment: Path) -> dict[str, Any]:
    """Check a subject; return its row of the record.

    Cases with another verdict than PASS run twice, because some end otherwise from run to run.
    """
    own = environment / name
    folder = (own if own.is_dir() else environment) / "bin"
    subject = RECORDS[record][name]
    began = time.monotonic()
    job = subject.job(folder)
    found = findings(job, server_check.chosen(slow=True))
    faults = {each["case"] for each in found if each["verdict"] not in ("pass", "skip")}
    if faults:
        found = varying(found, findings(job, server_check.chosen(sorted(faults))))
    row = {
        "name": name,
        "command": subject.command,
        "versions": versions(str(folder / "python"), subject.packages),
        "seconds": round(time.monotonic() - began),
        **answers(found),
    }
    if record == "servers" and row["counts"]["skip"] < sum(row["counts"].values()):
        row["exits"] = exits(found)
    print(f"{name}: {row['seconds']} s", flush=True)
    return row | {"findings": found}


def lacking(subjects: Mapping[str, Subject], locked: str) -> Iterator[str]:
    """Yield a sentence for each package whose version counts and that is not installed by name."""
    here = Path(__file__).read_text("utf-8").split("\n")
    for name, subject in subjects.items():
        line = next((n for n, text in enumerate(here, 1) if f'"{name}"' in text), 1)
        for package in subject.packages:
            if not re.search(rf"^{re.escape(package)}==", locked, re.IGNORECASE | re.MULTILINE):
                yield (
                    f"tests/measure/run.py:{line}: .ci/matrix.txt does not have the package "
                    f"{package!r} of {name!r}: add it to the group matrix of pyproject.toml, "
                    "then run `make lock`."
                )


def main(arguments: Sequence[str]) -> int:
    """Check the subjects, one after the other."""
    folder, matrix, *names = arguments
    if missing := list(lacking(RECORDS["servers"], LOCKED.read_text("utf-8"))):
        print(*missing, sep="\n", file=sys.stderr)
        return 2
    wanted = select(names, [name for subjects in RECORDS.values() for name in subjects])
    environment = Path(folder).absolute()
    for record, subjects in RECORDS.items():
        spec = next(iter(subjects.values())).job(environment).spec
        rows = (recorded(record, name, environment) for name in subjects if name in wanted)
        keep(Path(matrix, f"{record}.json"), [*subjects], rows, spec=spec)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
