"""The site: navigation between the languages, notes that unfold, colours of code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]

EXTENSIONS = ("folded", "lean", "metadata", "navigation", "options", "plain_text")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extensions of this folder."""
    for name in EXTENSIONS:
        app.setup_extension(f"{__name__}.{name}")
    return {"version": "1", "parallel_read_safe": False}
