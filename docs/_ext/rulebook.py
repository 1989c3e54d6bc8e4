"""Reads rules.toml: who owes what to whom, at which level, by which text."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sphinx.errors import SphinxError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

__all__ = ["Rule", "RulebookError", "Source", "read"]


class RulebookError(SphinxError):
    """The file of rules cannot be read; the text is a sentence with file and line."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one text says: its dialects, the level, and its section, "" where the rule is ours.

    `core` where it is the core text that the dialects lean on, and not their lifespan text.
    """

    dialects: tuple[str, ...]
    level: str
    section: str
    core: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the file, and the line where it begins."""

    slug: str
    party: str
    sources: tuple[Source, ...]
    line: int

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of its sources, each once; a source without one is "ours"."""
        return tuple(dict.fromkeys(source.level or "ours" for source in self.sources))

    @property
    def ours(self) -> bool:
        """Whether no text says so."""
        return not any(source.section for source in self.sources)


def read(path: Path) -> dict[str, Rule]:
    """Return the rules by slug, in the order of the file."""
    text = path.read_text(encoding="utf-8")
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        where = f"{path.resolve()}:{line[1] if line else text.count(chr(10)) + 1}"
        raise RulebookError(f"{where}: {error}.") from error
    return {slug: _rule(path, slug, row, _line(text, slug)) for slug, row in rows.items()}


def _line(text: str, slug: str) -> int:
    """Return the line of the table's header: 1 where it is written in another way."""
    header = re.search(rf"^\[+{re.escape(slug)}\b", text, re.MULTILINE)
    return text.count("\n", 0, header.start()) + 1 if header else 1


def _rule(path: Path, slug: str, row: Mapping[str, Any], line: int) -> Rule:
    try:
        sources = tuple(
            Source(
                tuple(entry["dialects"]),
                entry.get("level", ""),
                entry.get("section", ""),
                core=entry.get("text") == "core",
            )
            for entry in row["source"]
        )
        return Rule(slug, row["party"], sources, line)
    except (KeyError, TypeError) as error:
        raise RulebookError(f"{path.resolve()}:{line}: {slug} lacks {error}.") from error
