"""Check the current servers and test clients, and record what was found: `make matrix`.

    python tests/measure/run.py FOLDER MATRIX [SUBJECT...]

FOLDER is an environment with what is checked; a subject that does not go with the others has one
of its own in it, of its name. MATRIX is the folder of the records. If subjects are named, only
they are checked, and the rows of the others stay with their dates.
"""

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import brokers
import drivers
from kept import keep, select, versions

from lifespec.conformance import cases
from lifespec.conformance.report import Fact, Report, Verdict
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import Target, check
from lifespec.conformance.text import Words

__all__ = ["RECORDS", "answers", "findings", "recorded", "varying"]

Finding = dict[str, Any]
TEXT = "asgi 2.0"
BIND = "--bind 127.0.0.1:{port} --workers {workers}"
SERVERS = {  # name: the packages whose versions count, and the command
    "uvicorn": (["uvicorn"], "uvicorn {app} --port {port} --workers {workers}"),
    "hypercorn, asyncio": (["Hypercorn"], f"hypercorn {{app}} {BIND}"),
    "hypercorn, trio": (["Hypercorn", "trio"], f"hypercorn {{app}} --worker-class trio {BIND}"),
    "granian": (
        ["granian"],
        "granian --interface asgi {app} --port {port} --workers {workers}",
    ),
    "daphne": (["daphne"], "daphne {app} --port {port}"),
    "gunicorn, asgi": (
        ["gunicorn"],
        f"gunicorn {{app}} --no-control-socket --worker-class asgi {BIND}",
    ),
    "gunicorn, uvicorn-worker": (
        ["gunicorn", "uvicorn-worker", "uvicorn"],
        f"gunicorn {{app}} --no-control-socket --worker-class uvicorn_worker.UvicornWorker {BIND}",
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
ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object: it differs from run to run
EXITS = {  # the cases that end a process, and the rule whose finding says with which status
    "failed-with-message": "startup-failed-exits",
    "two-workers-failed": "startup-failed-exits",
    "shutdown-failed-with-message": "shutdown-failed-ends",
    "two-workers-shutdown-failed": "shutdown-failed-ends",
    "well-behaved": "shutdown-sent",
}


class Subject(NamedTuple):
    """What is checked by the programs of a folder; how it is started; whose versions count."""

    job: Callable[[Path], Target]
    command: str
    packages: Sequence[str]


def server(packages: Sequence[str], command: str) -> Subject:
    """Return a server, with the command that its users type."""
    program, *words = command.split()
    return Subject(lambda folder: Target((str(folder / program), *words), TEXT), command, packages)


def driver(name: str, *others: str) -> Subject:
    """Return a test client or adapter; the versions of others count, too."""
    command = f"python tests/measure/client_host.py {name} {{app}} {{port}}"
    return Subject(
        lambda folder: drivers.target(name, f"{folder / 'python'}"), command, [name, *others]
    )


def consumer(name: str) -> Subject:
    """Return a server of messages."""
    broker, serves = AMGI[name]
    words = ["-c", CONSUME + serves, "{app}", "{topic}", "{port}"]

    def job(folder: Path) -> Target:
        return brokers.target([f"{folder / 'python'}", *words], broker)

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


def findings(report: Report) -> list[Finding]:
    """Return what was found, and in Chinese what a page shows of it."""
    silent = {case.name: case.silent_on for case in cases.load()}
    english, chinese = (Words(language, report.spec).say for language in ("en", "zh"))
    found = []
    for each in report.findings:
        row = {
            "case": each.case,
            "rule": each.rule,
            "verdict": str(each.verdict),
            "unspecified": silent[each.case](each.rule, report.spec),
            "actual": ADDRESS.sub("0x…", english(each.observed)),
        }
        if each.verdict != Verdict.PASS:
            said = ADDRESS.sub("0x…", chinese(each.observed))
            row["zh"] = drivers.CHINESE.get(said, said)
        found.append(row)
    return found


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
        verdict = Verdict(each["verdict"])
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


def exits(report: Report) -> dict[str, Any]:
    """Return with which status the process ended in each case of EXITS, as a shell has it."""
    found: dict[str, Any] = {}
    for each in report.findings:
        if EXITS.get(each.case) == each.rule:
            statuses = [*status(each.observed), "running"]
            found[each.case] = None if each.verdict == Verdict.SKIP else statuses[0]
    return found


def status(observed: Fact) -> Iterator[int]:
    """Yield the exit status that a fact has, if it has one."""
    for name, part in observed.parts.items():
        if name == "status":
            yield part
        if isinstance(part, Fact):
            yield from status(part)


def recorded(record: str, name: str, environment: Path) -> dict[str, Any]:
    """Check a subject; return its row of the record.

    Cases with another verdict than PASS run twice, because some end otherwise from run to run.
    """
    own = environment / name
    folder = (own if own.is_dir() else environment) / "bin"
    subject = RECORDS[record][name]
    began = time.monotonic()
    target = subject.job(folder)
    report = check(target, server_check.chosen(slow=True))
    found = findings(report)
    faults = {each["case"] for each in found if each["verdict"] not in ("pass", "skip")}
    if faults:
        again = check(target, server_check.chosen(sorted(faults)))
        found = varying(found, findings(again))
    row = {
        "name": name,
        "command": subject.command,
        "versions": versions(str(folder / "python"), subject.packages),
        "seconds": round(time.monotonic() - began),
        **answers(found),
    }
    if record == "servers" and row["counts"]["skip"] < sum(row["counts"].values()):
        row["exits"] = exits(report)
    print(f"{name}: {row['seconds']} s", flush=True)
    return row | {"findings": found}


def main(arguments: Sequence[str]) -> int:
    """Check the subjects, one after the other."""
    folder, matrix, *names = arguments
    wanted = select(names, [name for subjects in RECORDS.values() for name in subjects])
    environment = Path(folder).absolute()
    for record, subjects in RECORDS.items():
        spec = next(iter(subjects.values())).job(environment).spec
        rows = (recorded(record, name, environment) for name in subjects if name in wanted)
        keep(Path(matrix, f"{record}.json"), [*subjects], rows, spec=spec)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
