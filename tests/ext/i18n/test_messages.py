"""Our own words on a page."""

from pathlib import Path

import pytest

from lifespec_docs.diagrams import drawing
from lifespec_docs.i18n.messages import MESSAGES, UnlistedWordError, messages, of_reports, words
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
    sample.translate("lifespec", {"must": "必须", "may": ""})
    with sample:
        assert words(sample.app.env)("must") == "必须"


def test_a_word_without_a_translation_stays_english(tmp_path: Path) -> None:
    """The check of the catalogs reports it; the page is built."""
    sample = SampleSite(tmp_path, PAGES, builder="dummy", language="zh_CN")
    sample.translate("lifespec", {"must": "必须", "may": ""})
    with sample:
        assert words(sample.app.env)("may") == "may"


def test_a_word_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    """What is not listed could stand in no catalog."""
    with (
        SampleSite(tmp_path, PAGES, builder="dummy") as sample,
        pytest.raises(UnlistedWordError, match="'perhaps' is not listed"),
    ):
        words(sample.app.env)("perhaps")


def test_the_words_of_reports(tmp_path: Path) -> None:
    """Each as the catalog has it; a word without a translation stays English."""
    (tmp_path / "lifespec.po").write_text('msgid "verdict"\nmsgstr "判定"\n', "utf-8")
    found = of_reports(tmp_path)
    assert (found["verdict"], found["case"]) == ("判定", "case")
    assert set(found) <= set(messages())
