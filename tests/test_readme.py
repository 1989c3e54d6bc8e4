"""The README has the results of the servers as they were recorded."""

import json
from pathlib import Path

from lifespec.conformance.report import Verdict
from lifespec_docs.records.record import Record

__all__: list[str] = []

ROOT = Path(__file__).parents[1]
COUNTED = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INFO
NO_LIFESPAN = "never calls the application with a lifespan scope"


def test_each_server_has_a_line() -> None:
    """With the counts of docs/matrix/servers.json; a verdict that is not there is left out."""
    record = Record("servers", json.loads((ROOT / "docs/matrix/servers.json").read_text("utf-8")))
    expected = []
    for subject in record.subjects:
        counts = record.counts(subject)
        words = ", ".join(f"{counts[one]} {one.word}" for one in COUNTED if counts[one])
        version = next(iter(subject.versions.values()))
        expected.append(f"- {subject.name} {version}: {words or NO_LIFESPAN}")
    text = (ROOT / "README.md").read_text("utf-8").splitlines()
    first = text.index(expected[0])
    assert text[first : first + len(expected) + 1] == [*expected, ""]
