"""The table of verdicts: heads, cells, what they lead to, and the form above it."""

import json
from pathlib import Path
from typing import Any

from sample_site import SampleSite

EXTENSIONS = (
    "rules.domain",
    "examples.directive",
    "rules.case_lists",
    "records.matrix",
    "records.subjects",
)
RULE = "```{rule} startup-sent\n```\n\n```python\npass\n```\n"
TABLE = "```{matrix} servers\nWho keeps it\n```"
SECTIONS = "```{subjects} servers\n```"


def finding(verdict: str, case: str = "plain") -> dict[str, Any]:
    return {"case": case, "rule": "startup-sent", "verdict": verdict, "actual": "It came."}


def subject(name: str, *findings: dict[str, Any], **also: Any) -> dict[str, Any]:
    versions = {name: "1.0", "extra": "2.0"}
    return {"name": name, "command": name, "versions": versions, "findings": [*findings], **also}


def tried(folder: Path, *subjects: dict[str, Any]) -> SampleSite:
    page = f"# A\n\n{RULE}\n{TABLE}\n\n{SECTIONS}\n"
    sample = SampleSite(folder, {"index": page}, *EXTENSIONS)
    about = {"date": "2026-01-02", "python": "CPython 3.11.2", "system": "Linux"}
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "notes.toml").write_text("notes = []\n")
    row = json.dumps({**about, "subjects": subjects})
    (sample.docs / "matrix" / "servers.json").write_text(row)
    return sample


def test_a_subject_without_a_finding_is_not_yet_measured(tmp_path: Path) -> None:
    """Its cell is no hole, and leads to a sentence."""
    rows = subject("quick", finding("pass")), subject("slow")
    with tried(tmp_path, *rows) as sample:
        cell = sample.page().select("tbody td")[1]
        assert cell.get_text() == "?not yet measured"
        link = cell.a
        assert link
        sentence = sample.page().find(id=link["href"][1:])
        assert sentence
        assert sentence.get_text().strip() == "?\N{NO-BREAK SPACE}not yet measured startup-sent"


def test_a_verdict_that_differs_from_the_record_before_is_marked(tmp_path: Path) -> None:
    """A cell that became a PASS leads to what has changed; another one to its sentence."""
    was = {"date": "2025-12-31", "versions": {"quick": "0.9"}}
    row = {"row": "startup-sent", "silent": False}
    failed, passed = (was | {"changed": [row | {"verdict": each}]} for each in ("fail", "pass"))
    rows = (
        subject("better", finding("pass"), before=failed),
        subject("worse", finding("warn"), before=passed),
        subject("as good", finding("pass"), finding("pass", "other"), before=passed),
    )
    with tried(tmp_path, *rows) as sample:
        cells = sample.page().select("tbody td")
        told = ["✓PASS*before: FAIL", "△WARN*before: PASS", "✓PASS"]
        assert [cell.get_text() for cell in cells] == told
        assert ["changed" in cell["class"] for cell in cells] == [True, True, False]
        links = [cell.a["href"] for cell in cells if cell.a]
        assert links == ["#changes-servers-better", "#seen-servers-startup-sent-worse"]
        changes = sample.page().find(id="changes-servers-better")
        assert changes
        assert changes.get_text() == (
            "Compared with the record of 2025-12-31, quick 0.9: startup-sent FAIL → PASS"
        )
