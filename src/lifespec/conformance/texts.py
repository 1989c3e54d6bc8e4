"""Texts of others in sentences of ours: no control character, no failing repr, and not too long."""

from __future__ import annotations

__all__ = [
    "cut",
    "named",
    "plain",
    "printable",
    "said",
    "shown",
]

LONGEST, END = 500, 150  # characters of a sentence, and of its end, which says what to do
MOST = 2000  # characters of a text of others in a report


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
