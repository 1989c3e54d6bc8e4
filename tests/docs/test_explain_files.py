"""What `lifespec explain` shows is what the pages say."""

import tomllib

import pytest
from published import read

from lifespec_docs.build import CATALOGS, EXPLAINED, RULES, WORDS
from lifespec_docs.i18n.messages import hints, of_reports
from lifespec_docs.rules.export import as_json, explained

__all__: list[str] = []

pytestmark = pytest.mark.timeout(300)  # the first test reads the pages


@pytest.mark.parametrize("language", EXPLAINED)
def test_the_package_explains_the_rules_as_the_pages_do(language: str) -> None:
    """The file of each language is the one that `make docs` writes from these pages."""
    order = list(tomllib.loads(RULES.read_text(encoding="utf-8")))
    translated = hints(None if language == "en" else CATALOGS)
    found = explained(read()[{"en": "en", "zh_CN": "zh"}[language]], order, translated)
    file = RULES.with_name(EXPLAINED[language])
    assert list(found) == order
    assert file.read_text(encoding="utf-8") == as_json(found), (
        f"{file}:1: run `make docs`, or `python docs/build.py --explain`"
    )


def test_reports_are_worded_as_the_catalogs_have_it() -> None:
    """The same of the words of reports."""
    file = RULES.with_name(WORDS)
    assert file.read_text(encoding="utf-8") == as_json(of_reports(CATALOGS)), (
        f"{file}:1: run `make docs`, or `python docs/build.py --explain`"
    )
