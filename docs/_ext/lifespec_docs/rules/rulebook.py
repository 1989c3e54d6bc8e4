"""Reads rules.toml: who owes what to whom, at which level, by which text."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sphinx.errors import SphinxError

from lifespec.validate import SPECS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

__all__ = ["LEVELS", "MAIN", "STAGES", "Rule", "RulebookError", "Source", "read"]

LEVELS = "must", "must not", "should", "should not", "may"  # the strongest first
# The stages of a lifespan in working order, as the file names them, and their titles.
STAGES = {
    "": "",
    "loop": "Process and event loop",
    "scope": "The call and its scope",
    "startup": "Startup",
    "failed": "Startup failed",
    "unsupported": "Lifespan is not supported",
    "state": "Requests and state",
    "ended": "The application ends early",
    "shutdown": "Shutdown",
    "events": "Events in general",
    "middleware": "Middleware",
}
MAIN = "asgi 2.0"  # the text in whose words the rules stand on the pages


class RulebookError(SphinxError):
    """The file of rules cannot be read; the text is a sentence with file and line."""


@dataclass(frozen=True, slots=True)
class Source:
    """What some specifications say: their keys, the level, and the section.

    `text` is "core" where the section is one of the core text that they lean on, "asgi"
    where it is one of lifespan 2.0 (ASGI), whose semantics they take over; "" where it is theirs.
    """

    specs: tuple[str, ...]
    level: str
    section: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the file, and the line where it begins.

    `stage` is the part of a lifespan that it is about, "" for none.
    `silent` are the specifications that do not say it: there, what lifespec does has a box of its
    own. `wordings` are the groups of those that word it in another way; `says` has the sentences
    of the file, by group: () is that of the main box, `silent` that of lifespec's behaviour.
    """

    rule_id: str
    role: str
    sources: tuple[Source, ...]
    line: int
    silent: tuple[str, ...] = ()
    stage: str = ""
    says: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def boxes(self) -> tuple[tuple[str, ...], ...]:
        """The groups of specifications that have a box on the pages, () for the main one."""
        return tuple(self.says)

    def box(self, spec: str) -> tuple[str, ...]:
        """Return the group whose box says the rule for a specification."""
        return next((group for group in self.says if spec in group), ())

    def level(self, spec: str) -> str:
        """Return the strongest level that the rule has in a specification, "" where it has none."""
        found = {source.level for source in self.sources if spec in source.specs}
        return next((level for level in LEVELS if level in found), "")

    @property
    def levels(self) -> tuple[str, ...]:
        """Each level once: that of the main text first, then the strongest."""
        found = {self.level(each) for each in self.specs} - {""}
        others = sorted(found, key=LEVELS.index)
        return tuple(dict.fromkeys(filter(None, [self.level(MAIN), *others])))

    @property
    def specs(self) -> tuple[str, ...]:
        """The specifications that have the rule, in the order of the table."""
        named = {spec for source in self.sources for spec in source.specs}
        return tuple(each for each in SPECS if each in named or each in self.silent)


def read(path: Path) -> dict[str, Rule]:
    """Return the rules by ID, in the order of the file."""
    text = path.read_text(encoding="utf-8")
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        where = f"{path.resolve()}:{line[1] if line else text.count(chr(10)) + 1}"
        raise RulebookError(f"{where}: {error}.") from error
    return {
        rule_id: _rule(path, rule_id, row, _line(text, rule_id)) for rule_id, row in rows.items()
    }


def _line(text: str, rule_id: str) -> int:
    """Return the line of the table's header: 1 where it is written in another way."""
    header = re.search(rf"^\[+{re.escape(rule_id)}\b", text, re.MULTILINE)
    return text.count("\n", 0, header.start()) + 1 if header else 1


def _rule(path: Path, rule_id: str, row: Mapping[str, Any], line: int) -> Rule:
    try:
        sources = tuple(
            Source(tuple(entry["specs"]), entry["level"], entry["section"], entry.get("text", ""))
            for entry in row.get("source", ())
        )
        says: dict[tuple[str, ...], str] = {(): row["says"]} if sources else {}
        own = [*row.get("wording", ()), *([row["ours"]] if "ours" in row else ())]
        says |= {tuple(each["specs"]): each["says"] for each in own}
        silent = tuple(row["ours"]["specs"]) if "ours" in row else ()
        stage = row.get("stage", "")
        if stage not in STAGES:
            there = ", ".join(filter(None, STAGES))
            raise RulebookError(
                f"{path.resolve()}:{line}: {rule_id} has a stage other than {there}."
            )
        return Rule(rule_id, row["role"], sources, line, silent, stage, says)
    except (AttributeError, KeyError, TypeError) as error:
        raise RulebookError(f"{path.resolve()}:{line}: {rule_id} lacks {error}.") from error
