"""rules.toml as the pages read it."""

from pathlib import Path

import pytest

from rulebook import Rule, RulebookError, Source, read
from trial import RULES

__all__: list[str] = []


def written(folder: Path, text: str) -> Path:
    """Write a file of rules."""
    path = folder / "rules.toml"
    path.write_text(text)
    return path


def test_a_rule_knows_its_party_its_sources_and_its_line(tmp_path: Path) -> None:
    """A table becomes a rule; the line is that of its header."""
    rules = read(written(tmp_path, RULES))
    assert rules["startup-sent"] == Rule(
        "startup-sent", "server", (Source(("asgi 2.0",), "must", "Startup"),), 1
    )
    assert rules["answered-once"].line == 8


def test_rules_keep_the_order_of_the_file(tmp_path: Path) -> None:
    """The file's order is the order of every list."""
    assert list(read(written(tmp_path, RULES))) == ["startup-sent", "answered-once"]


def test_a_rule_without_a_section_is_ours(tmp_path: Path) -> None:
    """No text says it, so we do."""
    rules = read(written(tmp_path, RULES))
    assert not rules["startup-sent"].ours
    assert rules["answered-once"].ours


def test_levels_are_named_once_in_order(tmp_path: Path) -> None:
    """Two texts of one level make one level; a source without one counts as ours."""
    text = """
        a.party = "server"
        a.source = [{dialects = ["x"], level = "may"}, {dialects = ["y"], level = "may"},
                    {dialects = ["z"]}]
    """
    rule = read(written(tmp_path, text))["a"]
    assert rule.levels == ("may", "ours")
    assert rule.line == 1


@pytest.mark.parametrize("text", ["a = 1\n[startup-sent\n", "a = 1\nb = "])
def test_what_is_no_toml_is_told_with_file_and_line(tmp_path: Path, text: str) -> None:
    """TOML names no line where the file ends too early: then it is the last."""
    with pytest.raises(RulebookError, match=r"rules\.toml:2: "):
        read(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("\n[a]\n", "'source'"),
        ("\n[a]\nsource = [{dialects = []}]", "'party'"),
        ("\n[a]\nsource=1", ""),
    ],
)
def test_what_a_rule_lacks_is_told_with_file_and_line(
    tmp_path: Path, text: str, lacking: str
) -> None:
    """A table that lacks something is named with its line."""
    with pytest.raises(RulebookError, match=rf"rules\.toml:2: a lacks .*{lacking}"):
        read(written(tmp_path, text))
