"""What every record has: when and with what it was measured, and names that can stand in links."""

import functools
import json
import signal
from typing import Any

from docutils.nodes import make_id

from lifespec.diagnosis.exits import SIGNALLED
from lifespec_docs.words import ROOT


@functools.cache
def read(name: str) -> dict[str, Any]:
    """Return a record of docs/matrix."""
    text = (ROOT / "docs" / "matrix" / f"{name}.json").read_text("utf-8")
    record: dict[str, Any] = json.loads(text)
    return record


def key(name: str) -> str:
    """Return the name of a subject as part of an anchor."""
    return make_id(name)


def shell_status(status: int) -> str:
    """Return an exit status as a shell has it, with the signal that ended the process, if any."""
    if status <= SIGNALLED:
        return str(status)
    return f"{status} ({signal.Signals(status - SIGNALLED).name})"


def python_version(row: dict[str, Any]) -> str:
    """Return the version of the Python of a row, such as "3.11"."""
    version: str = row["python"].partition(" ")[2]
    return version.rpartition(".")[0]


def measured(name: str) -> dict[str, Any]:
    """Say when a record was made, of which versions, and which rows were measured alone."""
    record = read(name)
    rows = record["subjects"]
    versions: dict[str, set[str]] = {}
    for row in rows:
        for package, version in row["versions"].items():
            versions.setdefault(package, set()).add(version)
    packages = []
    for package, several in versions.items():
        packages += [f"{package} {version}" for version in sorted(several)]
    dates = sorted({row["date"] for row in rows})
    return {
        "record": record,
        "packages": packages,
        "alone": [row for row in rows if row["date"] != record["date"]],
        "pythons": list(dict.fromkeys(row["python"] for row in rows)),
        "dates": list(dict.fromkeys([dates[0], dates[-1]])),
    }


TABLES = {"measured": measured, "measured-on": measured}
