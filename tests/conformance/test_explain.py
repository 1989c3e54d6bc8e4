"""The rules as a terminal shows them."""

from types import SimpleNamespace
from unicodedata import east_asian_width

import pytest

from lifespec import catalog, words
from lifespec.conformance import explain
from lifespec.conformance.rules import rules

LANGUAGES = sorted(words.FOLDERS)


def wide(line: str) -> int:
    """Count the columns that a terminal needs."""
    return len(line) + sum(east_asian_width(character) in {"W", "F"} for character in line)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule_id", rules())
def test_rules_fit_a_terminal(rule_id: str, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line has more than 80 columns, or ends with a space; Chinese characters take two."""
    monkeypatch.setenv("LIFESPEC_BASE_URL", "https://a.invalid")
    *shown, address = explain.lines(rules()[rule_id], language)
    assert address.endswith(f".html#{rule_id}")
    for line in shown:
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
    assert list(catalog.wrapped(text, 8)) == lines
    assert list(catalog.wrapped("one two four", 8, "  ")) == ["one two", "  four"]


def test_the_address_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the package's metadata, if the environment does not say it."""
    monkeypatch.delenv("LIFESPEC_BASE_URL", raising=False)
    about = {"Project-URL": ["Issues, https://a.invalid", "Documentation, https://b.invalid/x"]}
    installed = [SimpleNamespace(metadata=SimpleNamespace(get_all=about.get))]
    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: installed)
    assert words.site("zh") == "https://b.invalid/x/zh-cn/"
    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: [])
    assert words.base() == ""
