"""A page in blocks; `docs/proofs.json` holds what becomes of each."""

from lifespec_docs.facts.blocks import blocks, sentences, shows


def test_a_text_belongs_to_what_follows_it_in_its_section() -> None:
    """Or to the last before it; the title of a page shows nothing of another section."""
    page = "# A\n\nOne.\n\n```python\n1\n```\n\nTwo.\n\n## B\n\nThree.\n\n| a |\n|---|\n| b |\n"
    found = blocks(page)
    about = [shows(found, place) for place, each in enumerate(found) if each.kind == "text"]
    assert [each and each.kind for each in about] == ["example", "example", "table"]
    assert shows(blocks("# A\n\nText.\n"), 1) is None


def test_a_sentence_ends_at_a_full_stop_in_either_language() -> None:
    text = "One, e.g. Two.\n`three` is. {doc}`x`? 一。二。"
    assert list(sentences(text)) == ["One, e.g. Two.", "`three` is.", "{doc}`x`? 一。", "二。"]
