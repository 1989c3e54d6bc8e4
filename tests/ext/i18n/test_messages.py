"""Our own words on a page."""

from pathlib import Path

import pytest

from lifespec_docs.diagrams import drawing
from lifespec_docs.i18n.messages import MESSAGES, UnlistedWordError, messages, words
from sample_site import SampleSite

__all__: list[str] = []

PAGES = {"index": "# A page\n"}


def test_the_catalog_holds_our_words_and_the_diagrams(tmp_path: Path) -> None:
    """Each message once, ours first."""
    assert messages()[: len(MESSAGES)] == MESSAGES
    assert set(drawing.LABELS) <= set(messages())
    assert len(set(messages())) == len(messages())


def test_a_word_is_english_on_an_english_page(tmp_path: Path) -> None:
    """Where there is no catalog, a word stays what it is."""
    with SampleSite(tmp_path, PAGES, builder="dummy") as sample:
        assert words(sample.app.env)("must") == "must"


def test_a_word_is_chinese_on_a_chinese_page(tmp_path: Path) -> None:
    """The catalog is that of the page's language."""
    sample = SampleSite(tmp_path, PAGES, builder="dummy", language="zh_CN")
    sample.translate("lifespec", {"Key": "键"})
    with sample:
        assert words(sample.app.env)("Key") == "键"
        assert words(sample.app.env)("must") == "必须 MUST"  # of the package


def test_a_word_without_a_translation_stays_english(tmp_path: Path) -> None:
    """The check of the catalogs reports it; the page is built."""
    sample = SampleSite(tmp_path, PAGES, builder="dummy", language="zh_CN")
    sample.translate("lifespec", {"Key": "键", "Value": ""})
    with sample:
        assert words(sample.app.env)("Value") == "Value"


def test_a_word_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    """What is not listed could stand in no catalog."""
    with (
        SampleSite(tmp_path, PAGES, builder="dummy") as sample,
        pytest.raises(UnlistedWordError, match="'perhaps' is not listed"),
    ):
        words(sample.app.env)("perhaps")
