"""What was measured: tables and charts from the records in docs/matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]

EXTENSIONS = (
    "bench", "exit_statuses", "frameworks", "logindex", "loglines", "matrix", "scores", "subjects",
    "verification",
)  # fmt: skip


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extensions of this folder."""
    for name in EXTENSIONS:
        app.setup_extension(f"{__name__}.{name}")
    return {"version": "1", "parallel_read_safe": False}
