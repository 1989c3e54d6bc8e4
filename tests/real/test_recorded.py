"""The uvicorn that is installed here does what the published matrix says of it."""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lifespec.conformance import servers
from lifespec.conformance.servers import Job

__all__: list[str] = []

RECORD = Path(__file__).parents[2] / "docs" / "matrix" / "servers.json"
CASES = [
    "well-behaved",
    "raises-after-startup",
    "returns-after-startup",
    "failed-with-message",
    "failed-without-message",
    "completes-twice",
    "sends-an-unknown-type",
    "crashes-while-serving",
    "sends-after-its-end",
    "shutdown-failed-with-message",
    "state",
    "two-workers",
]
COMMAND = "-m uvicorn {app} --port {port} --workers {workers}"


def recorded(name: str) -> dict[str, Any]:
    """Return what was recorded of a server."""
    rows: list[dict[str, Any]] = json.loads(RECORD.read_text("utf-8"))["subjects"]
    return next(row for row in rows if row["name"] == name)


def test_uvicorn_does_what_was_recorded() -> None:
    """Every verdict is the same; where one is not, run `make matrix`."""
    row = recorded("uvicorn")
    assert row["versions"] == {"uvicorn": version("uvicorn")}
    found = servers.check(Job((sys.executable, *COMMAND.split())), servers.chosen(CASES)).findings
    verdicts = {(each.case, each.slug): each.verdict for each in found}
    before = {(each["case"], each["slug"]): each["verdict"] for each in row["findings"]}
    assert verdicts == {key: before[key] for key in verdicts}
    assert set(verdicts.values()) >= {"conforms", "departs", "unspecified"}
