"""Earlier releases, on a page."""

import json
from pathlib import Path
from typing import Any

from lifespec_docs.records.frameworks import GROUPS
from sample_site import SampleSite

__all__: list[str] = []

EXTENSIONS = "rules.domain", "examples.directive", "records.frameworks", "records.history"
LEFT = ["tasks left", 0]
COMPLETE = ["sent", "lifespan.startup.complete"]
OPENED = [["connect", "database"], COMPLETE, ["request", 200, ""], LEFT]
QUESTIONS = [*dict.fromkeys(each.question for group in GROUPS.values() for each in group)]
ALL: dict[str, Any] = dict.fromkeys(QUESTIONS, OPENED)
del ALL["mounted"]  # a variant
ALL["twice"] = [*OPENED, *OPENED]


def finding(rule: str, verdict: str, *, silent: bool = False) -> dict[str, Any]:
    """Return a finding."""
    return {"case": "plain", "rule": rule, "verdict": verdict, "actual": "", "silent": silent}


def differs(row: str, verdict: str, *, silent: bool = False) -> dict[str, Any]:
    """Return what differs."""
    return {"row": row, "silent": silent, "verdict": verdict}


def release(year: int, version: str, **others: Any) -> dict[str, Any]:
    """Return a release of a year."""
    return {"year": year, "versions": {"shop": version}, **others}


RULE = "```{rule} startup-sent\n```\n\n```python\npass\n```\n"
SERVER = {
    "name": "shop",
    "command": "shop",
    "versions": {"shop": "3", "also": "2"},
    "findings": [
        finding("startup-sent", "pass"),
        finding("answered-once", "pass"),
        finding("answered-once", "info", silent=True),
    ],
}


def sample(folder: Path, name: str, releases: list[dict[str, Any]], newest: Any) -> SampleSite:
    """Make a page with the history of one subject."""
    again = RULE.replace("startup-sent", "answered-once")
    page = f"# A\n\n{RULE}\n{again}\n```{{history}} {name}\n```\n"
    found = SampleSite(folder, {"index": page}, *EXTENSIONS)
    matrix = found.docs / "matrix"
    matrix.mkdir()
    subjects = [{"name": "shop", "releases": releases}]
    (matrix / "history.json").write_text(json.dumps({"subjects": subjects}))
    text = json.dumps({"date": "2025-01-02", "subjects": [newest]})
    (matrix / f"{name}.json").write_text(text)
    return found


def test_another_record(tmp_path: Path) -> None:
    """Only two have a history."""
    with sample(tmp_path, "amgi", [], SERVER) as built:
        assert "There is no history 'amgi', only servers, frameworks." in built.warnings[0]
