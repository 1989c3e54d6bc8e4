"""What a page tells machines of itself, and what stands below it: version, date and source.

`site_base_url` is where the site will stand, and `site_repository` where its source is; what would
need an address that is not known is left out.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from lifespec_docs.finished import then
from lifespec_docs.i18n.messages import words
from lifespec_docs.search.entries import sentences
from lifespec_docs.theme.navigation import LANGUAGES

__all__ = ["PAGES", "POLICY", "Metadata", "described", "setup"]

PAGES = "pages.json"  # beside the doctrees: what the files of the site's root name
LONGEST = 200  # characters of a description: search engines show fewer
CARD = "card.png"
CATALOGS = "locales/{}/LC_MESSAGES"

# A page loads nothing from another host, and runs no script but the files of the site. Styles are
# in attributes of drawings. Pyodide compiles WebAssembly. default-src is for the next page,
# which Firefox fetches ahead.
POLICY = (
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'none'; form-action 'self'"
)
# Sphinx writes a second one.
VIEWPORT = re.compile(r'<meta [^>]*name="viewport"[^>]*>\s*')


def described(document: nodes.document) -> str:
    """Return the first sentences of a page, as many as a description can have."""
    found = ""
    for paragraph in _first_paragraphs(document):
        for sentence in sentences(paragraph.astext()):
            longer = f"{found} {sentence}" if found and sentence.isascii() else found + sentence
            if found and len(longer) > LONGEST:
                return found
            found = longer
    return found


def _first_paragraphs(document: nodes.document) -> list[nodes.paragraph]:
    """Return the paragraphs between the title of a page and what comes first that is no such."""
    found: list[nodes.paragraph] = []
    for section in list(document.findall(nodes.section))[:1]:
        for child in section.children:
            if isinstance(child, nodes.paragraph):
                found.append(child)
            elif found:
                break
    return found


class Metadata:
    """One build: its pages as they are written."""

    def __init__(self) -> None:
        self.pages: dict[str, dict[str, str]] = {}

    def add(
        self, app: Sphinx, pagename: str, _template: str, context: dict[str, Any],
        doctree: nodes.document | None,
    ) -> None:  # fmt: skip
        """Give the templates what they show, and note a page that is being written."""
        config = app.config
        folder, _, _ = LANGUAGES[config.language]
        context["policy"] = POLICY
        context["metatags"] = VIEWPORT.sub("", context.get("metatags", ""))
        context["description"] = described(doctree) if doctree else ""
        base = config.site_base_url.rstrip("/")
        target = app.builder.get_target_uri(pagename)
        context["canonical"] = f"{base}/{folder}/{target}" if base and doctree else ""
        context["card"] = f"{base}/{folder}/_static/{CARD}" if base else ""
        context["locale"] = "zh_CN" if config.language == "zh_CN" else "en_GB"
        context["license"] = config.site_license
        context["issues"] = config.site_issues
        repository = context["repository"] = config.site_repository.rstrip("/")
        context["edit"] = _edit(app, pagename) if repository and doctree else ""
        if doctree is not None:
            title = next(doctree.findall(nodes.title)).astext()
            self.pages[pagename] = {"title": title, "description": context["description"]}

    def write(self, app: Sphinx) -> None:
        """Write what the root of the site names of the pages, as they are now or were before."""
        root = app.config.root_doc
        trees = app.env.get_doctree(root).findall(addnodes.toctree)
        listed = [(tree.get("caption") or "", tree["includefiles"]) for tree in trees]
        translate = words(app.env)
        file = Path(app.doctreedir, PAGES)
        pages = _pages(file) | self.pages
        told = {
            "specification": translate("The whole specification in one file, as plain text"),
            "sections": [
                {"caption": caption, "pages": [{"name": name, **pages[name]} for name in names]}
                for caption, names in [("", [root]), *listed]
            ],
        }
        file.write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")


def _pages(file: Path) -> dict[str, dict[str, str]]:
    """Return what was written of each page before."""
    told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"sections": []}
    return {page["name"]: page for section in told["sections"] for page in section["pages"]}


def _edit(app: Sphinx, pagename: str) -> str:
    """Return where a page is edited: its translation, where it has one."""
    file = f"docs/{Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()}"
    if app.config.language != "en":
        file = f"{CATALOGS.format(app.config.language)}/{pagename}.po"
    return f"{app.config.site_repository.rstrip('/')}/edit/main/{file}"


def setup(app: Sphinx) -> None:
    """Register the values `site_repository`, `site_issues`, `site_license`; follow a build."""
    metadata = Metadata()
    app.add_config_value("site_repository", "", rebuild="html", types=[str])
    app.add_config_value("site_issues", "", rebuild="html", types=[str])
    app.add_config_value("site_license", "", rebuild="html", types=[str])
    app.connect("html-page-context", metadata.add, priority=600)
    then(app, metadata.write)
