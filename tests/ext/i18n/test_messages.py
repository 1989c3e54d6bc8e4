"""Our own words on a page."""

from pathlib import Path

import pytest

from lifespec_docs.i18n.messages import UnmarkedWordError, marked, messages, words
from sample_site import SampleSite

PAGES = {"index": "# A page\n"}


@pytest.mark.parametrize(
    ("file", "word"),
    [
        ("records/matrix.py", "before: %s"),  # translated at once
        ("diagrams/drawing.py", "The application returns."),  # translated later
        ("live/starts.toml", "A Starlette application"),
        ("rules/steps.toml", "It sends `lifespan.startup.complete`: continue."),
        ("search.html", "Pages found: %s."),
    ],
)
def test_a_word_stands_where_it_is_used(file: str, word: str) -> None:
    """In code, data and templates; the catalog has each once."""
    assert word in marked(file)
    assert messages().count(word) == 1


def test_what_the_package_translates_is_in_its_own_catalog() -> None:
    """A second entry could say something else."""
    assert "server" in marked("diagrams/figures.py")
    assert "server" not in messages()


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
