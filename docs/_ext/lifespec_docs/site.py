"""What surrounds the text of a page: its other language, its source, and the theme's labels."""

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.locale import get_translation
from sphinx.util import logging

from lifespec_docs.words import translations

# Sphinx's name of a language: the folder of its pages, its tag, its own name
LANGUAGES = {"en": ("en", "en", "English"), "zh_CN": ("zh-cn", "zh-CN", "中文")}
PARENTS = {  # folders of pages that stand in no toctree, and the page that has them in a table
    "clients": "test-clients",
    "frameworks": "framework-compatibility",
    "hosts": "host-compatibility",
    "rules": "rules",
    "servers": "server-compatibility",
}
REDIRECT = """<!doctype html>
<html lang="{tag}">
<meta charset="utf-8">
<title>{title} - lifespec</title>
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={link}">
<h1><a href="{link}">{title}</a></h1>
</html>
"""
LABELS = (  # of the theme, which it does not translate
    "Toggle site navigation sidebar",
    "Toggle table of contents sidebar",
    "Toggle Light / Dark / Auto color theme",
)
MENDED = {  # attributes for screen readers that the theme's markup lacks
    '<aside class="sidebar-drawer"': '<aside class="sidebar-drawer" aria-label="{Site navigation}"',
    '<aside class="toc-drawer': '<aside aria-label="{On this page}" class="toc-drawer',
}
UNUSED = {  # scripts of Sphinx's search, one of which calls eval, and styles of absent buttons
    "furo-extensions.css",
    "documentation_options.js", "doctools.js", "sphinx_highlight.js", "translations.js",
}  # fmt: skip
WRAPPER = re.compile(r'(<div class="table-wrapper[^"]*") id="[^"]*"')  # repeats that of its table
LINK, ID = re.compile(r'\shref="#([^"]+)"'), re.compile(r'\sid="([^"]+)"')

logger = logging.getLogger(__name__)


def localized(html: str) -> str:
    """Mend the theme's markup, and translate the labels that it has in English only."""
    translate = get_translation("sphinx")
    for lacking, mended in MENDED.items():
        text = re.sub(r"\{(.+)\}", lambda label: str(translate(label[1])), mended)
        html = html.replace(lacking, text)
    for label in LABELS:
        html = html.replace(f'"{label}"', f'"{translate(label)}"')
    return WRAPPER.sub(r"\1", html)


def alternates(page: str, base: str) -> list[dict[str, str]]:
    """Return the same page in each language: tag, name, a relative and an absolute link."""
    up = "../" * (page.count("/") + 1)
    return [
        {
            "language": language,
            "tag": tag,
            "name": name,
            "near": f"{up}{folder}/{page}",
            "far": f"{base or up}{folder}/{page}",
        }
        for language, (folder, tag, name) in LANGUAGES.items()
    ]


def link(app: Sphinx, page: str, to: str) -> dict[str, str]:
    """Return title and relative link of a page."""
    title = escape(app.env.titles[to].astext())
    return {"title": title, "link": app.builder.get_relative_uri(page, to)}


def moved(app: Sphinx, page: str) -> dict[str, str]:
    """Return the sections that a page has no longer, each with a relative link to its new place."""
    links = {}
    labels = app.env.domains.standard_domain.anonlabels
    for name in app.config.site_moved_sections.get(page, ()):
        to, anchor = labels[name]
        links[name] = f"{app.builder.get_relative_uri(page, to)}#{anchor}"
    return links


def siblings(app: Sphinx, page: str) -> dict[str, dict[str, str] | None]:
    """Return the pages of the same folder before and after a page, by their titles."""
    folder, titles = f"{page.partition('/')[0]}/", app.env.titles
    pages = [name for name in titles if name.startswith(folder)]
    pages.sort(key=lambda name: titles[name].astext().casefold())
    at = pages.index(page)
    near: dict[str, dict[str, str] | None] = {"prev": None, "next": None}
    if at > 0:
        near["prev"] = link(app, page, pages[at - 1])
    if at + 1 < len(pages):
        near["next"] = link(app, page, pages[at + 1])
    return near


