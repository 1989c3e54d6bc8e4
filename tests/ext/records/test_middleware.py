"""What the table of middlewares says of a record."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.records.middleware import COLUMNS
from sample_site import SampleSite

__all__: list[str] = []

STARTED, STOPPED = ["server", "startup.complete"], ["server", "shutdown.complete"]
SAME = ["raised the same"]
USUAL = [
    ["scope", "same"], ["state", "same"], ["application", "lifespan.startup"], ["written", "open"],
    STARTED, ["request", "open"], STOPPED, ["returned"],
]  # fmt: skip
RUNS: dict[str, list[list[Any]]] = {
    "usual": USUAL,
    "on the scope": [SAME],
    "at startup": [["server", "startup.failed", "no cache"], SAME],
    "while serving": [STARTED, SAME],
    "at shutdown": [STARTED, ["server", "shutdown.failed", "no cache"], SAME],
}
CELLS = [
    ("Scope", "usual", USUAL, "The same"),
    ("Scope", "usual", [["scope", "copy"]], "A copy"),
    ("Scope", "usual", [["scope", "copy", "app"]], "A copy, other in `app`"),
    ("Scope", "usual", [STARTED], "Not passed on"),
    ("State", "usual", USUAL, "The same"),
    ("State", "usual", [["state", "other"], ["written", "open"]], "Another object"),
    ("State", "usual", [["state", "other"], ["written", None]], "Lost"),
    ("State", "usual", [*USUAL[:5], ["request", "no state"]], "Lost"),
    ("Events", "usual", USUAL, "Unchanged"),
    ("Events", "usual", [STARTED, STOPPED], "Lost"),
    (
        "Events", "usual", [*USUAL[:7], STOPPED],
        "The server receives `startup.complete`, `shutdown.complete`, `shutdown.complete`",
    ),
    ("Failures", "usual", USUAL, "Unchanged"),
    (
        "Failures", "at startup", [STARTED],
        "The server receives `startup.complete`; `startup.complete`, `shutdown.failed`",
    ),
    ("Exceptions", "usual", USUAL, "Unchanged"),
    ("Exceptions", "on the scope", [["raised", "ExceptionGroup", ""]], "Raises `ExceptionGroup`"),
    ("Exceptions", "while serving", [["returned"]], "Lost"),
    ("Own work", "usual", USUAL, "\N{EN DASH}"),
    ("Own work", "usual", [["opens its own"], *USUAL], "Around the application"),
    ("Own work", "usual", [["opens its own"], STARTED], "Instead of it"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "run", "happened", "said"), CELLS)
def test_what_a_cell_says(title: str, run: str, happened: list[list[Any]], said: str) -> None:
    """A sentence of the catalog, and what it is about."""
    text, *about = COLUMNS[title]({**RUNS, run: happened})
    assert (text % tuple(about) if about else text) == said


def test_failures_are_lost_if_neither_arrives() -> None:
    """One of them alone is told."""
    runs = {**RUNS, "at startup": [STARTED], "at shutdown": [STARTED]}
    assert COLUMNS["Failures"](runs) == ("Lost",)


def test_a_row_leads_to_what_the_suite_found(tmp_path: Path) -> None:
    """In the words of the page, or in those of the suite where there are no others."""
    finding = {"case": "through-start-and-stop", "rule": "startup-sent", "verdict": "fail"}
    told = [{**finding, "actual": text} for text in ("The server's scope is as it was.", "Hm.")]
    row = {
        "needs": "",
        "code": "Hat(app)",
        "versions": {"hat": "1.0", "other": "2.0"},
        "date": "2026-01-01",
    }
    subjects = [
        {**row, "name": "Hat", "passed": RUNS, "counts": {"pass": 3}, "findings": []},
        {
            **row,
            "name": "Cap",
            "passed": {**RUNS, "usual": [STARTED]},
            "counts": {"fail": 2, "pass": 1},
            "findings": told,
        },
        {
            **row,
            "name": "Bow",
            "passed": {**RUNS, "usual": [STARTED]},
            "counts": {"pass": 3},
            "findings": [],
        },
    ]
    rule = "```{rule} startup-sent\n```\n\n```python\npass\n```\n"
    directives = "middlewares", "middlewares-passing", "middleware-findings"
    page = f"# A\n\n{rule}\n" + "".join(f"```{{{each}}}\n```\n\n" for each in directives)
    extensions = "rules.domain", "examples.directive", "records.middleware"
    sample = SampleSite(tmp_path, {"index": page}, *extensions)
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "middleware.json").write_text(
        json.dumps({"python": "CPython 3.11", "system": "Linux", "subjects": subjects})
    )
    with sample:
        found = sample.page()
        cells = [[cell.get_text() for cell in each.select("td")] for each in found.select("tr")]
        assert [each[:2] for each in cells[1:]] == [
            [f"{name} 1.0 Hat(app)", "Not passed on"] for name in ("Cap", "Bow")
        ]
        assert cells[1][-1].endswith("FAIL")
        assert "Hat 1.0 Hat(app)" in [each.get_text().strip() for each in found.select("li")]
        assert [each["href"] for each in found.select("td a")] == ["#middleware-cap"]
        item = found.select_one("#middleware-cap")
        assert item
        assert "Cap · hat 1.0, other 2.0 · 2026-01-01" in item.get_text()
        assert "Hm." in item.get_text()
        assert "Thank you for hat." in item.get_text()
