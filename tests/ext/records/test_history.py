"""Earlier releases, on a page."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec_docs.records.frameworks import GROUPS
from sample_site import SampleSite

__all__: list[str] = []

EXTENSIONS = "rules.domain", "examples.directive", "records.frameworks", "records.history"
LEFT = ["tasks left", 0]
COMPLETE = ["sent", "lifespan.startup.complete"]
OPENED = [["connect", "database"], COMPLETE, ["request", 200, ""], LEFT]
IGNORED = [COMPLETE, ["returned"], LEFT]
FAILED = ["sent", "lifespan.startup.failed", "no cache"]
RAISED = [FAILED, ["raised", "OSError", "no cache"], LEFT]
WAITED = [FAILED, ["waits"], LEFT]
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
FRAMEWORK = {
    "name": "shop",
    "framework": "Shop",
    "program": "shop",
    "versions": {"shop": "3"},
    "happened": {**ALL, "startup raises": RAISED},
    "variants": {},
}
OLD_SERVERS = [
    {"year": 2022, "reason": "No wheel."},
    release(
        2023,
        "1",
        rules={"pass": 0, "fail": 2},
        differs=[
            differs("startup-sent", "fail"),
            differs("answered-once", "fail"),
            differs("plain", "pass", silent=True),
        ],
    ),
    release(2024, "2", rules={"pass": 2}, differs=[]),
]


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


def rows(built: SampleSite) -> list[list[str]]:
    """Return the texts of the table."""
    found = built.page().select("table.drawn tr")
    return [[cell.get_text().strip() for cell in row.select("th, td")] for row in found]


def test_servers(tmp_path: Path) -> None:
    """What changed between the same releases is one row; a bar tells how many rules were kept."""
    with sample(tmp_path, "servers", OLD_SERVERS, SERVER) as built:
        assert rows(built) == [
            ["Name", "Rules and cases", "Until", "Since"],
            [
                "shop",
                "startup-sent, answered-once",
                "✗\N{NO-BREAK SPACE}FAIL · 1 (2023)",
                "✓\N{NO-BREAK SPACE}PASS · 2 (2024)",
            ],
            [
                "shop",
                "plain",
                "✓\N{NO-BREAK SPACE}PASS · 1 (2023)",
                "○\N{NO-BREAK SPACE}INFO · 2 (2024)",
            ],
            ["shop", "2022", "No wheel.", ""],
        ]
        drawing = built.page().select_one("figure svg")
        assert drawing
        assert drawing.desc
        assert drawing.desc.get_text() == "shop: 2022 0/0, 2023 0/2, 2024 2/2, 2025 2/2"


@pytest.mark.parametrize(
    ("then", "row"),
    [
        (
            dict.fromkeys(ALL, IGNORED),
            ["shop", "The hooks", "are ignored · 1 (2023)", "run · 3 (2025)"],
        ),
        (
            {"startup raises": WAITED},
            ["shop", "Then the call", "waits · 1 (2023)", "raises OSError · 3 (2025)"],
        ),
    ],
)
def test_frameworks(then: dict[str, Any], row: list[str], tmp_path: Path) -> None:
    """A sentence of the other tables that was another one; the same again is no row."""
    with sample(tmp_path, "frameworks", [release(2023, "1", happened=then)], FRAMEWORK) as built:
        assert rows(built)[1:] == [row]


def test_another_record(tmp_path: Path) -> None:
    """Only two have a history."""
    with sample(tmp_path, "amgi", [], SERVER) as built:
        assert "There is no history 'amgi', only servers, frameworks." in built.warnings[0]
