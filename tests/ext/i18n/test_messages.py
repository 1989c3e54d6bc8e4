"""Our own words on a page."""

from pathlib import Path

import pytest

from lifespec_docs.i18n.messages import UnmarkedWordError, words
from sample_site import SampleSite

PAGES = {"index": "# A page\n"}


def test_a_word_without_a_translation_stays_english(tmp_path: Path) -> None:
    """The check of the catalogs reports it; the page is built."""
    sample = SampleSite(tmp_path, PAGES, builder="dummy", language="zh_CN")
    sample.translate("lifespec", {"Key": "键", "Value": ""})
    with sample:
        assert words(sample.app.env)("Value") == "Value"


def test_a_word_that_is_not_marked_is_refused(tmp_path: Path) -> None:
    """What is not marked could stand in no catalog."""
    with (
        SampleSite(tmp_path, PAGES, builder="dummy") as sample,
        pytest.raises(UnmarkedWordError, match="'perhaps' is not marked"),
    ):
        words(sample.app.env)("perhaps")
