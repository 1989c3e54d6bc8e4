"""Compiles catalogs before Sphinx does: each file whole or not at all.

Sphinx writes in place; of two builds side by side one would read what the other has half written.
"""

import tempfile
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import polib

__all__ = ["compile_catalogs"]


def compile_catalogs(folder: Path, changed: Collection[Path] = ()) -> None:
    """Write the `.mo` file of each catalog that has none, an older one, or that has changed.

    What is no catalog is left alone: Sphinx and the catalogs' check say what is wrong with it.
    """
    for catalog in folder.rglob("*.po"):
        binary = catalog.with_suffix(".mo")
        old = not binary.exists() or binary.stat().st_mtime_ns < catalog.stat().st_mtime_ns
        if old or catalog in changed:
            with suppress(OSError, UnicodeDecodeError):
                _compile(catalog, binary)


def _compile(catalog: Path, binary: Path) -> None:
    content = polib.pofile(str(catalog)).to_binary()
    with tempfile.NamedTemporaryFile(dir=binary.parent, suffix=".mo", delete=False) as beside:
        beside.write(content)
    Path(beside.name).replace(binary)
