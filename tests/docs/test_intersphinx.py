"""Another Sphinx project links to a rule, by the inventory of the built site."""

import tomllib
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.testing.util import SphinxTestApp

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
MARKDOWN = "# Notes\n\n<inv:lifespec:lifespec:rule#startup-sent>\n"
RESTRUCTURED = "Notes\n=====\n\n:external+lifespec:ref:`rule-startup-sent`\n"


@pytest.mark.timeout(600)  # the first test builds the site
@pytest.mark.parametrize("language", ["en", "zh-cn"])
@pytest.mark.parametrize(("name", "text"), [("index.md", MARKDOWN), ("index.rst", RESTRUCTURED)])
def test_a_page_elsewhere_links_to_a_rule(
    tmp_path: Path, site: Path, language: str, name: str, text: str
) -> None:
    """As the page on the rules says; the version of the inventory is that of the project."""
    (tmp_path / "conf.py").write_text("")
    (tmp_path / name).write_text(text)
    there = site / language
    configuration = {
        "extensions": ["myst_parser", "sphinx.ext.intersphinx"],
        "html_theme": "basic",
        "intersphinx_mapping": {"lifespec": ("https://docs.example/", str(there / "objects.inv"))},
    }
    app = SphinxTestApp("html", srcdir=tmp_path, confoverrides=configuration, freshenv=True)
    try:
        app.build()
        assert app.warning.getvalue() == ""
        page = BeautifulSoup(Path(app.outdir, "index.html").read_text("utf-8"), "html.parser")
    finally:
        app.cleanup()
    link = page.select_one("a.external")
    assert link
    assert link["href"] == "https://docs.example/protocol.html#startup-sent"
    assert link.get_text() == "startup-sent"
    assert VERSION in str(link["title"])
    shown = (ROOT / "docs" / "rules.md").read_text("utf-8")
    assert text.splitlines()[-1] in shown
