"""Sphinx extension of this documentation: what its pages draw, and what surrounds them."""

from sphinx.application import Sphinx

EXTENSIONS = (
    "site", "tables", "blocks", "rules", "decisions", "drawings", "words", "chinese",
)  # fmt: skip


def setup(app: Sphinx) -> None:
    """Register the extensions."""
    for name in EXTENSIONS:
        app.setup_extension(f"{__name__}.{name}")
