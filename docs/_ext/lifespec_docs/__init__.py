"""Sphinx extension of this documentation: a folder for each of its subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["setup"]

FOLDERS = {  # and what each has for Sphinx
    "i18n": ("glossary", "waiting"),
    "facts": ("role", "tables"),
    "rules": (
        "spec_tables", "domain", "rule_tables", "rules_of_spec", "walkthrough",
        "case_lists", "edge_cases", "edge_case_tables",
    ),
    "records": ("frameworks", "hosts", "middleware", "proposed"),
    "diagrams": ("figures", "timeline"),
    "theme": ("install", "lean", "metadata", "navigation", "options", "plain_text"),
    "search": ("index",),
}  # fmt: skip


def setup(app: Sphinx) -> None:
    """Register the extensions of every folder, and what follows a build."""
    for folder, names in FOLDERS.items():
        for name in names:
            app.setup_extension(f"{__name__}.{folder}.{name}")
    app.setup_extension(f"{__name__}.tables")
    app.setup_extension(f"{__name__}.blocks")
    app.setup_extension(f"{__name__}.api_types")
