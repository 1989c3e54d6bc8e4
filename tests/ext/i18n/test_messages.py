"""Our own words on a page."""

import io
from pathlib import Path

import pytest

from lifespec_docs.i18n.messages import UnmarkedWordError, in_data, marked, messages, words
from sample_site import SampleSite

__all__: list[str] = []

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


def test_the_words_of_data() -> None:
    """Titles and sentences, whether a table is one of several or has one for each specification."""
    file = io.BytesIO(b"""
        version = 1
        [one]
        title = "One"
        other = "no word"
        [[two]]
        says = { all = "Two", amgi = "" }
    """)
    assert [text for _, _, text, _ in in_data(file, (), (), {})] == ["One", "Two"]


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


def test_a_word_that_is_not_marked_is_refused(tmp_path: Path) -> None:
    """What is not marked could stand in no catalog."""
    with (
        SampleSite(tmp_path, PAGES, builder="dummy") as sample,
        pytest.raises(UnmarkedWordError, match="'perhaps' is not marked"),
    ):
        words(sample.app.env)("perhaps")
