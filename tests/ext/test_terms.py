"""The table of the terms."""

from terms import TERMS

__all__: list[str] = []


def test_no_term_has_two_translations_and_no_two_terms_have_one() -> None:
    """Each English name and each Chinese one stands once."""
    assert len({term.name for term in TERMS}) == len(TERMS)
    assert len({term.chinese for term in TERMS}) == len(TERMS)
