"""Frameworks and hosts: each has its page, and each answer of a record has its words."""

import gettext
import json
from pathlib import Path

import pytest

from lifespec_docs.tables import environment
from lifespec_docs.views import tables
from lifespec_docs.views.subjects import KEYS, slug
from lifespec_docs.words import ROOT

DOCS = Path(ROOT, "docs")


def names(record: str) -> set[str]:
    rows = json.loads((DOCS / "matrix" / f"{record}.json").read_text("utf-8"))["subjects"]
    return {row[KEYS[record]] for row in rows}


@pytest.mark.parametrize("record", KEYS)
def test_each_name_has_its_page(record: str) -> None:
    """A page that is missing is a dead link, and one that is left over cannot be drawn."""
    pages = {each.stem for each in (DOCS / record).glob("*.md")}
    assert pages == {slug(each) for each in names(record)}


@pytest.mark.parametrize(
    ("record", "name"), [(each, name) for each in KEYS for name in sorted(names(each))]
)
def test_each_page_has_words_for_its_answers(record: str, name: str) -> None:
    draw = environment(gettext.NullTranslations()).get_template("profile.md").render
    assert name in draw(tables()["profile"](record, name))
