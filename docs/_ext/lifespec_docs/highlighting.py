"""The colours of code, on light and on dark pages: few, calm, and dark enough to read."""

from typing import ClassVar

from pygments.style import Style  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    Token,
    _TokenType,
)


def _styles(**ink: str) -> dict[_TokenType, str]:
    """Return the colour of each kind of token; other kinds are plain."""
    return {
        Token: ink["plain"],
        Comment: ink["quiet"],
        Keyword: ink["word"],
        Operator.Word: ink["word"],
        Name.Function: ink["name"],
        Name.Class: ink["name"],
        Name.Decorator: ink["name"],
        Name.Tag: ink["name"],
        String: ink["text"],
        Number: ink["number"],
        Keyword.Constant: ink["number"],
        Generic.Prompt: ink["quiet"],
        Generic.Output: ink["quiet"],
        Generic.Traceback: ink["quiet"],
    }


class Light(Style):  # type: ignore[misc]
    """Ink on paper."""

    name = "light"
    background_color = "#f9fafb"
    plain = "#1c2128"
    styles: ClassVar = _styles(
        plain=plain,
        quiet="#5a636e",
        word="#76348b",
        name="#0b5c68",
        text="#1d6a39",
        number="#8a4600",
    )


class Dark(Style):  # type: ignore[misc]
    """Chalk on slate."""

    name = "dark"
    background_color = "#1a1c1e"
    plain = "#d5d8dc"
    styles: ClassVar = _styles(
        plain=plain,
        quiet="#9aa2ab",
        word="#d0a5e4",
        name="#74c5d1",
        text="#98cfa0",
        number="#e3b26c",
    )
