"""Keeps the types on API pages out of the catalogs: they are code, under names that are words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["UntranslatableTypes", "setup"]

TYPES = (":sphinx_autodoc_typehints_type:", ":py:class:`dict`\\ \\[")  # the second is conf.py's


class UntranslatableTypes(SphinxTransform):
    """Marks the names of fields, and the types that sphinx-autodoc-typehints wrote."""

    default_priority = 9  # before Sphinx collects messages

    def apply(self, **_: object) -> None:
        """Mark them on one page."""
        for content in self.document.findall(addnodes.desc_content):
            for node in content.findall(nodes.TextElement):
                if isinstance(node, nodes.field_name) or node.rawsource.startswith(TYPES):
                    node["translatable"] = False


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_transform(UntranslatableTypes)
