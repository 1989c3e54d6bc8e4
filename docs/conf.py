"""Sphinx's configuration, the same for both languages: `-D language=` gives the language."""

from __future__ import annotations

import gc
import sys
import tomllib
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_HERE = Path(__file__).parent
sys.path[:0] = [str(_HERE.parent / "src"), str(_HERE / "_ext")]

from lifespec_docs.site_root import address

# A doctree has many objects and none is garbage: looking for it took a quarter of the time.
gc.set_threshold(50_000, 20, 100)

project = "lifespec"
author = "the lifespec authors"
# The inventory names it: other projects show it where they link here.
_PYPROJECT = (_HERE.parent / "pyproject.toml").read_text(encoding="utf-8")
_PROJECT = tomllib.loads(_PYPROJECT)["project"]
release = version = _PROJECT["version"]
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_autodoc_typehints",
    "lifespec_docs",
]
exclude_patterns = ["_*", "matrix", "programs", "conftest.py"]
highlight_language = "text"
default_role = "literal"  # of docstrings: a name in single backquotes is code
nitpicky = True
nitpick_ignore_regex = [
    # Python's own names: their inventory would have to be fetched, and a build asks no other host.
    ("py:.*", r"(asyncio|collections\.abc|contextlib|typing)\..*"),
]
# sphinx-autodoc-typehints uses a method that Sphinx 10 will drop.
warnings.filterwarnings("ignore", module="sphinx_autodoc_typehints", category=DeprecationWarning)
# Fuzzy entries and those without a translation are faults of the catalogs, found by their check.
gettext_compact = False
gettext_uuid = False
gettext_location = False
gettext_allow_fuzzy_translations = False
locale_dirs = ["../locales"]
# The file of rules, from here.
rules_file = "../src/lifespec/conformance/data/rules.toml"

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
typehints_fully_qualified = False
always_document_param_types = False
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
# Where the site will stand, for the absolute links that search engines ask for.
site_base_url = address("Documentation", _HERE.parent)
# Where the source is, as `https://host/owner/name`: each page then links to what it is made from.
site_repository = address("Repository", _HERE.parent)
toc_object_entries_show_parents = "hide"  # the contents of a page are narrow
# Where readers report what is wrong.
site_issues = address("Issues", _HERE.parent)
site_license = _PROJECT["license"]
html_last_updated_fmt = "%Y-%m-%d"
# What `specification.txt` holds, in order.
specification_pages = [
    "scope",
    "startup",
    "shutdown",
    "state",
    "applications-without-lifespan",
    "edge-cases",
]
pygments_style = "lifespec_docs.theme.highlighting.Light"
pygments_dark_style = "lifespec_docs.theme.highlighting.Dark"


def _plain_dict(
    _app: Sphinx, _what: str, name: str, _o: object, _n: object, doc: list[str]
) -> None:
    """Show what `with_state` returns as the dict that it is; its other type is for checkers."""
    if name.endswith(".with_state"):
        doc += ["", ":rtype: :py:class:`dict`\\ \\[:py:class:`str`, :py:data:`~typing.Any`]"]


def setup(app: Sphinx) -> None:
    """Come before sphinx-autodoc-typehints, which then says nothing of it."""
    app.connect("autodoc-process-docstring", _plain_dict, priority=400)
