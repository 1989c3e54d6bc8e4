"""The score of each server."""

import json
from pathlib import Path

from sample_site import SampleSite

__all__: list[str] = []

RULE = "```{rule} startup-sent\n```\n\n```python\npass\n```\n"
EXTENSIONS = "rules.domain", "examples.directive", "records.scores", "records.subjects"


def finding(verdict: str, rule: str = "startup-sent", *, silent: bool = False) -> dict[str, object]:
    """Return a finding."""
    about = {"case": "plain", "rule": rule, "verdict": verdict}
    return about | {"actual": "It came.", "silent": silent}


SERVERS = {
    "good": [finding("pass"), finding("info"), finding("info", "answered-once", silent=True)],
    "bad": [finding("pass"), finding("fail"), finding("warn", "answered-once")],
    "none": [finding("skip"), finding("skip", "answered-once")],
}


def sample(folder: Path, directive: str, record: str = "servers", **more: str) -> SampleSite:
    """Make a page with a score and the sections of the servers."""
    subjects = [
        {
            "name": name,
            "command": name,
            "versions": {name: "1.0", "also": "2"},
            "findings": findings,
        }
        for name, findings in SERVERS.items()
    ]
    again = RULE.replace("startup-sent", "answered-once")
    page = f"# A\n\n{RULE}\n{again}\n{directive}\n"
    there = f"# There\n\n```{{subjects}} {record}\n```\n"
    found = SampleSite(folder, {"index": page, "there": there}, *EXTENSIONS)
    (found.docs / "matrix").mkdir()
    (found.docs / "matrix" / "notes.toml").write_text("notes = []\n")
    more |= {"python": "CPython 3.11", "system": "Linux"}
    text = json.dumps({"date": "2026-01-02", "subjects": subjects, **more})
    (found.docs / "matrix" / f"{record}.json").write_text(text)
    return found


def test_rules_are_counted_by_the_verdict_that_counts(tmp_path: Path) -> None:
    """Each rule once, as in a report."""
    with sample(tmp_path, "```{scores} servers\nThe numbers\n```") as built:
        table = built.page().select_one("table.scores")
        assert table
        caption = table.caption
        assert caption
        assert caption.get_text(strip=True) == "The numbers"
        rows = [[cell.get_text() for cell in row.select("th, td")] for row in table.select("tr")]
        heads = ["✓ PASS", "△ WARN", "✗ FAIL", "○ INFO", "· SKIP"]
        assert rows == [
            ["Server", *heads],
            ["good 1.0, also 2", "1", "0", "0", "1", "0"],
            ["bad 1.0, also 2", "0", "1", "1", "0", "0"],
            ["none 1.0, also 2", "0", "0", "0", "0", "2"],
        ]
        assert {cell["scope"] for cell in table.select("thead th")} == {"col"}
        assert {cell["scope"] for cell in table.select("tbody th")} == {"row"}
        assert [cell["class"][0] for cell in table.select("tbody tr:first-child td")] == [
            "verdict-pass", "none", "none", "verdict-info", "none",
        ]  # fmt: skip


def test_a_table_without_a_caption_is_an_error(tmp_path: Path) -> None:
    """It names the directive."""
    with sample(tmp_path, "```{scores} servers\n```") as built:
        assert any("scores" in line and "content" in line.lower() for line in built.warnings)


def test_a_short_list_says_what_is_wrong(tmp_path: Path) -> None:
    """One line for each server, below how many of them are as they should be."""
    with sample(tmp_path, "```{scores} servers\n:short:\n```") as built:
        page = built.page()
        best = page.select_one("p.best")
        assert best
        assert best.get_text() == "1 of 3 measured servers follow every MUST and every SHOULD:"
        lines = [each.get_text(" ") for each in page.select("ul.best li")]
        assert lines == [
            "good ✓ follows all that was observed",
            "bad ✗ 1 FAIL △ 1 WARN",
            "none · starts no lifespan",
        ]
        assert len(page.select("ul.best a")) == 3
