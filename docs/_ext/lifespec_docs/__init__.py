"""Sphinx extension of this documentation: a folder for each of its subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]

FOLDERS = (
    "i18n", "examples", "facts", "rules", "records", "diagrams", "live", "theme", "search",
)  # fmt: skip


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extensions of every folder, and what follows a build."""
    for name in (*FOLDERS, "increment"):
        app.setup_extension(f"{__name__}.{name}")
    return {"version": "1", "parallel_read_safe": False}
