"""The steps of a server, drawn for one specification."""

from pathlib import Path

import pytest
from bs4 import Tag

from lifespec.conformance.data_files import packaged
from lifespec.conformance.rules import rules
from lifespec.validate import SPECS
from lifespec_docs.rules.steps import steps
from sample_site import SampleSite

__all__: list[str] = []


def walkthrough(folder: Path, *specs: str) -> SampleSite:
    """Return a page that draws the steps."""
    page = "\n".join(f"```{{walkthrough}} {spec}\n```\n" for spec in specs)
    extensions = "rules.domain", "rules.spec_tables", "rules.walkthrough"
    return SampleSite(folder, {"index": page}, *extensions, rules=packaged("rules.toml"))


def told(item: Tag) -> str:
    """Return the sentence of a step with its rules, without the answers below it."""
    assert item.p
    return " ".join(item.p.get_text(" ", strip=True).split())


@pytest.mark.parametrize("spec", SPECS)
def test_each_wait_of_a_server_ends_also_without_an_answer(tmp_path: Path, spec: str) -> None:
    """A server that follows the list does not wait for what cannot come any more."""
    with walkthrough(tmp_path, spec) as built:
        waits = built.page().select("ol.walkthrough > li:has(> ul)")
        answers = ["; ".join(told(each) for each in wait.select("li")) for wait in waits]
    assert len(answers) == 2
    for said in answers:
        assert "It raises" in said
        assert "returns without an answer" in said


def test_each_rule_of_a_step_is_one() -> None:
    """A step may cite a rule that some specifications lack, and none that nobody has."""
    assert {rule_id for step in steps() for rule_id in step.rules} <= {*rules()}
