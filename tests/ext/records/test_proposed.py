"""The proposed clarifications: the text that they make, and how pages draw them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lifespec.conformance import check_server
from lifespec_docs.i18n import restructured
from lifespec_docs.records import proposals
from lifespec_docs.records.record import Record
from sample_site import SampleSite

sys.path.append(str(Path(__file__).parents[2] / "sentences"))

from sentences import listed, sentences

ROOT = Path(__file__).parents[3]
SERVE = ROOT / "docs" / "programs" / "serve.py"
SERVER = [sys.executable, str(SERVE), "{app}", "--port", "{port}"]


def test_the_present_text_is_the_one_that_the_rules_cite() -> None:
    """Each sentence that tests/sentences lists of lifespan 2.0 stands in it."""
    (text,) = (each for each in listed() if each["file"] == "asgi-lifespan-2.0.en.txt")
    found = {
        (each.section, each.ordinal): each.hash
        for each in sentences(proposals.present(), text["sections"])
    }
    for row in text["sentences"]:
        assert found[row["section"], row["ordinal"]] == row["hash"]


def test_each_quotation_stands_in_the_present_text() -> None:
    """So does the section that it is said to be in."""
    words = " ".join(proposals.present().split())
    titles = [each.words for each in restructured.blocks(proposals.present()) if each.ruler]
    for each in proposals.proposals():
        assert " ".join(each.quote.split()) in words
        assert any(title.split(" - ")[0] == each.section for title in titles)


def test_the_diff_makes_the_proposed_text_of_the_present_one(tmp_path: Path) -> None:
    """It can be applied in a checkout, and the text has every wording."""
    file = tmp_path / "specs" / "lifespan.rst"
    file.parent.mkdir()
    file.write_text(proposals.present(), encoding="utf-8")
    subprocess.run(
        ["git", "apply", "-"], cwd=tmp_path, check=True, input=proposals.diff().encode(), timeout=60
    )
    text = file.read_text(encoding="utf-8")
    assert text == proposals.text()
    words = " ".join(text.split())
    for each in proposals.proposals():
        assert restructured.restructured(each.wording) in words


def test_in_another_language_nothing_is_wrapped_and_rulers_fit() -> None:
    """A title in wide letters has a ruler of twice their number; code stays."""
    text = proposals.text(lambda words: "作用域" if words == "Scope" else words)
    assert "\n\n作用域\n''''''\n\n" in text
    assert "'lifespan.startup.complete'})\n" in text
    assert "given below:\n\n::\n\n    async def app" in text


def test_a_change_without_its_one_place_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The present text may have changed."""
    monkeypatch.setattr(proposals, "present", lambda: "Scope\n'''''\n\nNothing.\n")
    with pytest.raises(LookupError, match="Not one block of"):
        proposals.text()


def finding(verdict: str, actual: str) -> dict[str, Any]:
    """Return what was seen in the one case of a proposal."""
    return {"case": "a", "rule": "b", "verdict": verdict, "actual": actual}


def subject(name: str, *findings: dict[str, Any]) -> dict[str, Any]:
    """Return a server's row of the record."""
    return {"name": name, "versions": {"x": "1"}, "findings": findings}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_reference_implementation_does_as_proposed() -> None:
    """The server of the documentation runs its applications in `Lifespan`; it has no workers."""
    seen = {each for proposal in proposals.proposals() for each in proposal.seen}
    alone = {each for each in seen if not each.case.startswith("two-workers")}
    report = check_server(SERVER, only=sorted({each.case for each in alone}))
    for proposal in proposals.proposals():
        seen_here = tuple(each for each in proposal.seen if each in alone)
        here = proposal._replace(seen=seen_here, log="", late=False)
        rows = [
            finding(each.verdict.value, each.actual) | {"case": each.case, "rule": each.rule}
            for each in report.findings
        ]
        (row,) = Record("servers", {"subjects": [subject("serve", *rows)]}).subjects
        expected = {True: ["serve"] if here.seen else [], False: []}
        assert (proposal.name, proposals.observed(here, [row], {})) == (proposal.name, expected)


PAGES = {
    "index": "# A\n\n```{proposals} servers\n```\n\n## B\n\n```{without-proposal}\n```\n",
    "middleware-compatibility": "---\norphan: true\n---\n# M\n",
    "text": "---\norphan: true\n---\n# C\n\n```{proposed-text}\n```\n",
}


def tried(folder: Path, **pages: str) -> SampleSite:
    sample = SampleSite(folder, PAGES | pages, "rules.domain", "records.proposed")
    (sample.docs / "matrix").mkdir()
    record = {"subjects": [subject("uvicorn")], "made_with": {}}
    (sample.docs / "matrix" / "servers.json").write_text(json.dumps(record))
    (sample.docs / "matrix" / "loglines.json").write_text(json.dumps({"subjects": []}))
    return sample


def test_ambiguities_are_named_on_both_pages(tmp_path: Path) -> None:
    """A link has the title of the ambiguity; what only one of both has is told."""
    page = "---\norphan: true\n---\n# D\n\n## Startup\n\n### Log levels\n\n### New\n\nText.\n"
    with tried(tmp_path, ambiguities=page) as sample:
        warnings = "\n".join(sample.warnings)
        assert "proposals.toml names no ambiguity 'new'." in warnings
        assert "No ambiguity is 'reload'." in warnings
        assert "log-levels" not in warnings
        (link,) = sample.page().select('a[href="ambiguities.html#log-levels"]')
        assert link.get_text() == "Log levels"
        assert sample.page().select('a[href="middleware-compatibility.html"]')
        assert Path(sample.app.outdir, "lifespan-proposed.rst").read_text() == proposals.text()
        assert Path(sample.app.outdir, "lifespan-proposed.diff").read_text() == proposals.diff()
        text = sample.page("text")
        gone = [each.get_text() for each in text.select(".proposed-gone")]
        assert "The lifespan scope exists for the duration of the event loop." in gone
        assert len(text.select(".proposed")) == len(proposals.proposals()) + 1
