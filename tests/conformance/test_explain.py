"""The rules as a terminal shows them."""

import json
import tomllib
from importlib import resources
from unicodedata import east_asian_width

import pytest

from lifespec.conformance import explain
from lifespec.conformance.cases import rules
from lifespec.conformance.explain import Explanation
from lifespec.validate import SPECS

__all__: list[str] = []

LANGUAGES = sorted(explain.FOLDERS)
TEXTS = (
    ("lifespan 1.0 (ASGI)", "", ""),
    ("lifespan 2.0 (ASGI)", "must not", "“Startup”"),
    ("PAGI 0.3", "should", "“Execution Model”, “Startup”; core text, “Error Handling”"),
)
RULE = Explanation(
    "some-rule",
    "server",
    "must not · should",
    "It must not.\nNor may it.",
    TEXTS,
    "Startup",
    "en/startup.html#some-rule",
    hints=(("", "Usual cause", "Haste."), ("middleware", "In middleware", "Sloth.")),
)


def wide(line: str) -> int:
    """Count the columns that a terminal needs."""
    return len(line) + sum(east_asian_width(character) in {"W", "F"} for character in line)


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ZH_tw"}, "zh"),
        ({"LANG": "de_DE", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN", "LC_MESSAGES": "de_DE"}, "en"),
        ({"LANG": "zh_CN", "LC_MESSAGES": "zh_CN", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN", "LC_MESSAGES": "", "LC_ALL": ""}, "zh"),
    ],
)
def test_the_language_of_the_reader(environment: dict[str, str], language: str) -> None:
    """Chinese where the locale is; LC_ALL comes before LC_MESSAGES, and that before LANG."""
    assert explain.language(environment) == language


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_is_explained(language: str) -> None:
    """The files have the rules of rules.toml, in their order, each with the five texts."""
    folder = resources.files("lifespec.conformance")
    rules = explain.read(language)
    assert list(rules) == list(tomllib.loads(folder.joinpath("data/rules.toml").read_text("utf-8")))
    for rule_id, rule in rules.items():
        assert rule.rule_id == rule_id
        assert len(rule.texts) == len(SPECS)
        assert all((rule.level, rule.text, rule.texts))
        assert bool(rule.role) == any(level for _, level, _ in rule.texts)
        groups = [specs for _, specs, _ in rule.more]
        assert sorted(groups) == sorted(set(groups))
        assert all(head and text and set(specs) <= set(SPECS) for head, specs, text in rule.more)
        assert rule.page
        assert rule.address.startswith(f"{explain.FOLDERS[language]}/")
        assert rule.address.endswith(f".html#{rule_id}")


def test_both_languages_explain_the_same() -> None:
    """The same rules on the same pages, with the same literals."""
    english, chinese = (explain.read(language) for language in ("en", "zh"))
    assert list(english) == list(chinese)
    for ours, theirs in zip(english.values(), chinese.values(), strict=True):
        assert ours.address.partition("/")[2] == theirs.address.partition("/")[2]
        literals = (sorted(rule.text.split("`")[1::2]) for rule in (ours, theirs))
        assert next(literals) == next(literals)
        levels = ([bool(level) for _, level, _ in rule.texts] for rule in (ours, theirs))
        assert next(levels) == next(levels)


def test_what_is_said_for_a_specification() -> None:
    """That of its own box, if it has one."""
    rule = explain.read("en")["startup-failed-exits"]
    assert rule.said("asgi 2.0") == rule.text != rule.said("amgi 2.0")
    assert rule.said("amgi 2.0").endswith("terminate the application.")


def test_a_hint_for_each_role() -> None:
    """That for the role if there is one, else that of the rule; some rules have none."""
    assert (RULE.hint("server"), RULE.hint("middleware")) == ("Haste.", "Sloth.")
    assert RULE._replace(hints=()).hint("server") == ""


def test_hints_are_those_of_the_rules() -> None:
    """English as rules.toml has them; Chinese ones have the same literals."""
    english, chinese = (explain.read(language) for language in ("en", "zh"))
    for rule_id, rule in rules().items():
        assert english[rule_id].hint("") == rule.hint
        assert english[rule_id].hint("middleware") == rule.hint_middleware or rule.hint
        for (_, _, ours), (_, _, theirs) in zip(
            english[rule_id].hints, chinese[rule_id].hints, strict=True
        ):
            assert sorted(ours.split("`")[1::2]) == sorted(theirs.split("`")[1::2])
            assert ours != theirs


def test_rules_that_a_case_can_show_have_a_hint() -> None:
    """Each but those that only allow something."""
    without = {rule_id for rule_id, rule in rules().items() if not rule.hint}
    assert {r for r in without if rules()[r].observable != "no"} == {"crash-may-continue"}


def test_an_installation_that_lacks_them() -> None:
    """An OSError names the file."""
    with pytest.raises(OSError, match=r"explain\.tlh\.json"):
        explain.read("tlh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_files_are_as_they_are_written(language: str) -> None:
    """One key on a line, so that a change can be read; no character is escaped."""
    file = resources.files("lifespec.conformance").joinpath(f"data/explain.{language}.json")
    text = file.read_text("utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=1) + "\n"


def test_what_is_shown() -> None:
    """The name, whose it is and the level; the text; each of the texts; page and address."""
    assert list(explain.lines(RULE, 60)) == [
        "some-rule · server · must not · should",
        "",
        "It must not.",
        "Nor may it.",
        "",
        "lifespan 1.0 (ASGI)  –",
        "lifespan 2.0 (ASGI)  must not  “Startup”",
        "PAGI 0.3             should    “Execution Model”, “Startup”;",
        "                               core text, “Error Handling”",
        "",
        "Usual cause",
        "Haste.",
        "",
        "In middleware",
        "Sloth.",
        "",
        "Startup · en/startup.html#some-rule",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule_id", rules())
def test_every_rule_fits_a_terminal(rule_id: str, language: str) -> None:
    """No line has more than 80 columns, or ends with a space; Chinese characters take two."""
    for line in explain.lines(explain.read(language)[rule_id]):
        assert wide(line) <= 80
        assert line == line.rstrip()
        assert not line.lstrip().startswith(tuple("、。，；：）”"))
        assert not line.endswith(tuple("（“"))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("four", ["four"]),
        ("one two four", ["one two", "four"]),
        ("one twothree", ["one", "twothree"]),  # it fits without the space
        ("unbreakable", ["unbreakable"]),
        ("服务器必须等待", ["服务器必", "须等待"]),
        ("服务器必。须", ["服务器", "必。须"]),
        ("服务器（必）须", ["服务器", "（必）须"]),
        ("务器 send 必", ["务器", "send 必"]),
        ("务器send必须", ["务器send", "必须"]),
    ],
)
def test_lines_end_where_they_may(text: str, lines: list[str]) -> None:
    """At a space, or beside a Chinese character, but before no mark that ends something."""
    assert list(explain.wrapped(text, 8)) == lines


def test_further_lines_are_indented() -> None:
    """They begin below where the first one went on."""
    assert list(explain.wrapped("one two four", 8, "  ")) == ["one two", "  four"]
