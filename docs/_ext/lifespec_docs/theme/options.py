"""Marks the literals that hold an option of a command: no line ends at one of its hyphens."""

import re

from docutils import nodes
from sphinx.application import Sphinx

__all__ = ["setup"]

OPTION = re.compile(r"(?:^|\s)--?\w")


def mark(_app: Sphinx, document: nodes.document, _docname: str) -> None:
    """Give them the class that the style sheet knows."""
    for literal in document.findall(nodes.literal):
        if OPTION.search(literal.astext()):
            literal["classes"].append("option")


def setup(app: Sphinx) -> None:
    """Follow the resolution of references, after which a page is written."""
    app.connect("doctree-resolved", mark)
