"""The colours of code, on light and on dark pages: few, calm, and dark enough to read."""

from typing import ClassVar

from pygments import token  # type: ignore[import-untyped]
from pygments.style import Style  # type: ignore[import-untyped]

KINDS = {  # of tokens by their colour; other kinds are plain
    "plain": "Token",
    "quiet": "Comment Generic.Prompt Generic.Output Generic.Traceback",
    "word": "Keyword Operator.Word",
    "name": "Name.Function Name.Class Name.Decorator Name.Tag",
    "text": "Literal.String",
    "number": "Literal.Number Keyword.Constant",
}


def _styles(*colours: str) -> dict[object, str]:
    """Return the colour of each kind of token."""
    return {
        token.string_to_tokentype(kind): colour
        for kinds, colour in zip(KINDS.values(), colours, strict=True)
        for kind in kinds.split()
    }


class Light(Style):  # type: ignore[misc]
    """Ink on paper."""

    name = "light"
    background_color = "#f9fafb"
    styles: ClassVar = _styles("#1c2128", "#5a636e", "#76348b", "#0b5c68", "#1d6a39", "#8a4600")


class Dark(Style):  # type: ignore[misc]
    """Chalk on slate."""

    name = "dark"
    background_color = "#1a1c1e"
    styles: ClassVar = _styles("#d5d8dc", "#9aa2ab", "#d0a5e4", "#74c5d1", "#98cfa0", "#e3b26c")
