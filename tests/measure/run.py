"""Checks the current servers, and records what was found: `make matrix`.

    python tests/measure/run.py FOLDER FILE [SUBJECT...]

FOLDER is an environment with what is checked; a subject that does not go with the others has
one of its own in it, of its name.  FILE is where the record is kept: its name is a key of RECORDS.
Where subjects are named, only they are checked, and the record of the others stays, with what it
says of the state of the code that it was made with.
"""

import datetime as dt
import json
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, NamedTuple

import brokers

import drivers
from lifespec.conformance.cases import Case
from lifespec.conformance.report import Verdict
from lifespec.conformance.server import check as server_check
from lifespec.conformance.server.check import Target
from lifespec.conformance.text import Words
from lifespec_docs.facts.recorded import made_with

__all__ = ["RECORDS", "compared", "findings", "recorded"]

TEXT = "asgi 2.0"
BIND = "--bind 127.0.0.1:{port} --workers {workers}"
COMMANDS = {
    "uvicorn": "uvicorn {app} --port {port} --workers {workers}",
    "hypercorn, asyncio": f"hypercorn {{app}} {BIND}",
    "hypercorn, trio": f"hypercorn {{app}} --worker-class trio {BIND}",
    "granian": "granian --interface asgi {app} --port {port} --workers {workers}",
    "daphne": "daphne {app} --port {port}",
    "gunicorn, asgi": f"gunicorn {{app}} --no-control-socket --worker-class asgi {BIND}",
    "gunicorn, uvicorn-worker": "gunicorn {app} --no-control-socket"
    f" --worker-class uvicorn_worker.UvicornWorker {BIND}",
}
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
LOCKED = Path(__file__).parents[2] / ".ci" / "matrix.txt"
ADDRESS = re.compile(r"\b0x[0-9a-f]+")  # of an object: no part of a record
DRIVERS = ["asgi-lifespan", "litestar", "mangum", "quart", "starlette"]
AMGI = {  # name: the broker, and the module of the server
    "amgi-paho-mqtt": ("mosquitto", "amgi_paho_mqtt"),
    "amgi-redis": ("redis", "amgi_redis"),
}
CONSUME = str(Path(__file__).with_name("consume.py"))
ADAPTED = str(Path(__file__).with_name("adapted.py"))


class Subject(NamedTuple):
    """What is checked by the programs of a folder; what it is called; whose versions count."""

    job: Callable[[Path], Target]
    command: str
    packages: Sequence[str]


def server(packages: Sequence[str], command: str) -> Subject:
    """Return a server, with the command that its users type."""
    program, *words = command.split()
    return Subject(lambda folder: Target((str(folder / program), *words), TEXT), command, packages)


def adapted(name: str) -> Subject:
    """Return a server with lifespec's server.py in place of its own lifespan."""
    packages, command = SERVERS[name]
    words = [ADAPTED, *command.split()]
    shown = f"python tests/measure/adapted.py {command}"
    return Subject(lambda folder: Target((f"{folder / 'python'}", *words), TEXT), shown, packages)


def driver(name: str, *others: str) -> Subject:
    """Return a driver that the suite knows; the versions of others count, too."""
    command = f"python tests/measure/client_host.py {name} {{app}} {{port}}"
    return Subject(
        lambda folder: drivers.target(name, f"{folder / 'python'}"), command, [name, *others]
    )


def consumer(name: str) -> Subject:
    """Return a server of messages."""
    broker, module = AMGI[name]
    words = [CONSUME, module, "{app}", "{topic}", "{port}"]

    def job(folder: Path) -> Target:
        return brokers.target([f"{folder / 'python'}", *words], broker)

    shown = f"python tests/measure/consume.py {' '.join(words[1:])}"
    return Subject(job, shown, [name, "amgi-common"])


RECORDS: dict[str, dict[str, Subject]] = {
    "servers": {name: server(*row) for name, row in SERVERS.items()},
    "adapted": {
        name: adapted(name)
        for name in (
            "uvicorn",
            "hypercorn, asyncio",
            "hypercorn, trio",
            "granian",
            "gunicorn, asgi",
        )
    },
    "drivers": {name: driver(name) for name in DRIVERS},
    "amgi": {
        **{name: consumer(name) for name in AMGI},
        "amgi-common": driver("amgi-common"),
        "pytest-amgi": driver("pytest-amgi", "amgi-common"),
    },
}


