"""Sphinx extension of this documentation: what its pages draw, and what surrounds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["setup"]

EXTENSIONS = ("site", "tables", "blocks", "rules", "decisions", "drawings", "words")


def setup(app: Sphinx) -> None:
    """Register the extensions."""
    for name in EXTENSIONS:
        app.setup_extension(f"{__name__}.{name}")
