"""The rules as a terminal shows them."""

from unicodedata import east_asian_width

import pytest

from lifespec.conformance import explain
from lifespec.conformance.rules import rules

__all__: list[str] = []

LANGUAGES = sorted(explain.FOLDERS)


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


def test_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The boxes, each specification, the hints and the address; a page shows the whole."""
    rule = rules()["state-starts-empty"]
    lines = list(explain.lines(rule, "en", 60))
    assert lines[:2] == ["state-starts-empty · server · must", ""]
    assert "lifespec's behaviour" in lines
    assert "PAGI 0.3             –     not specified" in lines
    assert ".html" not in lines[-1]
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://docs.example")
    lines = list(explain.lines(rule, "en", 80))
    assert lines[-1] == "https://docs.example/en/scope.html#state-starts-empty"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule_id", rules())
def test_every_rule_fits_a_terminal(rule_id: str, language: str) -> None:
    """No line has more than 80 columns, or ends with a space; Chinese characters take two."""
    for line in explain.lines(rules()[rule_id], language):
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
