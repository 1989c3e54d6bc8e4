"""The README has the results of the servers as they were recorded."""

import json
from pathlib import Path

from lifespec_docs.records.results import COUNTED, NO_LIFESPAN, results

__all__: list[str] = []

ROOT = Path(__file__).parents[1]


def test_each_server_has_a_line() -> None:
    """With the counts of docs/matrix/servers.json; a verdict that is not there is left out."""
    record = json.loads((ROOT / "docs/matrix/servers.json").read_text("utf-8"))
    expected = []
    for each in results(record):
        counts = [f"{each.counts[one]} {one.word}" for one in COUNTED if each.counts[one]]
        expected.append(f"- {each.server}: {', '.join(counts) or NO_LIFESPAN}")
    text = (ROOT / "README.md").read_text("utf-8").splitlines()
    first = text.index(expected[0])
    assert text[first : first + len(expected) + 1] == [*expected, ""]
