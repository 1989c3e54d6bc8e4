"""Another Sphinx project links to a rule, by the inventory of the built site."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from published import ROOT
from samples import Sample

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
MARKDOWN = "# Notes\n\n<inv:lifespec:lifespec:rule#startup-sent>\n"
RESTRUCTURED = "Notes\n=====\n\n:external+lifespec:ref:`rule-startup-sent`\n"


@pytest.mark.timeout(600)  # the first test builds the site
@pytest.mark.parametrize("language", ["en", "zh-cn"])
@pytest.mark.parametrize(("name", "text"), [("index.md", MARKDOWN), ("index.rst", RESTRUCTURED)])
def test_a_page_elsewhere_links_to_a_rule(
    build: Callable[..., Sample], site: Path, language: str, name: str, text: str
) -> None:
    """As the page on the rules says; the version of the inventory is that of the project."""
    inventory = str(site / language / "objects.inv")
    elsewhere = build(
        {name: text},
        extensions=["myst_parser", "sphinx.ext.intersphinx"],
        intersphinx_mapping={"lifespec": ("https://docs.example/", inventory)},
    )
    assert elsewhere.warnings == ""
    (link,) = elsewhere.page().select("article a.external, div.body a.external")
    assert link["href"] == "https://docs.example/protocol.html#startup-sent"
    assert link.get_text() == "startup-sent"
    assert VERSION in str(link["title"])
    assert text.splitlines()[-1] in (ROOT / "docs" / "rules.md").read_text("utf-8")
