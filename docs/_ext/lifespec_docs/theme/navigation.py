"""What surrounds a page: the way to its other language, its program, the theme's words."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.locale import get_translation

from lifespec_docs.i18n.messages import words

__all__ = ["LANGUAGES", "alternates", "setup", "translated_chrome"]

# Sphinx's name of a language: the folder of its pages, its tag, its own name.
LANGUAGES = {"en": ("en", "en", "English"), "zh_CN": ("zh-cn", "zh-CN", "中文")}

# Sentences which the theme writes into its templates without asking a catalog.
_FIXED = re.compile(r'(aria-label="|<title>)([A-Z][^"<]*)("|</title>)')
# The theme's script that sets light or dark; `theme.js` does it, since no script stands in a page.
_INLINE = re.compile(r"\s*<script>.*?</script>", re.DOTALL)
# Where a long name may be broken in the contents of a page, which are narrow.
_BREAK = re.compile(r"(?<=[a-z][._])(?=[a-z][^<>]*</span></code>)")
_ICONS = re.compile(r'\s*<symbol id="svg-(?:pencil|eye)".*?</symbol>', re.DOTALL)  # unused


# What the theme's markup lacks for those who do not see it, or use no mouse.
_MENDED = (
    ('role="heading"', 'role="heading" aria-level="2"'),
    ('<aside class="sidebar-drawer"', '<aside class="sidebar-drawer" aria-label="Site navigation"'),
    ('<aside class="toc-drawer', '<aside aria-label="On this page" class="toc-drawer'),
)


def translated_chrome(html: str) -> str:
    """Mend the theme's markup, drop its inline script, and translate its labels and titles.

    What no catalog knows stays as it is.
    """
    translate = get_translation("sphinx")
    html = _ICONS.sub("", _INLINE.sub("", html))
    for lacking, mended in _MENDED:
        html = html.replace(lacking, mended)
    return _FIXED.sub(lambda found: found[1] + translate(found[2]) + found[3], html)


def alternates(builder: Builder, pagename: str) -> list[dict[str, str]]:
    """Return the same page in each language: its tag, its name, links from here and from afar."""
    target = builder.get_target_uri(pagename)
    up = "../" * (target.count("/") + 1)
    base = builder.config.site_base_url.rstrip("/")
    return [
        {
            "language": language,
            "tag": tag,
            "name": name,
            "near": f"{up}{folder}/{target}",
            "far": f"{base}/{folder}/{target}" if base else f"{up}{folder}/{target}",
        }
        for language, (folder, tag, name) in LANGUAGES.items()
    ]


def add_context(
    app: Sphinx, pagename: str, _templatename: str, context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:  # fmt: skip
    """Give the templates what they show of us."""
    base = app.config.site_base_url.rstrip("/")
    pages = alternates(app.builder, pagename)
    root = "../" * (app.builder.get_target_uri(pagename).count("/") + 1) + "index.html"
    context["alternates"] = pages
    context["others"] = [page for page in pages if page["language"] != app.config.language]
    context["toc"] = _BREAK.sub("<wbr>", context.get("toc", ""))
    context["root_page"] = f"{base}/" if base else root
    context["word"] = words(app.env)


def add_filter(app: Sphinx) -> None:
    """Offer the filter to the templates."""
    if app.builder.format == "html":
        app.builder.templates.environment.filters["translated_chrome"] = translated_chrome


def setup(app: Sphinx) -> None:
    """Register the configuration `site_base_url` and the templates' context."""
    app.add_config_value("site_base_url", "", rebuild="html", types=[str])
    app.connect("html-page-context", add_context)
    app.connect("builder-inited", add_filter)
