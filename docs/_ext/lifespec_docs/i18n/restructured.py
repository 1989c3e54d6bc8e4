"""The blocks of a text in reStructuredText: what is translated of it, and how it is written again.

It reads what the specification of lifespan has: titles, paragraphs, items and samples of code.
Words have their literals in single backquotes, as in all catalogs.
"""

import re
from collections.abc import Callable, Iterator
from textwrap import fill
from typing import NamedTuple

from docutils.utils import column_width

__all__ = ["Block", "blocks", "restructured", "wrapped", "written"]

BETWEEN = re.compile(r"(\n{2,}|\n(?=\* ))")
TITLE = re.compile(r"(=*)\n?(.+)\n([='-])\3+")
ITEM, SAMPLE = "* ", "::"  # what an item begins with, and what a paragraph before code ends with
WIDTH = 79


class Block(NamedTuple):
    """A block: what is before it, how it stands there, and the words of it that are translated.

    `ruler` is the line below a title, twice if there is one above it, too.
    """

    before: str
    raw: str
    words: str
    ruler: str = ""

    @property
    def code(self) -> bool:
        """Tell whether it is a sample of code."""
        return not self.words

    @property
    def item(self) -> bool:
        """Tell whether it is an item of a list."""
        return self.raw.startswith(ITEM)

    @property
    def sample(self) -> bool:
        """Tell whether code follows."""
        return self.raw.endswith(SAMPLE)


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in their order."""
    between, *parts = ["", *BETWEEN.split(text.strip("\n"))]
    for place, raw in enumerate(parts):
        if place % 2:
            between = raw
        elif title := TITLE.fullmatch(raw):
            yield Block(between, raw, _words(title[2]), title[3] * (2 if title[1] else 1))
        else:
            words = "" if raw.startswith(" ") else _words(raw.removeprefix(ITEM))
            yield Block(between, raw, words.replace(SAMPLE, ":"))


def _words(raw: str) -> str:
    return " ".join(raw.split()).replace("``", "`")


def restructured(words: str) -> str:
    """Return words as reStructuredText has them."""
    return words.replace("`", "``")


def written(block: Block, translate: Callable[[str], str]) -> str:
    """Return a block in another language; what is not written with spaces is not wrapped."""
    if block.code:
        return block.raw
    words = restructured(translate(block.words))
    if block.ruler:
        line = block.ruler[0] * column_width(words)
        return "\n".join([line, words, line][2 - len(block.ruler) :])
    return (ITEM if block.item else "") + words + (f"\n\n{SAMPLE}" if block.sample else "")


def wrapped(words: str, before: str) -> Block:
    """Return a new block, as an author would write it."""
    item = before.startswith(ITEM)
    first, later = (ITEM, " " * len(ITEM)) if item else ("", "")
    raw = fill(
        restructured(words), WIDTH, initial_indent=first, subsequent_indent=later,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return Block("\n\n", raw, words)
