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


def test_a_table_has_a_sign_for_each_rule_and_subject(tmp_path: Path) -> None:
    """A screen reader gets heads and the words of verdicts; versions are not in the heads."""
    one = subject("quick", finding("pass"))
    two = subject("slow, trio", finding("pass"), finding("fail"))
    with tried(tmp_path, f"{TABLE}\n\n{SECTIONS}", one, two) as sample:
        table = sample.page().select_one("table.matrix")
        assert table
        caption = table.caption
        assert caption
        assert caption.get_text(strip=True) == "Who keeps it"
        heads = table.select("thead th")
        assert [cell.get_text() for cell in heads] == ["Rule", "quick", "slow, trio"]
        assert {cell["scope"] for cell in heads} == {"col"}
        assert [cell.a["href"] for cell in heads[1:] if cell.a] == ["#quick", "#slow-trio"]
        row = table.select_one("tbody tr[id]")
        assert row
        assert row["id"] == "servers-startup-sent"
        head = row.th
        assert head
        assert head["scope"] == "row"
        link = head.a
        assert link
        assert link["href"] == "#startup-sent"
        cells = row.select("td")
        assert [cell.get_text() for cell in cells] == ["✓PASS", "✗FAIL"]
        assert [cell["id"] for cell in cells] == [
            "servers-startup-sent-quick",
            "servers-startup-sent-slow-trio",
        ]
        assert [cell["class"] for cell in cells] == [["verdict-pass"], ["verdict-fail"]]
        signs = table.select("td [aria-hidden=true]")
        assert [sign.get_text() for sign in signs] == ["✓", "✗"]
        assert [word.get_text() for word in table.select(".visually-hidden")] == ["PASS", "FAIL"]


@pytest.mark.parametrize("verdict", ["fail", "warn", "info", "skip"])
def test_a_cell_that_is_no_pass_leads_to_a_sentence(tmp_path: Path, verdict: str) -> None:
    """A cell that is one leads nowhere."""
    rows = subject("quick", finding("pass")), subject("slow", finding(verdict))
    with tried(tmp_path, f"{TABLE}\n\n{SECTIONS}", *rows) as sample:
        good, bad = sample.page().select("table.matrix td")
        assert not good.a
        link = bad.a
        assert link
        sentence = sample.page().find(id=link["href"][1:])
        assert sentence
        assert verdict.upper() in sentence.get_text()
        assert "It came." in sentence.get_text()
        assert sentence.find_parent("section", id="slow")


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


def test_a_pass_with_an_info_leads_to_what_was_seen(tmp_path: Path) -> None:
    """A screen reader gets both words, and the form counts it as an INFO."""
    row = subject("quick", finding("pass"), finding("info", actual="It ended with status 0."))
    with tried(tmp_path, f"{TABLE}\n\n{SECTIONS}", row) as sample:
        cell = sample.page().select_one("tbody td")
        assert cell
        assert cell["class"] == ["verdict-pass", "verdict-info"]
        assert cell.get_text() == "✓○PASS, INFO"
        link = cell.a
        assert link
        sentence = sample.page().find(id=link["href"][1:])
        assert sentence
        assert "It ended with status 0." in sentence.get_text()


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


def test_a_case_that_is_newer_than_the_record_has_a_row(tmp_path: Path) -> None:
    """A rule that only such a case expects was not yet measured."""
    with tried(tmp_path, TABLE, subject("quick", finding("pass")), text="asgi 2.0") as sample:
        rows = {row["id"]: row for row in sample.page().select("tbody tr[id]")}
        assert rows["servers-startup-sent"].select("td")[0].get_text() == "✓PASS"
        assert rows["servers-wait-for-startup"].select("td")[0].get_text() == "?not yet measured"


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


def test_rules_stand_in_the_parts_of_a_lifespan(tmp_path: Path) -> None:
    """Each part has a head; a rule that the file does not have stands first, without one."""
    rows = subject("quick", finding("pass"), finding("pass", "gone"), finding("pass", "also-gone"))
    with tried(tmp_path, TABLE, rows) as sample:
        bodies = sample.page().select("table.matrix tbody")
        assert [body["data-group"] for body in bodies] == ["", "startup"]
        assert [len(body.select("tr[id]")) for body in bodies] == [2, 1]
        head = bodies[1].select_one("th[scope=rowgroup]")
        assert head
        assert (head.get_text(), head["colspan"]) == ("Startup", "2")
        assert not bodies[0].select_one("th[scope=rowgroup]")


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


def test_a_page_without_the_form_does_not_load_the_script(tmp_path: Path) -> None:
    """Nor does it have a form."""
    with tried(tmp_path, TABLE, subject("quick", finding("pass"))) as sample:
        assert not sample.page().select_one("script[src*='matrix.js']")
        assert not sample.page().find("form", class_="matrix-controls")


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


def test_the_page_says_when(tmp_path: Path) -> None:
    """With which Python, and on what system."""
    with tried(tmp_path, "```{recorded-when} servers\n```", subject("quick")) as sample:
        text = sample.page().get_text()
        assert "Measured on 2026-01-02: CPython 3.11.2; Linux." in text
