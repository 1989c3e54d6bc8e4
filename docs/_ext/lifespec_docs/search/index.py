"""Writes the index of the search, and the page that shows what is found.

They replace Sphinx's.  The index is a script, since a page that is read from a file system may load
no other file; `search.js` reads it.  It holds every sentence, so that a result can show the one
that has the query without loading its page.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from lifespec_docs.finished import then
from lifespec_docs.search.entries import page_of

__all__ = ["FILE", "Index", "doors", "setup"]

FILE = "search-index.js"
BEFORE, AFTER = "setSearchIndex(", ");\n"
SYNONYMS = Path(__file__).with_name("synonyms.toml")
# what the theme brings for Sphinx's own search
STOCK = ("searchtools.js", "language_data.js")


class Index:
    """One build: its pages as they are written."""

    def __init__(self) -> None:
        self.pages: dict[str, dict[str, Any]] = {}

    def replace_stock(self, app: Sphinx) -> None:
        """Keep Sphinx from writing its own index and page."""
        if isinstance(app.builder, StandaloneHTMLBuilder):
            app.builder.search = False

    def add(
        self, _app: Sphinx, pagename: str, _template: str, _context: dict[str, Any],
        doctree: nodes.document | None,
    ) -> None:  # fmt: skip
        """Note a page that is being written."""
        if doctree is not None:
            page = page_of(doctree)
            packed = [entry.packed() for entry in page.entries]
            self.pages[pagename] = {"keywords": page.keywords, "entries": packed}

    def pages_of_ours(self, app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
        """Yield the page of the search."""
        yield "search", {"doors": doors(app)}, "search.html"

    def write(self, app: Sphinx) -> None:
        """Write the index; of a page that was not written the last one has the entries."""
        for name in STOCK:
            Path(app.outdir, "_static", name).unlink(missing_ok=True)
        file = Path(app.outdir, FILE)
        pages = _pages(file) | self.pages
        found = {name: pages[name] for name in sorted(pages.keys() & app.env.found_docs)}
        whole = {"synonyms": synonyms(app.config.language), "pages": found}
        text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
        file.write_text(f"{BEFORE}{text}{AFTER}", encoding="utf-8")


def _pages(file: Path) -> dict[str, Any]:
    """Return the entries of each page in an index, if there is one."""
    text = file.read_text(encoding="utf-8") if file.exists() else f'{BEFORE}{{"pages":{{}}}}{AFTER}'
    found: dict[str, Any] = json.loads(text.removeprefix(BEFORE).removesuffix(AFTER))["pages"]
    return found


def synonyms(language: str) -> list[list[str]]:
    """Return the groups of words that are searched for together: the English ones everywhere."""
    groups: dict[str, list[list[str]]] = tomllib.loads(SYNONYMS.read_text(encoding="utf-8"))
    return [group for key in dict.fromkeys(("en", language)) for group in groups.get(key, [])]


def doors(app: Sphinx) -> str:
    """Return the HTML of the front page's doors: they are shown where nothing is found."""
    builder = cast("StandaloneHTMLBuilder", app.builder)  # no other collects pages
    document = app.env.get_and_resolve_doctree(app.config.root_doc, builder, tags=app.tags)
    lists = (node for node in document.findall(nodes.bullet_list) if "doors" in node["classes"])
    return "".join(builder.render_partial(node)["fragment"] for node in lists)


def setup(app: Sphinx) -> None:
    """Follow a build."""
    index = Index()
    app.connect("builder-inited", index.replace_stock)
    app.connect("html-page-context", index.add)
    app.connect("html-collect-pages", index.pages_of_ours)
    then(app, index.write)
