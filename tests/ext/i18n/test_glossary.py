"""The glossary shows the terms of its table, each in both languages."""

from pathlib import Path

import pytest

from lifespec_docs.i18n.glossary import TERMS
from sample_site import SampleSite

ENTRIES = "".join(f"\n{term.name}\n  The meaning of {term.name}.\n" for term in TERMS)
PAGE = f"# Words\n\n```{{terms}}{ENTRIES}```\n\nA {{term}}`scope`.\n"


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


def test_no_term_has_two_translations_and_no_two_terms_have_one() -> None:
    """Each English name and each Chinese one stands once."""
    assert len({term.name for term in TERMS}) == len(TERMS)
    assert len({term.chinese for term in TERMS}) == len(TERMS)
