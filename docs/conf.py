"""Sphinx's configuration, the same for both languages: `-D language=` gives the language."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE.parent / "src"), str(_HERE / "_ext")]

from lifespec_docs.facts import facts

# Its import prints that matplotlib is missing, which draws preview images.
with contextlib.redirect_stdout(None):
    importlib.import_module("sphinxext.opengraph")

# A doctree has many objects and none is garbage: collecting took a quarter of the time.
gc.set_threshold(50_000, 20, 100)

project = "lifespec"
author = "the lifespec authors"
_PYPROJECT = (_HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
_PROJECT = tomllib.loads(_PYPROJECT)["project"]
# Other projects show the version where they link here.
release = version = _PROJECT["version"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_autodoc_typehints",
    "sphinxext.opengraph",
    "lifespec_docs",
]
exclude_patterns = ["_*", "matrix", "programs", "conftest.py"]
if "live" in tags:  # type: ignore[name-defined]  # noqa: F821  Sphinx defines it
    extensions.append("lifespec_docs.live")
else:
    exclude_patterns.append("playground.md")
highlight_language = "text"
default_role = "literal"  # of docstrings: a name in single backquotes is code
nitpicky = True
nitpick_ignore_regex = [
    # Python's own names: their inventory would have to be fetched, and a build asks no other host.
    ("py:.*", r"(asyncio|collections\.abc|contextlib|typing)\..*"),
]
_APPLICATIONS = "with_lifespan", "combine_lifespans", "double_to_single_callable"
_RETURNED = dict.fromkeys(_APPLICATIONS, "``ASGIApp``") | {
    "with_state": ":py:class:`dict`\\ \\[:py:class:`str`, :py:data:`~typing.Any`]"
}
# sphinx-autodoc-typehints uses a method that Sphinx 10 will drop.
warnings.filterwarnings("ignore", module="sphinx_autodoc_typehints", category=DeprecationWarning)
# A message without a translation, or with a fuzzy one, is shown in English with a note.
translation_progress_classes = "untranslated"
gettext_location = False
locale_dirs = ["../locales"]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "substitution"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
typehints_document_rtype_none = False

html_theme = "furo"
html_title = "lifespec"
html_favicon = "_static/icon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["lifespec.css"]
html_domain_indices = False
html_use_index = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5c68",
        "color-brand-content": "#0b5c68",
        "color-brand-visited": "#0b5c68",
        "color-api-name": "#0b5c68",
        "color-api-pre-name": "#5a5c63",
    },
    "dark_css_variables": {
        "color-brand-primary": "#74c5d1",
        "color-brand-content": "#74c5d1",
        "color-brand-visited": "#74c5d1",
        "color-api-name": "#74c5d1",
        "color-api-pre-name": "#9ca0a5",
    },
}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/languages.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_additional_pages = {"search": "search.html"}
# Where the site will stand, for the absolute links that search engines ask for; where the source
# is, so that each page links to what it is made from; and where readers report what is wrong.
_URLS = _PROJECT.get("urls", {})
site_base_url = os.environ.get("LIFESPEC_BASE_URL", _URLS.get("Documentation", ""))
site_repository = os.environ.get("LIFESPEC_REPOSITORY", _URLS.get("Repository", ""))
site_issues = os.environ.get("LIFESPEC_ISSUES", _URLS.get("Issues", ""))
site_license = _PROJECT["license"]
site_moved_pages = {"watch": "hang"}  # pages that are gone, and the page that has what they had
# Sections that were on a page once: other sites link to them, and their labels say where they are.
site_moved_sections = {
    "troubleshooting": (
        "blocking-clean-up",
        "cancel-scope",
        "cannot-add-middleware",
        "finished-server-process",
        "lifespan-shape",
        "module-not-callable",
        "mounted-startup",
        "scope-type-ignored",
        "signal-handler",
    ),
}
if site_base_url:
    extensions.append("sphinx_sitemap")
sitemap_url_scheme, sitemap_locales = "{link}", [None]  # each language has a sitemap of its own
toc_object_entries_show_parents = "hide"  # the contents of a page are narrow
html_last_updated_fmt = "%Y-%m-%d"
pygments_style = "lifespec_docs.highlighting.Light"
pygments_dark_style = "lifespec_docs.highlighting.Dark"


def _plain_type(
    _app: Sphinx, _what: str, name: str, _o: object, _n: object, doc: list[str]
) -> None:
    """Show by its name what a function returns, if its annotation is for checkers."""
    if shown := _RETURNED.get(name.rpartition(".")[2]):
        doc += ["", f":rtype: {shown}"]


def _public_signature(_app: Sphinx, function: Any, _bound: bool) -> None:  # noqa: FBT001
    """Show the value of a constant, and leave out the hooks with which the command counts cases."""
    signature = getattr(function, "__signature__", None)  # with defaults as written
    if not signature:
        return
    parameters = []
    for each in signature.parameters.values():
        default = repr(each.default)
        if default.isupper():
            parameters.append(each.replace(default=function.__globals__[default]))
        elif not default.startswith("lambda"):
            parameters.append(each)
    function.__signature__ = signature.replace(parameters=parameters)


def _draw_facts(_app: Sphinx, config: Config) -> None:
    """Define the substitutions of the pages; their lists have the comma of the language."""
    config.myst_substitutions = facts("、" if config.language == "zh_CN" else ", ")


def setup(app: Sphinx) -> None:
    """Connect the hooks: `_plain_type` before sphinx-autodoc-typehints, which then adds no type."""
    app.connect("autodoc-before-process-signature", _public_signature, priority=600)
    app.connect("autodoc-process-docstring", _plain_type, priority=400)
    app.connect("config-inited", _draw_facts)
