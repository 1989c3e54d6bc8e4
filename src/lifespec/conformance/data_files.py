"""The files of the package's data: their text, their tables, and their faults by file and line."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

from lifespec.conformance.unchecked import Unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DataError", "packaged", "tables"]


class DataError(Unchecked):
    """A file of data breaks its format: `str()` has a line for each fault, with file and line."""


def packaged(name: str) -> str:
    """Return a file of the package's data; raise Unchecked if this installation lacks it."""
    file = resources.files("lifespec.conformance").joinpath("data", name)
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        raise Unchecked(f"this installation has no {file}: install lifespec again") from None


def tables(text: str, file: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the tables of a file: where each begins, as in "rules.toml:7", its name and its keys.

    Raises DataError if the text is no TOML.
    """
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        where = f"{file}:{line[1] if line else text.count(chr(10)) + 1}"
        raise DataError(f"{where}: {error}.") from error
    for name, row in rows.items():
        header = re.search(rf"^(?:\[{re.escape(name)}\]|{re.escape(name)} *=)", text, re.MULTILINE)
        yield f"{file}:{text.count(chr(10), 0, header.start()) + 1 if header else 1}", name, row
