"""The rules: what a table of rules.toml says, and that the file keeps its format."""

import tomllib

import pytest

from lifespec.catalog import data, translator
from lifespec.conformance import cases
from lifespec.conformance.explain import heading, sources
from lifespec.conformance.rules import LEVELS, STAGES, Rule, Source, read_rules, rules, specs_of
from lifespec.validate import SPECS
from lifespec.words import names

ROW = """
[a]
role = "server"
observable = "no"
stage = "startup"
page = "startup"
says = "It {should} do it, as `must` says."
hint-middleware = "Pass it on."
source = [
    { specs = "pagi", level = "must", section = "Scope" },
    { specs = "pagi", level = "should", text = "core", section = "Events" },
    { specs = "asgi 2.0", level = "should", section = "Scope" },
    { specs = "amgi 1.0", level = "should", text = "asgi", section = "Scope" },
]
[[a.wording]]
specs = "amgi 1.0"
says = "It {should} do more."
[a.ours]
specs = "asgi 1.0"
says = "It does."
"""
FIVE = tuple(SPECS)
ENGLISH, CHINESE = translator("en"), translator("zh")


def test_what_a_table_says() -> None:
    """Boxes are by specifications; the strongest level counts, that of lifespan 2.0 is first."""
    rule = read_rules(ROW)["a"]
    assert rule.sources[0] == Source(("pagi 0.3",), "must", "Scope")
    assert [*rule.boxes] == [(), ("amgi 1.0",), ("asgi 1.0",)]
    assert rule.unspecified == ("asgi 1.0",)
    assert rule.specs == ("asgi 1.0", "asgi 2.0", "amgi 1.0", "pagi 0.3")
    assert [rule.level(spec) for spec in FIVE] == ["", "should", "should", "", "must"]
    assert rule.levels == ("should", "must")
    assert rule.line == 2
    assert [*rule.hints] == [("middleware", "Usual cause and fix in middleware", "Pass it on.")]
    assert (rule.hint_for("middleware"), rule.hint_for("server")) == ("Pass it on.", "")


def test_a_sentence_has_the_level_of_a_specification() -> None:
    """In the place that the file leaves for it, and no other word is changed."""
    rule = read_rules(ROW)["a"]
    assert [rule.says(spec) for spec in rule.specs] == [
        "It does.",
        "It should do it, as `must` says.",
        "It should do more.",
        "It must do it, as `must` says.",
    ]
    assert rule.sentence(()) == "It should do it, as `must` says."
    known = {"It {should} do it, as `must` says.": "它{should}如此。", "{must}": "必须"}
    assert rule.says("pagi 0.3", lambda text: known.get(text, text)) == "它必须如此。"


def test_how_a_rule_is_described() -> None:
    rule = read_rules(ROW)["a"]
    assert names(FIVE, ENGLISH) == "all specifications"
    assert names(FIVE[1:4], ENGLISH) == "lifespan 2.0 (ASGI), AMGI 1.0 and 2.0"
    assert [heading(rule, group, ENGLISH) for group in rule.boxes] == [
        "should · must",
        "should · AMGI 1.0",
        "lifespec's behaviour",
    ]
    assert [sources(rule, spec, ENGLISH) for spec in ("asgi 1.0", "amgi 1.0", "pagi 0.3")] == [
        "not specified",
        "lifespan 2.0 (ASGI), “Scope”",
        "“Scope”; should: main specification, “Events”",
    ]


EXPECTED = {each.rule for case in cases.load() for each in case.expect}
ROWS = tomllib.loads(data("rules.toml"))


def places(sentence: str) -> set[str]:
    """Return the levels that a sentence leaves a place for."""
    return {level for level in LEVELS if f"{{{level}}}" in sentence}


@pytest.mark.parametrize("rule", rules().values(), ids=rules())
def test_a_rule_of_the_package_keeps_the_format(rule: Rule) -> None:
    place = f"src/lifespec/conformance/data/rules.toml:{rule.line}"
    assert rule.stage in STAGES, place
    assert rule.role in cases.ROLES, place
    assert {*rule.implies} <= {*rules()}, place
    assert {source.level for source in rule.sources} <= {*LEVELS}, place
    for each in (*ROWS[rule.rule_id].get("source", ()), *ROWS[rule.rule_id].get("wording", ())):
        assert all(map(specs_of, each["specs"].removeprefix("all but ").split(", "))), place
    # `unseen` says why no case expects it
    assert bool(rule.unseen) is not (rule.rule_id in EXPECTED), place
    assert rule.hint or rule.observable == "no" or {*rule.levels} == {"may"}, place
    for group, sentence in rule.boxes.items():
        assert places(sentence) == {rule.level(group[0]) if group else rule.levels[0]} - {""}, place
    for text in (*rule.boxes.values(), *(hint for _role, _head, hint in rule.hints)):
        assert places(CHINESE(text)) >= places(text), place


def test_each_specification_has_rules() -> None:
    """A report on one without would say that every rule is kept."""
    assert {spec for rule in rules().values() for spec in rule.specs if rule.level(spec)} == {*FIVE}
