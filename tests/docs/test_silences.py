"""The page of ambiguities: nothing that we decided is missing there, and each entry is whole."""

import re
import tomllib

import pytest
from published import ROOT

__all__: list[str] = []

PAGE = (ROOT / "docs" / "ambiguities.md").read_text(encoding="utf-8")
RULES = tomllib.loads(
    (ROOT / "src" / "lifespec" / "conformance" / "data" / "rules.toml").read_text()
)
ENTRIES = re.split(r"^### ", PAGE.partition("## Errata")[0], flags=re.MULTILINE)[1:]
TERMS = ["The texts", "Readings", "Ours"]
CITED = re.compile(r"\b[a-z][\w-]*#\d+")
YEARS = re.compile(r"\b[a-z][\w-]*#\d+(?: and [a-z][\w-]*#\d+)?, 20\d\d")


@pytest.mark.parametrize(
    "rule_id",
    [rule_id for rule_id, rule in RULES.items() if "ours" in rule],
)
def test_what_is_ours_has_an_entry(rule_id: str) -> None:
    """A rule on which some text is silent is linked from the silence that it fills."""
    assert f"{{rule}}`{rule_id}`" in PAGE


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.partition("\n")[0])
def test_an_entry_is_whole(entry: str) -> None:
    """What the texts say, how it can be read, what we do: each once, in this order."""
    lines = entry.split("\n")
    assert lines[2] == "{.silence}"
    assert [line for line in lines if line in TERMS] == TERMS
    assert [lines[at + 1][:2] for at, line in enumerate(lines) if line in TERMS] == [": "] * 3


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.partition("\n")[0])
def test_a_text_is_quoted_in_a_few_words(entry: str) -> None:
    """The rest is in words of ours."""
    assert [each for each in re.findall("“([^”]*)”", entry) if len(each.split()) > 4] == []


def test_every_issue_has_its_year() -> None:
    """A reader knows how old a dispute is."""
    dated = "".join(YEARS.findall(PAGE))
    assert [each for each in CITED.findall(PAGE) if each not in dated] == []
