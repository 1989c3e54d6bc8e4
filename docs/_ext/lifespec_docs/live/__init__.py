"""Examples that run where they stand: Python in the reader's browser.

This folder is imported there, too: what it needs of Sphinx stands in `pages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension of this folder."""
    app.setup_extension(f"{__name__}.pages")
    return {"version": "1", "parallel_read_safe": False}
