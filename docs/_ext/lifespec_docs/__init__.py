"""Sphinx extension of this documentation: a folder for each of its subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["setup"]

FOLDERS = {  # and what each has for Sphinx
    "i18n": ("glossary", "waiting"),
    "theme": ("install", "lean", "metadata", "navigation", "options", "plain_text"),
    "search": ("index",),
}  # fmt: skip


def setup(app: Sphinx) -> None:
    """Register the extensions of every folder, and what follows a build."""
    for folder, names in FOLDERS.items():
        for name in names:
            app.setup_extension(f"{__name__}.{folder}.{name}")
    for name in ("tables", "blocks", "rules", "decisions", "drawings", "api_types"):
        app.setup_extension(f"{__name__}.{name}")
