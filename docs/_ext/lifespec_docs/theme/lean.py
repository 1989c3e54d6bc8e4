"""Drops what Sphinx and the theme would load on every page, and no page uses.

That is Sphinx's own search and its keys, styles for extensions that are not here, and colours of
code that are those of plain text. Elements that only such a colour, or a fact, would have are left
out, too: a third of the largest page.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]
from sphinx.application import Sphinx

from lifespec_docs.finished import then
from lifespec_docs.theme.highlighting import Dark, Light

__all__ = ["compacted", "setup"]

UNUSED = {
    "documentation_options.js", "doctools.js", "sphinx_highlight.js", "translations.js",
    "furo-extensions.css",
}  # fmt: skip
COLOURS = "pygments.css"
COMMENT = re.compile(r" */\*.*?\*/")
PLAIN = re.compile(
    rf"^.*\.highlight \.\w+ {{ color: (?:{Light.plain}|{Dark.plain});? }}\n?",
    re.MULTILINE | re.IGNORECASE,
)
_PLAIN = {
    short
    for token, short in STANDARD_TYPES.items()
    if Light.style_for_token(token)["color"] == Light.plain.removeprefix("#")
}
BARE = re.compile(
    rf'<span class="(?:{"|".join(sorted(filter(None, _PLAIN)))}|fact)">([^<]*)</span>'
)


def drop(
    _app: Sphinx, _pagename: str, _template: str, context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:  # fmt: skip
    """Leave them out of a page."""
    for name in ("script_files", "css_files"):
        context[name] = [each for each in context[name] if not _unused(each)]
    context["body"] = BARE.sub(r"\1", context.get("body", ""))


def _unused(asset: object) -> bool:
    return str(getattr(asset, "filename", asset)).rpartition("/")[2] in UNUSED


def compacted(css: str) -> str:
    """Return the colours of code without those that are what surrounds them."""
    return PLAIN.sub("", COMMENT.sub("", css))


def compact(app: Sphinx) -> None:
    """Write the colours again, after the theme has."""
    file = Path(app.outdir, "_static", COLOURS)
    file.write_text(compacted(file.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Follow a build, after all others."""
    app.connect("html-page-context", drop, priority=900)
    then(app, compact, priority=900)