def versions(folder: Path, packages: Sequence[str]) -> dict[str, str]:
    """Ask the Python of a folder for the versions of packages."""
    program = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    command = [str(folder / "python"), "-c", program, *packages]
    said = subprocess.check_output(command, text=True, timeout=60)
    return dict(zip(packages, said.split(), strict=True))


def findings(job: Target, chosen: Sequence[Case]) -> list[dict[str, Any]]:
    """Check a subject; return what was found, as a record has it."""
    cases = {case.name: case for case in chosen}
    english, chinese = (Words(language, job.spec).say for language in ("en", "zh"))
    return [
        {"case": each.case, "rule": each.rule, "verdict": each.verdict}
        | {"actual": ADDRESS.sub("0x…", english(each.observed))}
        | {"zh": ADDRESS.sub("0x…", chinese(each.observed))}
        | {"silent": cases[each.case].silent_on(each.rule, job.spec)}
        for each in server_check.check(job, chosen).findings
    ]


def recorded(record: str, name: str, environment: Path) -> dict[str, Any]:
    """Check a subject; return its row of the record."""
    own = environment / name
    folder = (own if own.is_dir() else environment) / "bin"
    subject = RECORDS[record][name]
    began = time.monotonic()
    found = findings(subject.job(folder), server_check.chosen(slow=True))
    return {
        "name": name,
        "command": subject.command,
        "versions": versions(folder, subject.packages),
        "seconds": round(time.monotonic() - began),
        "findings": found,
    }


def compared(before: Mapping[str, Any], date: str, now: dict[str, Any]) -> dict[str, Any]:
    """Return a row that also says what was otherwise in the record before.

    That is the last one that had another verdict or another version: to measure the same again
    keeps what was said.  A case or a rule that only one of them has is not compared.
    """
    cells = {
        (each["case"], each["rule"]): (each["case" if each["silent"] else "rule"], each["silent"])
        for each in now["findings"]
    }
    both = cells.keys() & {(each["case"], each["rule"]) for each in before["findings"]}
    then, after = (_verdicts(row["findings"], cells, both) for row in (before, now))
    changed = [
        {"row": row, "silent": silent, "verdict": was.value}
        for (row, silent), was in then.items()
        if was != after[row, silent]
    ]
    if changed or before["versions"] != now["versions"]:
        return now | {"before": {"date": date, "versions": before["versions"], "changed": changed}}
    return now | ({"before": before["before"]} if "before" in before else {})


def _verdicts(
    found: Sequence[Mapping[str, Any]],
    cells: Mapping[tuple[str, str], tuple[str, bool]],
    both: AbstractSet[tuple[str, str]],
) -> dict[tuple[str, bool], Verdict]:
    """Return the verdict that counts of each cell, of the cases and rules in `both`."""
    verdicts: dict[tuple[str, bool], list[Verdict]] = {}
    for each in found:
        if (key := (each["case"], each["rule"])) in both:
            verdicts.setdefault(cells[key], []).append(Verdict.named(each["verdict"]))
    return {cell: Verdict.of(every) for cell, every in verdicts.items()}


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
    folder, file, *names = arguments
    if missing := list(lacking(RECORDS["servers"], LOCKED.read_text("utf-8"))):
        print(*missing, sep="\n", file=sys.stderr)
        return 2
    before = json.loads(Path(file).read_text("utf-8")) if Path(file).exists() else {"subjects": []}
    rows = {row["name"]: row for row in before["subjects"]}
    record = Path(file).stem
    # where some are left out, the record says of all what is true of those
    digests = before.get("made_with", {}) if names else made_with(record)
    for name in names or RECORDS[record]:
        now = recorded(record, name, Path(folder).absolute())
        rows[name] = compared(rows[name], before["date"], now) if name in rows else now
        print(f"{name}: {rows[name]['seconds']} s")
    found = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "text": next(iter(RECORDS[record].values())).job(Path(folder)).spec,
        "made_with": digests,
        "subjects": [rows[name] for name in RECORDS[record] if name in rows],
    }
    Path(file).write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
