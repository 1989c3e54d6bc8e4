"""The rules: what rules.toml says, and how it is worded."""

import pytest

from lifespec.conformance import cases
from lifespec.conformance import rules as rulebook
from lifespec.conformance.data_files import DataError
from lifespec.conformance.rules import (
    LEVELS,
    Source,
    known_rule,
    known_spec,
    levelled,
    read,
    rules,
)
from lifespec.conformance.unchecked import Unchecked
from lifespec.conformance.words import translator
from lifespec.validate import SPECS

__all__: list[str] = []

ROW = """
[a]
role = "server"
observable = "no"
stage = "startup"
page = "startup"
says = "It should, as `must` says."
source = [
    { specs = "pagi", level = "must", section = "Scope" },
    { specs = "pagi", level = "should", text = "core", section = "Events" },
    { specs = "asgi 2.0", level = "should", section = "Scope" },
    { specs = "amgi 1.0", level = "should", text = "asgi", section = "Scope" },
]
[[a.wording]]
specs = "amgi 1.0"
says = "It should, and more."
[a.ours]
specs = "asgi 1.0"
says = "It does."
"""
FIVE = tuple(SPECS)


def test_what_a_row_says() -> None:
    """Boxes are by specifications; the strongest level counts, that of lifespan 2.0 is first."""
    rule = read(ROW, "rules.toml")["a"]
    assert rule.sources[0] == Source(("pagi 0.3",), "must", "Scope")
    assert [*rule.boxes] == [(), ("amgi 1.0",), ("asgi 1.0",)]
    assert rule.unspecified == rule.box("asgi 1.0") == ("asgi 1.0",)
    assert rule.specs == ("asgi 1.0", "asgi 2.0", "amgi 1.0", "pagi 0.3")
    assert [rule.level(spec) for spec in FIVE] == ["", "should", "should", "", "must"]
    assert rule.levels == ("should", "must")
    assert [rule.says(spec) for spec in rule.specs] == [
        "It does.",
        "It should, as `must` says.",
        "It should, and more.",
        "It must, as `must` says.",
    ]
    assert rule.line == 2
    assert not [*rule.hints]


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ("all", FIVE),
        ("all but pagi", FIVE[:4]),
        ("all but asgi 1.0, amgi", ("asgi 2.0", "pagi 0.3")),
        ("amgi, asgi 2.0", FIVE[1:4]),
    ],
)
def test_specifications_are_named_by_key_or_family(value: str, keys: tuple[str, ...]) -> None:
    rows = ROW.partition("[[a.wording]]")[0].replace('specs = "asgi 2.0"', f'specs = "{value}"')
    assert read(rows, "rules.toml")["a"].sources[2].specs == keys


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[a]\n", "[a\n", "rules.toml:2: "),
        ('says = "It does."', "says = ", "rules.toml:19: "),
        ('role = "server"\n', "", "rules.toml:2: a lacks 'role'"),
        ('level = "must", ', "", "rules.toml:2: a lacks 'level'"),
        ('"startup"\npage', '"start"\npage', "a has a stage other than loop, "),
        ('"server"', '"proxy"', "a has a role other than server, "),
        ('"pagi", level', '"pagi 2", level', "a names the specification 'pagi 2', where there is"),
        ('"must", section', '"musts", section', "a has a level other than must, "),
        ("It should, as", "It can, as", "a needs the word “should” in the sentence “It can"),
        ("It does.", "It must.", "a needs no word of a level in the sentence “It must"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(old: str, new: str, said: str) -> None:
    with pytest.raises(DataError) as found:
        read(ROW.replace(old, new), "rules.toml")
    assert said in str(found.value)


def test_each_fault_of_a_file_is_told() -> None:
    """One line each, in the order of the file."""
    two = ROW.replace('"startup"', '"start"', 1).replace('"server"', '"proxy"')
    with pytest.raises(DataError) as found:
        read(two + two.replace("[a]", "[b]").replace("a.", "b."), "rules.toml")
    places = [line.partition(" has a")[0] for line in str(found.value).splitlines()]
    assert places == ["rules.toml:2: a"] * 2 + ["rules.toml:21: b"] * 2


def test_a_specification_without_rules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report on it would say that it keeps every rule."""
    specs = {**SPECS, "gsgi 1.0": SPECS["asgi 2.0"]}
    monkeypatch.setattr(rulebook, "SPECS", specs)
    with pytest.raises(DataError, match=r"^rules\.toml:1: no rule has a source in gsgi 1\.0: "):
        rulebook.rules.__wrapped__()


@pytest.mark.parametrize(
    ("sentence", "level", "result"),
    [
        ("It must not wait.", "should not", "It should not wait."),
        ("服务器必须应答 `应`。", "should", "服务器应应答 `应`。"),
        ("It waits.", "must", "It waits."),
        ("It may, and must.", "must", "It may, and must."),
    ],
)
def test_a_sentence_has_the_level_of_a_specification(
    sentence: str, level: str, result: str
) -> None:
    """The word is replaced in either language, but not in code."""
    assert levelled(sentence, level) == result


def test_the_rules_of_the_package() -> None:
    """Each is in Chinese; each is expected by a case, or says why no case can show it."""
    chinese = translator("zh")
    expected = {each.rule for case in cases.load() for each in case.expect}
    for rule_id, rule in rules().items():
        assert known_rule(rule_id) == rule.rule_id
        assert {*rule.implies} <= {*rules()}, f"{rule_id} implies a rule that there is not"
        assert {*rule.levels} <= {*LEVELS}
        advice = "either a case of cases.toml expects it, or its key `unseen` says why none can"
        assert bool(rule.unseen) is (rule_id not in expected), f"{rule_id}: {advice}"
        hinted = rule.hint or rule.observable == "no" or rule_id == "crash-may-continue"
        assert hinted, f"{rule_id} needs a hint in rules.toml: the usual cause, and the fix"
        said = *rule.boxes.values(), *(text for _role, _head, text in rule.hints)
        english = [sentence for sentence in said if chinese(sentence) == sentence]
        assert not english, f"run `make translate`, and translate in rules.zh.po: {english}"


def test_an_unknown_name() -> None:
    """The sentence says which there are."""
    with pytest.raises(Unchecked, match=r"there is no specification 'asgi 3\.0': name asgi 1\.0, "):
        known_spec("asgi 3.0")
    with pytest.raises(Unchecked, match="there is no rule 'startup-snt': did you mean startup-s"):
        known_rule("startup-snt")
