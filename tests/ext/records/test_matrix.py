"""The table of verdicts: heads, cells, what they lead to, and the form above it."""

import json
from pathlib import Path
from typing import Any

import pytest

from sample_site import SampleSite

__all__: list[str] = []

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


def finding(verdict: str, rule_id: str = "startup-sent", **also: Any) -> dict[str, Any]:
    """Return a finding."""
    return {"case": "plain", "rule": rule_id, "verdict": verdict, "actual": "It came.", **also}


def subject(name: str, *findings: dict[str, Any], **also: Any) -> dict[str, Any]:
    """Return a subject's row of a record."""
    versions = {name: "1.0", "extra": "2.0"}
    return {"name": name, "command": name, "versions": versions, "findings": [*findings], **also}


def tried(
    folder: Path,
    page: str,
    *subjects: dict[str, Any],
    text: str = "",
    record: str = "servers",
) -> SampleSite:
    """Make a page that shows a record."""
    sample = SampleSite(folder, {"index": f"# A\n\n{RULE}\n{page}\n"}, *EXTENSIONS)
    about = {"date": "2026-01-02", "python": "CPython 3.11.2", "system": "Linux"}
    (sample.docs / "matrix").mkdir()
    (sample.docs / "matrix" / "notes.toml").write_text("notes = []\n")
    row = json.dumps({**about, "text": text, "subjects": subjects})
    (sample.docs / "matrix" / f"{record}.json").write_text(row)
    return sample


@pytest.mark.parametrize(
    ("verdicts", "sign"),
    [
        (["pass", "skip"], "✓"),
        (["pass", "info"], "✓○"),
        (["pass", "info", "warn"], "△"),
        (["info", "skip"], "○"),
        (["info", "warn"], "△"),
        (["skip", "skip"], "·"),
        (["skip"], "·"),
    ],
)
def test_the_worst_of_a_rule_counts(verdicts: list[str], sign: str, tmp_path: Path) -> None:
    """What was seen counts more than what was not."""
    row = subject("quick", *map(finding, verdicts))
    with tried(tmp_path, TABLE, row) as sample:
        signs = sample.page().select("tbody td [aria-hidden]")
        assert "".join(each.get_text() for each in signs) == sign


def test_a_subject_without_a_finding_is_not_yet_measured(tmp_path: Path) -> None:
    """Its cell is no hole, and leads to a sentence."""
    rows = subject("quick", finding("pass")), subject("slow")
    with tried(tmp_path, f"{TABLE}\n\n{SECTIONS}", *rows) as sample:
        cell = sample.page().select("tbody td")[1]
        assert cell.get_text() == "?not yet measured"
        link = cell.a
        assert link
        sentence = sample.page().find(id=link["href"][1:])
        assert sentence
        assert sentence.get_text().strip() == "?\N{NO-BREAK SPACE}not yet measured startup-sent"


def test_cases_that_are_not_specified_have_a_table_of_their_own(tmp_path: Path) -> None:
    """They are named by the case, which leads to the case reference if the suite has it."""
    odd = finding("info", case="odd", actual="It came twice.", silent=True)
    late = finding("info", case="well-behaved", silent=True)
    silent = TABLE.replace("\n", "\n:silent:\n", 1)
    page = f"{TABLE}\n\n{silent}\n\n{SECTIONS}\n\n```{{cases}} server\n```"
    rows = subject("quick", finding("pass"), odd, late), subject("slow", finding("fail"))
    with tried(tmp_path, page, *rows) as sample:
        first, second = sample.page().select("table.matrix")
        assert len(first.select("tbody tr[id]")) == 1
        cells = [cell.get_text() for cell in second.select("tr > *")]
        assert cells == [
            *("Case", "quick", "slow"),
            *("odd", "○INFO", "?not yet measured"),
            *("well-behaved", "○INFO", "?not yet measured"),
        ]
        link = second.select_one("#servers-odd-quick a")
        assert link
        sentence = sample.page().find(id=link["href"][1:])  # type: ignore[index]
        assert sentence
        assert "It came twice." in sentence.get_text()
        assert not second.select_one("#servers-odd th a")
        case = second.select_one("#servers-well-behaved th a")
        assert case
        assert case["href"] == "#case-well-behaved"


def test_a_verdict_that_differs_from_the_record_before_is_marked(tmp_path: Path) -> None:
    """A cell that became a PASS leads to what has changed; another one to its sentence."""
    was = {"date": "2025-12-31", "versions": {"quick": "0.9"}}
    row = {"row": "startup-sent", "silent": False}
    better = {**was, "changed": [row | {"verdict": "fail"}]}
    worse = {**was, "changed": [row | {"verdict": "pass"}]}
    hidden = {**was, "changed": [row | {"verdict": "pass"}]}
    rows = (
        subject("better", finding("pass"), before=better),
        subject("worse", finding("warn"), before=worse),
        subject("as good", finding("pass"), finding("pass", case="other"), before=hidden),
    )
    with tried(tmp_path, f"{TABLE}\n\n{SECTIONS}", *rows) as sample:
        cells = sample.page().select("tbody td")
        assert [cell.get_text() for cell in cells] == [
            "✓PASS*before: FAIL",
            "△WARN*before: PASS",
            "✓PASS",
        ]
        assert ["changed" in cell["class"] for cell in cells] == [True, True, False]
        links = [cell.a["href"] for cell in cells if cell.a]
        assert links == ["#changes-servers-better", "#seen-servers-startup-sent-worse"]
        changes = sample.page().find(id="changes-servers-better")
        assert changes
        assert changes.get_text() == (
            "Compared with the record of 2025-12-31, quick 0.9: startup-sent FAIL → PASS"
        )


def test_the_form_has_the_choices_and_stays_hidden_without_a_script(tmp_path: Path) -> None:
    """Its values are the same in every language; the script is loaded where there is a form."""
    page = TABLE.replace("\n", "\n:controls:\n", 1)
    with tried(tmp_path, page, subject("slow, trio", finding("pass"))) as sample:
        form = sample.page().select_one("form.matrix-controls")
        assert form
        assert form.has_attr("hidden")
        assert form["data-for"] == "servers"
        choices = {
            select["name"]: {each["value"]: each.get_text() for each in select.select("option")}
            for select in form.select("select")
        }
        assert choices["subject"] == {"": "All", "slow-trio": "slow, trio"}
        assert choices["part"] == {"": "All", "startup": "Startup"}
        assert [*choices["rows"]] == ["", "differences", "faults", "changes"]
        assert sample.page().select_one("script[src*='matrix.js']")


@pytest.mark.parametrize(
    ("record", "silent", "there"),
    [("servers", False, True), ("servers", True, True), ("drivers", False, False)],
)
def test_the_box_of_a_rule_leads_to_the_row(
    tmp_path: Path, record: str, *, silent: bool, there: bool
) -> None:
    """A rule of a case that is not specified leads to the case; test clients are no servers."""
    page = f"```{{matrix}} {record}\n{':silent:' if silent else ''}\nWho keeps it\n```"
    rows = subject("quick", finding("info", silent=silent))
    with tried(tmp_path, page, rows, record=record) as sample:
        links = sample.page().select("#startup-sent .rule-links a")
        row = "plain" if silent else "startup-sent"
        found = [(link.get_text(), link["href"]) for link in links]
        assert found == [("Results of servers", f"#servers-{row}")] * there
        assert sample.page().find(id=f"{record}-{row}")
