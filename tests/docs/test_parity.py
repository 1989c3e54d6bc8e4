"""Each example that can run in a browser prints there what its page shows: Pyodide, in node."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from parity import RESULT, ROOT, measured
from published import published

from lifespec_docs.live.pages import obstacle

pytestmark = [pytest.mark.needs("node"), pytest.mark.usefixtures("live")]


@pytest.fixture(scope="module")
def found(site: Path, live: Path) -> dict[str, Any]:
    """Run all examples of the site."""
    assert live.exists()
    return measured(site)


@pytest.mark.parametrize(("folder", "tag"), [("en", "en"), ("zh-cn", "zh")])
def test_every_example_prints_what_its_page_shows(
    found: dict[str, Any], folder: str, tag: str
) -> None:
    """None of those that need no process is left out."""
    rows = [row for row in found["results"] if row["language"] == folder]
    assert [row["complaint"] for row in rows if not row["same"]] == []
    runnable = {
        name: sum(not obstacle(block) for block in blocks)
        for name, blocks in published()[tag].items()
    }
    assert Counter(row["page"] for row in rows) == Counter(runnable)


def test_examples_of_lifespans_have_an_event_log(found: dict[str, Any]) -> None:
    logs = {row["language"]: row["log"] for row in found["results"] if row["log"]}
    assert "<summary>Event log: " in logs["en"]
    assert "<summary>事件记录" in logs["zh-cn"]


def test_the_record_is_of_the_runtime_that_is_hosted() -> None:
    """After a newer one is chosen: make parity."""
    chosen = json.loads((ROOT / ".ci" / "live" / "package.json").read_text(encoding="utf-8"))
    record = json.loads(RESULT.read_text(encoding="utf-8"))
    assert record["pyodide"] == chosen["dependencies"]["pyodide"]
