"""A section for each server of a record, with what its users should know."""

import json
from pathlib import Path
from typing import Any

import pytest

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


def sentences(site: SampleSite, name: str) -> list[str]:
    """Return the sentences of a section."""
    section = site.page().find("section", id=name)
    assert section
    found = section.select("ul.findings > li")
    return [" ".join(each.get_text().replace("\N{NO-BREAK SPACE}", " ").split()) for each in found]


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
    broken = subject(name, finding("fail", "well-behaved")) | {
        "command": "serve {app} --port {port}"
    }
    again = broken | {"name": f"{name}, another worker"}
    with tried(tmp_path, broken, again, text="asgi 2.0") as site:
        (folded,) = site.page().select("details.folded")
        assert folded.select_one("summary").get_text() == "Report this: startup-sent"  # type: ignore[union-attr]
        assert folded.p.get_text().startswith(says)  # type: ignore[union-attr]
        assert f"Thank you for {name}." in folded.pre.get_text()  # type: ignore[union-attr]


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
