"""What the suite found, on a page: a table of signs, and what was observed."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance.report.model import Verdict
from sample_site import SampleSite

__all__: list[str] = []

EXTENSIONS = ("rules.domain", "examples.directive", "records.matrix")
RULE = "```{rule} startup-sent\nThe server must send it.\n```\n\n```python\npass\n```\n"


def finding(verdict: str, rule_id: str = "startup-sent", **also: str) -> dict[str, str]:
    """Return a finding."""
    return {"case": "plain", "rule": rule_id, "verdict": verdict, "actual": "It came.", **also}


def subject(name: str, *findings: dict[str, str]) -> dict[str, Any]:
    """Return a subject's row of a record."""
    return {"name": name, "versions": {name: "1.0", "extra": "2.0"}, "findings": [*findings]}


def tried(folder: Path, page: str, *subjects: dict[str, Any], text: str = "") -> SampleSite:
    """Make a page that shows a record."""
    sample = SampleSite(folder, {"index": f"# A\n\n{RULE}\n{page}\n"}, *EXTENSIONS)
    record = {"date": "2026-01-02", "python": "CPython 3.11.2", "system": "Linux"}
    (sample.docs / "matrix").mkdir()
    row = json.dumps({**record, "text": text, "subjects": subjects})
    (sample.docs / "matrix" / "them.json").write_text(row)
    return sample


def test_a_table_has_a_sign_for_each_rule_and_subject(tmp_path: Path) -> None:
    """It is readable without colours, says its verdict, and leads to what was observed."""
    one = subject("quick", finding("pass"))
    two = subject("slow", finding("pass"), finding("fail"))
    page = "```{matrix} them\n```\n\n```{observed} them\n```"
    with tried(tmp_path, page, one, two) as sample:
        table = sample.page().select_one(".matrix-box table.matrix")
        assert table
        heads = [cell.get_text().strip() for cell in table.select("thead th")]
        assert heads == ["Rule", "quick 1.0, extra 2.0", "slow 1.0, extra 2.0"]
        cells = table.select("tbody td")
        assert [cell.get_text(strip=True) for cell in cells] == ["startup-sent", "✓", "✗"]
        assert "verdict-fail" in cells[2]["class"]
        link = cells[2].find("a")
        assert link
        assert (link["title"], link["href"]) == ("FAIL", "#them-startup-sent")
        assert sample.page().find(id="them-startup-sent")
        rule = cells[0].find("a")
        assert rule
        assert rule["href"] == "#startup-sent"


@pytest.mark.parametrize(
    ("verdicts", "sign"),
    [
        (["pass", "skip"], "✓"),
        (["pass", "info"], "✓"),
        (["info", "skip"], "○"),
        (["info", "warn"], "△"),
        (["skip", "skip"], "·"),
        (["skip"], "·"),
    ],
)
def test_the_worst_of_a_rule_counts(verdicts: list[str], sign: str, tmp_path: Path) -> None:
    """What was seen counts more than what was not."""
    row = subject("quick", *map(finding, verdicts))
    with tried(tmp_path, "```{matrix} them\n```", row) as sample:
        assert sample.page().select("tbody td")[1].get_text(strip=True) == sign


def test_a_subject_without_a_finding_is_not_yet_measured(tmp_path: Path) -> None:
    """Its cell is no hole."""
    rows = subject("quick", finding("pass")), subject("slow")
    with tried(tmp_path, "```{matrix} them\n```", *rows) as sample:
        assert sample.page().select("tbody td")[2].get_text(strip=True) == "?"


def test_a_case_that_is_newer_than_the_record_has_a_row(tmp_path: Path) -> None:
    """It says that it was not yet measured, and the page says no more about it."""
    page = "```{matrix} them\n```\n\n```{observed} them\n:silent:\n```"
    with tried(tmp_path, page, subject("quick", finding("pass")), text="asgi 2.0") as sample:
        rows = {row.code.get_text(): row for row in sample.page().select("tbody tr") if row.code}
        assert rows["startup-sent"].select("td")[1].get_text(strip=True) == "✓"
        link = rows["wait-for-startup"].select("td")[1].find("a")
        assert link
        assert (link.get_text(), link["title"]) == ("?", "not yet measured")
        assert sample.page().find(id="them-hangs-at-startup")


def test_those_who_did_the_same_are_named_together(tmp_path: Path) -> None:
    """The worst comes first; what passed is told in a line."""
    rows = (
        subject("quick", finding("pass"), finding("pass", case="other")),
        subject("slow", finding("warn", actual="It came late."), finding("pass")),
        subject("late", finding("warn", actual="It came late.")),
        subject("sound", finding("pass")),
    )
    with tried(tmp_path, "```{observed} them\n```", *rows) as sample:
        lines = [line.get_text().strip() for line in sample.page().select("dl.observed li")]
    assert lines == [
        "△ WARN: slow; late · plain It came late.",
        "✓ PASS: quick; sound",
    ]


def test_cases_on_which_the_text_is_silent_stand_apart(tmp_path: Path) -> None:
    """They are named by the case, and no rule's cell counts them."""
    odd = {**finding("info", case="odd", actual="It came twice."), "silent": True}
    page = "```{matrix} them\n:silent:\n```\n\n```{observed} them\n:silent:\n```"
    rows = subject("quick", finding("pass"), odd), subject("slow", finding("fail"))
    with tried(tmp_path, page, *rows) as sample:
        cells = [cell.get_text(strip=True) for cell in sample.page().select("tr > *")]
        assert cells == ["Case", "quick1.0, extra 2.0", "slow1.0, extra 2.0", "odd", "○", "?"]
        assert sample.page().find(id="them-odd")
        lines = [line.get_text().strip() for line in sample.page().select("dl.observed li")]
        assert lines == ["○ INFO: quick · odd It came twice."]


def test_the_signs_are_explained(tmp_path: Path) -> None:
    """Each with the word of its verdict."""
    with tried(tmp_path, "```{matrix-legend}\n```", subject("quick")) as sample:
        legend = sample.page().select_one("p.matrix-legend")
        assert legend
        told = [part.get_text() for part in legend.select("span")]
        assert told == [f"{each.sign}\N{NO-BREAK SPACE}{each.word}" for each in Verdict] + [
            "?\N{NO-BREAK SPACE}not yet measured"
        ]


def test_the_page_says_when(tmp_path: Path) -> None:
    """With which Python, and on what system."""
    with tried(tmp_path, "```{recorded-when} them\n```", subject("quick")) as sample:
        text = sample.page().get_text()
        assert "Measured on 2026-01-02: CPython 3.11.2; Linux." in text
