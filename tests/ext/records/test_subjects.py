"""A section for each server of a record, with what its users should know."""

import json
from pathlib import Path
from typing import Any

from sample_site import SampleSite

__all__: list[str] = []

EXTENSIONS = ("rules.domain", "examples.directive", "records.matrix", "records.subjects")
PAGE = """# A

```{rule} startup-sent
The server must send it.
```

This shows {rule}`startup-sent`.

```python
pass
```

(workaround-state)=
## Programs

One.

## Servers

```{subjects} them
```

```{observed} them
```

```{observed} them
:silent:
```
"""
UNUSED = "docs/rules.toml:9: WARNING: No page has the rule 'answered-once'."
NOTES = """
[[notes]]
of = ["slow"]
rules = ["startup-sent"]
text = "It is *slow*."
since = "It always was."
workaround = "Wait for it."
program = "state"
options = "--wait"
issues = ["owner/slow#3", "owner/slow#4"]
tried = 2026-01-03

[[notes]]
of = ["slow"]
text = "Nothing can be done."

[[notes]]
of = ["slow"]
text = "It has no program."
workaround = "Ask it."
tried = 2026-01-04
"""


def finding(verdict: str, case: str, *, silent: bool = False) -> dict[str, Any]:
    """Return a finding."""
    about = {"case": case, "rule": "startup-sent", "verdict": verdict}
    return about | {"actual": "It came.", "silent": silent}


def subject(name: str, *findings: dict[str, Any]) -> dict[str, Any]:
    """Return a subject's row of a record."""
    versions = {name: "1.0", "extra": "2.0"}
    return {"name": name, "versions": versions, "command": f"{name} app", "findings": [*findings]}


def tried(folder: Path, *subjects: dict[str, Any]) -> SampleSite:
    """Make a page that shows a record."""
    site = SampleSite(folder, {"index": PAGE}, *EXTENSIONS)
    (site.docs / "matrix").mkdir()
    (site.docs / "matrix" / "notes.toml").write_text(NOTES)
    record = {"date": "2026-01-02", "text": "", "subjects": subjects}
    (site.docs / "matrix" / "them.json").write_text(json.dumps(record))
    return site


def test_a_server_without_notes_shows_its_findings(tmp_path: Path) -> None:
    """Its section has versions, date, counts and command, and no line for what passed."""
    with tried(tmp_path, subject("quick, asyncio", finding("pass", "plain"))) as site:
        section = site.page().find("section", id="quick-asyncio")
        assert section
        assert "quick, asyncio" in section.select_one("h3").get_text()  # type: ignore[union-attr]
        assert [each.get_text() for each in section.select("p")] == [
            "quick, asyncio 1.0, extra 2.0, 2026-01-02: 1 PASS",
            "quick, asyncio app",
        ]
        assert site.warnings == [UNUSED]


def test_a_note_has_its_rows_and_the_findings_lead_to_what_was_observed(tmp_path: Path) -> None:
    """The worst stands first; a case that is not specified has a place of its own."""
    findings = (
        finding("info", "odd", silent=True),
        finding("fail", "plain"),
        finding("fail", "late"),
    )
    with tried(tmp_path, subject("slow", *findings)) as site:
        section = site.page().find("section", id="slow")
        assert section
        assert section.select_one("p em").get_text() == "slow"  # type: ignore[union-attr]
        rows = [
            (term.get_text(), term.find_next("dd").get_text(" ", strip=True))  # type: ignore[union-attr]
            for term in section.select(".note-rows dt")
        ]
        assert rows == [
            ("Since", "It always was."),
            ("Workaround", "Wait for it. state.py , --wait , run on 2026-01-03"),
            ("Issue", "slow#3 , slow#4"),
            ("Workaround", "Ask it. run on 2026-01-04"),
        ]
        assert section.find("a", href="https://github.com/owner/slow/issues/3")
        assert section.find("a", href="#workaround-state")
        lines = [line.get_text() for line in section.select("ul.findings li")]
        assert lines == ["✗ FAIL startup-sent: plain, late", "○ INFO startup-sent: odd"]
        links = [link["href"] for link in section.select("ul.findings a.reference")]
        plain, odd = "#them-startup-sent", "#them-odd"
        assert links == ["#startup-sent", plain, plain, "#startup-sent", odd]
        assert site.warnings == [UNUSED]
