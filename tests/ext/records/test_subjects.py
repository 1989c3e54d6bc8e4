"""A section for each server of a record, with what its users should know."""

import json
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance import cases
from sample_site import SampleSite

__all__: list[str] = []

EXTENSIONS = (
    "rules.domain",
    "examples.directive",
    "records.matrix",
    "records.subjects",
    "examples.folded",
)
PAGE = """# A

```{rule} startup-sent
```

This shows {rule}`startup-sent`.

```python
pass
```

(workaround-state)=
## Programs

One.

## Servers

```{subjects} servers
```
"""
UNUSED = (
    "docs/rules.toml:9: WARNING: No page has the rule 'answered-once':"
    " put its block {rule} on the page 'index'."
)
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


def tried(folder: Path, *subjects: dict[str, Any], page: str = PAGE, text: str = "") -> SampleSite:
    """Make a page that shows a record."""
    site = SampleSite(folder, {"index": page}, *EXTENSIONS)
    (site.docs / "matrix").mkdir()
    (site.docs / "matrix" / "notes.toml").write_text(NOTES)
    record = {"date": "2026-01-02", "text": text, "subjects": subjects}
    record |= {"python": "CPython 3.11", "system": "Linux"}
    (site.docs / "matrix" / "servers.json").write_text(json.dumps(record))
    return site


def test_a_server_without_notes_shows_its_findings(tmp_path: Path) -> None:
    """Its section has versions, date, counts and command, and no line for what passed."""
    with tried(tmp_path, subject("quick, asyncio", finding("pass", "plain"))) as site:
        section = site.page().find("section", id="quick-asyncio")
        assert section
        assert "quick, asyncio" in section.select_one("h3").get_text()  # type: ignore[union-attr]
        assert [each.get_text() for each in section.select("p")] == [
            "quick, asyncio 1.0, extra 2.0 · 2026-01-02: 1 PASS",
            "quick, asyncio app",
        ]
        assert site.warnings == [UNUSED]


def test_a_note_has_its_rows(tmp_path: Path) -> None:
    """They have links to a program and to issues."""
    with tried(tmp_path, subject("slow", finding("pass", "plain"))) as site:
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
        assert site.warnings == [UNUSED]


def sentences(site: SampleSite, name: str) -> list[str]:
    """Return the sentences of a section."""
    section = site.page().find("section", id=name)
    assert section
    found = section.select("ul.findings > li")
    return [" ".join(each.get_text().replace("\N{NO-BREAK SPACE}", " ").split()) for each in found]


def test_what_was_seen_is_told_by_rule_and_case(tmp_path: Path) -> None:
    """The worst stands first; each case has a line."""
    findings = (
        finding("info", "odd", silent=True),
        finding("fail", "plain"),
        finding("fail", "late"),
        finding("warn", "other"),
        finding("pass", "good"),
    )
    with tried(tmp_path, subject("slow", *findings)) as site:
        assert sentences(site, "slow") == [
            "✗ FAIL startup-sent plain → It came. late → It came.",
            "△ WARN startup-sent other → It came.",
            "○ INFO startup-sent · not specified odd → It came.",
        ]
        section = site.page().find("section", id="slow")
        assert section
        ids = [each.get("id") for each in section.select("ul.findings > li")]
        assert ids == ["seen-servers-startup-sent-slow", None, "seen-servers-odd-slow"]
        assert section.select_one(".actual [lang=en]")


def test_what_was_seen_is_told_in_the_language_of_the_page(tmp_path: Path) -> None:
    """If its pattern is known."""
    site = tried(
        tmp_path, subject("slow", finding("fail", "plain") | {"actual": "It did not come."})
    )
    site.configuration["language"] = "zh_CN"
    site.translate("lifespec", {"It did not come.": "没有收到。"})
    with site:
        assert sentences(site, "slow") == ["✗ FAIL startup-sent plain → 没有收到。"]
        assert not site.page().select(".actual [lang=en]")


def test_what_happens_in_a_case_of_the_suite_is_said(tmp_path: Path) -> None:
    """Its name leads to the case reference."""
    says = next(case.says for case in cases.load() if case.name == "well-behaved")
    with tried(tmp_path, subject("slow", finding("fail", "well-behaved"))) as site:
        assert sentences(site, "slow") == [
            f"✗ FAIL startup-sent well-behaved {says} → It came.",
        ]


def test_two_rules_of_a_case_that_is_not_specified_have_one_anchor(tmp_path: Path) -> None:
    """The cell of the case leads to the first of them."""
    findings = (
        finding("info", "odd", silent=True),
        finding("info", "odd", silent=True) | {"rule": "answered-once"},
    )
    with tried(tmp_path, subject("slow", *findings)) as site:
        section = site.page().find("section", id="slow")
        assert section
        ids = [each.get("id") for each in section.select("ul.findings > li")]
        assert ids == ["seen-servers-odd-slow", None]


@pytest.mark.parametrize(
    ("name", "says"),
    [("slow", "Read first what has been reported: slow#3, slow#4"), ("quick", "A text for")],
)
def test_a_fault_has_a_text_for_the_project(tmp_path: Path, name: str, says: str) -> None:
    """Folded, with the rule, what was reported before, and a program to run."""
    broken = subject(name, finding("fail", "well-behaved")) | {"command": "serve --port {port}"}
    again = broken | {"name": f"{name}, another worker"}
    with tried(tmp_path, broken, again, text="asgi 2.0") as site:
        (folded,) = site.page().select("details.folded")
        assert folded.select_one("summary").get_text() == "Report this: startup-sent"  # type: ignore[union-attr]
        assert folded.p.get_text().startswith(says)  # type: ignore[union-attr]
        assert f"Thank you for {name}." in folded.pre.get_text()  # type: ignore[union-attr]


def test_a_test_client_has_no_text(tmp_path: Path) -> None:
    """It has no command that listens on a port."""
    with tried(tmp_path, subject("slow", finding("fail", "well-behaved")), text="asgi 2.0") as site:
        assert not site.page().select("details.folded")


def test_what_was_not_seen_has_a_reason(tmp_path: Path) -> None:
    """Rules with the same reason share it; it stands alone if nothing at all was seen."""
    never = finding("skip", "plain")
    some = [never | {"rule": "answered-once"}, finding("skip", "odd", silent=True)]
    rows = subject("slow", finding("pass", "plain"), *some), subject("never", never, *some)
    with tried(tmp_path, *rows) as site:
        assert sentences(site, "slow") == ["· SKIP answered-once, odd It came."]
        assert sentences(site, "never") == ["· SKIP It came."]


def test_a_list_has_the_sentences_without_sections(tmp_path: Path) -> None:
    """With what has changed, and for a server without a change that it has none."""
    was = {"date": "2025-12-31", "versions": {"slow": "0.9"}, "changed": []}
    page = PAGE.replace("{subjects}", "{findings}")
    rows = subject("slow", finding("warn", "plain")) | {"before": was}, subject("good")
    with tried(tmp_path, *rows, page=page) as site:
        (name, other) = site.page().select("dl dt")
        assert (name.get_text(), other.get_text()) == ("slow", "good")
        told = site.page().select_one("dl dd")
        assert told
        assert told.p
        assert told.p.get_text() == (
            "Compared with the record of 2025-12-31, slow 0.9: the verdicts are the same"
        )
        assert told.select_one("ul.findings > li#seen-servers-startup-sent-slow")
        assert not site.page().find("section", id="slow")
