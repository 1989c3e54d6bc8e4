"""The glossary shows the terms of its table, each in both languages."""

from pathlib import Path

import pytest

from lifespec_docs.i18n.glossary import TERMS
from sample_site import SampleSite

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[3]
ENTRIES = "".join(f"\n{term.name}\n  The meaning of {term.name}.\n" for term in TERMS)
PAGE = f"# Words\n\n```{{terms}}{ENTRIES}```\n\nA {{term}}`scope`.\n"


def test_an_ordinary_glossary_is_left_alone(tmp_path: Path) -> None:
    """It has terms of its own, and no counterparts."""
    page = "# Words\n\n```{glossary}\nscope\n  What is handed over.\n```\n"
    with SampleSite(tmp_path, {"index": page}, "i18n.glossary") as sample:
        assert sample.warnings == []
        assert not sample.page().select(".counterpart")


@pytest.mark.parametrize(
    ("page", "warning"),
    [
        (PAGE.replace("\nscope\n", "\nreach\n"), "'reach' is no term of TERMS"),
        (PAGE.replace("\nscope\n  The meaning of scope.\n", ""), "lacks the term 'scope'"),
    ],
)
def test_page_and_table_agree(tmp_path: Path, page: str, warning: str) -> None:
    """A term more or less is told, with the page and its line."""
    with SampleSite(tmp_path, {"index": page}, "i18n.glossary") as sample:
        told = [each for each in sample.warnings if warning in each]
        assert len(told) == 1
        assert told[0].startswith("docs/index.md:")


def test_the_page_of_the_site_uses_it() -> None:
    """Its terms are those of the table, in the table's order."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    body = text.partition("```{terms}\n")[2].partition("```")[0]
    names = [line for line in body.splitlines() if line and not line.startswith(" ")]
    assert names == [term.name for term in TERMS]


def test_no_term_has_two_translations_and_no_two_terms_have_one() -> None:
    """Each English name and each Chinese one stands once."""
    assert len({term.name for term in TERMS}) == len(TERMS)
    assert len({term.chinese for term in TERMS}) == len(TERMS)
