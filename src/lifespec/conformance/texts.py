"""Texts of others in sentences of ours: no control character, no failing repr, and not too long."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Unchecked",
    "cut",
    "named",
    "near",
    "packaged",
    "plain",
    "printable",
    "said",
    "shown",
    "unknown",
]

LONGEST, END = 500, 150  # characters of a sentence, and of its end, which says what to do
MOST = 2000  # characters of a text of others in a report


class Unchecked(Exception):
    """A subject could not be checked; `str()` says what was given, and what to do."""


def packaged(name: str) -> str:
    """Return a file of the package's data; raise Unchecked if this installation lacks it."""
    file = resources.files("lifespec.conformance").joinpath("data", name)
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        raise Unchecked(f"this installation has no {file}: install lifespec again") from None


def printable(character: str) -> str:
    """Return a character, or an escape where it is none to print."""
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def plain(sentence: str) -> str:
    """Return one line of printable characters; of a long one the beginning and the end."""
    line = "".join(map(printable, sentence[: LONGEST * 2] + sentence[LONGEST * 2 :][-END:]))
    return cut(line, LONGEST)


def cut(text: str, most: int = MOST) -> str:
    """Return a text, of a long one the beginning and the end."""
    return text if len(text) <= most else f"{text[: most - END]} ... {text[-END:]}"


def said(error: object) -> str:
    """Return the text of an exception, which may have none to give; cut if it is long."""
    try:
        return cut(str(error))
    except Exception as another:
        return f"(its message cannot be shown: {type(another).__name__})"


def named(error: BaseException | None) -> str:
    """Return class and text of an exception for a sentence, whose full stop follows."""
    text = said(error)
    end = text.removesuffix(".") if not text.endswith("..") else text
    return f"{type(error).__name__}{': ' * bool(text)}{end}"


def shown(value: object) -> str:
    """Return the repr of a value, which may have none to give; cut if it is long."""
    try:
        return cut(repr(value))
    except Exception as error:
        return f"<{type(value).__name__}, whose repr() raises {type(error).__name__}>"


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
