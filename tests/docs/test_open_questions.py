"""The page of open questions: no rule is missing there, and each entry is whole."""

import io
import re
import tomllib

import pytest
from babel.messages.pofile import read_po
from samples import ROOT

PAGE = (ROOT / "docs" / "open-questions.md").read_text(encoding="utf-8")
CATALOG = ROOT / "locales/zh_CN/LC_MESSAGES/open-questions.po"
RULES = tomllib.loads((ROOT / "src/lifespec/conformance/data/rules.toml").read_text("utf-8"))
ENTRIES = re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]
TERMS = ["Specification", "Servers", "lifespec"]
CITED = re.compile(r"(\[?)\b[a-z][\w-]*#(\d+)(\]\(https://github\.com/[\w-]+/[\w-]+/issues/\2\))?")


def test_each_rule_that_a_specification_lacks_has_an_entry() -> None:
    ours = [key for key, rule in RULES.items() if "ours" in rule]
    assert [key for key in ours if f"{{rule}}`{key}`" not in PAGE] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.partition("\n")[0])
def test_an_entry_is_whole(entry: str) -> None:
    """It has its three parts, each once and in this order, and quotes a few words only."""
    lines = entry.split("\n")
    assert lines[2] == "{.question}"
    assert [line for line in lines if line in TERMS] == TERMS
    assert [lines[at + 1][:2] for at, line in enumerate(lines) if line in TERMS] == [": "] * 3
    assert [each for each in re.findall("“([^”]*)”", entry) if len(each.split()) > 4] == []


@pytest.mark.parametrize("page", ["open-questions", "other-specifications"])
def test_every_issue_is_a_link(page: str) -> None:
    cited = list(CITED.finditer((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")))
    assert cited
    assert [each[0] for each in cited if not (each[1] and each[3])] == []


@pytest.mark.parametrize(("language", "file"), [("", "rst"), ("zh", "zh.rst")])
def test_the_proposed_text_has_each_wording(language: str, file: str) -> None:
    """Apart from markup and line ends, which no wording depends on."""
    catalog = read_po(io.StringIO(CATALOG.read_text(encoding="utf-8")))
    text = plain((ROOT / f"docs/_static/lifespan-proposed.{file}").read_text(encoding="utf-8"))
    wordings = re.findall(r"^Proposed wording\n: (.+)$", PAGE, flags=re.MULTILINE)
    assert wordings
    for wording in wordings:
        shown = str(catalog.get(wording).string) if language else wording
        assert plain(re.sub(r"^\*[^*]+\*[:：] ?", "", shown)) in text


def plain(text: str) -> str:
    return re.sub(r"[\s`*\\]", "", text).replace("--", "–")
