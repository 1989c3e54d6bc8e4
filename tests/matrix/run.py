"""Puts the current servers on trial, and records what was found: `make matrix`.

    python tests/matrix/run.py FOLDER FILE [SUBJECT...]

FOLDER holds the programs; FILE is where the record is kept: its name is a key of RECORDS.
Where subjects are named, only they are put on trial, and the record of the others stays.
"""

import datetime as dt
import json
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lifespec.conformance import servers
from lifespec.conformance.servers import Job

__all__ = ["RECORDS", "recorded"]

ROOT = Path(__file__).parents[2]
TEXT = "asgi 2.0"
PORT = "--bind 127.0.0.1:{port} --workers {workers}"
SERVERS = {  # name: the packages whose versions count, and the command
    "uvicorn": (["uvicorn"], "uvicorn {app} --port {port} --workers {workers}"),
    "hypercorn, asyncio": (["Hypercorn"], f"hypercorn {{app}} {PORT}"),
    "hypercorn, trio": (["Hypercorn", "trio"], f"hypercorn {{app}} --worker-class trio {PORT}"),
    "granian": (["granian"], "granian --interface asgi {app} --port {port} --workers {workers}"),
    "daphne": (["daphne"], "daphne {app} --port {port}"),
    "gunicorn, asgi": (
        ["gunicorn"],
        f"gunicorn {{app}} --no-control-socket --worker-class asgi {PORT}",
    ),
    "gunicorn, uvicorn-worker": (
        ["gunicorn", "uvicorn-worker", "uvicorn"],
        "gunicorn {app} --no-control-socket --worker-class uvicorn_worker.UvicornWorker " + PORT,
    ),
}
DRIVERS = {
    name: ([name], f"python {ROOT / 'tests/matrix/drivers.py'} {name} {{app}} --port {{port}}")
    for name in ("asgi-lifespan", "litestar", "starlette")
}
RECORDS = {"servers": SERVERS, "drivers": DRIVERS}


def job(folder: Path, command: str) -> Job:
    """Return what is put on trial: the program of a folder, in the folder of the record."""
    program, *words = command.split()
    return Job((str(folder / program), *words), TEXT)


def versions(folder: Path, packages: Sequence[str]) -> dict[str, str]:
    """Ask the Python of a folder for the versions of packages."""
    program = (
        "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    )
    command = [str(folder / "python"), "-c", program, *packages]
    said = subprocess.check_output(command, text=True, timeout=60)
    return dict(zip(packages, said.split(), strict=True))


def recorded(record: str, name: str, folder: Path) -> dict[str, Any]:
    """Put a subject on trial; return its row of the record."""
    packages, command = RECORDS[record][name]
    began = time.monotonic()
    cases = {case.name: case for case in servers.chosen()}
    found = servers.check(job(folder, command), [*cases.values()]).findings
    return {
        "name": name,
        "command": command.replace(f"{ROOT}/", ""),
        "versions": versions(folder, packages),
        "seconds": round(time.monotonic() - began),
        "findings": [
            {key: getattr(each, key) for key in ("case", "slug", "verdict", "actual")}
            | {"silent": cases[each.case].silent_on(each.slug, TEXT)}
            for each in found
        ],
    }


def main(arguments: Sequence[str]) -> int:
    """Put the subjects on trial, one after the other."""
    folder, file, *names = arguments
    before = json.loads(Path(file).read_text("utf-8"))["subjects"] if Path(file).exists() else []
    rows = {row["name"]: row for row in before}
    record = Path(file).stem
    for name in names or RECORDS[record]:
        rows[name] = recorded(record, name, Path(folder).absolute())
        print(f"{name}: {rows[name]['seconds']} s")
    found = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "text": TEXT,
        "subjects": [rows[name] for name in RECORDS[record] if name in rows],
    }
    Path(file).write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
