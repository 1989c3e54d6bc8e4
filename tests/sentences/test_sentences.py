"""Each sentence of a specification became a rule or has a reason, and the other way round."""

from typing import Any

import pytest

from lifespec.conformance.rules import rules
from lifespec.validate import SPECS
from sentences import LIST, faults, sentences

TEXTS: list[dict[str, Any]] = LIST["text"]
SOURCES = {
    (spec, source.text, source.section, rule_id)
    for rule_id, rule in rules().items()
    for source in rule.sources
    for spec in source.specs
}


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text["file"])
def test_each_sentence_has_rules_that_exist_or_a_reason(text: dict[str, Any]) -> None:
    sections = {section["name"] for section in text["sections"]}
    places = [(row["section"], row["ordinal"]) for row in text["sentences"]]
    assert len({*places}) == len(places) > 0
    assert {section for section, _ in places} <= sections
    assert all(bool(row.get("rule_ids")) is not bool(row.get("plain")) for row in text["sentences"])
    assert {each for row in text["sentences"] for each in row.get("rule_ids", ())} <= {*rules()}


def test_a_rule_has_a_source_for_each_section_with_a_sentence_and_no_other() -> None:
    stated = {
        (spec, "core" if text.get("core") else "", row["section"], rule_id)
        for text in TEXTS
        if "translates" not in text
        for row in text["sentences"]
        if "follows" not in row
        for rule_id in row.get("rule_ids", ())
        for spec in text["specs"]
        if spec in rules()[rule_id].specs
    }
    assert stated == {each for each in SOURCES if each[1] != "asgi"}


def test_the_rules_that_amgi_takes_over_are_those_of_the_sentence_that_says_so() -> None:
    assert {(spec, rule_id) for spec, text, _, rule_id in SOURCES if text == "asgi"} == {
        (spec, rule_id)
        for text in TEXTS
        for row in text["sentences"]
        if "follows" in row
        for rule_id in row["rule_ids"]
        for spec in text["specs"]
    }


@pytest.mark.parametrize("spec", SPECS)
def test_a_specification_lacks_only_the_rules_about_what_it_does_not_have(spec: str) -> None:
    absent = {rule_id for rule_id, rule in rules().items() if spec not in rule.specs}
    assert absent == {*LIST["absent"][spec]}, "see rules.toml, or [absent] in sentences.toml"


def test_a_translation_became_the_same_rules() -> None:
    by_file = {
        text["file"]: [(r["section"], r["ordinal"], r.get("rule_ids")) for r in text["sentences"]]
        for text in TEXTS
    }
    for text in (each for each in TEXTS if "translates" in each):
        ruled = [row for row in by_file[text["file"]] if row[2]]
        assert ruled == [row for row in by_file[text["translates"]] if row[2]]


def test_a_duty_that_is_not_listed_is_named_with_its_line() -> None:
    """Code and headings are no sentences."""
    content = "Scope\n=====\nIt must wait::\n\n    must = 1\n\n* It may\n  go on. It waits.\n"
    sections = [{"name": "Scope", "begins": "Scope"}]
    assert [each[:3] for each in sentences(content, sections)] == [
        *(("Scope", 1, 3), ("Scope", 2, 7), ("Scope", 3, 7))
    ]
    text: dict[str, Any] = {"file": "a.txt", "sections": sections, "sentences": []}
    assert [line[:30] for line in faults(text, content)] == [
        *("a.txt:3: Scope, sentence 1, dd", "a.txt:7: Scope, sentence 2, 79")
    ]
