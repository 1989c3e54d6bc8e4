"""Examples that run where they stand: Python in the reader's browser.

This folder is imported there, too: what it needs of Sphinx stands in `pages` and `playground`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]

EXTENSIONS = ("pages", "playground")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension of this folder."""
    for name in EXTENSIONS:
        app.setup_extension(f"{__name__}.{name}")
    return {"version": "1", "parallel_read_safe": False}
