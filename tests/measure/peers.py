"""Runs the own tests of uvicorn and hypercorn with server.py in place of their code: `make peers`.

    python tests/measure/peers.py FOLDER FILE

FOLDER is an environment with what the tests need, and in it `sources` with the source packages.
FILE is where the record is kept.  A test that fails is run once more, alone: some depend on time.
"""

import datetime as dt
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adapted import adapt

from lifespec_docs.facts.recorded import made_with

__all__ = ["SUITES", "Run", "ran", "version"]

PATIENCE = 900  # seconds


class Suite(NamedTuple):
    """Where a source package has its code, its tests of the lifespan, and options of pytest."""

    code: str
    lifespan: Sequence[str]
    options: Sequence[str]


SUITES = {
    "uvicorn": Suite(
        "uvicorn",
        [
            *("tests/test_lifespan.py", "tests/test_main.py", "tests/test_server.py"),
            "tests/middleware/test_logging.py",
        ],
        # plugins that its environment does not have; its benchmarks measure
        ["-p", "no:asyncio", "-p", "no:trio", "--ignore=tests/benchmarks"],
    ),
    "hypercorn": Suite("src/hypercorn", ["tests/asyncio", "tests/trio"], []),
}


class Run(NamedTuple):
    """How many tests passed and were skipped, and the names of those that failed."""

    passed: int
    skipped: int
    failed: Sequence[str]


def version(folder: Path, server: str) -> str:
    """Return the version of the source package."""
    (found,) = folder.glob(f"sources/{server}-*/")
    return found.name.removeprefix(f"{server}-")


def ran(folder: Path, server: str, *, adapted: bool, tests: Sequence[str] = ("tests",)) -> Run:
    """Run tests in a copy of the source package, with its own class or with that of the page."""
    suite = SUITES[server]
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary, server)
        shutil.copytree(folder / "sources" / f"{server}-{version(folder, server)}", copy)
        if adapted:
            adapt(server, copy / suite.code)
        passed, skipped, failed = _counted(folder, copy, suite, tests)
        if failed:
            again, _, failed = _counted(folder, copy, suite, failed)
            passed += again
    return Run(passed, skipped, failed)


def _counted(folder: Path, copy: Path, suite: Suite, tests: Sequence[str]) -> Run:
    results = copy / "results.xml"
    options = ["-o", "addopts=", "-o", "junit_family=xunit1", "-p", "no:cacheprovider", "-q"]
    python = (folder / "bin" / "python").absolute()
    said = subprocess.run(
        [python, "-m", "pytest", *options, *suite.options, f"--junitxml={results}", *tests],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str((copy / suite.code).parent)},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
    )
    if said.returncode not in {0, 1}:
        raise RuntimeError(f"pytest ended with status {said.returncode}:\n{said.stdout}")
    passed, skipped, failed = 0, 0, []
    for case in ET.parse(results).iter("testcase"):
        kinds = {each.tag for each in case}
        if kinds & {"failure", "error"}:
            failed.append(f"{case.get('file')}::{case.get('name')}")
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return Run(passed, skipped, failed)


def _row(folder: Path, server: str) -> dict[str, Any]:
    runs = {name: ran(folder, server, adapted=name == "adapted") for name in ("own", "adapted")}
    failed = sorted({test for run in runs.values() for test in run.failed})
    return {
        "server": server,
        "version": version(folder, server),
        **{
            name: {"passed": run.passed, "failed": len(run.failed), "skipped": run.skipped}
            for name, run in runs.items()
        },
        "failed": {
            test: [name for name, run in runs.items() if test in run.failed] for test in failed
        },
    }


def main(arguments: Sequence[str]) -> int:
    """Run all tests of each server, with its own code and with that of the page."""
    folder, file = map(Path, arguments)
    digests = made_with("peers")
    rows = []
    for server in SUITES:
        rows.append(_row(folder, server))
        print(json.dumps(rows[-1]))
    found = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.system(),
        "made_with": digests,
        "suites": rows,
    }
    file.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