def set_addresses(_app: Sphinx, config: Config) -> None:
    """Configure the address of the pages in this language for Sphinx and its extensions."""
    folder, _, _ = LANGUAGES[config.language]
    base = config.site_base_url = f"{config.site_base_url.rstrip('/')}/".lstrip("/")
    address = f"{base}{folder}/" if base else ""
    config.html_baseurl = config.ogp_site_url = address


def add_context(
    app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add the variables that the templates use."""
    config, target = app.config, app.builder.get_target_uri(pagename)
    pages = alternates(target, config.site_base_url)
    if doctree and (parent := PARENTS.get(pagename.rpartition("/")[0])):
        context |= {"parent": link(app, pagename, parent), **siblings(app, pagename)}
    for files in ("script_files", "css_files"):
        context[files] = [file for file in context[files] if Path(file.filename).name not in UNUSED]
    context["moved"] = moved(app, pagename)
    context["alternates"] = pages
    context["others"] = [page for page in pages if page["language"] != config.language]
    context["root_page"] = config.site_base_url or "../" * (target.count("/") + 1) + "index.html"
    context["word"] = translations(app.env).gettext
    context["license"], context["issues"] = config.site_license, config.site_issues
    context["repository"] = config.site_repository
    if config.site_repository and doctree:
        file = f"docs/{app.env.doc2path(pagename, base=False)}"
        if config.language != "en":
            file = f"locales/{config.language}/LC_MESSAGES/{pagename}.po"
        context["edit"] = f"{config.site_repository}/edit/main/{file}"


def omit_foreign_description(
    app: Sphinx,
    _page: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give search engines no description whose first paragraph waits for its translation."""
    first = next(doctree.findall(nodes.paragraph), None) if doctree else None
    if app.config.language != "en" and first and not first.get("translated", True):
        context["meta"] = {**(context["meta"] or {}), "ogp_description_length": 0}


def refuse_dead_links(
    _app: Sphinx,
    pagename: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Warn of a link to an ID that its page does not have: raw HTML escapes Sphinx's check."""
    body = context.get("body", "") if doctree else ""
    for name in sorted(set(LINK.findall(body)) - set(ID.findall(body))):
        logger.warning("The link #%s leads nowhere on this page.", name, location=pagename)


def remove_page(app: Sphinx, _env: BuildEnvironment, pagename: str) -> None:
    """Remove what was built of a page that is no more, or is built again."""
    Path(app.outdir, f"{pagename}.html").unlink(missing_ok=True)


def redirect_pages(app: Sphinx, error: Exception | None) -> None:
    """Write a page at the address of each that is gone; it leads to the one that took its place."""
    if error is not None or app.builder.format != "html":
        return
    _, tag, _ = LANGUAGES[app.config.language]
    for page, to in app.config.site_moved_pages.items():
        text = REDIRECT.format(tag=tag, **link(app, page, to))
        Path(app.outdir, f"{page}.html").write_text(text, encoding="utf-8")


def add_filter(app: Sphinx) -> None:
    """Offer `localized` to the templates, and leave the search to `search.py`."""
    if app.builder.format == "html":
        app.builder.search = False  # type: ignore[attr-defined]
        app.builder.templates.environment.filters["localized"] = localized


def setup(app: Sphinx) -> None:
    """Register the addresses of the site, and follow the pages."""
    for name in ("base_url", "repository", "issues", "license"):
        app.add_config_value(f"site_{name}", "", rebuild="html", types=[str])
    for name in ("moved_pages", "moved_sections"):  # of a page: the one in its place; its labels
        app.add_config_value(f"site_{name}", {}, rebuild="html", types=[dict])
    app.connect("config-inited", set_addresses)
    app.connect("builder-inited", add_filter)
    app.connect("env-purge-doc", remove_page)
    app.connect("build-finished", redirect_pages)
    app.connect("html-page-context", add_context)
    app.connect("html-page-context", omit_foreign_description, priority=400)  # before the tags
    app.connect("html-page-context", refuse_dead_links, priority=900)
