"""The rules: their boxes, their tables, and what the command shows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]

EXTENSIONS = ("spec_tables", "domain", "rule_tables", "rules_of_spec", "walkthrough")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extensions of this folder."""
    for name in EXTENSIONS:
        app.setup_extension(f"{__name__}.{name}")
    return {"version": "1", "parallel_read_safe": False}
