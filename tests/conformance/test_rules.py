"""The rules: what a table of rules.toml says, and that the file keeps its format."""

import tomllib
from collections.abc import Iterator

import pytest

from lifespec.conformance import cases
from lifespec.conformance.rules import (
    LEVELS,
    STAGES,
    Rule,
    Source,
    heading,
    names,
    read,
    rules,
    sources,
    specs_of,
)
from lifespec.conformance.words import data, translator
from lifespec.validate import SPECS

__all__: list[str] = []

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
FILE = "src/lifespec/conformance/data/rules.toml"
ENGLISH, CHINESE = translator("en"), translator("zh")


def test_what_a_table_says() -> None:
    """Boxes are by specifications; the strongest level counts, that of lifespan 2.0 is first."""
    rule = read(ROW)["a"]
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
    rule = read(ROW)["a"]
    assert [rule.says(spec) for spec in rule.specs] == [
        "It does.",
        "It should do it, as `must` says.",
        "It should do more.",
        "It must do it, as `must` says.",
    ]
    assert rule.sentence(()) == "It should do it, as `must` says."
    known = {"It {should} do it, as `must` says.": "它{should}如此。", "{must}": "必须"}
    assert rule.says("pagi 0.3", lambda text: known.get(text, text)) == "它必须如此。"


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ("all", FIVE),
        ("all but pagi", FIVE[:4]),
        ("all but asgi 1.0, amgi", ("asgi 2.0", "pagi 0.3")),
        ("amgi, asgi 2.0", FIVE[1:4]),
        ("wsgi", ()),
    ],
)
def test_specifications_are_named_by_key_or_family(value: str, keys: tuple[str, ...]) -> None:
    assert specs_of(value) == keys


def test_how_a_rule_is_described() -> None:
    rule = read(ROW)["a"]
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


def faults() -> Iterator[str]:
    """Yield what is wrong with rules.toml, with file and line."""
    expected = {each.rule for case in cases.load() for each in case.expect}
    for rule in rules().values():
        for fault in (*faults_of_keys(rule), *faults_of_levels(rule)):
            yield f"{FILE}:{rule.line}: {rule.rule_id} {fault}"
        if bool(rule.unseen) is (rule.rule_id in expected):
            yield f"{FILE}:{rule.line}: a case expects {rule.rule_id}, or `unseen` says why not"
        for text in (*rule.boxes.values(), *(hint for _role, _head, hint in rule.hints)):
            places = [f"{{{each}}}" for each in LEVELS if f"{{{each}}}" in text]
            if CHINESE(text) == text or not all(place in CHINESE(text) for place in places):
                yield f"{FILE}:{rule.line}: rules.zh.po lacks “{text}”"


def faults_of_keys(rule: Rule) -> Iterator[str]:
    row = tomllib.loads(data("rules.toml"))[rule.rule_id]
    if rule.stage not in STAGES or rule.role not in cases.ROLES:
        yield "has an unknown stage or role"
    for each in (*row.get("source", ()), *row.get("wording", ())):
        parts = each["specs"].removeprefix("all but ").split(", ")
        if not all(map(specs_of, parts)):
            yield f"names the specification {each['specs']!r}, which there is not"
    if not (rule.hint or rule.observable == "no" or {*rule.levels} == {"may"}):
        yield "needs a hint: the usual cause if it is broken, and the fix"
    if {*rule.implies} - {*rules()}:
        yield "implies a rule that there is not"


def faults_of_levels(rule: Rule) -> Iterator[str]:
    if {source.level for source in rule.sources} - {*LEVELS}:
        yield f"has a level other than {', '.join(LEVELS)}"
        return
    for group, sentence in rule.boxes.items():
        level = rule.level(group[0]) if group else rule.levels[0]
        places = {each for each in LEVELS if f"{{{each}}}" in sentence}
        if places != {level} - {""}:
            yield f"needs its level as {{{level}}} in the sentence “{sentence}”"


def test_the_rules_of_the_package_keep_the_format() -> None:
    assert "\n".join(faults()) == ""


def test_each_specification_has_rules() -> None:
    """A report on one without would say that every rule is kept."""
    assert {spec for rule in rules().values() for spec in rule.specs if rule.level(spec)} == {*FIVE}
