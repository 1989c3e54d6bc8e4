"""What is raised if a subject cannot be checked, and the names that it may have meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Unchecked", "near", "unknown"]


class Unchecked(Exception):
    """A subject could not be checked; `str()` says what was given, and what to do."""


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return what a name may have meant, three at most: those alike, those that it is part of."""
    name, names = name.lower().replace("_", "-"), [*known]
    alike = get_close_matches(name, names, n=3, cutoff=0.6)
    return list(dict.fromkeys([*alike, *(each for each in names if name in each)]))[:3]


def unknown(what: str, name: str, known: Iterable[str], lists: str) -> Unchecked:
    """Return what is raised for a name that there is not; the command `lists` names all."""
    *others, last = near(name, known) or [""]
    meant = f"{', '.join(others)} or {last}" if others else last
    question = f": did you mean {meant}?" if meant else ";"
    return Unchecked(f"there is no {what} {name!r}{question} `{lists}` lists all")
