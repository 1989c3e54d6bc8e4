"""The steps of a server, drawn for one specification."""

from pathlib import Path

import pytest
from bs4 import Tag

from lifespec.conformance.rules import rules
from lifespec.conformance.texts import packaged
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


@pytest.mark.parametrize(
    ("spec", "wait"),
    [
        ("asgi 2.0", "must wait-for-startup ; not specified unsupported-never-blocks"),
        ("pagi 0.3", "must wait-for-startup ; must not unsupported-never-blocks"),
    ],
)
def test_a_step_has_the_levels_of_its_rules(tmp_path: Path, spec: str, wait: str) -> None:
    """What a specification does not say is marked as such."""
    with walkthrough(tmp_path, spec) as built:
        assert [
            told(step)
            for step in built.page().select("ol.walkthrough li")
            if told(step).endswith(wait)
        ]


def test_a_specification_has_its_own_words_and_steps(tmp_path: Path) -> None:
    """Lifespan 1.0 has no failures; several pages may show one list."""
    with walkthrough(tmp_path, "asgi 1.0", "amgi 2.0", "amgi 2.0") as built:
        assert not [each for each in built.warnings if "No page has the rule" not in each]
        first, second, third = built.page().select("ol.walkthrough")
        assert "failed" not in first.text
        assert "deliver no messages" in second.text
        assert second.text == third.text


def test_each_rule_of_a_step_is_one() -> None:
    """A step may cite a rule that some specifications lack, and none that nobody has."""
    assert {rule_id for step in steps() for rule_id in step.rules} <= {*rules()}
